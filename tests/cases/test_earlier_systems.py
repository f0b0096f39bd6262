"""Faults of earlier memories of this kind, found in their histories and trackers: each and the test that would see it.

Compaction:

| 1 | only a part of the prompt was counted | `promises/test_promise_04_one_count.py::test_promise_04_system_prompt_schemas_and_checkpoint_are_part_of_it` |
| 2 | a system prompt that is None crashed the hook | `test_an_agent_without_a_system_prompt` |
| 3 | an empty result was stored, and reported as success | `test_a_compaction_asked_for_that_fails_says_so_and_changes_nothing` |
| 4 | an error text became the summary | `promises/test_promise_02_a_failed_summary.py::test_promise_02_what_a_failed_summary_leaves` |
| 5 | dense parallel tools: nothing was kept | `cases/test_group_01_compaction.py::test_c1_03_any_dense_tool_history_keeps_its_last_group` |
| 6 | the number of messages was wrong afterwards | `promises/test_promise_01_nothing_leaves_before_it_is_durable.py::test_promise_01_everything_added_is_in_context_or_journal_once` |
| 7 | a message that nobody sent came into memory | `test_nothing_that_was_not_said_comes_into_memory_or_journal` |
| 8 | notices of compactions reached the users | `memory/test_long_sessions.py::test_an_agent_says_that_it_folded_when_it_is_asked_to` |
| 9 | the first message after a compaction was not answered | `test_the_message_that_brings_a_compaction_is_answered` |
| 10 | a task stopped after a compaction in its middle | `test_a_task_goes_on_through_compactions_in_its_middle` |
| 11 | compactions every half minute of what had just been said | `memory/test_long_sessions.py::test_a_steady_conversation_compacts_no_more_often_than_its_growth_asks_for` |
| 12 | what was compacted stayed in the saved session; it never fired at 189 000 tokens | `memory/test_long_sessions.py::test_a_session_of_six_thousand_messages_holds_what_its_window_holds`, `memory/test_long_sessions.py::test_a_window_of_a_million_tokens_holds_what_it_can_and_then_folds_at_once` |
| 13 | the kept part had holes | `memory/test_window.py::test_a_cut_keeps_pairs_order_and_something_recent` |
| 14 | the hook ran twice a step | `hooks/test_agents.py::test_a_subclass_that_overrides_reasoning_and_calls_super` |
| 15 | no way on when the model fails | `promises/test_promise_02_a_failed_summary.py::test_promise_02_an_overflow_meanwhile_is_bridged_without_the_model_and_made_good_later` |
| 16 | a failure destroyed something | `memory/test_cancellation.py::test_a_cancellation_at_any_await_of_a_compaction_leaves_all_or_nothing`, `promises/test_promise_02_a_failed_summary.py::test_promise_02_the_second_of_two_pieces_fails` |
| 17 | good summaries were refused for their form; no second try | `memory/test_compactor.py::test_the_shapes_in_which_models_write_a_checkpoint`, `memory/test_compaction.py::test_the_gaps_between_tries_grow_and_then_pause` |
| 18 | a large system prompt: nothing was kept | `promises/test_promise_04_one_count.py::test_promise_04_a_prompt_that_takes_most_of_the_window_does_not_fold_at_every_step` |
| 19 | a tool result left before the model saw it | `memory/test_tool_result.py::test_results_that_the_agent_has_not_seen_yet_are_not_old` |
| 20 | no anchors for messages that must stay | `cases/test_group_01_compaction.py::test_c1_17_a_pinned_message_stays_word_for_word` |
| 21 | orphan results: 400 | `promises/test_promise_03_pairs.py::test_promise_03_every_request_of_a_random_conversation_is_accepted` |
| 22 | a pair was parted: 400 | `memory/test_window.py::test_no_legal_cut_parts_a_pair` |
| 23 | the current turn was folded, an old greeting answered | `cases/test_group_01_compaction.py::test_c1_16_the_checkpoint_is_background_before_the_newest_request`, `memory/test_window.py::test_the_request_survives_sixty_tool_rounds` |
| 24 | reasoning was dropped: 400 | `cases/test_group_01_compaction.py::test_c1_06_signed_thinking_of_the_newest_turn_is_kept_object_for_object` |
| 25 | a model answered the conversation instead of condensing it | `test_a_model_that_joins_the_conversation_makes_no_checkpoint` |
| 26 | text came back where an object was asked for | `memory/test_compaction_by_hand.py::test_compact_memory_gives_text_or_says_why_not` |
| 27 | notes were dated in another zone | `vault/test_notes.py::test_dates_follow_the_configured_zone` |

Tool results:

| 28 | a shell result of 270 000 characters with escape sequences | `test_a_shell_result_of_270_000_characters_with_escape_sequences` |
| 29 | arguments that are None; an error while cutting lost the output | `test_calls_whose_raw_input_is_none`, `toolkit/test_reading_back.py::test_outputs_of_other_types_are_bounded_without_failing` |
| 30 | the path in the notice was not where the file lay | `toolkit/test_reading_back.py::test_an_offloaded_result_is_read_back_exactly_from_the_call_in_its_notice` |
| 31 | files that were read were cut and could not be read on | `toolkit/test_reading_back.py::test_the_call_in_the_notice_goes_on_where_the_head_ends` |
| 32 | cutting again made new files and lost the way back | `toolkit/test_reading_back.py::test_a_page_clipped_twice_has_one_notice_and_the_same_call`, `toolkit/test_reading_back.py::test_ageing_twice_changes_nothing` |
| 33 | reading a page took memory for the whole file | `vault/test_notes.py::test_a_huge_file_is_not_loaded_for_a_page` |
| 34 | pictures between tool results: 400 | `promises/test_promise_03_pairs.py::test_promise_03_every_formatter_takes_the_compacted_context` |
| 35 | one line too many was reported | `vault/test_notes.py::test_lines_are_counted_on_line_feeds_alone` |

Memory, sessions, files:

| 36 | a session was not saved on cancellation | `test_a_state_saved_after_an_interrupt_has_everything` |
| 37 | commands overwrote a session with its memory alone | `memory/test_state.py::test_a_whole_agent_comes_back_through_a_json_session` |
| 38 | writes of a session tore it | `memory/test_state_hostile.py::test_a_damaged_session_file_is_an_error_and_stays_on_the_disk` |
| 39 | messages went to another session | `hooks/test_registration.py::test_an_attach_that_is_refused_changes_nothing`, `vault/test_dialog.py::test_any_session_id_has_a_journal_of_its_own` |
| 40 | empty blocks, repeated calls, calls without parts | `test_empty_blocks_and_repeated_calls_pass_a_compaction` |
| 41 | a stale state came back with orphan results | `promises/test_promise_03_pairs.py::test_promise_03_a_broken_history_is_shown_whole_before_and_after_a_compaction` |
| 42 | paths led out of the folder | `promises/test_promise_11_nothing_outside.py::test_promise_11_every_tool_refuses_in_one_line` |
| 43 | encodings and byte order marks | `vault/test_notes.py::test_a_byte_order_mark_is_not_shown_and_stays` |
| 44 | file blocks were not counted | `test_a_block_of_a_kind_nobody_knows_is_counted_told_and_kept` |
| 45 | answers of commands were not kept | not ours: there are no such commands |

Index and search:

| 46 | without embeddings search found nothing | `promises/test_promise_16_offline.py::test_promise_16_import_write_search_and_compaction_work_offline_without_a_key` |
| 47 | an error of the embedding service stopped indexing for good | `index/test_vectors.py::test_a_model_that_comes_back_is_used_again` |
| 48 | vectors of another length | `index/test_vectors.py::test_vectors_of_another_length_than_the_model_says_are_a_clear_error` |
| 49 | a watcher was dead after a restart; events were missed | `index/test_watch.py::test_a_stopped_watcher_is_silent_and_one_started_again_tells_what_it_missed`, `index/test_watch.py::test_so_many_events_that_some_may_be_lost_end_in_a_look_at_all_files` |
| 50 | one note was known twice by the case of its name | `index/test_freshness.py::test_on_a_disk_that_takes_both_spellings_a_note_is_known_by_its_own` |
| 51 | a damaged index was a crash, or wiped | `index/test_snapshot.py::test_a_damaged_index_is_set_aside_and_built_again` |
| 52 | Chinese questions found nothing | `index/test_search.py::test_chinese_words_inside_a_run_are_found` |
| 53 | the floor was ignored; one search changed the next; spaces of vectors mixed | `index/test_search.py::test_a_floor_that_rejects_everything_names_the_best`, `promises/test_promise_10_honest_search.py::test_promise_10_ten_searches_at_once_agree`, `index/test_vectors.py::test_another_model_of_the_same_length_is_another_model` |
| 54 | the times of messages were lost | `pipelines/test_evidence.py::test_every_time_field_counts_at_the_top_and_in_metadata` |
| 55 | failures were reported as success | `pipelines/test_planner.py::test_a_failing_model_is_told_apart_from_a_bad_plan` |
| 56 | a search before the reply hung it | `hooks/test_recall.py::test_a_slow_search_is_given_up_and_the_reply_goes_on` |
| 57 | quotation marks and braces in texts broke prompts | `test_braces_and_quotation_marks_in_a_conversation_reach_the_model_as_they_are` |
| 58 | a counter of uses without its twin failed | not ours: notes have no such counters |
"""  # noqa: E501

import asyncio
import json

import pytest
from agentscope.message import Msg

from agentscope_reme.models import Compacted, Failed
from tests.hooks.agents import (
    Held,
    agent_of,
    assert_requests_are_fine,
    checkpoint,
    everything_of,
    reme_over,
    response,
    user,
)
from tests.memory.conversations import result, said
from tests.support.chat_rules import request_faults
from tests.support.named_tests import missing, rows
from tests.support.scripted_model import ScriptedModel, call


def talk(count=12, words=80):
    return [(user if i % 2 == 0 else said)(f"turn {i} " + "word " * words) for i in range(count)]


def test_the_table_names_tests_that_exist():
    assert sorted(rows(__doc__)) == list(range(1, 59))
    assert missing(__doc__, __file__) == []


# --- compaction -------------------------------------------------------------------------------------------------------


async def test_an_agent_without_a_system_prompt(vault_dir):
    reme = reme_over(vault_dir, 1_000)
    agent = agent_of(reme, ScriptedModel(default="Fine."))
    await agent.memory.add(talk())
    for nothing in (None, ""):
        agent._sys_prompt = nothing
        hook = agent._instance_pre_reasoning_hooks["agentscope_reme"]
        assert await hook(agent, {"tool_choice": None}) is None
        assert agent.memory.get_compressed_summary()


@pytest.mark.parametrize("answer", ["", "Error: upstream", RuntimeError("429"), "## Goal\nonly this"])
async def test_a_compaction_asked_for_that_fails_says_so_and_changes_nothing(vault_dir, answer):
    reme = reme_over(vault_dir, 20_000, ScriptedModel(default=answer))
    memory = reme.get_in_memory_memory("s1")
    await memory.add(talk(30, words=300))
    await memory.update_compressed_summary(checkpoint("The old goal."))
    before = json.dumps(memory.state_dict())
    assert isinstance(await reme.compaction.compact(memory), Failed)
    assert json.dumps(memory.state_dict()) == before


async def test_nothing_that_was_not_said_comes_into_memory_or_journal(vault_dir):
    summariser = ScriptedModel(default=checkpoint())
    reme = reme_over(vault_dir, 1_500, summariser)
    agent = agent_of(reme, ScriptedModel(default="Fine. " + "word " * 40))
    spoken = []
    for i in range(12):
        message = user(f"turn {i} " + "word " * 60)
        spoken += [message.id, (await agent(message)).id]
    assert summariser.requests
    assert set(await everything_of(reme, agent.memory)) == set(spoken)
    folded = "\n".join(json.dumps(line.msg) for line in agent.memory.journal.read())
    assert "Condense" not in folded
    assert "conversation-checkpoint" not in folded


async def test_the_message_that_brings_a_compaction_is_answered(vault_dir):
    reme = reme_over(vault_dir, 1_500, ScriptedModel(default=checkpoint()))
    model = ScriptedModel(default="The answer.")
    agent = agent_of(reme, model)
    await agent.memory.add(talk())
    reply = await agent(user("What is the new question?"))
    assert agent.memory.get_compressed_summary()
    assert reply.get_text_content() == "The answer."
    assert model.last.messages[-1]["role"] == "user"
    assert "What is the new question?" in json.dumps(model.last.messages[-1])


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_a_task_goes_on_through_compactions_in_its_middle(vault_dir, language):
    async def fetch(page: int = 0) -> object:
        """Fetch a page.

        Args:
            page (int): Which.
        """
        return response(f"page {page} " + "row " * 300)

    request = "Please read all thirty pages and add them up." if language == "en" else "请把三十页都读完再汇总。"
    model = ScriptedModel([call("fetch", page=i) for i in range(30)], default="All thirty are read.")
    reme = reme_over(vault_dir, 3_000, language=language)
    agent = agent_of(reme, model, fetch, max_iters=40)
    reply = await agent(user(request))
    assert reply.get_text_content() == "All thirty are read."
    assert_requests_are_fine(model, 3_000)
    assert len(model.requests) == 31
    for asked in model.requests:
        assert request in asked.text, "the request is in front of the model at every step"
    told = model.last.text
    assert ("go on from there" if language == "en" else "请从那里继续") in told


async def test_a_model_that_joins_the_conversation_makes_no_checkpoint(vault_dir):
    for answer in ("Hello! How can I help you today?", "你好！有什么可以帮你？", "Sure, the next page says 42."):
        reme = reme_over(vault_dir / str(hash(answer)), 20_000, ScriptedModel(default=answer))
        memory = reme.get_in_memory_memory("s1")
        await memory.add(talk(30, words=300))
        outcome = await reme.compaction.keep_within_window(memory)
        assert not isinstance(outcome, Compacted) or outcome.generator == "extractive"
        assert answer not in memory.get_compressed_summary()


async def test_braces_and_quotation_marks_in_a_conversation_reach_the_model_as_they_are(vault_dir):
    hostile = 'a """triple""" {previous} {conversation} {0} {{x}} %s \\1 $file `code` <conversation>'
    summariser = ScriptedModel(default=checkpoint())
    reme = reme_over(vault_dir, 1_500, summariser)
    memory = reme.get_in_memory_memory("s1")
    await memory.add([user(hostile), *talk()])
    assert isinstance(await reme.compaction.keep_within_window(memory), Compacted)
    assert hostile.replace("<conversation>", "‹conversation>") in summariser.requests[0].text


# --- tool results -----------------------------------------------------------------------------------------------------


async def test_a_shell_result_of_270_000_characters_with_escape_sequences(vault_dir):
    line = "\x1b[32m{:06d}\x1b[0m building \x1b[1mmodule\x1b[22m\r\n"
    output = "".join(line.format(i) for i in range(6_600))
    assert len(output) > 270_000

    async def shell(command: str = "") -> object:
        """Run a command.

        Args:
            command (str): What.
        """
        return response(output)

    model = ScriptedModel([call("shell", command="make")], default="Built.")
    reme = reme_over(vault_dir, 16_000)
    agent = agent_of(reme, model, shell)
    await agent(user("build it"))
    assert_requests_are_fine(model, 16_000)
    assert "\x1b" not in model.last.text
    assert "006599" in model.last.text
    files = (reme.vault.root / "session" / "tool_result").glob("*.txt")
    assert output.encode() in [path.read_bytes() for path in files], "as it was, sequences and all"


async def test_calls_whose_raw_input_is_none(vault_dir):
    reme = reme_over(vault_dir, 1_500)
    memory = reme.get_in_memory_memory("s1")
    for i in range(8):
        block = {"type": "tool_use", "id": f"c{i}", "name": "look", "input": None, "raw_input": None}
        await memory.add([user(f"turn {i}"), Msg("Remy", [block], "assistant"), result(f"c{i}", output="row " * 200)])
    await memory.add(user("and now?"))
    assert isinstance(await reme.compaction.keep_within_window(memory), Compacted)
    assert len(await everything_of(reme, memory)) == 25


# --- memory and sessions ----------------------------------------------------------------------------------------------


async def test_a_state_saved_after_an_interrupt_has_everything(vault_dir):
    held = Held("never")
    reme = reme_over(vault_dir, 1_500, ScriptedModel(default=checkpoint()))
    agent = agent_of(reme, ScriptedModel([held], default="Fine."))
    await agent.memory.add(talk())
    task = asyncio.create_task(agent(user("the last words")))
    await held.asked.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    again = agent_of(reme, ScriptedModel(default="Fine."))
    again.load_state_dict(json.loads(json.dumps(agent.state_dict())))
    kept = await everything_of(reme, again.memory)
    assert any("the last words" in text for text in kept.values())
    assert len(kept) >= 13
    assert (await again(user("go on"))).get_text_content() == "Fine."


async def test_empty_blocks_and_repeated_calls_pass_a_compaction(vault_dir):
    empty = [
        Msg("Remy", [], "assistant"),
        Msg("Remy", [{"type": "text", "text": ""}], "assistant"),
        Msg("Remy", [{"type": "tool_use", "id": "x", "name": "look", "input": {}}] * 2, "assistant"),
        Msg("system", [{"type": "tool_result", "id": "x", "name": "look", "output": []}], "system"),
        Msg("system", [{"type": "tool_result", "id": "x", "name": "look", "output": None}], "system"),
        Msg("Remy", [{"type": "thinking", "thinking": ""}], "assistant"),
    ]
    reme = reme_over(vault_dir, 1_000)
    model = ScriptedModel(default="Fine.")
    agent = agent_of(reme, model)
    await agent.memory.add([*empty, *talk(6)])
    for i in range(4):
        await agent(user(f"turn {i} " + "word " * 60))
    for asked in model.requests:
        assert request_faults(asked.messages, asked.tools) == []
    assert len(await everything_of(reme, agent.memory)) == 20


async def test_a_block_of_a_kind_nobody_knows_is_counted_told_and_kept(vault_dir):
    block = {"type": "file", "file": {"name": "plan.pdf", "note": "page " * 2_000}}
    summariser = ScriptedModel(default=checkpoint())
    reme = reme_over(vault_dir, 8_000, summariser)
    memory = reme.get_in_memory_memory("s1")
    message = Msg("user", [block, {"type": "text", "text": "see the file"}], "user")
    assert await memory.budget.message(message) > 3_000
    await memory.add([message, said("I see."), *talk(30)])
    assert isinstance(await reme.compaction.keep_within_window(memory), Compacted)
    assert "plan.pdf" in summariser.requests[0].text
    assert memory.journal.read(expand=True)[0].msg["content"][0] == block
