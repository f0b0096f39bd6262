"""What counts as said by a user, and when it was said."""

from datetime import date, datetime, timedelta, timezone

import pytest

from agentscope_reme.pipelines.evidence import said_by_users, time_of

from .talk import message

SHANGHAI = timezone(timedelta(hours=8))
NOW = datetime(2026, 4, 1, 12, tzinfo=SHANGHAI)


def texts(*messages: dict) -> list[str]:
    return [said.text for said in said_by_users(messages, NOW)]


# --- What was said ----------------------------------------------------------------------------------------------------


def test_only_what_users_said_is_evidence() -> None:
    assert texts(
        message("said"),
        message("answered", role="assistant"),
        message("You are a helpful agent", role="system"),
        message(
            [{"type": "text", "text": "also said"}, {"type": "image", "source": {"type": "base64", "data": "QUJD"}}]
        ),
        message([{"type": "tool_result", "id": "x", "name": "t", "output": "secret"}], role="system"),
        message([{"type": "tool_result", "id": "x", "output": "secret"}, {"type": "text", "text": "caption"}]),
        message([{"type": "thinking", "thinking": "hm"}, {"type": "tool_use", "id": "x", "name": "t", "input": {}}]),
        message(None),
        message([]),
        message({"type": "text", "text": "no list"}),
        message(["a bare string"]),
        message("   \n"),
    ) == ["said", "also said"]


@pytest.mark.parametrize(
    "injected",
    [
        message("<long_term_memory>The user likes tea</long_term_memory>", name="long_term_memory"),
        message("The user likes tea", name="long_term_memory"),
        message("The user likes tea", marks=["recall"]),
        message("Go on with step 2", marks=["hint"]),
        message("The user likes tea", metadata={"marks": ["recall"]}),
        message("<system-hint>Now do the next step</system-hint>"),
        message("<conversation-checkpoint>\nold summary\n</conversation-checkpoint>"),
        message("<conversation-checkpoint>\nold summary that was cut off"),
        message("<system-info>Here is a summary of your previous work</system-info>"),
        message([{"type": "text", "text": text} for text in ("<retrieved_knowledge>a", "b</retrieved_knowledge>")]),
        message('<recalled-memory source="daily/2023-05-20/tea.md:3-3">\nThe user likes tea\n</recalled-memory>'),
        message('<vault-file path="daily/2023-05-20/tea.md" lines="1-1 of 9">\nThe user likes tea\n</vault-file>'),
    ],
    ids=range(12),
)  # fmt: skip
def test_what_was_injected_is_not(injected: dict) -> None:
    assert texts(injected, message("said")) == ["said"]


def test_a_message_that_left_the_context_is_evidence_still() -> None:
    assert texts(message("said", marks=["compressed"])) == ["said"]


def test_what_the_user_adds_to_an_injected_block_was_said() -> None:
    assert texts(message("before <system-reminder>x\ny</system-reminder> after")) == ["before   after"]


def test_characters_that_no_file_can_hold_are_replaced() -> None:
    assert texts(message("你好\udce4 😀 a\x00b")) == ["你好\ufffd 😀 a\ufffdb"]


def test_speakers_have_their_names() -> None:
    said = said_by_users([message("x", name="小王"), message("x", name=""), message("x", name="a: b\nc" * 20)], NOW)
    assert [one.speaker for one in said][:2] == ["小王", "user"]
    assert len(said[2].speaker) <= 40
    assert ":" not in said[2].speaker


def test_a_name_makes_no_link_on_a_card() -> None:
    (said,) = said_by_users([message("x", name="Mira [[MEMORY.md]]")], NOW)
    assert said.speaker == "Mira MEMORY.md"


# --- When it was said -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stamp", "day", "time"),
    [
        ("2023-05-24T10:02:00", "2023-05-24", "10:02"),
        ("2023-05-24 10:02:00.123", "2023-05-24", "10:02"),
        ("2023-05-24T10:02:00+08:00", "2023-05-24", "10:02"),
        ("2023-05-24T20:02:00Z", "2023-05-25", "04:02"),
        ("2023-05-24", "2023-05-24", ""),
        ("2023/05/24 10:02", "2023-05-24", "10:02"),
        ("1:56 pm on 8 May, 2023", "2023-05-08", "13:56"),
        ("12:05 am on 8 May, 2023", "2023-05-08", "00:05"),
        ("Wed, 24 May 2023 20:02:00 GMT", "2023-05-25", "04:02"),
        ("Wed, 24 May 2023 10:02:00 +0800", "2023-05-24", "10:02"),
        ("Wed May 24 10:02:00 2023", "2023-05-24", "10:02"),
        ("Wednesday, May 24, 2023 10:02 am", "2023-05-24", "10:02"),
        ("2023-05-24 20:02:00 UTC", "2023-05-25", "04:02"),
        ("2023-05-24T10:02:00+08:00[Asia/Shanghai]", "2023-05-24", "10:02"),
        ("20230524100200", "2023-05-24", "10:02"),
        ("2023年5月24日", "2023-05-24", ""),
        (1684893720, "2023-05-24", "10:02"),
        (1684893720.5, "2023-05-24", "10:02"),
        (1684893720000, "2023-05-24", "10:02"),
        ("1684893720", "2023-05-24", "10:02"),
        ("1684893720.123", "2023-05-24", "10:02"),
        (1684893720123456, "2023-05-24", "10:02"),
        (1684893720123456789, "2023-05-24", "10:02"),
        (datetime(2023, 5, 24, 10, 2), "2023-05-24", "10:02"),
        (date(2023, 5, 24), "2023-05-24", ""),
    ],
)
def test_times_are_read_in_many_notations(stamp: object, day: str, time: str) -> None:
    (said,) = said_by_users([message("x", None, created_at=stamp)], NOW)
    assert (said.day, said.time) == (day, time)


@pytest.mark.parametrize(
    "stamp",
    [
        *(None, "", "soon", 7, True, [], {}, float("nan"), "25:61", "2023-13-45", "0", -5, 1e300),
        *("0001-01-01T00:00:00Z", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00", "1969-12-31T23:59:59Z"),
        *("Wed, 99 May 2023 10:02:00 GMT", "Wed, 24 May 99999 10:02:00 GMT", datetime.min, datetime.max),
    ],
)
def test_an_unreadable_time_stays_unknown(stamp: object) -> None:
    (said,) = said_by_users([message("x", None, created_at=stamp)], NOW)
    assert (said.day, said.time, said.local_day) == ("", "", None)


@pytest.mark.parametrize(
    "field", ["created_at", "time_created", "createdAt", "timeCreated", "created_time", "timestamp"]
)
@pytest.mark.parametrize("inside", [False, True])
def test_every_time_field_counts_at_the_top_and_in_metadata(field: str, inside: bool) -> None:
    stamp = {field: "2023-05-24T10:02:00"}
    made = message("x", None, metadata=stamp) if inside else message("x", None, **stamp)
    assert time_of(made, NOW) == (datetime(2023, 5, 24, 10, 2), True)


def test_the_time_of_an_import_does_not_hide_the_time_of_the_talk() -> None:
    made = message("x", "2026-04-01 11:00:00", metadata={"createdAt": "2023-05-24T10:02:00"})
    assert time_of(made, NOW) == (datetime(2023, 5, 24, 10, 2), True)


def test_a_field_that_cannot_be_read_gives_way_to_the_next() -> None:
    assert time_of(message("x", "2023-05-24 10:02:00", created_at="?"), NOW) == (datetime(2023, 5, 24, 10, 2), True)


def test_a_time_in_the_future_is_unknown() -> None:
    assert time_of(message("x", "2026-04-02 11:00:00"), NOW) is not None  # clocks and zones differ by hours
    assert time_of(message("x", "2026-04-03 11:00:00"), NOW) is None
    assert time_of(message("x", "2099-01-01T00:00:00Z"), NOW) is None


def test_yesterday_is_counted_from_the_day_where_it_was_said() -> None:
    (said,) = said_by_users([message("x", "2023-05-24T23:30:00-05:00")], NOW)
    assert (said.day, said.time) == ("2023-05-25", "12:30")
    assert said.local_day == date(2023, 5, 24)


@pytest.mark.parametrize("stamp", ["2023-05-24T17:30:00Z", "2023-05-24 17:30:00+00:00", 1684949400, "1684949400000"])
def test_a_time_in_utc_does_not_say_where_it_was_yesterday(stamp: object) -> None:
    """At half past one in the night in Shanghai, stored in UTC: yesterday is the 24th there."""
    (said,) = said_by_users([message("x", None, created_at=stamp)], NOW)
    assert (said.day, said.time) == ("2023-05-25", "01:30")
    assert said.local_day == date(2023, 5, 25)
