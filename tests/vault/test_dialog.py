"""The journal: lossless, append-only, each message once, whoever journals it."""

import base64
import json
import logging
import tracemalloc
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentscope_reme.errors import NoteError
from agentscope_reme.vault import JournalRecord, Vault
from agentscope_reme.vault.dialog import Journal, pointers_in
from agentscope_reme.vault.storage import Storage

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 20).decode()


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    return Vault(tmp_path / "vault", timezone="UTC", clock=lambda: datetime(2026, 3, 16, 9, 30, tzinfo=UTC))


def message(id: str, content: Any, role: str = "user", **more: Any) -> dict[str, Any]:
    return {"id": id, "name": role, "role": role, "content": content, "metadata": {}, "timestamp": "t", **more}


def result(id: str, output: Any) -> dict[str, Any]:
    return message(id, [{"type": "tool_result", "id": f"call-{id}", "name": "grep", "output": output}], role="system")


def records(*messages: dict[str, Any]) -> list[JournalRecord]:
    return [JournalRecord(each) for each in messages]


def files(vault: Vault) -> list[str]:
    return sorted(path.name for path in (vault.root / "session" / "tool_result").glob("*"))


async def test_a_line_has_the_message_and_when_it_left(vault: Vault) -> None:
    journal = vault.journal("chat-1")
    assert await journal.add([JournalRecord(message("m1", "hello"), ("compressed",), 7)]) == 1
    assert journal.path == "session/dialog/chat-1.jsonl"
    fields = json.loads((vault.root / journal.path).read_text())
    assert fields == {
        "id": "m1",
        "seq": 1,
        "msg": message("m1", "hello"),
        "marks": ["compressed"],
        "tokens": 7,
        "left_at": "2026-03-16T09:30:00.000+00:00",
    }
    line = journal.read()[0]
    assert (line.id, line.seq, line.marks, line.tokens, line.line) == ("m1", 1, ("compressed",), 7, 1)


def test_the_same_message_is_journalled_once_and_a_changed_one_again(vault: Vault) -> None:
    journal = vault.journal("s")
    assert journal.append(records(message("m1", "a"), message("m2", "b"), message("m1", "a"))) == 2
    assert journal.append(records(message("m1", "a"), message("m2", "b"))) == 0
    assert journal.append(records(message("m1", "a, clipped"))) == 1
    assert [(line.id, line.seq) for line in journal.read()] == [("m1", 1), ("m2", 2), ("m1", 3)]
    assert journal.ids() == {"m1", "m2"}
    assert journal.count() == 3


def test_messages_of_other_processes_are_known_before_a_line_is_added(vault: Vault) -> None:
    other = Vault(vault.root)
    for number in range(6):
        writer = (vault, other)[number % 2]
        assert writer.journal("s").append(records(*(message(f"m{n}", str(n)) for n in range(number + 1)))) == 1
    assert [line.seq for line in vault.journal("s").read()] == [1, 2, 3, 4, 5, 6]
    assert vault.journal("s").count() == other.journal("s").count() == 6


def test_a_journal_that_was_removed_or_replaced_is_read_anew(vault: Vault) -> None:
    journal = vault.journal("s")
    journal.append(records(message("m1", "a"), message("m2", "b")))
    place = vault.root / journal.path
    text = place.read_bytes()
    place.unlink()
    assert (journal.count(), journal.ids(), journal.read(), journal.tail(3)) == (0, set(), [], [])
    assert journal.append(records(message("m1", "a"))) == 1
    place.unlink()
    place.write_bytes(text + text.replace(b'"m1"', b'"m9"'))
    assert journal.ids() == {"m1", "m2", "m9"}


def test_a_bad_line_loses_itself_only_and_the_next_begins_on_its_own(
    vault: Vault, caplog: pytest.LogCaptureFixture
) -> None:
    journal = vault.journal("s")
    journal.append(records(message("m1", "a"), message("m2", "b"), message("m3", "c")))
    place = vault.root / journal.path
    with place.open("ab") as file:
        file.write(b'{"role":"user","con')
    for reader in (journal, Vault(vault.root).journal("s")):
        assert [line.id for line in reader.read()] == ["m1", "m2", "m3"]
        assert (reader.bad_lines, reader.count()) == (1, 3)
    assert journal.append(records(message("m4", "d"))) == 1
    assert [(line.id, line.line) for line in journal.read()] == [("m1", 1), ("m2", 2), ("m3", 3), ("m4", 5)]
    assert journal.bad_lines == 1
    assert [line.id for line in journal.tail(2)] == ["m3", "m4"]


@pytest.mark.parametrize(
    "junk", [b"null", b"[]", b"{}", b'"x"', b'{"id":"x","msg":[]}', b"\xff\xfe", b'{"id":"x"}', b"[" * 100_000, b"NaN"]
)
def test_lines_of_the_wrong_shape_are_passed_over(vault: Vault, junk: bytes) -> None:
    journal = vault.journal("s")
    journal.append(records(message("m1", "a")))
    with (vault.root / journal.path).open("ab") as file:
        file.write(junk + b"\n")
    journal.append(records(message("m2", "b")))
    fresh = Vault(vault.root).journal("s")
    assert [line.id for line in fresh.read()] == ["m1", "m2"]
    assert (fresh.bad_lines, fresh.count()) == (1, 2)


def test_a_last_line_without_its_end_counts_and_is_not_doubled(vault: Vault) -> None:
    journal = vault.journal("s")
    journal.append(records(message("m1", "a"), message("m2", "b")))
    place = vault.root / journal.path
    place.write_bytes(place.read_bytes()[:-1])  # an editor that strips the final newline
    fresh = Vault(vault.root).journal("s")
    assert (fresh.count(), fresh.bad_lines, fresh.ids()) == (2, 0, {"m1", "m2"})
    assert [(line.id, line.line) for line in fresh.tail(5)] == [("m1", 1), ("m2", 2)]
    assert fresh.append(records(message("m2", "b"), message("m3", "c"))) == 1
    assert [line.id for line in fresh.read()] == ["m1", "m2", "m3"]
    assert journal.count() == 3


def test_the_tail_is_the_end_of_the_whole(vault: Vault) -> None:
    journal = vault.journal("s")
    journal.append(records(*(message(f"m{n}", "长" * (n * 37 % 5000)) for n in range(200))))
    whole = journal.read()
    for count in (1, 2, 50, 199, 200, 500):
        assert journal.tail(count) == whole[-count:]
    assert journal.tail(0) == []


def test_text_with_any_separator_stays_one_line(vault: Vault) -> None:
    journal = vault.journal("s")
    text = "a\u2028b\u2029c\x85d\x0be\x1cf\r\ng\x00h"
    journal.append(records(message("m1", text), message("m2", "next")))
    assert [line.msg["content"] for line in journal.read()] == [text, "next"]


# --- what leaves the line -----------------------------------------------------------------------------------------


def test_long_results_and_media_are_files_and_come_back_exactly(vault: Vault) -> None:
    journal = vault.journal("s")
    messages = [
        result("long", "行 line\r\n" * 1000),
        result("nul", "\x00\ufffd" * 2000),
        result("short", "x" * 3000),
        result("blocks", [
            {"type": "text", "text": "y" * 50_000},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
            {"type": "text", "text": "tail id=9"},
        ]),
        result("none", None),
        result("empty", ""),
        message("picture", [
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
            {"type": "text", "text": "what is wrong here?"},
        ]),
        message("odd", [{"type": "audio", "source": {"type": "base64", "media_type": "x", "data": "not base64!"}}]),
        message("loose", [{"type": "image", "source": {"type": "base64", "media_type": "x", "data": "QUJD\n"}}]),
        message("url", [{"type": "image", "source": {"type": "url", "url": "https://example.com/" + "p" * 4000}}]),
        message("data", [{"type": "image", "source": {"type": "url", "url": "data:image/png;base64," + PNG}}]),
        message("plain", "u" * 20_000),
        message("call", [{"type": "tool_use", "id": "1", "name": "f", "input": {"$file": "x", "text": "z" * 9000}}]),
        message("thought", [{"type": "thinking", "thinking": "t" * 9000, "signature": "s1"}]),
    ]  # fmt: skip
    given_copy = deepcopy(messages)
    journal.append(records(*messages))
    assert messages == given_copy, "what the caller holds is not touched"
    assert [line.msg for line in journal.read(expand=True)] == messages
    assert [line.msg for line in journal.tail(3, expand=True)] == messages[-3:]
    short = {line.id: line.msg for line in journal.read()}
    raw = (vault.root / journal.path).read_text()
    assert PNG[:100] not in raw
    assert "y" * 3001 not in raw
    pointer = {"$file": pointers_in(short["long"])[0], "as": "text", "size": 10_000, "lines": 1000}
    preview = short["long"]["content"][0]["output"].pop("preview")
    assert short["long"]["content"][0]["output"] == pointer
    head, tail = preview.split("\n…\n")
    long = messages[[one["id"] for one in messages].index("long")]["content"][0]["output"]
    assert long.startswith(head)
    assert long.endswith(tail)
    assert 1_500 < len(preview) < 2_000
    assert short["short"] == messages[2]
    assert short["plain"] == messages[11]
    assert pointers_in(short["picture"])[0].endswith(".png")
    assert vault.read_sync(pointers_in(short["long"])[0], 1, 1).text == "行 line\r\n"
    assert (vault.root / pointers_in(short["picture"])[0]).read_bytes() == base64.b64decode(PNG)
    assert len(files(vault)) == 5  # long, nul, blocks' text, the picture once, the data URL


def test_the_same_data_is_kept_once_and_other_data_never_shares_its_file(vault: Vault) -> None:
    first = vault.store_result_sync("x" * 5000)
    again = vault.store_result_sync("x" * 5000)
    assert first == again
    assert (first.size, first.lines) == (5000, 1)
    (vault.root / first.path).write_text("something else took the name")
    other = vault.store_result_sync("x" * 5000)
    assert other.path != first.path
    assert (vault.root / other.path).read_text() == "x" * 5000
    assert (vault.root / first.path).read_text() == "something else took the name"
    assert vault.store_result_sync(b"\x00\xff", ".PNG").path.endswith(".png")
    assert vault.store_result_sync(b"\x00", "../../etc/x").path.startswith("session/tool_result/")
    assert vault.store_result_sync("a\nb").lines == 2
    assert vault.store_result_sync("").size == 0


def test_a_missing_or_altered_file_leaves_the_pointer(vault: Vault) -> None:
    journal = vault.journal("s")
    journal.append(records(result("a", "a" * 4000), result("b", "b" * 4000)))
    path_a, path_b = (pointers_in(line.msg)[0] for line in journal.read())
    (vault.root / path_a).unlink()
    (vault.root / path_b).write_text("altered")
    for line in journal.read(expand=True):
        assert pointers_in(line.msg) in ([path_a], [path_b])


def test_a_message_that_speaks_of_pointers_needs_no_folder(vault: Vault) -> None:
    journal = vault.journal("s")
    said = message("m", [{"type": "tool_use", "id": "1", "name": "f", "input": {"$file": "x"}}])
    assert journal.append(records(said)) == 1
    assert journal.read(expand=True)[0].msg == said


@pytest.mark.parametrize(
    "forged",
    [
        {"$file": "session/dialog/other.jsonl", "as": "text"},
        {"$file": "../secret.md", "as": "text"},
        {"$file": "session/tool_result/../../MEMORY.md", "as": "text"},
        {"$literal": {"$file": "x"}},
        {"$literal": 1},
    ],
)
def test_a_message_cannot_forge_a_pointer(vault: Vault, forged: dict[str, Any]) -> None:
    vault.write_sync("MEMORY.md", "SECRET\n")
    vault.journal("other").append(records(message("m", "SECRET")))
    kept = vault.store_result_sync("SECRET" * 1000)
    journal = vault.journal("s")
    for number, value in enumerate((forged, {"$file": kept.path, "as": "text"})):
        journal.append(records(result(f"m{number}", value)))
        assert journal.read(expand=True)[-1].msg == result(f"m{number}", value)
        assert "SECRET" not in json.dumps(journal.read(expand=True)[-1].msg)


def test_a_forged_line_in_the_file_opens_nothing_else(vault: Vault) -> None:
    vault.write_sync("MEMORY.md", "SECRET\n")
    journal = vault.journal("s")
    journal.append(records(message("m1", "a")))
    for path in ("MEMORY.md", "../../etc/passwd", "session/tool_result/../../MEMORY.md", "session/dialog/s.jsonl"):
        line = {"id": path, "seq": 9, "msg": result(path, {"$file": path, "as": "text"})}
        with (vault.root / journal.path).open("a") as file:
            file.write(json.dumps(line) + "\n")
    assert "SECRET" not in json.dumps([line.msg for line in journal.read(expand=True)])


def test_what_a_line_points_to_is_durable_before_the_line(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    replace, append = Storage.replace, Storage.append
    monkeypatch.setattr(Storage, "replace", lambda s, path, *a, **k: (order.append(path), replace(s, path, *a, **k))[1])
    monkeypatch.setattr(Storage, "append", lambda s, path, data: (order.append(path), append(s, path, data))[1])
    vault.journal("s").append(records(result("a", "a" * 4000), message("b", "b"), result("c", "c" * 4000)))
    assert [path.rpartition("/")[0] for path in order] == [
        "session/tool_result",
        "session/tool_result",
        "session/dialog",
    ]


def test_a_full_disk_adds_no_line_and_says_so(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = vault.journal("s")
    journal.append(records(message("m1", "a")))

    def full(self: Storage, path: str, data: bytes, **kwargs: Any) -> str:
        raise NoteError(f"{path}: the disk is full; nothing was changed", path)

    with monkeypatch.context() as patch:
        patch.setattr(Storage, "replace", full)
        with pytest.raises(NoteError, match="disk is full"):
            journal.append(records(message("m2", "b"), result("m3", "c" * 4000)))
    assert journal.ids() == {"m1"}
    assert journal.append(records(message("m2", "b"), result("m3", "c" * 4000))) == 2


# --- any value, any id, any time ----------------------------------------------------------------------------------


def test_values_that_are_no_json_do_not_stop_a_journal(vault: Vault) -> None:
    odd = message("m1", [{"type": "text", "text": "你好\udce4"}], metadata={
        "when": datetime(2026, 3, 16), "p": Path("a"), "s": {1}, "n": float("nan"), "span": timedelta(1),
    })  # fmt: skip
    journal = vault.journal("s")
    assert journal.append(records(odd)) == 1
    assert journal.append(records(odd)) == 0
    raw = (vault.root / journal.path).read_text()
    assert "NaN" not in raw
    assert journal.read()[0].msg["metadata"] == {
        "when": "2026-03-16T00:00:00", "p": "a", "s": [1], "n": None, "span": 86400.0,
    }  # fmt: skip


def test_messages_without_an_id_are_told_apart_by_content(vault: Vault) -> None:
    journal = vault.journal("s")
    bare = [{"role": "user", "name": "u", "content": text} for text in ("a", "b", "a")]
    assert journal.append(records(*bare)) == 2
    assert journal.append(records(*bare)) == 0


@pytest.mark.parametrize(
    "session", ["../../etc/x", "CON", "a/b", "A", "a", "会话", "x" * 500, "a\x00", "", ".hidden", "a~b"]
)
def test_any_session_id_has_a_journal_of_its_own(vault: Vault, session: str) -> None:
    vault.journal("a").append(records(message("other", "x")))
    journal = vault.journal(session)
    journal.append(records(message("m1", session)))
    assert (vault.root / journal.path).parent == vault.root / "session" / "dialog"
    assert "m1" in vault.journal(session).ids()
    assert len(list((vault.root / "session" / "dialog").iterdir())) == (1 if session == "a" else 2)


def test_order_is_kept_when_the_clock_goes_back(tmp_path: Path) -> None:
    times = iter(datetime(2026, 3, day, tzinfo=UTC) for day in (16, 15, 14))
    vault = Vault(tmp_path, clock=lambda: next(times))
    for number in range(3):
        vault.journal("s").append(records(message(f"m{number}", "x")))
    lines = vault.journal("s").read()
    assert [line.seq for line in lines] == [1, 2, 3]
    assert [line.left_at[:10] for line in lines] == ["2026-03-16", "2026-03-15", "2026-03-14"]


def test_dropped_messages_are_gone_and_what_they_pointed_to_is_named(vault: Vault) -> None:
    journal = vault.journal("s")
    journal.append(records(message("m1", "a"), result("m2", "b" * 4000), message("m3", "c")))
    pointer = pointers_in(journal.read()[1].msg)
    assert journal.drop(["m2", "unknown"]) == pointer
    assert b"m2" not in (vault.root / journal.path).read_bytes()
    assert [line.id for line in journal.read()] == ["m1", "m3"]
    assert journal.drop(["m2"]) == []
    assert journal.append(records(message("m4", "d"))) == 1
    assert [line.seq for line in journal.read()] == [1, 3, 4]
    assert vault.journal("none").drop(["x"]) == []


def test_listeners_hear_of_journal_lines(vault: Vault) -> None:
    heard: list[tuple[str, str]] = []
    vault.subscribe(lambda path, kind: heard.append((path, kind)))
    for text in ("a", "a", "b"):
        vault.journal("s").append(records(message(text, text)))
    assert heard == [("session/dialog/s.jsonl", "created"), ("session/dialog/s.jsonl", "changed")]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
blocks = st.one_of(
    st.fixed_dictionaries({"type": st.just("text"), "text": st.text(max_size=20)}),
    st.fixed_dictionaries({"type": st.just("tool_result"), "id": st.text(max_size=3), "output": json_values}),
    st.fixed_dictionaries({"type": st.just("tool_result"), "output": st.just("长" * 2000)}),
    st.fixed_dictionaries({"type": st.text(max_size=4), "source": json_values}),
    json_values,
)


@given(st.lists(st.one_of(st.text(max_size=10), st.lists(blocks, max_size=4), json_values), min_size=1, max_size=4))
def test_what_went_in_comes_out(tmp_path_factory: pytest.TempPathFactory, contents: list[Any]) -> None:
    journal = Vault(tmp_path_factory.mktemp("vault")).journal("s")
    messages = [message(f"m{number}", content) for number, content in enumerate(contents)]
    assert journal.append(records(*messages)) == len(messages)
    assert journal.append(records(*messages)) == 0
    assert [line.msg for line in journal.read(expand=True)] == messages


def test_a_damaged_journal_is_reported_by_number_not_by_noise(vault: Vault, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    journal = vault.journal("s")
    journal.append(records(message("m1", "a")))
    with (vault.root / journal.path).open("ab") as file:
        file.write(b"garbage\n" * 500)
    journal.read()
    assert journal.bad_lines == 500
    assert len(caplog.records) <= 2


# --- long sessions --------------------------------------------------------------------------------------------------


def test_each_message_is_known_over_restarts_however_long_the_journal(vault: Vault) -> None:
    messages = [message(f"m{n}", f"word {n % 7} " * (n % 50)) for n in range(3_000)]
    assert vault.journal("s").append(records(*messages)) == 3_000
    fresh = Vault(vault.root).journal("s")
    assert fresh.append(records(*messages)) == 0
    changed = [message(f"m{n}", "now another") for n in range(0, 3_000, 500)]
    assert fresh.append(records(*changed, *messages[:10])) == 6
    assert vault.journal("s").append(records(*changed)) == 0
    assert fresh.count() == 3_006


def test_what_a_journal_keeps_in_memory_is_a_few_bytes_a_line(vault: Vault) -> None:
    tracemalloc.start()
    try:
        journal = vault.journal("s")
        held = []
        for start in (0, 4_000):
            journal.append(
                records(*(message(f"message-with-a-long-id-{n}", "x" * 300) for n in range(start, start + 4_000)))
            )
            held.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    assert held[1] - held[0] < 4_000 * 64


def test_two_messages_with_one_key_are_both_journalled(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentscope_reme.vault.dialog.seen_key", lambda name, digest: 7)
    journal = vault.journal("s")
    assert journal.append(records(message("m1", "a"), message("m2", "b"))) == 2
    assert journal.append(records(message("m1", "a"))) == 0
    assert journal.append(records(message("m3", "c"))) == 1
    assert journal.ids() == {"m1", "m2", "m3"}


def test_some_messages_are_found_near_the_end_and_far_from_it(vault: Vault) -> None:
    journal = vault.journal("s")
    assert journal.find(["m1"]) == []
    journal.append(records(*(message(f"m{n}", str(n)) for n in range(1_000))))
    journal.append(records(message("m3", "later")))
    assert [line.msg["content"] for line in journal.find(["m999", "m998"])] == ["998", "999"]
    assert [line.msg["content"] for line in journal.find(["m3", "m0", "gone"])] == ["0", "later"]


def test_messages_that_are_not_in_the_journal_are_looked_for_in_memory(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = vault.journal("s")
    journal.append(records(*(message(f"m{n}", str(n)) for n in range(300))))
    assert journal.find(["new"]) == []
    monkeypatch.setattr(Journal, "lines", lambda self, expand=False: pytest.fail("the journal was read"))
    assert journal.find([f"new{n}" for n in range(9)]) == []
    journal.append(records(message("new1", "a")))
    assert [line.id for line in journal.find(["new1", "new2", "m299"])] == ["m299", "new1"]
    monkeypatch.undo()
    # Also what others wrote, lines without their end, and what is far away.
    other = Vault(vault.root).journal("s")
    other.append(records(message("theirs", "b"), *(message(f"n{n}", str(n)) for n in range(300))))
    with (vault.root / journal.path).open("ab") as file:
        file.write(json.dumps({"id": "loose", "seq": 1, "msg": message("loose", "c")}).encode())
    assert [line.id for line in journal.find(["theirs", "m5", "loose", "nobody"])] == ["m5", "theirs", "loose"]
    journal.drop(["m5"])
    assert [line.id for line in journal.find(["theirs", "m5", "loose"])] == ["theirs", "loose"]
