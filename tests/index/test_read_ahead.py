"""Other processes read a large new vault, and the index is the same as if this one had."""

import random
import sys
from pathlib import Path

import pytest

from agentscope_reme import ReMeConfig
from agentscope_reme.index import Index, read_ahead
from agentscope_reme.index.verification import differences
from agentscope_reme.vault import Vault

WORDS = ["otter", "river", "花园", "密码", "bridge", "2023-05-08", "get_user_name", "路由器", "#tag", "[[note-3]]"]


@pytest.fixture
def vault(tmp_path) -> Path:
    rnd = random.Random(3)
    for number in range(130):
        front = f"---\naliases: [alias {number}]\nmade: 2024-01-0{number % 9 + 1}\n---\n" if number % 3 else ""
        parts = [" ".join(rnd.choices(WORDS, k=rnd.randint(3, 30))) for _ in range(rnd.randint(0, 6))]
        (tmp_path / f"note-{number}.md").write_text(front + "# Head\n\n" + "\n\n".join(parts), encoding="utf-8")
    (tmp_path / "broken.md").write_bytes(b"---\na: [\n---\n\xff\xfe text")
    (tmp_path / "session/dialog").mkdir(parents=True)
    (tmp_path / "session/dialog/one.jsonl").write_text(
        '{"msg": {"name": "Ann", "role": "user", "content": "hi otter"}}\n'
    )
    return tmp_path


@pytest.fixture(autouse=True)
def small_vaults_have_helpers(monkeypatch):
    monkeypatch.setattr(read_ahead, "LEAST_BYTES", 1)


def built(root: Path, processes: int):
    index = Index(Vault(root), ReMeConfig(vault_dir=root, index_processes=processes))
    opened = index._opened()
    return opened.sync.scan(), opened


def taken_by(monkeypatch) -> list[str]:
    """Paths of the files that a helper's reading was used for."""
    taken: list[str] = []
    real = read_ahead.ReadAhead.take

    def take(self, path, data):
        found = real(self, path, data)
        if found is not None:
            taken.append(path)
        return found

    monkeypatch.setattr(read_ahead.ReadAhead, "take", take)
    return taken


def test_an_index_read_by_helpers_equals_one_read_alone(vault, monkeypatch):
    taken = taken_by(monkeypatch)
    alone_report, alone = built(vault, 0)
    assert not taken
    report, opened = built(vault, 2)
    assert len(taken) == report.added == alone_report.added == 132
    assert report.failed == alone_report.failed
    assert differences(opened.store.corpus, alone.store.corpus) == []
    assert {path: entry.front for path, entry in opened.store.corpus.files.items()} == {
        path: entry.front for path, entry in alone.store.corpus.files.items()
    }
    assert opened.store.graph.unresolved() == alone.store.graph.unresolved()


def test_helpers_that_do_not_start_leave_the_work_to_this_process(vault, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    taken = taken_by(monkeypatch)
    report, _ = built(vault, 2)
    assert (report.added, taken) == (132, [])


def test_a_helper_that_dies_leaves_its_files_to_this_process(vault, monkeypatch):
    monkeypatch.setattr(read_ahead, "_RUN", "import sys; sys.stdin.buffer.read(20)")
    taken = taken_by(monkeypatch)
    report, _ = built(vault, 1)
    assert (report.added, taken) == (132, [])


def test_a_file_that_changed_after_a_helper_read_it_is_read_again(vault):
    paths = [f"note-{number}.md" for number in range(10)]
    settings = {"chunk_chars": 1200, "embed_toc": True, "chinese": "bigram"}
    ahead = read_ahead.ReadAhead(vault, paths, settings, 1)
    try:
        assert ahead.take("note-0.md", (vault / "note-0.md").read_bytes()) is not None
        assert ahead.take("note-1.md", b"other bytes") is None
        assert ahead.take("not-asked-for.md", b"") is None
    finally:
        ahead.close()
    assert all(process.returncode is not None for process in ahead._processes)


def test_a_small_vault_and_a_user_who_wants_none_have_no_helpers(monkeypatch):
    monkeypatch.setattr(read_ahead, "LEAST_BYTES", 1000)
    assert read_ahead.helpers_for(None, 999) == 0
    assert read_ahead.helpers_for(0, 10_000) == 0
    assert read_ahead.helpers_for(3, 10_000) == 3
    assert 1 <= read_ahead.helpers_for(None, 10_000) <= 4
