"""The cut and the repair: pure functions on messages."""

from agentscope.message import Msg
from hypothesis import given
from hypothesis import strategies as st

from agentscope_reme.memory.window import cut, is_sound, legal_cuts, pairs, repaired, turn_opening

from .conversations import call_ids, calls, histories, result, result_ids, said, user


def entries(messages, marks=None):
    return [(message, list((marks or {}).get(i, []))) for i, message in enumerate(messages)]


def test_the_tail_moves_back_to_the_message_that_owns_the_calls():
    messages = [
        user("start"),
        calls("a", "b", "c"),
        *map(result, "abc"),
        calls("d", "e"),
        result("d"),
        result("e"),
    ]
    division = cut(entries(messages), [10] * len(messages), reserve=20)
    assert division.keep == [0, 5, 6, 7]
    assert division.pinned == [0]
    assert division.inside_turn


def test_a_turn_boundary_is_preferred_where_one_fits():
    messages = [user("one"), said("1"), said("1b"), user("two"), said("2"), said("2b")]
    division = cut(entries(messages), [10] * 6, reserve=40)
    assert division.keep == [3, 4, 5]
    assert not division.inside_turn


def test_the_request_survives_sixty_tool_rounds():
    messages = [user("the request")]
    for i in range(60):
        messages += [calls(f"c{i}"), result(f"c{i}")]
    division = cut(entries(messages), [50] * len(messages), reserve=400)
    assert messages[division.keep[0]].content == "the request"
    assert division.keep[1:] == list(range(len(messages) - 8, len(messages)))
    assert division.fold


def test_several_user_messages_that_open_one_turn_stay_together():
    messages = [
        user("old"),
        said("ok"),
        user("part one"),
        user("part two"),
        calls("a"),
        result("a"),
        calls("b"),
        result("b"),
    ]
    assert turn_opening(entries(messages)) == [2, 3]
    assert cut(entries(messages), [10] * 8, reserve=20).pinned == [2, 3]


def test_standing_instructions_and_hints_are_never_folded():
    messages = [Msg("system", "Never touch prod.", "system"), user("a"), said("b"), user("hint"), user("c"), said("d")]
    division = cut(entries(messages, {3: ["hint"]}), [10] * 6, reserve=10)
    assert division.fold == [1, 2]
    assert {0, 3} <= set(division.keep)


def test_injected_text_does_not_open_a_turn():
    messages = [user("the request"), Msg("long_term_memory", "recalled", "user"), user("recalled too"), said("x")]
    assert turn_opening(entries(messages, {2: ["recall"]})) == [0]


def test_ids_that_come_back_pair_with_the_latest_call():
    messages = [calls("a"), user("again"), calls("a"), result("a")]
    assert pairs(messages) == [(2, 3)]
    shown = repaired(messages)
    assert [call_ids(m) or result_ids(m) for m in shown] == [["a"], ["a"], [], ["a"], ["a"]]
    assert shown[-1] is messages[-1]
    assert "interrupted" in str(shown[1].content)


@given(histories, st.integers(0, 120), st.data())
def test_a_cut_keeps_pairs_order_and_something_recent(messages, reserve, data):
    costs = data.draw(st.lists(st.integers(1, 60), min_size=len(messages), max_size=len(messages)))
    division = cut(entries(messages), costs, reserve)
    assert sorted([*division.fold, *division.keep]) == list(range(len(messages)))
    kept, folded = set(division.keep), set(division.fold)
    for call, answer in pairs(messages):
        assert (call in kept) == (answer in kept)
    if messages:
        assert division.keep
        opening = turn_opening(entries(messages))
        assert set(opening[-1:]) <= kept
    # What is kept beside pinned and standing messages is one run up to the end.
    tail = [i for i in division.keep if i not in division.pinned and messages[i].role != "system"]
    assert not [i for i in folded if tail and i > tail[0]]


@given(histories)
def test_no_legal_cut_parts_a_pair(messages):
    legal = set(legal_cuts(messages))
    assert {0, len(messages)} <= legal
    for call, answer in pairs(messages):
        assert not any(call < start <= answer for start in legal)


@given(histories)
def test_a_repaired_history_is_one_every_provider_accepts(messages):
    before = [(m.id, str(m.content)) for m in messages]
    shown = repaired(messages)
    open_calls: list[str] = []
    for position, message in enumerate(shown):
        assert message.role != "assistant" or call_ids(message) or message.content
        answered = result_ids(message)
        assert all(one in open_calls for one in answered)
        open_calls = [one for one in open_calls if one not in answered]
        if not answered:
            assert not open_calls, "a call is answered before anything else is said"
            open_calls = call_ids(message)
        assert len(set(answered)) == len(answered), position
    assert is_sound(shown)
    assert [(m.id, str(m.content)) for m in messages] == before, "what is stored is not touched"
    assert [m.id for m in repaired(shown)] == [m.id for m in shown]
    words = [m.id for m in messages if not call_ids(m) and not result_ids(m) and m.content]
    assert [m.id for m in shown if m.id in set(words)] == words


def test_a_running_call_is_left_open():
    messages = [user("go"), calls("a", "b"), result("a")]
    assert repaired(messages) == messages


def test_a_last_call_that_is_over_is_closed_with_those_before_it():
    messages = [user("go"), calls("a", "b"), result("a")]
    assert [result_ids(m) for m in repaired(messages, over=True)] == [[], [], ["a"], ["b"]]
    assert is_sound(repaired(messages, over=True))


def test_a_dangling_call_behind_a_recovery_message_is_closed():
    messages = [user("go"), calls("a", "b"), result("b"), said("You interrupted me."), user("on")]
    shown = repaired(messages)
    assert [result_ids(m) for m in shown] == [[], [], ["b"], ["a"], [], []]
    assert shown[2] is messages[2]
    assert repaired(messages)[3].id == shown[3].id, "the closing message is the same every time"


def test_a_sound_history_is_passed_through_object_for_object():
    messages = [user("go"), calls("a", "b"), result("b"), result("a"), said("done")]
    assert all(one is other for one, other in zip(repaired(messages), messages, strict=True))
