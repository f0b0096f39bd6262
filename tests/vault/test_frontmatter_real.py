"""Front matter on a real vault: beside python-frontmatter, and every note changed and changed back."""

from pathlib import Path
from typing import Any

import frontmatter
import pytest

from agentscope_reme.vault import Vault
from agentscope_reme.vault.frontmatter import TEXT_KEYS, delete_keys, parse, set_keys

from .real_vault import real_notes


def as_we_read(value: Any, as_text: bool) -> Any:
    """A value of PyYAML by our rules: links are text, and the values of text keys are too."""
    if isinstance(value, list):
        link = len(value) == 1 and isinstance(value[0], list) and all(isinstance(part, str) for part in value[0])
        return f"[[{', '.join(value[0])}]]" if link else [as_we_read(item, as_text) for item in value]
    if isinstance(value, dict):
        return {str(key): as_we_read(inner, False) for key, inner in value.items()}
    return str(value) if as_text and value is not None else value


def test_every_note_reads_as_python_frontmatter_reads_it() -> None:
    with_block = 0
    for path, text in real_notes():
        note = parse(text)
        assert note.front.error is None, path
        try:
            metadata, body = frontmatter.parse(text)
        except Exception:
            # Templates with {{placeholders}} are no YAML to it.
            assert "{{" in text, path
            continue
        expected = {str(key): as_we_read(value, key in TEXT_KEYS) for key, value in metadata.items()}
        assert note.front.data == expected, path
        assert note.body.strip() == body.strip(), path
        with_block += bool(metadata)
    assert with_block > 1000


def test_setting_a_new_key_and_deleting_it_gives_the_same_bytes() -> None:
    for path, text in real_notes():
        changed = set_keys(text, {"reviewed": "no"})
        assert parse(changed).front.data == {**parse(text).front.data, "reviewed": "no"}, path
        # A block that was there and empty is told from one made for the key by the vault's history alone.
        assert delete_keys(changed, ["reviewed"], keep_block=text.startswith("---\n---\n")) == text, path


def test_the_vault_sets_and_deletes_a_key_of_every_note_and_the_bytes_are_the_same(tmp_path: Path) -> None:
    notes = [(path, text) for path, text in real_notes() if not parse(text).front.data]
    vault = Vault(tmp_path)
    for path, text in notes:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(text.encode())
    assert sum(text.startswith("---\n---\n") for _, text in notes) > 5
    for path, text in notes:
        vault.frontmatter_update_sync(path, {"reviewed": "no"})
        vault.frontmatter_delete_sync(path, ["reviewed"])
        assert (tmp_path / path).read_bytes() == text.encode(), path


def test_changing_a_key_that_is_there_changes_its_lines_alone() -> None:
    changed_notes = 0
    for path, text in real_notes()[::3]:
        data = parse(text).front.data
        if not data:
            continue
        key = sorted(data)[len(path) % len(data)]
        changed = set_keys(text, {key: "改过的 value"})
        old, new = text.split("\n"), changed.split("\n")
        assert parse(changed).front.data == {**data, key: "改过的 value"}, path
        same_start = next(i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b)
        same_end = next(i for i, (a, b) in enumerate(zip(old[::-1], new[::-1], strict=False)) if a != b)
        assert old[same_start].startswith(key), path
        assert len(new) - same_end - same_start == 1, path
        changed_notes += 1
    assert changed_notes > 300


@pytest.mark.slow
def test_every_key_of_every_note_can_be_deleted_and_changed() -> None:
    for path, text in real_notes():
        data = parse(text).front.data
        for key in data:
            rest = {k: v for k, v in data.items() if k != key}
            assert parse(delete_keys(text, [key])).front.data == rest, path
            assert parse(set_keys(text, {key: ["[[a]]", 1]})).front.data.keys() == data.keys(), path
