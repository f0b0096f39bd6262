"""Cards of a day and its page: identity in the front matter, names from it, and the user's text left alone."""

import asyncio
import multiprocessing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from agentscope_reme.errors import NoteError, PathError
from agentscope_reme.vault import Vault
from agentscope_reme.vault.daily import daily_create, daily_list, daily_reindex, find_card, update_card, write_card
from agentscope_reme.vault.frontmatter import parse
from agentscope_reme.vault.generated import generated_part, with_generated_part
from agentscope_reme.vault.wikilink import parse_links

DAY = "2026-03-16"
CLOCK = datetime(2026, 3, 16, 23, 30, tzinfo=UTC)


@pytest.fixture
def vault(vault_dir: Path) -> Vault:
    return Vault(vault_dir, timezone="UTC", clock=lambda: CLOCK)


def text_of(vault: Vault, path: str) -> str:
    return (vault.root / path).read_bytes().decode()


def front(name: str, session_id: str, **more: object) -> dict:
    return {"name": name, "session_id": session_id, **more}


# --- Names ------------------------------------------------------------------------------------------------------------


def test_a_card_is_named_after_its_front_matter_in_any_script(vault: Vault) -> None:
    change = write_card(vault, DAY, front("登录 重构/决定", "s1"), "text")
    assert change.path == f"daily/{DAY}/登录-重构-决定.md"
    assert change.kind == "created"


@pytest.mark.parametrize(
    "name", ["", "///", "..", "CON", "a" * 500, "很长" * 300, "x\x00y\n", ".hidden", "é" * 200, "🙂"]
)
def test_any_name_becomes_a_file_of_that_day(vault: Vault, name: str) -> None:
    path = write_card(vault, DAY, front(name, "s1"), "text").path
    folder, _, file_name = path.rpartition("/")
    assert folder == f"daily/{DAY}"
    assert len(file_name.encode()) <= 90
    assert not file_name.startswith(".")
    assert find_card(vault, DAY, "s1") == path


def test_a_taken_name_gets_a_number_and_overwrites_nobody(vault: Vault) -> None:
    vault.write_sync(f"daily/{DAY}/Topic.md", "the user's own note\n")
    paths = [write_card(vault, DAY, front("topic", f"s{i}"), f"text {i}").path for i in range(3)]
    assert paths == [f"daily/{DAY}/topic-{i}.md" for i in (2, 3, 4)]
    assert text_of(vault, f"daily/{DAY}/Topic.md") == "the user's own note\n"
    for i, path in enumerate(paths):
        assert generated_part(text_of(vault, path), "card") == f"text {i}"


# --- Identity ---------------------------------------------------------------------------------------------------------


def test_a_session_has_one_card_a_day_whatever_its_file_is_called(vault: Vault) -> None:
    first = write_card(vault, DAY, front("first name", "s1"), "one")
    (vault.root / first.path).rename(vault.root / f"daily/{DAY}/renamed by hand.md")
    second = write_card(vault, DAY, front("better name", "s1"), "two")
    assert second.path == f"daily/{DAY}/renamed by hand.md"
    assert second.kind == "changed"
    assert len(daily_list(vault, DAY)) == 1
    other_day = write_card(vault, "2026-03-17", front("first name", "s1"), "three")
    assert other_day.path == "daily/2026-03-17/first-name.md"


def test_a_better_name_moves_the_card_and_links_to_it_follow(vault: Vault) -> None:
    write_card(vault, DAY, front("draft", "s0"), "another card")
    old = write_card(vault, DAY, front("draft", "s1"), f"see [[daily/{DAY}/draft-2.md#x]]").path
    vault.write_sync("hub.md", f"---\nup: '[[{old}]]'\n---\n[[{old}|the draft]] [[daily/{DAY}/draft.md]]\n")
    new = write_card(vault, DAY, front("登录决定", "s1"), f"see [[daily/{DAY}/登录决定.md#x]]").path
    assert new == f"daily/{DAY}/登录决定.md"
    assert text_of(vault, "hub.md") == f"---\nup: '[[{new}]]'\n---\n[[{new}|the draft]] [[daily/{DAY}/draft.md]]\n"
    assert [card.path for card in daily_list(vault, DAY)] == [f"daily/{DAY}/draft.md", new]
    links = parse_links(text_of(vault, f"daily/{DAY}.md"), "")
    assert [(link.target_path, link.alias) for link in links] == [(f"daily/{DAY}/draft.md", "draft"), (new, "登录决定")]
    assert write_card(vault, DAY, front("登录决定", "s1"), f"see [[{new}#x]]").kind == "unchanged"


def test_a_better_name_that_is_taken_overwrites_nobody(vault: Vault) -> None:
    write_card(vault, DAY, front("taken", "s0"), "theirs")
    write_card(vault, DAY, front("draft", "s1"), "ours")
    assert write_card(vault, DAY, front("Taken", "s1"), "ours").path == f"daily/{DAY}/taken-2.md"
    assert write_card(vault, DAY, front("taken", "s1"), "ours").path == f"daily/{DAY}/taken-2.md"
    assert generated_part(text_of(vault, f"daily/{DAY}/taken.md"), "card") == "theirs"


def test_a_card_is_also_found_by_the_conversation_it_comes_from(vault: Vault) -> None:
    vault.write_sync(f"daily/{DAY}/a.md", '---\nsource_conversation: "[[session/dialog/s1.jsonl]]"\n---\nx\n')
    vault.write_sync(f"daily/{DAY}/b.md", "---\nsession_id: 2024\n---\nx\n")
    vault.write_sync(f"daily/{DAY}/c.md", "---\nother: '[[session/dialog/s9.jsonl]]'\n---\nsession_id: s9\n")
    assert find_card(vault, DAY, "s1") == f"daily/{DAY}/a.md"
    assert find_card(vault, DAY, "2024") == f"daily/{DAY}/b.md"
    assert find_card(vault, DAY, "s9") is None
    assert find_card(vault, DAY, "") is None


def test_session_ids_that_look_like_numbers_or_paths_keep_their_card(vault: Vault) -> None:
    for session_id in ("0123", "1.10", "no", "2026-03-16", "../x", "用户/1", "a: b"):
        path = write_card(vault, DAY, front("n", session_id), "x").path
        assert find_card(vault, DAY, session_id) == path
        assert write_card(vault, DAY, front("n", session_id), "y").path == path
    assert len(daily_list(vault, DAY)) == 7


# --- What a second writing leaves alone -------------------------------------------------------------------------------


def test_text_and_keys_of_the_user_survive_every_rewriting(vault: Vault) -> None:
    path = write_card(vault, DAY, front("n", "s1", created="once", updated="1"), "generated").path
    text = text_of(vault, path)
    edited = (
        text.replace("---\n<!--", "mood:  'good'   # mine\n---\n\n## A\r\nbefore  \n\n<!--", 1)
        + "\n## B\nafter, no newline"
    )
    vault.write_sync(path, edited, overwrite=True)
    write_card(vault, DAY, front("n", "s1", created="twice", updated="2"), "generated anew\n\nlonger")
    expected = edited.replace("generated", "generated anew\n\nlonger", 1).replace('updated: "1"', 'updated: "2"')
    assert text_of(vault, path) == expected
    assert parse(expected).front.data["created"] == "once"


def test_the_same_writing_again_changes_nothing(vault: Vault) -> None:
    write_card(vault, DAY, front("n", "s1"), "x")
    before = {path: path.read_bytes() for path in sorted((vault.root / "daily").rglob("*.md"))}
    assert write_card(vault, DAY, front("n", "s1"), "x").kind == "unchanged"
    assert before == {path: path.read_bytes() for path in sorted((vault.root / "daily").rglob("*.md"))}


@pytest.mark.parametrize("line", ["session_id: s1", 'session_id: "s1"', "session_id: 's1'  "])
def test_unreadable_front_matter_is_kept_and_the_card_is_still_the_sessions(vault: Vault, line: str) -> None:
    head = f'---\nsource: "the "new" one"\n{line}\n---\n'
    vault.write_sync(f"daily/{DAY}/bad.md", f"{head}mine\n")
    change = write_card(vault, DAY, front("n", "s1"), "x")
    assert change.path == f"daily/{DAY}/bad.md"
    assert text_of(vault, change.path) == f"{head}mine\n\n<!-- reme:begin card -->\nx\n<!-- reme:end card -->\n"
    assert "cannot be read" in text_of(vault, f"daily/{DAY}.md")


def test_a_card_that_is_not_utf8_is_listed_and_never_rewritten(vault: Vault) -> None:
    write_card(vault, DAY, front("n", "s1"), "x")
    gbk = vault.root / f"daily/{DAY}/gbk.md"
    gbk.write_bytes("---\nsession_id: s2\n---\n你好".encode("gbk"))
    write_card(vault, DAY, front("m", "s2"), "x")
    assert gbk.read_bytes() == "---\nsession_id: s2\n---\n你好".encode("gbk")
    assert f"[[daily/{DAY}/gbk.md|gbk]]" in text_of(vault, f"daily/{DAY}.md")


def test_an_update_gets_the_card_as_it_is_and_decides_all_of_it(vault: Vault) -> None:
    write_card(vault, DAY, front("note", "s1"), "x")
    seen = []

    def update(present: object) -> tuple[dict, str]:
        seen.append(present)
        return {"tags": ["a"]}, "whole new body\n"

    path = update_card(vault, DAY, "s1", update).path
    assert seen[0].front.data["name"] == "note"
    assert text_of(vault, path) == "---\nname: note\nsession_id: s1\ntags:\n  - a\n---\nwhole new body\n"


def test_an_update_that_fails_changes_nothing(vault: Vault) -> None:
    write_card(vault, DAY, front("n", "s1"), "x")
    before = text_of(vault, f"daily/{DAY}/n.md")

    def update(present: object) -> tuple[dict, str]:
        raise NoteError("no")

    with pytest.raises(NoteError):
        update_card(vault, DAY, "s1", update)
    assert text_of(vault, f"daily/{DAY}/n.md") == before


# --- The day's page ---------------------------------------------------------------------------------------------------


def test_the_page_lists_the_cards_as_links(vault: Vault) -> None:
    write_card(vault, DAY, front("登录 [重构]|决定", "s1", description="why\nwe did " + "x" * 300), "x")
    vault.write_sync(f"daily/{DAY}/by hand.md", "no front matter\n")
    daily_reindex(vault, DAY)
    page = text_of(vault, f"daily/{DAY}.md")
    links = parse_links(page, f"daily/{DAY}.md")
    assert [(link.target_path, link.alias) for link in links] == [
        (f"daily/{DAY}/by hand.md", "by hand"),
        (f"daily/{DAY}/登录-重构-决定.md", "登录 (重构)/决定"),
    ]
    assert parse(page).front.data == {"name": DAY}
    assert max(map(len, page.split("\n"))) < 220


def test_text_outside_the_markers_stays_whatever_it_is(vault: Vault) -> None:
    page = f"daily/{DAY}.md"
    write_card(vault, DAY, front("one", "s1"), "x")
    own = "\ufeff---\nbad: [yaml\n---\r\nmine\r\n\r\n" + text_of(vault, page).partition("---\n# ")[2] + "\nmine too"
    (vault.root / page).write_bytes(own.encode())
    write_card(vault, DAY, front("two", "s2"), "x")
    new = text_of(vault, page)
    line = f"- [[daily/{DAY}/one.md|one]]"
    assert line in own
    assert new.replace("\r\n", "\n") == own.replace(line, f"{line}\n- [[daily/{DAY}/two.md|two]]").replace("\r\n", "\n")
    assert new.startswith("\ufeff---\nbad: [yaml\n---\r\nmine\r\n\r\n")
    assert new.endswith("\nmine too")


def test_a_page_the_user_began_gets_the_list_behind_the_text(vault: Vault) -> None:
    vault.append_sync("", "- bought milk")
    page = f"daily/{DAY}.md"
    before = text_of(vault, page)
    write_card(vault, DAY, front("one", "s1"), "x")
    assert text_of(vault, page).startswith(before)
    assert parse_links(text_of(vault, page), page)[0].target_path == f"daily/{DAY}/one.md"


def test_an_empty_day_gets_no_page_and_a_day_that_lost_its_cards_an_empty_list(vault: Vault) -> None:
    assert daily_reindex(vault, DAY) is None
    assert not vault.root.exists()
    path = write_card(vault, DAY, front("one", "s1"), "x").path
    (vault.root / path).unlink()
    daily_reindex(vault, DAY)
    assert generated_part(text_of(vault, f"daily/{DAY}.md"), "cards") == ""


def test_a_page_that_could_not_be_written_is_made_up_for_by_the_next_writing(vault: Vault, vault_dir: Path) -> None:
    write_card(vault, DAY, front("one", "s1"), "x")

    class Stopped(Vault):
        def write_sync(self, path: str, *args: object, **more: object) -> object:
            if path == f"daily/{DAY}.md":
                raise KeyboardInterrupt
            return super().write_sync(path, *args, **more)  # type: ignore[arg-type]

    with pytest.raises(KeyboardInterrupt):
        write_card(Stopped(vault_dir), DAY, front("two", "s2"), "x")
    page = vault.root / f"daily/{DAY}.md"
    assert "two" not in page.read_text()
    assert write_card(vault, DAY, front("two", "s2"), "x").kind == "unchanged"
    assert f"[[daily/{DAY}/two.md|two]]" in page.read_text()


def test_other_files_of_the_day_are_no_cards(vault: Vault) -> None:
    write_card(vault, DAY, front("one", "s1"), "x")
    folder = vault.root / f"daily/{DAY}"
    (folder / "interests.yaml").write_text("topics: []\n")
    (folder / ".hidden.md").write_text("x")
    (folder / "dir.md").mkdir()
    (folder / "sub").mkdir()
    (folder / "sub" / "deep.md").write_text("x")
    assert [card.path for card in daily_list(vault, DAY)] == [f"daily/{DAY}/one.md"]


# --- Dates ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "date",
    ["YYYY-MM-DD", "2026-13-01", "2026-02-30", "2026-3-16", "../..", "20260316", "2026-03-16/x", "today", "2026-W12-1"],
)
def test_a_date_that_is_none_makes_no_file(vault: Vault, date: str) -> None:
    for call in (daily_list, daily_reindex):
        with pytest.raises(PathError, match="YYYY-MM-DD"):
            call(vault, date)
    with pytest.raises(PathError, match="YYYY-MM-DD"):
        write_card(vault, date, front("n", "s1"), "x")
    assert not vault.root.exists()


def test_no_date_is_today_in_the_vaults_zone(vault_dir: Path) -> None:
    vault = Vault(vault_dir, timezone="Asia/Shanghai", clock=lambda: CLOCK)
    assert write_card(vault, "", front("n", "s1"), "x").path == "daily/2026-03-17/n.md"
    assert daily_list(vault)[0].session_id == "s1"


# --- Made by hand -----------------------------------------------------------------------------------------------------


def test_a_card_can_be_made_without_a_session(vault: Vault) -> None:
    first = daily_create(vault, "会议", "weekly", "- point\n")
    second = daily_create(vault, "会议", "weekly", "- point\n")
    assert (first.path, second.path) == (f"daily/{DAY}/会议.md", f"daily/{DAY}/会议-2.md")
    note = parse(text_of(vault, first.path))
    assert note.body == "- point\n"
    assert note.front.data == {
        "name": "会议",
        "description": "weekly",
        "created": CLOCK,
        "updated": CLOCK,
        "trust": "user",
    }


def test_making_a_card_for_a_session_that_has_one_adds_to_it(vault: Vault) -> None:
    first = daily_create(vault, "a", "d", "mine\n", session_id="s1", actor="agent")
    second = daily_create(vault, "b", "e", "more", session_id="s1", actor="agent")
    assert (first.path, second.path) == (f"daily/{DAY}/a.md", f"daily/{DAY}/b.md")
    assert len(daily_list(vault)) == 1
    note = parse(text_of(vault, second.path))
    assert note.body.startswith("mine\n")
    assert generated_part(note.body, "card") == "more"
    assert note.front.data["name"] == "b"
    assert note.front.data["trust"] == "agent"
    assert note.front.data["source_conversation"] == "[[session/dialog/s1.jsonl]]"


# --- Two writers ------------------------------------------------------------------------------------------------------


def _write_twenty(root: str, writer: int) -> None:
    vault = Vault(root, timezone="UTC", clock=lambda: CLOCK)
    for i in range(10):
        write_card(vault, DAY, front("same name", f"s{i}"), f"writer {writer}")
        write_card(vault, DAY, front("same name", f"w{writer}-{i}"), f"writer {writer}")


def test_two_processes_make_one_card_for_each_session_and_lose_none(vault: Vault) -> None:
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_write_twenty, args=(str(vault.root), number)) for number in (1, 2)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    cards = daily_list(vault, DAY)
    assert sorted(card.session_id for card in cards) == sorted(
        [f"s{i}" for i in range(10)] + [f"w{writer}-{i}" for writer in (1, 2) for i in range(10)]
    )
    links = parse_links(text_of(vault, f"daily/{DAY}.md"), "")
    assert [link.target_path for link in links] == [card.path for card in cards]


async def test_threads_of_one_process_make_one_card(vault: Vault) -> None:
    changes = await asyncio.gather(
        *(asyncio.to_thread(write_card, vault, DAY, front("n", "s1"), f"text {i}") for i in range(8))
    )
    assert {change.path for change in changes} == {f"daily/{DAY}/n.md"}
    assert [change.kind for change in changes].count("created") == 1


# --- Generated parts --------------------------------------------------------------------------------------------------

BEGIN, END = "<!-- reme:begin p -->", "<!-- reme:end p -->"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", f"{BEGIN}\nnew\n{END}\n"),
        ("a", f"a\n\n{BEGIN}\nnew\n{END}\n"),
        ("a\n", f"a\n\n{BEGIN}\nnew\n{END}\n"),
        ("a\n\n", f"a\n\n{BEGIN}\nnew\n{END}\n"),
        ("a\r\n", f"a\r\n\r\n{BEGIN}\r\nnew\r\n{END}\r\n"),
        (f"a\n{BEGIN}\nold\n{END}\nb", f"a\n{BEGIN}\nnew\n{END}\nb"),
        (f"a\n{BEGIN}\n{END}\nb", f"a\n{BEGIN}\nnew\n{END}\nb"),
        (f"a\r\n{BEGIN}\r\nold\r\n{END}\r\nb", f"a\r\n{BEGIN}\r\nnew\r\n{END}\r\nb"),
        (f"a\n{BEGIN}  \nold\n{END}\t\nb", f"a\n{BEGIN}  \nnew\n{END}\t\nb"),
        # Half a pair is the user's text, also once a whole pair stands behind it.
        (f"a\n{BEGIN}\nmine\n", f"a\n{BEGIN}\nmine\n\n{BEGIN}\nnew\n{END}\n"),
        (f"a\n{BEGIN}\nmine\n\n{BEGIN}\nold\n{END}\n", f"a\n{BEGIN}\nmine\n\n{BEGIN}\nnew\n{END}\n"),
        (f"{END}\nmine\n{BEGIN}\nold\n{END}\n", f"{END}\nmine\n{BEGIN}\nnew\n{END}\n"),
        (f"text {BEGIN} text\n{END}\n", f"text {BEGIN} text\n{END}\n\n{BEGIN}\nnew\n{END}\n"),
        # An example in code is no part, wherever the part stands.
        (f"```\n{BEGIN}\nmine\n{END}\n```\n", f"```\n{BEGIN}\nmine\n{END}\n```\n\n{BEGIN}\nnew\n{END}\n"),
        (
            f"~~~~ md\n```\n{BEGIN}\nmine\n{END}\n~~~~\n{BEGIN}\nold\n{END}\n",
            f"~~~~ md\n```\n{BEGIN}\nmine\n{END}\n~~~~\n{BEGIN}\nnew\n{END}\n",
        ),
        (f"```\ncode\n```\n{BEGIN}\nold\n{END}\n```\n", f"```\ncode\n```\n{BEGIN}\nnew\n{END}\n```\n"),
        # Nobody closed the code above: a part would else be made with every change.
        (f"```\ncode\n\n{BEGIN}\nold\n{END}\n", f"```\ncode\n\n{BEGIN}\nnew\n{END}\n"),
        (f"{BEGIN}\n```\nold\n```\n{END}\n", f"{BEGIN}\nnew\n{END}\n"),
    ],
)
def test_a_generated_part_is_replaced_between_its_markers(text: str, expected: str) -> None:
    changed = with_generated_part(text, "p", "new")
    assert changed == expected
    assert with_generated_part(changed, "p", "new") == changed
    assert generated_part(changed, "p") == "new"


@pytest.mark.parametrize("content", [END, f"a\n{END}\nb", f"{BEGIN}\nx", "<!-- hidden", "a\r\nb", "", "\n\n"])
def test_content_cannot_end_or_hide_its_part(content: str) -> None:
    changed = with_generated_part("before\n", "p", content) + "after [[Link]]\n"
    assert [link.target_path for link in parse_links(changed, "")] == ["Link"]
    again = with_generated_part(changed, "p", "short")
    assert again == f"before\n\n{BEGIN}\nshort\n{END}\nafter [[Link]]\n"
