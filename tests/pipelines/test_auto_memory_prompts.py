"""What the prompts promise a model is what the code does, in both languages."""

import re
from pathlib import Path
from typing import Any

import pytest

import agentscope_reme
from agentscope_reme.pipelines.agent import TOOL, Planner
from agentscope_reme.pipelines.auto_memory import auto_memory
from agentscope_reme.pipelines.memory_part import EARLIER, HEADINGS, KINDS
from agentscope_reme.pipelines.memory_plan import MAX_ITEMS, MemoryItem, MemoryPlan
from agentscope_reme.pipelines.memory_request import request, system_prompt
from agentscope_reme.pipelines.naming import MAX_NAME
from agentscope_reme.vault import Vault
from agentscope_reme.vault.frontmatter import parse
from tests.support.scripted_model import ScriptedModel, call

from .talk import message

PROMPTS = Path(agentscope_reme.__file__).parent / "pipelines" / "prompts"
LANGUAGES = ("en", "zh")
SAID = "The kiln K-4 fires at 1043 degrees on 2023-05-30."


def plan(*items: dict[str, Any], name: str = "Kiln") -> Any:
    return call(TOOL, name=name, description="", items=[{"kind": "fact", "sources": [1], **one} for one in items])


async def card_of(vault_dir: Path, *answers: Any, texts: tuple[str, ...] = (SAID,), **options: Any) -> Any:
    vault, model = Vault(vault_dir), ScriptedModel(answers)
    for number, text in enumerate(texts):
        said = message(text, f"2023-05-24 1{number}:00:00", id=f"{number}", name="Mira")
        done = await auto_memory(vault, [said], planner=Planner(model), session_id="s", **options)
    return parse((vault_dir / done.metadata["path"]).read_text("utf-8")), done, model


def numbers_in(prompt: str) -> set[int]:
    return {int(number) for number in re.findall(r"\d+", prompt)}


def test_every_prompt_is_there_in_both_languages_with_the_same_slots() -> None:
    names = {path.name for path in (PROMPTS / "en").glob("*.md")}
    assert names == {path.name for path in (PROMPTS / "zh").glob("*.md")}
    for name in names:
        slots = [set(re.findall(r"\{\w+\}", (PROMPTS / one / name).read_text("utf-8"))) for one in LANGUAGES]
        assert slots[0] == slots[1], name


@pytest.mark.parametrize("asked", ["auto", "en", "zh"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_every_slot_is_filled_and_only_data_is_missing(language: str, asked: Any) -> None:
    prompt = system_prompt(language, asked)
    assert not re.search(r"\{\w+\}", prompt)
    assert numbers_in(prompt) == {300, MAX_NAME, MAX_ITEMS}


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_kinds_of_the_prompt_are_those_of_the_plan_and_of_the_card(language: str) -> None:
    listed = re.findall(r"^- (\w+)(?:（\w+）)?[:：]", system_prompt(language, "auto"), re.MULTILINE)
    assert tuple(listed) == KINDS
    assert set(HEADINGS[language]) == set(KINDS)
    schema = MemoryItem.model_json_schema()["properties"]
    assert schema["kind"]["enum"] == list(KINDS)
    assert all(kind in schema["kind"]["description"] for kind in KINDS)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_fields_and_tags_that_the_prompt_names_exist(language: str) -> None:
    named = set(re.findall(r"`(\w+)`", system_prompt(language, "auto")))
    fields = set(MemoryItem.model_fields) | set(MemoryPlan.model_fields)
    data = request(["[1] x"], day="2023-05-24", text="mine", hint="h")
    tags = set(re.findall(r"^<(\w+)", data, re.MULTILINE))
    assert tags == {"conversation", "note", "hint"}
    assert named <= fields | tags
    assert {"note", "hint"} <= named


async def test_an_item_of_the_promised_length_is_not_cut_and_more_items_than_promised_are_not_taken(
    vault_dir: Path,
) -> None:
    long = ("The kiln " + "fires well and " * 30)[:300].strip()
    items = [{"text": f"{long[:-4]} K{number}"} for number in range(MAX_ITEMS + 5)]
    text = " ".join(f"K{number}" for number in range(MAX_ITEMS + 5))
    note, done, _ = await card_of(vault_dir, plan(*items), texts=(f"{SAID} {long} {text}",))
    assert all(item["text"] in note.body for item in items[:MAX_ITEMS])
    assert items[MAX_ITEMS]["text"] not in note.body
    assert "5 items beyond" in " ".join(done.metadata["refused"])


async def test_what_stands_in_no_message_is_thrown_away(vault_dir: Path) -> None:
    wrong = ["It fires at 1100 degrees.", "It fired on 2022-01-01.", "See kiln/log.txt.", "Ask kiln@pots.example."]
    note, done, _ = await card_of(
        vault_dir, plan({"text": "K-4 fires at 1043 degrees."}, *({"text": one} for one in wrong))
    )
    assert "1043" in note.body
    assert not any(one in note.body for one in wrong)
    assert len(done.metadata["refused"]) == len(wrong)


async def test_what_a_reply_leaves_out_stays_and_what_it_replaces_stays_below(vault_dir: Path) -> None:
    first = plan({"text": "K-4 fires at 1043 degrees."}, {"text": "The kiln fires on 2023-05-30."})
    second = plan({"text": "K-4 fires at 1050 degrees.", "replaces": 1})
    note, _, model = await card_of(vault_dir, first, second, texts=(SAID, "K-4 goes to 1050 degrees now."))
    assert "(1) [fact] K-4 fires at 1043 degrees.\n(2) [fact] The kiln fires on 2023-05-30." in model.last.text
    assert (
        "- 11:00 Mira: K-4 fires at 1050 degrees.\n  - earlier: 2023-05-24 10:00 Mira: K-4 fires at 1043" in note.body
    )
    assert "The kiln fires on 2023-05-30." in note.body
    assert EARLIER["en"] == "earlier"


async def test_the_agent_is_named_where_only_it_has_said_so(vault_dir: Path) -> None:
    model = ScriptedModel([plan({"text": "The cause is the relay R9.", "sources": [2]})])
    said = [message("Why does it stop?", id="1"), message("It is the relay R9.", id="2", role="assistant", name="Remy")]
    done = await auto_memory(Vault(vault_dir), said, planner=Planner(model), session_id="s")
    assert "Remy (agent): The cause" in (vault_dir / done.metadata["path"]).read_text("utf-8")


async def test_the_name_has_no_date_and_no_path_and_stays_when_it_is_given_again(vault_dir: Path) -> None:
    first = plan({"text": "K-4 fires at 1043 degrees."}, name="kilns/2023-05-24 Kiln K-4")
    again = plan({"text": "K-4 is blue."}, name="Kiln K-4")
    _, done, model = await card_of(vault_dir, first, again, texts=(SAID, "K-4 is blue."))
    assert done.metadata["path"] == "daily/2023-05-24/kiln-k-4.md"
    assert '<note name="Kiln K-4">' in model.last.text


async def test_no_items_is_an_answer(vault_dir: Path) -> None:
    done = await auto_memory(
        Vault(vault_dir), [message(SAID)], planner=Planner(ScriptedModel([plan()])), session_id="s"
    )
    assert done.success
    assert not (vault_dir / "daily").exists()


async def test_a_hint_is_given_and_changes_none_of_the_rules(vault_dir: Path) -> None:
    note, _, model = await card_of(
        vault_dir, plan({"text": "K-4 fires at 1043 degrees."}, {"text": "It costs 99 euros."}), memory_hint="the costs"
    )
    assert "<hint>\nthe costs\n</hint>" in model.last.role_text("user")
    assert "99" not in note.body


@pytest.mark.parametrize("name", ["plan_tool", "plan_text", "plan_repair"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_prompts_of_the_planner_keep_what_they_say(name: str, language: str) -> None:
    prompt = (PROMPTS / language / f"{name}.md").read_text("utf-8")
    assert ("{tool}" in prompt) is (name == "plan_tool")
    if name != "plan_repair":
        assert ("tags" if language == "en" else "标签") in prompt
