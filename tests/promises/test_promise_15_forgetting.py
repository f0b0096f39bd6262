"""P15: forgetting is complete, and a receipt lists what was removed and what cannot be reached."""

import base64
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
import zstandard

from agentscope_reme import ReMe
from agentscope_reme.errors import NoteNotFound, PathError
from agentscope_reme.vault import JournalRecord, Vault
from agentscope_reme.vault.forgetting import forget
from tests.crash.stopped import dies_at

SECRET = "marzipan-7741"
DAY = "2026-03-16"
JOURNAL = "session/dialog/s.jsonl"


def holders(root: Path, secret: str = SECRET) -> list[str]:
    """Every file of the vault that holds the secret, also inside compressed and base64 contents."""
    found = []
    for path in sorted(root.rglob("*")):
        if not path.is_file():
            continue
        data = path.read_bytes()
        if path.suffix == ".zst":
            data = zstandard.ZstdDecompressor().decompressobj().decompress(data)
        for line in data.split(b"\n"):
            if b'"kept"' in line:
                kept = json.loads(line).get("kept")
                data += zstandard.ZstdDecompressor().decompress(base64.b64decode(kept)) if kept else b""
        if secret.encode() in data or secret in path.name or secret.split("-")[0].encode() in data:
            found.append(path.relative_to(root).as_posix())
    return found


def said(id: str, text: Any, day: str = DAY) -> JournalRecord:
    content = text if isinstance(text, list) else [{"type": "text", "text": text}]
    stamp = f"{day} 10:00:00"
    return JournalRecord({"id": id, "name": "user", "role": "user", "content": content, "timestamp": stamp})


def result(id: str, text: str, day: str = DAY) -> JournalRecord:
    return said(id, [{"type": "tool_result", "id": id, "name": "f", "output": text}], day)


async def card(reme: ReMe, name: str = "sweets", session: str = "s", day: str = DAY, text: str = SECRET) -> str:
    change = await reme.vault.daily_create(name, f"about {text}", f"The word is {text}.", session_id=session, date=day)
    return change.path


# --- nothing stays ----------------------------------------------------------------------------------------------------


async def test_promise_15_nothing_of_a_note_stays_in_the_vault(vault_dir: Path) -> None:
    async with ReMe(vault_dir) as reme:
        await reme.vault.write("other.md", "nothing of it here\n")
        path = await card(reme)
        long = f"{SECRET} " + " ".join(str(number**5) for number in range(3000))
        await reme.vault.edit(path, f"The word is {SECRET}.", long)  # a content too large for the log's line
        await reme.vault.edit(path, long, f"Again {SECRET}.")
        await reme.vault.append(path, f"and {SECRET}")
        moved = await reme.vault.move(path, f"daily/{DAY}/renamed.md")
        await reme.vault.delete(moved.path)
        await reme.vault.undo()
        reme.vault.journal("s").append([said("m1", f"remember {SECRET}"), result("m2", f"{SECRET} line\n" * 900)])
        assert (await reme.search(SECRET)).hits
        await reme.index.persist()
        assert len(holders(vault_dir)) >= 6
        receipt = await reme.forget(moved.path)
        assert holders(vault_dir) == []
        assert (await reme.search(SECRET)).status == "none"
        assert receipt.files == (moved.path,)
        assert receipt.journal_lines == ((JOURNAL, 2),)
        assert len(receipt.results) == 1
        assert receipt.history_entries >= 6
        assert any(path.startswith("history/objects/") for path in receipt.history_files)
        assert set(receipt.indexed) == {moved.path, JOURNAL}
        assert any("saved states" in sentence for sentence in receipt.unreachable)
        assert (await reme.vault.read("other.md")).text == "nothing of it here\n"
        assert f"{DAY}/renamed.md" not in (await reme.vault.read(f"daily/{DAY}.md")).text
    assert holders(vault_dir) == [], "closing writes none of it back"
    async with ReMe(vault_dir) as again:
        assert (await again.search(SECRET)).status == "none"


async def test_promise_15_what_lies_in_the_trash_is_forgotten_by_the_path_it_had(vault_dir: Path) -> None:
    async with ReMe(vault_dir) as reme:
        for path in ("d/a.md", "d/b.md", "c.md"):
            await reme.vault.write(path, f"{SECRET if path != 'd/b.md' else 'harmless'}\n")
        await reme.vault.delete("c.md")
        await reme.vault.delete("d")
        for path in ("c.md", "d/a.md"):
            receipt = await reme.forget(path)
            assert any(file.startswith("history/trash/") for file in receipt.history_files)
        assert holders(vault_dir) == []
        await reme.vault.undo()
        assert (await reme.vault.read("d/b.md")).text == "harmless\n"
        assert not (vault_dir / "d" / "a.md").exists()


async def test_promise_15_a_folder_and_a_journal_are_forgotten_whole(vault_dir: Path) -> None:
    async with ReMe(vault_dir) as reme:
        await reme.vault.write("p/x.md", f"{SECRET} one\n")
        await reme.vault.write("p/q/y.md", f"{SECRET} two\n")
        reme.vault.journal("t").append([result("m1", f"{SECRET} line\n" * 900)])
        assert (await reme.forget("p")).files == ("p/q/y.md", "p/x.md")
        receipt = await reme.forget("session/dialog/t.jsonl")
        assert receipt.files == ("session/dialog/t.jsonl",)
        assert len(receipt.results) == 1
    assert holders(vault_dir) == []


async def test_promise_15_a_note_without_history_is_forgotten_too(vault_dir: Path) -> None:
    (vault_dir / "hand").mkdir(parents=True)
    (vault_dir / "hand" / "made.md").write_text(SECRET, encoding="utf-8")
    async with ReMe(vault_dir) as reme:
        assert (await reme.search(SECRET)).hits
        receipt = await reme.forget("hand/made.md")
        assert receipt.history_entries == 0
    assert holders(vault_dir) == []


# --- and nothing else goes --------------------------------------------------------------------------------------------


async def test_promise_15_what_another_note_refers_to_stays(vault_dir: Path) -> None:
    async with ReMe(vault_dir) as reme:
        shared = (await reme.vault.store_result("shared result\n" * 500)).path
        own = (await reme.vault.store_result("own result\n" * 500)).path
        await reme.vault.write("a.md", f"see {shared} and {own}\n")
        await reme.vault.write("b.md", f"see {shared}, and session/dialog/s.jsonl:2-2\n")
        await reme.vault.write("c.md", "---\nsession_id: s\n---\nmade of it\n")
        reme.vault.journal("s").append([said("m1", "one"), said("m2", "two"), said("m3", "three")])
        receipt = await reme.forget("a.md")
        assert receipt.results == (own,)
        assert [path for path, reason in receipt.kept if "b.md" in reason] == [shared]
        receipt = await reme.forget("c.md")
        assert receipt.journal_lines == ((JOURNAL, 2),)
        assert [line.id for line in reme.vault.journal("s").read()] == ["m2"]
        assert any(path == JOURNAL and "b.md" in reason for path, reason in receipt.kept)


async def test_promise_15_a_card_takes_the_lines_of_its_own_day(vault_dir: Path) -> None:
    async with ReMe(vault_dir) as reme:
        first = await card(reme)
        second = await card(reme, "more", day="2026-03-17", text="harmless")
        records = [said("m1", f"about {SECRET}"), said("m2", "harmless", "2026-03-17"), said("m3", "harmless", "")]
        reme.vault.journal("s").append(records)
        receipt = await reme.forget(first)
        assert receipt.journal_lines == ((JOURNAL, 1),)
        assert [line.id for line in reme.vault.journal("s").read()] == ["m2", "m3"]
        assert holders(vault_dir) == []
        assert (await reme.forget(second)).journal_lines == ((JOURNAL, 2),)
        assert not (vault_dir / JOURNAL).exists()


async def test_promise_15_a_name_that_another_note_had_stays_with_that_note(vault_dir: Path) -> None:
    async with ReMe(vault_dir) as reme:
        await reme.vault.write("a.md", "the other note\n")
        await reme.vault.edit("a.md", "other", "first")
        await reme.vault.move("a.md", "b.md")
        await reme.vault.write("a.md", f"{SECRET}\n")
        with pytest.raises(NoteNotFound, match=r"none\.md"):
            await reme.forget("none.md")
        await reme.forget("a.md")
        assert holders(vault_dir) == []
        with pytest.raises(NoteNotFound, match=r"called b\.md now"):
            await reme.forget("a.md")
        assert {entry.moved_to or entry.path for entry in await reme.vault.history()} == {"a.md", "b.md"}
        await reme.vault.undo()
        await reme.vault.undo()
        assert (await reme.vault.read("a.md")).text == "the other note\n"


async def test_promise_15_contents_that_two_notes_had_in_common_stay_for_the_other(vault_dir: Path) -> None:
    text = "".join(f"{number} {number * 7919}\n" for number in range(3000))
    async with ReMe(vault_dir) as reme:
        for path in ("a.md", "b.md"):
            await reme.vault.write(path, text)
            await reme.vault.write(path, "short\n", overwrite=True)
        assert not [path for path in (await reme.forget("a.md")).history_files if "objects" in path]
        await reme.vault.undo()
        assert (await reme.vault.read("b.md", max_bytes=1_000_000)).text == text


async def test_promise_15_a_result_that_a_running_conversation_shows_stays(vault_dir: Path) -> None:
    from agentscope.message import Msg

    async with ReMe(vault_dir) as reme:
        path = (await reme.vault.store_result("a result\n" * 500)).path
        memory = reme.get_in_memory_memory("live")
        await memory.add(Msg("user", f"the rest is in {path}", "user"))
        await reme.vault.write("a.md", f"see {path}\n")
        receipt = await reme.forget("a.md")
        assert receipt.results == ()
        assert "conversation" in dict(receipt.kept)[path]


async def test_promise_15_the_receipt_names_a_running_conversation_that_still_says_it(vault_dir: Path) -> None:
    async with ReMe(vault_dir) as reme:
        memory = reme.get_in_memory_memory("s")
        path = await card(reme)
        reme.vault.journal("s").append([said("m1", SECRET)])
        receipt = await reme.forget(path)
        assert memory.session_id == "s"
        assert any("session s in this process" in sentence for sentence in receipt.unreachable)


# --- links, dry run, refusals -----------------------------------------------------------------------------------------


async def test_promise_15_links_of_other_notes_are_listed_and_rewritten_only_when_asked(vault_dir: Path) -> None:
    text = "---\nup: '[[a.md]]'\n---\n- [[a.md|the word]] and [[a.md#H]], `[[a.md]]`, [[b.md]]\n"
    async with ReMe(vault_dir) as reme:
        for name in ("a", "b"):
            await reme.vault.write(f"{name}.md", f"{SECRET}\n")
        await reme.vault.write("x.md", text)
        await reme.vault.write("b.md", "[[a.md]]\n", overwrite=True)
        receipt = await reme.forget("a.md")
        assert [(link.source_path, link.line) for link in receipt.links if link.source_path == "x.md"] == [
            ("x.md", 2),
            ("x.md", 4),
            ("x.md", 4),
        ]
        assert (vault_dir / "x.md").read_text(encoding="utf-8") == text
        assert [str(edge.link.target_path) for edge in reme.index.graph.unresolved()].count("a.md") == 4
        await reme.vault.write("a.md", "again\n")
        receipt = await reme.forget("a.md", unlink=True)
        assert receipt.unlinked
        expected = "---\nup: 'a'\n---\n- the word and a, `[[a.md]]`, [[b.md]]\n"
        assert (vault_dir / "x.md").read_text(encoding="utf-8") == expected
        assert (vault_dir / "b.md").read_text(encoding="utf-8") == "a\n"


async def test_promise_15_a_dry_run_says_the_same_and_changes_nothing(vault_dir: Path) -> None:
    async with ReMe(vault_dir) as reme:
        path = await card(reme)
        await reme.vault.write("x.md", f"[[{path}]]\n")
        reme.vault.journal("s").append([said("m1", SECRET), result("m2", f"{SECRET} line\n" * 900)])
        await reme.search(SECRET)

        def files() -> dict[str, bytes]:
            found = (file for file in vault_dir.rglob("*") if file.is_file())
            return {str(file): file.read_bytes() for file in found if "metadata" not in file.parts}

        before = files()
        shown = await reme.forget(path, dry_run=True)
        assert files() == before
        assert (await reme.search(SECRET)).hits
        done = await reme.forget(path)
        assert (shown.dry_run, done.dry_run) == (True, False)
        for name in ("files", "journal_lines", "results", "indexed", "links", "kept", "history_entries"):
            assert getattr(shown, name) == getattr(done, name), name


@pytest.mark.parametrize("path", ["", ".", "history", "metadata/index", "history/log.jsonl", "../x.md", "/etc/passwd"])
async def test_promise_15_the_root_and_the_machinery_are_not_forgotten(vault_dir: Path, path: str) -> None:
    async with ReMe(vault_dir) as reme:
        await reme.vault.write("a.md", "kept\n")
        with pytest.raises(PathError):
            await reme.forget(path)
        assert (await reme.vault.read("a.md")).text == "kept\n"


async def test_promise_15_a_link_is_not_followed_silently(vault_dir: Path) -> None:
    async with ReMe(vault_dir) as reme:
        await reme.vault.write("a.md", f"{SECRET}\n")
        (vault_dir / "l.md").symlink_to("a.md")
        with pytest.raises(PathError, match="symbolic link"):
            await reme.forget("l.md")
        assert (await reme.vault.read("a.md")).text == f"{SECRET}\n"


async def test_promise_15_a_vault_that_is_not_there_is_not_made(vault_dir: Path) -> None:
    async with ReMe(vault_dir) as reme:
        with pytest.raises(NoteNotFound):
            await reme.forget("a.md")
    assert not vault_dir.exists()


# --- stopped anywhere -------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("power", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.slow
def test_promise_15_forgetting_that_is_stopped_anywhere_is_completed_by_doing_it_again(
    tmp_path: Path, power: bool
) -> None:
    template = tmp_path / "template"
    vault = Vault(template)
    vault.write_sync("other.md", f"[[daily/{DAY}/sweets.md]]\n")
    from agentscope_reme.vault.daily import daily_create

    path = daily_create(vault, "sweets", SECRET, SECRET, session_id="s", date=DAY).path
    vault.edit_sync(path, f"description: {SECRET}", f"description: the {SECRET}")
    vault.journal("s").append([said("m1", SECRET), result("m2", f"{SECRET} line\n" * 400)])

    def run(root: Path) -> None:
        try:
            forget(Vault(root), path, lambda line: DAY, unlink_others=True)
        except NoteNotFound:
            return

    for step in range(200):
        root = tmp_path / "try"
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(template, root)
        died = dies_at(step, lambda root=root: run(root), power=power)  # type: ignore[misc]
        run(root)
        Vault(root).storage.sweep()
        assert holders(root) == [], step
        assert (root / "other.md").read_text(encoding="utf-8") == "sweets\n"
        if not died:
            break
    assert step > 10
