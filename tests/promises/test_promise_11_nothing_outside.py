"""P11: no path, link, id or argument reaches a file outside the vault, or another scope's vault."""

import asyncio
import os
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from agentscope.message import Msg
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from agentscope_reme import ReMe, ReMeLongTermMemory
from agentscope_reme.errors import ConfigError, ReMeError
from agentscope_reme.service.cli import asked_for, make_app
from agentscope_reme.vault import JournalRecord, Vault
from tests.toolkit.agents import agent_with, call_tool, model_of, text_of
from tests.vault.hostile import HOSTILE, NO_FILE, OPERATIONS

SECRET = "SECRET_MARKER_8841 of the lighthouse"


@dataclass
class Stage:
    """A vault with files around it that nothing may read or change."""

    root: Path
    vault: Path

    def outside(self) -> dict[str, bytes]:
        found = {}
        for folder, _, names in os.walk(self.root):
            for name in names:
                path = Path(folder) / name
                if not path.is_relative_to(self.vault):
                    found[str(path)] = path.read_bytes()
        return found

    def notes(self) -> dict[str, bytes]:
        return {
            path.relative_to(self.vault).as_posix(): path.read_bytes()
            for path in self.vault.rglob("*.md")
            if "history" not in path.parts and not path.is_symlink()
        }


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    made = Stage(tmp_path, tmp_path / "vault")
    for name in ("vault_secret/s.md", "secret.md", "x.md", "other/.reme/MEMORY.md"):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(SECRET + "\n", encoding="utf-8")
    Vault(made.vault).write_sync("kept.md", "kept lighthouse\n")
    before, notes = made.outside(), made.notes()
    yield made
    assert made.outside() == before, "something outside the vault was changed"
    assert {name: made.notes().get(name) for name in notes} == notes, "a note was changed"


# --- every surface, every hostile path --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", OPERATIONS)
def test_promise_11_every_vault_method_refuses(stage: Stage, name: str) -> None:
    vault = Vault(stage.vault)
    for path in HOSTILE:
        said, result = refusal(lambda path=path: OPERATIONS[name](vault, path))  # type: ignore[misc]
        # No refusal is needed where nothing is done: the history of a name that is not there is empty.
        assert said or not result, f"{name} accepted {path!r}"
        assert len(said) < 400
        assert SECRET not in said


def refusal(operation: Callable[[], Any]) -> tuple[str, Any]:
    """The sentence with which something was refused ("" when it was not), and what it returned."""
    try:
        return "", operation()
    except ReMeError as error:
        return str(error), None


TOOLS: dict[str, dict[str, Any]] = {
    "read": {},
    "write": {"content": "x", "overwrite": True},
    "edit": {"old": "kept", "new": "gone"},
    "append": {"content": "x"},
    "list": {"recursive": True},
}


@pytest.mark.parametrize("name", TOOLS)
async def test_promise_11_every_tool_refuses_in_one_line(stage: Stage, name: str) -> None:
    agent = agent_with(ReMe(stage.vault), model_of())
    for path in HOSTILE:
        said = text_of(await call_tool(agent, name, path=path, **TOOLS[name]))
        assert said.startswith("Error: "), (path, said)
        assert "\n" not in said
        assert SECRET not in said


@pytest.mark.parametrize("path", NO_FILE)
async def test_promise_11_a_tool_for_files_takes_no_folder(stage: Stage, path: str) -> None:
    agent = agent_with(ReMe(stage.vault), model_of())
    for name, arguments in {"read": {}, "write": {"content": "x", "overwrite": True}}.items():
        said = text_of(await call_tool(agent, name, path=path, **arguments))
        assert said.startswith("Error: ")


# One of each kind runs by default; a command takes a third of a second.
COMMANDED = [path for path in HOSTILE if path.isprintable()]
QUICK = ("../vault_secret/s.md", "/etc/passwd", "~/.ssh/id", "C:\\x", "file:///etc/passwd", "CON.md", "x.md:ads")


@pytest.mark.parametrize(
    "path", [pytest.param(path, marks=[] if path in QUICK else [pytest.mark.slow]) for path in COMMANDED]
)
def test_promise_11_every_command_refuses_with_exit_code_1(stage: Stage, path: str) -> None:
    runner = CliRunner()
    commands = {
        "read": [path],
        "stat": [path],
        "list": [path],
        "write": [path, "x", "--overwrite"],
        "append": [path, "x"],
        "edit": [path, "kept", "gone"],
        "read_image": [path],
        "delete": [path],
        "move": [path, "moved.md"],
        "frontmatter_read": [path],
        "frontmatter_update": [path, "a=1"],
        "frontmatter_delete": [path, "a"],
        "daily_list": [path],
        "daily_reindex": [path],
        "daily_create": ["name", "--date", path],
        "forget": [path],
    }
    for name, arguments in (*commands.items(), ("move", ["kept.md", path])):
        line = [name, *arguments, "--vault", str(stage.vault)]
        done = runner.invoke(make_app(asked_for(line)), line)  # as the program does
        assert done.exit_code == 1, (name, done.output)
        assert done.exception is None or isinstance(done.exception, SystemExit)
        assert SECRET not in done.output
        assert "Traceback" not in done.output


@pytest.mark.parametrize("name", HOSTILE)
def test_promise_11_a_file_that_is_taken_in_stays_in_its_folder_whatever_it_is_called(stage: Stage, name: str) -> None:
    source = stage.root / "other" / ".reme" / "MEMORY.md"
    change = Vault(stage.vault).ingest_sync(source, name=name, date="2026-03-16")
    folder, _, file_name = change.path.rpartition("/")
    assert folder == "resource/2026-03-16"
    assert (stage.vault / folder / file_name).read_text(encoding="utf-8") == source.read_text(encoding="utf-8")
    assert [entry.path for entry in Vault(stage.vault).list_sync("resource/2026-03-16").entries] == [change.path]


async def test_promise_11_no_filter_finds_what_is_outside(stage: Stage) -> None:
    async with ReMe(stage.vault) as reme:
        assert (await reme.search("lighthouse SECRET_MARKER_8841", filter={"path": "kept"})).hits
        for path in HOSTILE:
            for value in (path, [path, "nowhere/"]):
                try:
                    hits = (await reme.search("lighthouse SECRET_MARKER_8841", filter={"path": value})).hits
                except ReMeError:
                    continue
                assert hits == (), path


@pytest.mark.parametrize("rule", [pytest.param("literal", marks=pytest.mark.slow), "obsidian"])
async def test_promise_11_no_link_leads_outside(stage: Stage, rule: Any) -> None:
    async with ReMe(stage.vault, link_resolution=rule) as reme:
        names = []
        for number, path in enumerate(HOSTILE):
            names.append(f"links/{number}.md")
            text = f"lighthouse [[{path}]] ![[{path}]] [[{path}#s|alias]] p:: [[{path}]]\n"
            await reme.vault.write(names[-1], f"---\nup: '[[x.md]]'\n---\n{text}")
        await reme.index.sync()
        for name in names:
            resolved = {edge.resolution.path for edge in reme.index.graph.outlinks(name)} - {None}
            assert resolved <= {"kept.md", *names}, name
        for hit in (await reme.search("lighthouse SECRET_MARKER_8841", limit=100)).hits:
            assert hit.path in ("kept.md", *names)
            assert "SECRET_MARKER_8841 of" not in hit.text
        # Moving and deleting rewrite and report links; they follow none out.
        await reme.vault.move("links", "moved")
        await reme.vault.delete("moved")


# --- links of the file system -----------------------------------------------------------------------------------------


@pytest.fixture
def linked(stage: Stage) -> Stage:
    if not hasattr(os, "symlink"):
        pytest.skip("no symbolic links here")
    (stage.vault / "file.md").symlink_to(stage.root / "secret.md")
    (stage.vault / "folder").symlink_to(stage.root / "vault_secret", target_is_directory=True)
    (stage.vault / "up").symlink_to("..", target_is_directory=True)
    (stage.vault / "chain.md").symlink_to("folder/s.md")
    (stage.vault / "loop.md").symlink_to("loop.md")
    return stage


LINKED = ["file.md", "folder/s.md", "folder/new.md", "up/secret.md", "up/vault_secret/s.md", "chain.md", "loop.md"]


@pytest.mark.parametrize("path", LINKED)
async def test_promise_11_no_symlink_leads_outside(linked: Stage, path: str) -> None:
    reme = ReMe(linked.vault)
    agent = agent_with(reme, model_of())
    for name, arguments in {
        "read": {},
        "write": {"content": "x", "overwrite": True},
        "edit": {"old": "SECRET_MARKER_8841", "new": "x"},
        "append": {"content": "x"},
    }.items():
        said = text_of(await call_tool(agent, name, path=path, **arguments))
        assert said.startswith("Error: "), (name, said)
        assert SECRET not in said
    for operation in (
        lambda: reme.vault.read_image(path),
        lambda: reme.vault.frontmatter_update(path, {"a": 1}),
        lambda: reme.vault.stat(path),
        lambda: reme.vault.list(path),
    ):
        with pytest.raises(ReMeError):
            await operation()
    # A link may itself be moved or deleted; what it points to stays where it is.
    for change in (lambda: reme.vault.move(path, "here.md"), lambda: reme.vault.delete(path)):
        with suppress(ReMeError):
            await reme.vault.undo((await change()).history_id)
    assert not (linked.root / "vault_secret" / "new.md").exists()


async def test_promise_11_search_and_lists_do_not_follow_symlinks(linked: Stage) -> None:
    async with ReMe(linked.vault) as reme:
        hits = (await reme.search("lighthouse SECRET_MARKER_8841", limit=20)).hits
        assert [hit.path for hit in hits] == ["kept.md"]
        agent = agent_with(reme, model_of())
        said = text_of(await call_tool(agent, "list", path="", recursive=True))
        assert SECRET not in said
        assert "s.md" not in said
        assert "secret.md" not in said


# --- ids, suffixes, names ---------------------------------------------------------------------------------------------

IDS = [*HOSTILE, *NO_FILE, "a/b", "A", "a", "é", "e\u0301", "调用-1", "x" * 300, ".hidden", "a~b", "a:b"]


def test_promise_11_a_session_id_is_never_a_path(stage: Stage) -> None:
    vault = Vault(stage.vault)
    files = set()
    for number, session_id in enumerate(IDS):
        journal = vault.journal(session_id)
        journal.append([JournalRecord({"id": f"m{number}", "name": "u", "role": "user", "content": str(number)})])
        files.add(journal.path.casefold())
        assert (stage.vault / journal.path).parent == stage.vault / "session" / "dialog"
        assert [line.msg["content"] for line in vault.journal(session_id).read()] == [str(number)]
    assert len(files) == len(set(IDS)), "two sessions share a file"


@pytest.mark.parametrize("suffix", [*HOSTILE[:20], "/../../x", ".md/../x", "\x00", ".", ""])
def test_promise_11_a_suffix_is_never_a_path(stage: Stage, suffix: str) -> None:
    stored = Vault(stage.vault).store_result_sync(b"data", suffix)
    assert (stage.vault / stored.path).parent == stage.vault / "session" / "tool_result"
    assert (stage.vault / stored.path).read_bytes() == b"data"


@pytest.mark.parametrize("name", ["../../evil", "/etc/x", "a/b", "CON", "..", "", "\x00", "超" * 200, "x.md:ads"])
async def test_promise_11_what_a_conversation_is_about_is_never_a_path(stage: Stage, name: str) -> None:
    async with ReMe(stage.vault) as reme:
        message = Msg(name or "user", f"We decided: {name} is the name. Remember it.", "user")
        path = await reme.summary_memory([message], name)
        for file in [path] if path else []:
            assert (stage.vault / file).resolve().is_relative_to(stage.vault / "daily")


@pytest.mark.parametrize("date", ["../../x", "/etc", "2026-03-16/../..", "2026-13-40", "YYYY-MM-DD", "\x00"])
def test_promise_11_a_date_is_never_a_path(stage: Stage, date: str) -> None:
    from agentscope_reme.vault.daily import daily_create, daily_list, daily_reindex, write_card

    vault = Vault(stage.vault)
    for attempt in (
        lambda: write_card(vault, date, {"name": "n"}, "body"),
        lambda: daily_list(vault, date),
        lambda: daily_reindex(vault, date),
        lambda: daily_create(vault, "n", date=date),
    ):
        with pytest.raises(ReMeError):
            attempt()


def test_promise_11_a_forged_history_or_journal_leads_nowhere(stage: Stage) -> None:
    """Someone who can write the log of changes, or a journal, still cannot make us touch or show what is outside."""
    import json

    vault = Vault(stage.vault)
    vault.write_sync("n.md", "x\n")
    log = stage.vault / "history" / "log.jsonl"
    entry = {"id": "e1", "time": "t", "actor": "user", "reason": "", "old": "0" * 64}
    forged = [
        {**entry, "path": "../secret.md", "kind": "created", "new": "0" * 64},
        {**entry, "id": "e2", "path": "back.md", "kind": "removed", "moved_to": "../secret.md"},
        {**entry, "id": "e3", "path": "back.md", "kind": "moved", "moved_to": "../secret.md", "new": "0" * 64},
    ]
    log.write_text("".join(json.dumps(one) + "\n" for one in forged), encoding="utf-8")
    for one in forged:
        with pytest.raises(ReMeError):
            Vault(stage.vault).undo_sync(str(one["id"]))
    assert not (stage.vault / "back.md").exists()
    block = {
        "type": "tool_result",
        "id": "c",
        "name": "t",
        "output": {"$file": "../secret.md", "as": "text", "size": 9},
    }
    journal = stage.vault / "session" / "dialog" / "s.jsonl"
    journal.parent.mkdir(parents=True, exist_ok=True)
    line = {"id": "m", "seq": 1, "msg": {"id": "m", "name": "u", "role": "system", "content": [block]}}
    journal.write_text(json.dumps(line) + "\n", encoding="utf-8")
    (read,) = Vault(stage.vault).journal("s").read(expand=True)
    assert SECRET not in json.dumps(read.msg)


# --- scopes -----------------------------------------------------------------------------------------------------------


async def test_promise_11_a_vault_inside_another_sees_nothing_of_it_and_arguments_change_no_scope(
    tmp_path: Path,
) -> None:
    outer, inner = ReMe(tmp_path / "a"), ReMe(tmp_path / "a" / "users" / "b")
    await outer.vault.write("MEMORY.md", SECRET + "\n")
    await outer.vault.store_result(SECRET * 40)
    await inner.vault.write("MEMORY.md", "lighthouse of b\n")
    agent = agent_with(inner, model_of())
    outer_agent = agent_with(outer, model_of())
    for name, arguments in {
        "read": {"path": "../../MEMORY.md"},
        "memory_search": {"query": "lighthouse SECRET_MARKER_8841", "max_results": 20},
        "list": {"path": "", "recursive": True},
    }.items():
        assert SECRET not in text_of(await call_tool(agent, name, **arguments))
    # Arguments that a model makes up never name another vault.
    for extra in ("vault", "vault_dir", "reme", "self", "user_id", "root", "_reme", "actor"):
        for name, arguments in {"read": {"path": "MEMORY.md"}, "memory_search": {"query": "lighthouse"}}.items():
            said = text_of(await call_tool(agent, name, **arguments, **{extra: str(tmp_path / "a")}))
            assert SECRET not in said
            assert said.startswith("Error: ")
    # The other way round as well: two agents at once, each with its own vault.
    results = await asyncio.gather(
        *(call_tool(one, "memory_search", query="lighthouse") for one in (agent, outer_agent) for _ in range(3))
    )
    for content in results[:3]:
        assert "of b" in text_of(content)
        assert SECRET not in text_of(content)
    await inner.close()
    await outer.close()


async def test_promise_11_two_users_over_two_vaults_share_no_results_journals_or_caches(tmp_path: Path) -> None:
    ann, bob = ReMe(tmp_path / "ann"), ReMe(tmp_path / "bob")
    memory, other = ann.get_in_memory_memory("same"), bob.get_in_memory_memory("same")
    await memory.add(Msg("user", SECRET, "user"))
    await memory.mark_messages_compressed([memory.content[0][0]])
    stored = await ann.vault.store_result(SECRET * 40)
    assert await other.get_memory(mark="compressed") == []
    agent = agent_with(bob, model_of())
    for path in (stored.path, "session/dialog/same.jsonl"):
        said = text_of(await call_tool(agent, "read", path=path))
        assert said.startswith("Error: ")
    assert (await bob.search("SECRET_MARKER_8841")).hits == ()
    assert (await ann.search("SECRET_MARKER_8841")).hits


SCOPES = [
    "ann", "Ann", "ANN", "ann ", " ann", "ann.", "an\u0303n", "a\u00f1n", "../ann", "ann/..", "ann/bob",
    "/ann", "ann\x00", "..", ".", "~ann", "con", "CON", "daily", "metadata", "history", "MEMORY.md", "memory.md",
    "node_modules", ".git", "用户", "用戶", "ann~1", "a" * 300, "a" * 301, "\ud800", "ann\n", "ａｎｎ", "C:ann",
    "%2e%2e", "ann@example.org",
]  # fmt: skip


def test_promise_11_no_two_ids_share_a_scope_on_any_disk(tmp_path: Path) -> None:
    folders = [ReMe.for_scope(tmp_path, one).config.vault_dir for one in SCOPES]
    assert all(folder.parent == tmp_path for folder in folders)
    # Also where a disk takes case or Unicode form for nothing.
    folded = {unicodedata.normalize("NFC", folder.name).casefold() for folder in folders}
    assert len(folded) == len(SCOPES)
    assert all(folder.name.isprintable() and len(folder.name.encode()) <= 255 for folder in folders)


def test_promise_11_no_id_makes_a_folder_of_scopes_look_like_a_vault(tmp_path: Path) -> None:
    """Also where a disk takes ``memory.md`` for ``MEMORY.md``."""
    for one in SCOPES:
        assert ReMe.for_scope(tmp_path, one).config.vault_dir.name.casefold() not in ("memory.md", "daily", "metadata")


@given(st.lists(st.text(min_size=1).filter(str.strip), min_size=2, max_size=6, unique=True))
def test_promise_11_ids_are_encoded_injectively(ids: list[str]) -> None:
    folders = {ReMe.for_scope("scopes", one).config.vault_dir.name.casefold() for one in ids}
    assert len(folders) == len(ids)


@pytest.mark.parametrize("user_id", ["", " ", "\n", None, 7])
def test_promise_11_a_scope_has_an_id(tmp_path: Path, user_id: Any) -> None:
    with pytest.raises(ConfigError, match="names nobody"):
        ReMe.for_scope(tmp_path, user_id)


@pytest.mark.parametrize("name", ["MEMORY.md", "daily", "metadata", "reme_metadata"])
def test_promise_11_scopes_do_not_lie_inside_a_vault(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    with pytest.raises(ConfigError, match="a vault itself"):
        ReMe.for_scope(tmp_path, "ann")


@pytest.mark.parametrize("other", ["bob", "Ann", "../ann"])
async def test_promise_11_no_scope_reaches_another_by_any_way(tmp_path: Path, other: str) -> None:
    ann, bob = ReMe.for_scope(tmp_path, "ann"), ReMe.for_scope(tmp_path, other)
    for index in range(30):
        await ann.vault.write(f"digest/lighthouse-{index}.md", f"# Lighthouse {index}\n\nThe {SECRET} shines.\n")
    await ann.vault.write("MEMORY.md", f"- {SECRET}\n")
    await ann.vault.store_result(SECRET * 40)
    memory = ann.get_in_memory_memory("s1")
    await memory.add(Msg("user", SECRET, "user"))
    await memory.mark_messages_compressed([memory.content[0][0]])
    await bob.vault.write("digest/own.md", "# Own\n\nThe lighthouse of the other shines.\n")
    # search, filters, links
    for query in ("lighthouse shines", "SECRET_MARKER_8841"):
        for path in ("", "digest"):
            found = await bob.search(query, limit=20, filter={"path": path} if path else None)
            assert SECRET not in "".join(hit.text for hit in found.hits)
    assert [hit.path for hit in (await bob.search("lighthouse shines", limit=5)).hits] == ["digest/own.md"]
    # the recall hook, long-term memory, the journal of a session with the same id
    model = model_of()
    agent = agent_with(bob, model)
    bob.attach(agent, recall=True, record=True)
    for question in ("SECRET_MARKER_8841 of the lighthouse?", "Which lighthouse shines?"):
        await agent(Msg("user", question, "user"))
        assert "The SECRET_MARKER_8841" not in str(model.requests[-1].messages)
    assert "lighthouse of the other shines" in str(model.requests[-1].messages)
    long_term = ReMeLongTermMemory(bob, "s1")
    told = await long_term.retrieve(Msg("user", "lighthouse SECRET_MARKER_8841", "user"))
    assert f"The {SECRET}" not in told
    kept = await long_term.retrieve_from_memory(["lighthouse", "SECRET_MARKER_8841"])
    assert f"The {SECRET}" not in str(kept.content)
    assert await bob.get_in_memory_memory("s1").left_messages() != await memory.left_messages()
    # paths
    for path in (f"../{ann.vault.root.name}/MEMORY.md", str(ann.vault.root / "MEMORY.md")):
        with pytest.raises(ReMeError):
            await bob.vault.read(path)
    await bob.close()
    await ann.close()
