"""P8: editing one key or one passage leaves every other byte of the file as it was."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from agentscope_reme import ReMe
from agentscope_reme.errors import ReMeError
from agentscope_reme.vault import Vault
from tests.toolkit.agents import agent_with, call_tool, model_of, text_of

# Everything a person's editor may leave in a note.
NOTE = (
    b"\xef\xbb\xbf---\r\n"
    b"# a comment that stays\r\n"
    b"title:   'Shelf \xe4\xbb\x93\xe5\xba\x93'   # with blanks\r\n"
    b"tags: [ a,b ,  c ]\n"
    b"version: 1.10\r\n"
    b"code: 0123\r\n"
    b"yes: no\r\n"
    b"related:\n"
    b'  - "[[x.md]]"\r\n'
    b"  - '[[y.md|Y]]'\r\n"
    b"\xe9\x94\xae: \xe5\x80\xbc\r\n"
    b"empty:\r\n"
    b"---\r\n"
    b"# Heading  \r\n"
    b"\tindented\tline \n"
    b"trailing blanks   \r\n"
    b"\r\n\r\n"
    b"one passage here\r\n"
    b"mixed end\n"
    b"old mac\rinside a line\r\n"
    b"form\x0cfeed, line\xe2\x80\xa8separator, nel\xc2\x85\r\n"
    b"no newline at the end"
)


@pytest.fixture
def vault(vault_dir: Path) -> Vault:
    vault_dir.mkdir()
    (vault_dir / "n.md").write_bytes(NOTE)
    return Vault(vault_dir)


def test_promise_08_a_passage_is_replaced_and_no_other_byte(vault: Vault, vault_dir: Path) -> None:
    vault.edit_sync("n.md", "one passage here", "another — 另一段")
    expected = NOTE.replace(b"one passage here", "another — 另一段".encode())
    assert (vault_dir / "n.md").read_bytes() == expected


@pytest.mark.parametrize(
    ("key", "value", "old", "new"),
    [
        ("version", "1.20", b"version: 1.10\r\n", None),
        ("title", "new", b"title:   'Shelf \xe4\xbb\x93\xe5\xba\x93'   # with blanks\r\n", None),
        ("tags", ["z"], b"tags: [ a,b ,  c ]\n", None),
        ("related", ["[[z.md]]"], b"related:\n  - \"[[x.md]]\"\r\n  - '[[y.md|Y]]'\r\n", None),
        ("键", "另一个", "键: 值\r\n".encode(), None),
        ("empty", "no", b"empty:\r\n", None),
    ],
)
def test_promise_08_a_key_is_changed_and_no_line_of_another(
    vault: Vault, vault_dir: Path, key: str, value: object, old: bytes, new: bytes | None
) -> None:
    vault.frontmatter_update_sync("n.md", {key: value})
    data = (vault_dir / "n.md").read_bytes()
    before, _, after = NOTE.partition(old)
    assert data.startswith(before)
    assert data.endswith(after)
    assert vault.frontmatter_read_sync("n.md").data[key] == value


def test_promise_08_a_new_key_and_a_removed_one_touch_no_other_line(vault: Vault, vault_dir: Path) -> None:
    vault.frontmatter_update_sync("n.md", {"added": "2026-03-16"})
    added = (vault_dir / "n.md").read_bytes()
    kept = [line for line in added.split(b"\n") if not line.startswith(b"added:")]
    assert b"\n".join(kept) == NOTE
    vault.frontmatter_delete_sync("n.md", ["added"])
    assert (vault_dir / "n.md").read_bytes() == NOTE
    vault.frontmatter_delete_sync("n.md", ["code"])
    assert (vault_dir / "n.md").read_bytes() == NOTE.replace(b"code: 0123\r\n", b"")


def test_promise_08_what_is_refused_changes_nothing(vault: Vault, vault_dir: Path) -> None:
    for attempt in (
        lambda: vault.edit_sync("n.md", "not there", "x"),
        lambda: vault.edit_sync("n.md", "e", "x"),
        lambda: vault.edit_sync("n.md", "", "x"),
    ):
        with pytest.raises(ReMeError):
            attempt()
    (vault_dir / "bad.md").write_bytes(b"---\na: [unclosed\n---\nbody\n")
    with pytest.raises(ReMeError):
        vault.frontmatter_update_sync("bad.md", {"b": 1})
    assert (vault_dir / "n.md").read_bytes() == NOTE
    assert (vault_dir / "bad.md").read_bytes() == b"---\na: [unclosed\n---\nbody\n"


async def test_promise_08_the_edit_tool_of_an_agent_keeps_every_other_byte(vault_dir: Path) -> None:
    vault_dir.mkdir()
    (vault_dir / "n.md").write_bytes(NOTE)
    agent = agent_with(ReMe(vault_dir), model_of())
    said = text_of(
        await call_tool(agent, "edit", path="n.md", old="one passage here\nmixed end", new="p\nq\nmixed end")
    )
    assert said.startswith("Changed"), said
    expected = NOTE.replace(b"one passage here\r\nmixed end", b"p\r\nq\r\nmixed end")
    assert (vault_dir / "n.md").read_bytes() == expected
    said = text_of(await call_tool(agent, "edit", path="n.md", old="mixed end\nold mac", new="mixed end\nnew mac"))
    assert (vault_dir / "n.md").read_bytes() == expected.replace(b"old mac", b"new mac")


def test_promise_08_a_rename_changes_only_the_targets_of_links(vault: Vault, vault_dir: Path) -> None:
    (vault_dir / "x.md").write_bytes(b"x\n")
    vault.move_sync("x.md", "moved/x2.md")
    assert (vault_dir / "n.md").read_bytes() == NOTE.replace(b"[[x.md]]", b"[[moved/x2.md]]")


_PIECES = st.text(alphabet=st.sampled_from(list("ab \t#-:'\"[]{}|>&*!%@`\n\r界é😀\u2028\u0085\x0c")), max_size=30)
_TOKEN = "§passage§"


@given(before=_PIECES, after=_PIECES, new=st.text(alphabet="xy\n界 #", max_size=10))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_promise_08_any_text_around_a_passage_stays(
    tmp_path_factory: pytest.TempPathFactory, before: str, after: str, new: str
) -> None:
    assume(new != _TOKEN)
    root = tmp_path_factory.mktemp("vault")
    (root / "n.md").write_bytes((before + _TOKEN + after).encode())
    Vault(root).edit_sync("n.md", _TOKEN, new)
    data = (root / "n.md").read_bytes()
    assert data.startswith(before.encode())
    assert data.endswith(after.encode())
    middle = data[len(before.encode()) : len(data) - len(after.encode())]
    assert middle.replace(b"\r\n", b"\n").decode() == new


_KEYS = st.sampled_from(["name", "tags", "k1", "键", "a-b", "'q'", '"d"'])
_VALUES = st.sampled_from(
    ["x", "'y'", '"z"', "[a, b]", "{a: 1}", "1.10", "no", "2026-03-16", "~", "", "|\n  two\n  lines", "\n  - i\n  - j"]
)

_WRITTEN = ["text", "no", "0123", "1.10", "2026-03-16", "null", "a: b", "# x", "两\n行", True, 5, ["a"]]


@given(
    lines=st.lists(st.tuples(_KEYS, _VALUES, st.sampled_from(["", "  # note", "\n# own line"])), max_size=5),
    end=st.sampled_from(["\n", "\r\n"]),
    body=_PIECES,
    value=st.sampled_from(
        ["text", "no", "0123", "1.10", "2026-03-16", "null", "a: b", "# x", "两\n行", True, 5, ["a"]]
    ),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_promise_08_any_front_matter_around_a_key_stays(
    tmp_path_factory: pytest.TempPathFactory,
    lines: list[tuple[str, str, str]],
    end: str,
    body: str,
    value: object,
) -> None:
    names = [key.strip("'\"") for key, _, _ in lines]
    assume(len(set(names)) == len(names))
    block = [f"{key}: {text}{'' if text.startswith(('|', chr(10))) else note}" for key, text, note in lines]
    head = "---\n" + "".join(line + "\n" for line in [*block[:2], "target: old", *block[2:]]) + "---\n"
    text = head.replace("\n", end) + body
    root = tmp_path_factory.mktemp("vault")
    (root / "n.md").write_bytes(text.encode())
    vault = Vault(root)
    vault.frontmatter_update_sync("n.md", {"target": value})
    data = (root / "n.md").read_bytes().decode()
    before, old, after = text.partition(f"target: old{end}")
    assert old
    assert data.startswith(before)
    assert data.endswith(after)
    assert vault.frontmatter_read_sync("n.md").data["target"] == value
