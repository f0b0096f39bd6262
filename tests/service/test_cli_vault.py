"""The commands that look after notes: delete, move, front matter, daily cards, history, undo, forget, ingest."""

import base64
import json
from pathlib import Path

import pytest

from agentscope_reme.index.compiled import form

from .test_cli import Run, reme

__all__ = ["reme"]  # the fixture

PNG = b"\x89PNG\r\n\x1a\n" + b"\x00" * 24


@pytest.fixture
def vault(vault_dir: Path) -> Path:
    vault_dir.mkdir()
    (vault_dir / "tea.md").write_text("---\nname: Tea\n---\nOolong at 90 degrees.\n", encoding="utf-8")
    (vault_dir / "list.md").write_text("see [[tea.md|the tea]]\n", encoding="utf-8")
    return vault_dir


def test_a_deleted_note_names_its_links_and_comes_back(reme: Run, vault: Path) -> None:
    deleted = reme("delete", "tea.md", vault=vault)
    assert "tea.md: removed" in deleted.out
    assert "list.md:1 to tea.md" in deleted.out
    assert "brings it back" in deleted.err
    assert not (vault / "tea.md").exists()
    assert reme("undo", vault=vault).code == 0
    assert "Oolong" in (vault / "tea.md").read_text(encoding="utf-8")


def test_a_moved_note_takes_its_links_along(reme: Run, vault: Path) -> None:
    moved = json.loads(reme("move", "tea.md", "drinks/oolong.md", "--json", vault=vault).out)
    assert (moved["path"], moved["kind"], len(moved["links"])) == ("drinks/oolong.md", "moved", 1)
    assert (vault / "list.md").read_text(encoding="utf-8") == "see [[drinks/oolong.md|the tea]]\n"


def test_history_names_who_what_and_the_id_that_undoes_it(reme: Run, vault: Path) -> None:
    assert reme("history", vault=vault).err == "Nothing is there.\n"
    reme("edit", "tea.md", "90", "95", vault=vault)
    reme("append", "list.md", "more", vault=vault)
    (line,) = reme("history", "tea.md", vault=vault).out.splitlines()
    assert "user" in line
    assert "changed" in line
    assert line.endswith("tea.md")
    assert reme("undo", line.split()[0], vault=vault).out.startswith("tea.md: changed")
    assert "90 degrees" in (vault / "tea.md").read_text(encoding="utf-8")
    refused = reme("undo", line.split()[0], vault=vault)
    assert refused.code == 1
    assert "undone already" in refused.err


@pytest.mark.parametrize(
    ("pair", "line"),
    [
        ("tags=[tea, 茶]", "tags: [tea, 茶]"),
        ("pinned=true", "pinned: true"),
        ("steep=3", "steep: 3"),
        ("code=0123", 'code: "0123"'),
        ("version=1.10", 'version: "1.10"'),
        ("title=2026", 'title: "2026"'),
        ("note=a: b # c", "note: 'a: b # c'"),
        ("empty=", 'empty: ""'),
    ],
)
def test_a_key_is_set_to_what_one_would_type_in_a_note(reme: Run, vault: Path, pair: str, line: str) -> None:
    done = reme("frontmatter_update", "tea.md", pair, vault=vault)
    assert done.code == 0, done.err
    text = (vault / "tea.md").read_text(encoding="utf-8")
    key, _, value = pair.partition("=")
    read = json.loads(reme("frontmatter_read", "tea.md", "--json", vault=vault).out)["data"][key]
    meant = {"[tea, 茶]": ["tea", "茶"], "true": True, "3": 3}
    assert read == meant.get(value, value), text
    assert text.startswith("---\nname: Tea\n")
    assert reme("frontmatter_delete", "tea.md", key, vault=vault).code == 0
    assert (vault / "tea.md").read_text(encoding="utf-8") == "---\nname: Tea\n---\nOolong at 90 degrees.\n"


def test_front_matter_that_cannot_be_changed_is_one_sentence(reme: Run, vault: Path) -> None:
    (vault / "bad.md").write_text('---\na: 1\nsummary: "the "new" one"\n---\nx\n', encoding="utf-8")
    refused = reme("frontmatter_update", "bad.md", "b=2", vault=vault)
    assert refused.code == 1
    assert "bad.md" in refused.err
    assert "line 3" in refused.err
    assert "line 3" in reme("frontmatter_read", "bad.md", vault=vault).err
    assert "KEY=VALUE" in reme("frontmatter_update", "tea.md", "no-equals", vault=vault).err


def test_cards_are_made_listed_and_kept_on_the_days_page(reme: Run, vault_dir: Path) -> None:
    made = reme("daily_create", "登录重构", "cookies, not tokens", "Body.", "--date", "2026-03-16", vault=vault_dir)
    assert "daily/2026-03-16/登录重构.md: created" in made.out
    listed = reme("daily_list", "2026-03-16", vault=vault_dir).out
    assert "登录重构" in listed
    assert "cookies, not tokens" in listed
    page = vault_dir / "daily" / "2026-03-16.md"
    page.write_text("my own words\n", encoding="utf-8")
    assert reme("daily_reindex", "2026-03-16", vault=vault_dir).code == 0
    text = page.read_text(encoding="utf-8")
    assert text.startswith("my own words\n")
    assert "[[daily/2026-03-16/登录重构.md|登录重构]]" in text
    for date in ("2026-3-16", "../..", "2026-02-30", "YYYY-MM-DD"):
        assert reme("daily_list", date, vault=vault_dir).code == 1


def test_a_picture_is_printed_as_base64(reme: Run, vault: Path) -> None:
    (vault / "pic.png").write_bytes(PNG)
    shown = reme("read_image", "pic.png", vault=vault)
    assert base64.b64decode(shown.out) == PNG
    assert "image/png" in shown.err
    assert reme("read_image", "tea.md", vault=vault).code == 1


def test_a_file_of_the_disk_is_copied_under_the_day_and_never_over_another(
    reme: Run, vault_dir: Path, tmp_path: Path
) -> None:
    file = tmp_path / "Report 报告.md"
    file.write_bytes(b"first\r\n")
    made = reme("ingest", str(file), "--date", "2026-03-16", vault=vault_dir)
    assert made.out.startswith("resource/2026-03-16/Report 报告.md: created")
    assert "unchanged" in reme("ingest", str(file), "--date", "2026-03-16", vault=vault_dir).out
    file.write_bytes(b"second\r\n")
    again = reme("ingest", str(file), "--date", "2026-03-16", vault=vault_dir).out
    assert again.startswith("resource/2026-03-16/Report 报告-2.md: created")
    kept = vault_dir / "resource" / "2026-03-16"
    assert {path.name: path.read_bytes() for path in kept.iterdir()} == {
        "Report 报告.md": b"first\r\n",
        "Report 报告-2.md": b"second\r\n",
    }
    for wrong in (str(tmp_path / "none.md"), str(tmp_path), "\x00"):
        refused = reme("ingest", wrong, vault=vault_dir)
        assert refused.code == 1
        assert refused.err.count("\n") == 1


def test_forget_shows_first_then_removes_and_prints_what_it_cannot_reach(reme: Run, vault: Path) -> None:
    reme("edit", "tea.md", "90", "95", vault=vault)
    first = reme("forget", "tea.md", "--dry-run", vault=vault)
    assert "would be forgotten" in first.out
    assert (vault / "tea.md").exists()
    done = reme("forget", "tea.md", vault=vault)
    assert "tea.md: forgotten" in done.out
    assert "list.md:1 to tea.md (leads nowhere)" in done.out
    assert "out of reach: saved states of agents" in done.err
    assert not (vault / "tea.md").exists()
    assert reme("forget", "tea.md", vault=vault).code == 1


@pytest.mark.parametrize("command", ["delete", "move", "edit", "undo", "forget", "daily_reindex", "frontmatter_delete"])
def test_what_changes_notes_makes_no_vault(reme: Run, tmp_path: Path, command: str) -> None:
    arguments = {"move": ["a.md", "b.md"], "edit": ["a.md", "x", "y"], "frontmatter_delete": ["a.md", "k"], "undo": []}
    given = arguments.get(command, ["a.md"] if command != "daily_reindex" else [])
    refused = reme(command, *given, vault=tmp_path / "none")
    assert (refused.code, refused.out) == (1, "")
    assert "no vault" in refused.err
    assert not (tmp_path / "none").exists()


def test_doctor_says_whether_the_index_is_what_the_files_give(reme: Run, vault: Path) -> None:
    (vault / "bad.md").write_text("---\na: [\n---\nbody\n", encoding="utf-8")
    sound = reme("doctor", vault=vault)
    assert (sound.code, sound.out) == (0, f"The index of 3 files is what the files give.\nRanking is {form}.\n")
    assert sound.err.startswith("not read: bad.md: front matter: line ")
    assert json.loads(reme("doctor", "--json", vault=vault).out)["ranking"] == form


def test_status_says_whether_ranking_is_compiled_also_where_no_vault_is(reme: Run, vault: Path, tmp_path: Path) -> None:
    for place in (vault, tmp_path / "none"):
        shown = reme("status", vault=place).out.splitlines()
        assert [line.split(maxsplit=1)[1] for line in shown if line.startswith("ranking ")] == [form]
        assert json.loads(reme("status", "--json", vault=place).out)["ranking"] == form


def test_doctor_ends_with_1_when_the_index_differs(reme: Run, vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from agentscope_reme.index import Index

    async def verify(self: Index) -> tuple[str, ...]:
        return ("tea.md: has other terms",)

    monkeypatch.setattr(Index, "verify", verify)
    found = reme("doctor", vault=vault)
    assert found.code == 1
    assert "tea.md: has other terms" in found.out
    assert "reindex" in found.out
