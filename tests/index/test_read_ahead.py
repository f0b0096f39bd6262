"""Other processes read a large new vault, and the index is the same as if this one had."""

import hashlib
import random
import subprocess
import sys
from pathlib import Path

import pytest

from agentscope_reme import ReMeConfig
from agentscope_reme.index import Index, read_ahead
from agentscope_reme.index import sync as sync_module
from agentscope_reme.index.sync import Sync
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


def built(root: Path, processes: int | None):
    index = Index(Vault(root), ReMeConfig(vault_dir=root, index_processes=processes))
    opened = index._opened()
    return opened.sync.scan(), opened


def taken_by(monkeypatch) -> list[str]:
    """Paths of the files that a helper's reading was used for."""
    taken: list[str] = []
    real = Sync._put_read

    def put(self, intake, *args):
        paths = real(self, intake, *args)
        taken.extend(paths)
        return paths

    monkeypatch.setattr(Sync, "_put_read", put)
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


def test_what_has_moved_is_not_taken_as_a_helper_read_it(vault, monkeypatch):
    index = Index(Vault(vault), ReMeConfig(vault_dir=vault, index_processes=1))
    sync = index._opened().sync
    sync.scan()
    (vault / "note-1.md").rename(vault / "session" / "note-1.md")
    (vault / "new.md").write_text("A quokka.\n")
    taken, passes = taken_by(monkeypatch), sync.passes
    report = sync.scan()
    assert (report.added, report.removed, taken, sync.passes - passes) == (2, 1, ["new.md"], 1)
    index._opened().lock.release()


def test_helpers_that_do_not_start_leave_the_work_to_this_process(vault, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    taken = taken_by(monkeypatch)
    report, _ = built(vault, 2)
    assert (report.added, taken) == (132, [])


def test_a_helper_imports_what_this_process_does_whatever_lies_in_the_current_folder(
    vault, monkeypatch, tmp_path_factory
):
    folder = tmp_path_factory.mktemp("elsewhere")
    for name in ("agentscope_reme", "marshal", "hashlib"):
        (folder / f"{name}.py").write_text("raise SystemExit\n")
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path])
    taken = taken_by(monkeypatch)
    report, _ = built(vault, 1)
    assert len(taken) == report.added == 132


def test_a_system_without_wide_pipes_has_helpers_nevertheless(vault, monkeypatch):
    fcntl = pytest.importorskip("fcntl")
    refused: list[int] = []

    def refuse(*args):
        refused.append(args[1])
        raise PermissionError(1, "too many pages in pipes")

    monkeypatch.setattr(fcntl, "fcntl", refuse)
    taken = taken_by(monkeypatch)
    report, _ = built(vault, 1)
    assert len(taken) == report.added == 132
    assert len(refused) >= 1


def test_a_helper_that_dies_leaves_its_files_to_this_process(vault, monkeypatch):
    monkeypatch.setattr(read_ahead, "_RUN", "import sys; sys.stdin.buffer.read(20)")
    taken = taken_by(monkeypatch)
    report, _ = built(vault, 1)
    assert (report.added, taken) == (132, [])


def test_a_scan_that_is_stopped_waits_for_no_helper(vault, monkeypatch):
    monkeypatch.setattr(read_ahead, "_RUN", "import sys, time; sys.stdin.buffer.read(20); time.sleep(600)")
    asked: list[None] = []

    index = Index(Vault(vault), ReMeConfig(vault_dir=vault, index_processes=1))
    sync = index._opened().sync

    def stop() -> bool:
        if sync.progress.total:  # the files have been listed
            asked.append(None)
        return len(asked) > 3

    report = sync.scan(stop=stop)
    assert (report.added, index.status()["files"]) == (1, 1), "the file it was at is read here, and no other"
    index._opened().lock.release()


def test_a_file_that_changed_after_a_helper_read_it_is_read_again(vault, monkeypatch):
    real = Sync._put_read

    def put(self, intake, *args):
        if "note-1.md" in (entry.path for entry in intake.batch.entries):
            (vault / "note-1.md").write_text("A quokka.\n")
            (vault / "note-2.md").unlink()
        return real(self, intake, *args)

    monkeypatch.setattr(Sync, "_put_read", put)
    taken = taken_by(monkeypatch)
    report, opened = built(vault, 1)
    assert {"note-1.md", "note-2.md"}.isdisjoint(taken)
    assert (report.added, len(taken), report.failed[0][0]) == (131, 130, "broken.md")
    assert opened.store.corpus.files["note-1.md"].size == len("A quokka.\n")
    assert differences(opened.store.corpus, built(vault, 0)[1].store.corpus) == []


def test_what_another_thread_has_looked_at_meanwhile_is_not_put_as_a_helper_read_it(vault, monkeypatch):
    """A note is written and one deleted while a helper has the old ones: no search finds what was deleted."""
    real = Sync._put_read
    seen: list[list[int]] = []

    def put(self, intake, *args):
        met = [entry for entry in intake.batch.entries if entry.path in ("note-1.md", "note-2.md")]
        if met:
            (vault / "note-1.md").write_text("A quokka.\n")
            content = (vault / "note-2.md").read_bytes()
            (vault / "note-2.md").unlink()
            self.check(["note-1.md", "note-2.md"])
            (vault / "note-2.md").write_bytes(content)  # comes back by another name of the disk's
            monkeypatch.setattr(Sync, "_is_still", lambda *_: True)  # and its times tell nothing
        paths = real(self, intake, *args)
        if met:
            corpus = self.store.corpus
            seen.append([corpus.files["note-1.md"].size, "note-2.md" in corpus.files])
        return paths

    monkeypatch.setattr(Sync, "_put_read", put)
    _, opened = built(vault, 1)
    assert seen == [[len("A quokka.\n"), False]]
    assert differences(opened.store.corpus, built(vault, 0)[1].store.corpus) == []


def large_note(words: str) -> str:
    return f"# Large\n\n{words} [[note-3]]\n\n" + "An otter in the river, 花园 and a bridge. " * 13_000


def test_a_large_file_is_read_by_another_process_also_alone_and_again(vault, monkeypatch):
    monkeypatch.setattr(read_ahead, "LEAST_BYTES", 3_000_000)
    read_here: list[str] = []
    real = sync_module.read_entries
    monkeypatch.setattr(
        sync_module, "read_entries", lambda path, *args, **kw: read_here.append(path) or real(path, *args, **kw)
    )
    _, opened = built(vault, None)
    assert len(read_here) == 132
    read_here.clear()
    (vault / "large.md").write_text(large_note("Newly written"), encoding="utf-8")
    assert opened.sync.scan().added == 1
    (vault / "large.md").write_text(large_note("Changed since"), encoding="utf-8")
    assert opened.sync.check(["large.md"]).changed == 1
    assert read_here == []
    assert differences(opened.store.corpus, built(vault, 0)[1].store.corpus) == []
    assert "large.md" in read_here, "with no process to read it this one does"


@pytest.mark.parametrize("helper", ["import sys; sys.stdin.buffer.read(20)", "raise SystemExit"])
def test_a_large_file_whose_reader_dies_is_read_here(vault, monkeypatch, helper):
    _, opened = built(vault, 0)
    opened.sync._config = ReMeConfig(vault_dir=vault)
    monkeypatch.setattr(read_ahead, "_RUN", helper)
    (vault / "large.md").write_text(large_note("Newly written"), encoding="utf-8")
    assert opened.sync.check(["large.md"]).added == 1
    assert opened.store.corpus.files["large.md"].units > 1


def test_a_large_file_that_changes_while_it_is_read_is_not_taken_for_what_it_was(vault, monkeypatch):
    _, opened = built(vault, 0)
    opened.sync._config = ReMeConfig(vault_dir=vault)
    real = sync_module.read_apart

    def read(root, settings, wanted, path, size):
        (vault / path).write_text(large_note("Changed since"), encoding="utf-8")
        return real(root, settings, wanted, path, size)

    monkeypatch.setattr(sync_module, "read_apart", read)
    (vault / "large.md").write_text(large_note("Newly written"), encoding="utf-8")
    opened.sync.check(["large.md"])
    known = opened.store.corpus.files["large.md"]
    assert known.digest == hashlib.sha256(large_note("Newly written").encode()).hexdigest()
    opened.sync.scan()
    assert opened.store.corpus.files["large.md"].digest == hashlib.sha256((vault / "large.md").read_bytes()).hexdigest()


SETTINGS = {"chunk_chars": 1200, "embed_toc": True, "chinese": "bigram"}


def test_files_are_given_back_in_the_order_and_the_batches_they_were_asked_for_in(vault, monkeypatch):
    monkeypatch.setattr(read_ahead, "BATCH", 4)
    paths = [f"note-{number}.md" for number in range(10)]
    ahead = read_ahead.ReadAhead(vault, SETTINGS, 2)
    try:
        for path in paths:
            ahead.expect(path, (vault / path).stat().st_size)
        ahead.expect_no_more()
        batches = [ahead.take(path) for path in paths]
        assert ahead.take("not-asked-for.md") is None
    finally:
        ahead.close()
    assert [[entry.path for entry in intake.batch.entries] if intake is not None else None for intake in batches] == [
        paths[number : number + 4] if number % 4 == 0 else None for number in range(10)
    ]
    assert len(ahead._processes) == 2
    assert all(process.returncode is not None for process in ahead._processes)


def test_helpers_read_while_files_are_still_looked_for(vault, monkeypatch):
    monkeypatch.setattr(read_ahead, "BATCH", 4)
    monkeypatch.setattr(read_ahead, "LEAST_BYTES", 100)
    ahead = read_ahead.ReadAhead(vault, SETTINGS, 1)
    try:
        for number in range(4):
            ahead.expect(f"note-{number}.md", 20)
        assert not ahead._processes, "there is too little to do as yet"
        for number in range(4, 10):
            ahead.expect(f"note-{number}.md", 20)
        taken = [ahead.take("note-0.md"), ahead.take("note-4.md")]
        assert [len(intake.batch) for intake in taken if intake is not None] == [4, 4]
        assert 2 not in ahead._ready, "more may belong into the batch that is open"
        ahead.expect_no_more()
        last = ahead.take("note-8.md")
        assert last is not None
        assert len(last.batch) == 2
    finally:
        ahead.close()


def test_the_last_batches_are_small_so_that_helpers_end_together(vault, monkeypatch):
    monkeypatch.setattr(read_ahead, "BATCH", 8)
    monkeypatch.setattr(read_ahead, "LAST_BATCH", 3)
    monkeypatch.setattr(read_ahead, "AHEAD", 1)
    paths = [f"note-{number}.md" for number in range(60)]
    ahead = read_ahead.ReadAhead(vault, SETTINGS, 2)
    try:
        for path in paths:
            ahead.expect(path, (vault / path).stat().st_size)
        ahead.expect_no_more()
        intakes = {path: ahead.take(path) for path in paths}
    finally:
        ahead.close()
    batches = {path: intake.batch.entries for path, intake in intakes.items() if intake is not None}
    assert [len(entries) for entries in batches.values()] == [8, 8, 8, 8, 8, 8, 3, 3, 2, 3, 1]
    assert [entry.path for entries in batches.values() for entry in entries] == paths
    assert list(batches) == [entries[0].path for entries in batches.values()]


def test_no_batch_is_divided_that_a_helper_has_begun_with(vault, monkeypatch):
    monkeypatch.setattr(read_ahead, "BATCH", 8)
    monkeypatch.setattr(read_ahead, "LAST_BATCH", 3)
    ahead = read_ahead.ReadAhead(vault, SETTINGS, 1)
    try:
        for number in range(17):
            ahead.expect(f"note-{number}.md", 100)
        with ahead._changed:
            assert ahead._changed.wait_for(lambda: ahead._next == 2, 60)
        ahead.expect_no_more()
        sizes = [len(intake.batch) for number in (0, 8, 16) if (intake := ahead.take(f"note-{number}.md")) is not None]
    finally:
        ahead.close()
    assert sizes == [8, 8, 1]


def test_a_large_file_is_a_batch_of_its_own(vault, monkeypatch):
    monkeypatch.setattr(read_ahead, "BATCH_BYTES", 100)
    ahead = read_ahead.ReadAhead(vault, SETTINGS, 0)
    for number, size in enumerate([50, 50, 1, 500, 0, 99, 2]):
        ahead.expect(str(number), size)
    assert ahead._order == [["0", "1"], ["2"], ["3"], ["4", "5"], ["6"]]


def test_a_small_vault_and_a_user_who_wants_none_have_no_helpers(monkeypatch):
    monkeypatch.setattr(read_ahead, "LEAST_BYTES", 1000)
    assert read_ahead.helpers_for(None, 999) == 0
    assert read_ahead.helpers_for(0, 10_000) == 0
    assert read_ahead.helpers_for(3, 10_000) == 3
    assert 1 <= read_ahead.helpers_for(None, 10_000) <= 4


def test_a_process_that_only_reads_loads_no_library_for_arrays(tmp_path):
    """Each helper would take longer to import numpy and bm25s than to read a hundred notes."""
    code = (
        "import sys; from pathlib import Path; from agentscope_reme.index import reader_process as r;"
        "from agentscope_reme.index.tokenizer import Tokenizer; from agentscope_reme.vault.storage import Storage;"
        "read = r._read(Storage(Path(sys.argv[1])), 'note-1.md', Tokenizer('bigram'), {});"
        "assert read is not None and r.Sender().packed([read[0]]);"
        "print(sorted({'numpy', 'bm25s'} & sys.modules.keys()))"
    )
    (tmp_path / "note-1.md").write_text("---\ntags: [a]\n---\n# Head\n\nAn otter near [[note-2]].\n")
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_process_that_only_reads_does_not_go_through_all_of_unicode_for_marks_it_does_not_read():
    """mistletoe does when it is imported, and each helper meets a note that needs its blocks."""
    code = (
        "import sys; last = sys.maxunicode; from agentscope_reme.index.reader_process import serve; serve();"
        "from mistletoe import core_tokens; from agentscope_reme.index.markdown_blocks import read_blocks;"
        "kinds = [block.kind for block in read_blocks(['> quote', '', '| a | b |', '|---|---|', '| ，。 | — |'])];"
        "print(sys.maxunicode == last, '。' in core_tokens.punctuation, kinds)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", check=True
    )
    assert done.stdout.strip() == "True False ['paragraph', 'table']"
