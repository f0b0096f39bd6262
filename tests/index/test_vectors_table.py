"""Vectors by key: exact cosines, whatever the order in which they came; what is on disk is checked."""

import json

import numpy as np
import pytest
import zstandard

from agentscope_reme.index import vectors_file
from agentscope_reme.index.vectors_table import VectorTable
from agentscope_reme.vault import Vault


def random_vectors(count: int, dimensions: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(count, dimensions)).astype(np.float32)


def real_cosines(vectors: np.ndarray, question: np.ndarray) -> np.ndarray:
    return vectors @ question / np.linalg.norm(vectors, axis=1) / np.linalg.norm(question)


@pytest.mark.parametrize("dimensions", [2, 3, 64, 384, 1024, 3072])
@pytest.mark.parametrize(("precision", "error"), [("int8", 0.03), ("float32", 1e-5)])
def test_cosines_are_those_of_the_vectors(dimensions, precision, error):
    vectors, question = random_vectors(500, dimensions), random_vectors(1, dimensions, 2)[0]
    table = VectorTable(dimensions, precision)
    table.add(range(1, 501), vectors)
    assert np.abs(table.cosines(question) - real_cosines(vectors, question)).max() < error


@pytest.mark.parametrize("dimensions", [5, 384, 1536])
def test_the_same_vectors_give_the_same_cosines_in_any_order(dimensions):
    vectors, question = random_vectors(3_000, dimensions), random_vectors(1, dimensions, 2)[0]
    keys = np.arange(1, 3_001)
    one, other = VectorTable(dimensions), VectorTable(dimensions)
    one.add(keys.tolist(), vectors)
    order = np.random.default_rng(3).permutation(3_000)
    for part in np.array_split(order, 7):
        other.add(keys[part].tolist(), vectors[part])
    assert np.array_equal(one.cosines(question), other.cosines(question)[other.rows(keys)])


def test_a_vector_s_length_does_not_matter():
    vectors, question = random_vectors(20, 16), random_vectors(1, 16, 2)[0]
    one, other = VectorTable(16), VectorTable(16)
    one.add(range(20), vectors)
    other.add(range(20), vectors * 1e4)
    assert np.array_equal(one.cosines(question), other.cosines(question * 1e-3))


def test_a_question_of_zeros_is_near_nothing():
    table = VectorTable(4)
    table.add([1], random_vectors(1, 4))
    assert table.cosines(np.zeros(4, np.float32)).tolist() == [0.0]


def test_a_key_that_comes_again_replaces_its_vector():
    table = VectorTable(4)
    table.add([7], np.array([[1, 0, 0, 0]], np.float32))
    table.add([7, 8], np.array([[0, 1, 0, 0], [0, 0, 1, 0]], np.float32))
    assert table.count == 2
    assert table.cosines(np.array([0, 1, 0, 0], np.float32))[table.rows(np.array([7]))[0]] == pytest.approx(1, abs=1e-2)


def test_what_is_not_kept_is_gone_and_the_rest_stays():
    table = VectorTable(8)
    vectors = random_vectors(100, 8)
    table.add(range(1, 101), vectors)
    assert table.keep(np.array([5, 50, 99, 1234])) == 97
    assert table.count == 3
    assert table.missing(np.array([5, 6, 50, 99])).tolist() == [6]
    question = random_vectors(1, 8, 2)[0]
    found = table.cosines(question)[table.rows(np.array([5, 50, 99]))]
    assert np.abs(found - real_cosines(vectors[[4, 49, 98]], question)).max() < 0.03
    table.add([6], vectors[5:6])
    assert table.count == 4


def test_int8_takes_a_quarter_of_float32():
    small, large = VectorTable(384), VectorTable(384, "float32")
    for table in (small, large):
        table.add(range(100), random_vectors(100, 384))
    size = [sum(part.nbytes for part in table.dump()) for table in (small, large)]
    assert size[0] * 3.5 < size[1]


# --- on disk ------------------------------------------------------------------------------------------------------


@pytest.fixture
def stored(vault_dir):
    """A vault with fifty stored vectors."""
    vault = Vault(vault_dir)
    table = VectorTable(12)
    table.add(range(1, 51), random_vectors(50, 12))
    vectors_file.save(vault.storage, table, "some-model")
    return vault, table


@pytest.mark.parametrize("precision", ["int8", "float32"])
def test_what_was_stored_is_read_again(vault_dir, precision):
    vault, table = Vault(vault_dir), VectorTable(12, precision)
    table.add(range(-3, 47), random_vectors(50, 12))
    vectors_file.save(vault.storage, table, "some-model")
    found = vectors_file.load(vault.root, "some-model", 12, precision)
    assert found.table is not None
    for one, other in zip(found.table.dump(), table.dump(), strict=True):
        assert np.array_equal(one, other)


def test_nothing_stored_is_no_damage(vault_dir):
    assert vectors_file.load(vault_dir, "some-model", 12, "int8") == vectors_file.Found(None)


@pytest.mark.parametrize(
    ("model", "dimensions", "precision"),
    [("other-model", 12, "int8"), ("some-model", 13, "int8"), ("some-model", 12, "float32")],
)
def test_vectors_of_another_model_are_not_mixed_in(stored, model, dimensions, precision):
    found = vectors_file.load(stored[0].root, model, dimensions, precision)
    assert found.table is None
    assert found.damage == ""
    assert "some-model" in found.other


def _rewritten(path, change):
    data = zstandard.ZstdDecompressor().decompressobj().decompress(path.read_bytes())
    path.write_bytes(zstandard.ZstdCompressor().compress(change(data)))


def _header(data: bytes, **changes) -> bytes:
    line, _, rest = data.partition(b"\n")
    return json.dumps({**json.loads(line), **changes}).encode() + b"\n" + rest


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(b"\x80\x04K\x01."),
        lambda path: path.write_bytes(bytes(range(256)) * 8),
        lambda path: _rewritten(path, lambda data: data[:-1] + bytes([data[-1] ^ 1])),
        lambda path: _rewritten(path, lambda data: _header(data, version=99)),
        lambda path: _rewritten(path, lambda data: _header(data, format="something else")),
        lambda path: _rewritten(path, lambda data: b"{}\n" + data),
    ],
)
def test_damaged_vectors_are_reported_and_not_used(stored, damage):
    vault, _ = stored
    damage(vault.root / vectors_file.VECTORS)
    found = vectors_file.load(vault.root, "some-model", 12, "int8")
    assert found.table is None
    assert found.damage


def test_nothing_on_disk_is_a_pickle_or_a_text(stored):
    vault, _ = stored
    data = zstandard.ZstdDecompressor().decompressobj().decompress((vault.root / vectors_file.VECTORS).read_bytes())
    assert b"\x93NUMPY" in data
    assert b"pickle" not in data
    assert b"'descr': '|O'" not in data
