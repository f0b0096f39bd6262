"""What AgentScope 1.x does that a memory can fall over: each trap and the test that steps into it.

| 1 | the hook is registered as a bare instance | `hooks/test_registration.py::test_the_hook_runs_however_it_is_registered` |
| 2 | a memory with a length is replaced while it is empty | `memory/test_in_memory.py::test_an_empty_memory_counts_as_one` |
| 3 | of parallel calls only the first fires acting hooks (1.0.19) | `hooks/test_agents.py::test_three_calls_at_once_are_all_bounded_and_all_answered` |
| 4 | an interrupt in sequential tools leaves calls without results | `hooks/test_agents.py::test_an_interrupt_in_sequential_tools_and_then_many_turns` |
| 5 | a stream breaks after a part of a call | `promises/test_promise_03_pairs.py::test_promise_03_a_stream_that_breaks_after_a_call` |
| 6 | the summary raises, is empty, is cancelled | `promises/test_promise_02_a_failed_summary.py::test_promise_02_what_a_failed_summary_leaves`, `memory/test_cancellation.py::test_a_cancellation_at_any_await_of_a_compaction_leaves_all_or_nothing` |
| 7 | hints are AgentScope's own | `hooks/test_agents.py::test_hints_are_neither_folded_nor_journalled_nor_moved` |
| 8 | a structured reply | `hooks/test_agents.py::test_a_structured_reply_after_compactions` |
| 9 | a plan notebook | `hooks/test_agents.py::test_a_plan_notebook_adds_its_hint_every_step` |
| 10 | a message hub broadcasts what has left again | `hooks/test_agents.py::test_a_rebroadcast_after_a_compaction_does_not_come_back` |
| 11 | states go through sessions, and from the stock memory and back | `memory/test_state.py::test_a_whole_agent_comes_back_through_a_json_session`, `memory/test_state.py::test_stock_to_ours_to_stock_keeps_every_message_and_mark` |
| 12 | a state shares its values with the memory | `hooks/test_agents.py::test_a_state_is_a_snapshot` |
| 13 | metadata that is no JSON | `hooks/test_agents.py::test_metadata_that_is_no_json_stops_neither_the_hook_nor_the_session` |
| 14 | `compression_config` is on as well | `hooks/test_agents.py::test_builtin_compression_beside_the_hook_is_warned_of_once_and_harmless` |
| 15 | the summary after the last iteration has no hook | `hooks/test_agents.py::test_the_summary_at_the_end_of_all_iterations_is_accepted` |
| 16 | retrieved knowledge and long-term memory are messages | `hooks/test_agents.py::test_text_that_agentscope_injects_is_not_the_users_request` |
| 17 | a subclass overrides `_reasoning` and calls the parent's | `hooks/test_agents.py::test_a_subclass_that_overrides_reasoning_and_calls_super` |
| 18 | every formatter takes the compacted prompt | `promises/test_promise_03_pairs.py::test_promise_03_every_formatter_takes_the_compacted_context` |
| 19 | base64 pictures in tool results | `hooks/test_agents.py::test_base64_pictures_in_tool_results_move_to_files_with_age` |
| 20 | two agents, or two replies, at once | `hooks/test_agents.py::test_two_agents_talk_at_once_over_one_vault`, `hooks/test_agents.py::test_two_replies_of_one_agent_at_once`, `memory/test_long_sessions.py::test_two_agents_on_one_session_at_once_share_a_journal_and_lose_nothing` |
| 21 | an agent is deep-copied | `hooks/test_registration.py::test_a_copied_agent_goes_its_own_way_over_the_same_vault` |
| 22 | attached twice; a toolkit that two agents share | `hooks/test_registration.py::test_attach_can_be_repeated`, `hooks/test_registration.py::test_the_middleware_is_installed_once_for_a_toolkit_that_two_agents_share` |
| 23 | a model sends arguments of wrong types, or hidden ones | `toolkit/test_arguments.py::test_numbers_and_flags_in_words_are_understood`, `toolkit/test_arguments.py::test_no_argument_points_a_tool_elsewhere` |
| 24 | OpenAI streams break from openai 3.25 on | `test_the_openai_that_is_installed_can_be_streamed_by_agentscope` |
| 25 | a session from before the plugin, with an open call | `hooks/test_agents.py::test_a_session_from_before_the_plugin_with_an_open_call_goes_on` |
| 26 | a hook that raises aborts the reply | `hooks/test_agents.py::test_every_exception_in_the_hook_ends_in_the_log` |
| 27 | a state module on the agent breaks older sessions | `hooks/test_registration.py::test_nothing_of_the_plugin_becomes_a_part_of_the_agents_state` |
| 28 | a session brings an old system prompt back | `test_nothing_is_added_to_the_system_prompt_of_an_agent` |
| 29 | a silent participant of a hub grows without a step of its own | `test_a_participant_that_only_listened_fits_its_window_when_it_speaks` |
"""  # noqa: E501

from importlib import metadata

import pytest
from packaging.requirements import Requirement

from tests.hooks.agents import agent_of, assert_requests_are_fine, checkpoint, reme_over, user
from tests.memory.conversations import said
from tests.support.named_tests import missing, rows
from tests.support.scripted_model import ScriptedModel


def test_the_table_names_tests_that_exist():
    assert sorted(rows(__doc__)) == list(range(1, 30))
    assert missing(__doc__, __file__) == []


def test_the_openai_that_is_installed_can_be_streamed_by_agentscope():
    """AgentScope asks a delta for ``audio`` and looks into it; from 3.25 on the field is there and None."""
    declared = [Requirement(one) for one in metadata.requires("agentscope-reme") or () if one.startswith("openai")]
    assert declared
    assert not declared[0].specifier.contains("3.25.0")
    if not declared[0].specifier.contains(metadata.version("openai")):
        pytest.skip("an openai is installed that this package does not accept; AgentScope cannot stream with it")
    from openai.types.chat.chat_completion_chunk import ChoiceDelta

    assert "audio" not in ChoiceDelta.model_fields


async def test_nothing_is_added_to_the_system_prompt_of_an_agent(vault_dir):
    reme = reme_over(vault_dir, 1_000)
    agent = agent_of(reme, ScriptedModel(default="Fine."), memory_tools=("memory_search", "read"))
    for i in range(6):
        await agent(user(f"turn {i} " + "word " * 150))
    assert agent.memory.get_compressed_summary()
    assert agent.sys_prompt == agent.state_dict()["_sys_prompt"] == "You are Remy."


async def test_a_participant_that_only_listened_fits_its_window_when_it_speaks(vault_dir):
    reme = reme_over(vault_dir, 2_000, ScriptedModel(default=checkpoint()))
    model = ScriptedModel(default="I was listening.")
    agent = agent_of(reme, model)
    for i in range(120):
        await agent.observe(said(f"statement {i} " + "word " * 60, name=f"speaker{i % 3}"))
    assert len(agent.memory.content) == 120, "nobody folds while it only listens"
    await agent(user("What do you say?"))
    assert_requests_are_fine(model, 2_000)
    assert len(agent.memory.content) + agent.memory.journal.count() == 122
