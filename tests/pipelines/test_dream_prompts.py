"""What the prompts promise is what the code does, in both languages."""

import re
from pathlib import Path
from typing import get_args

import pytest

from agentscope_reme.pipelines.dream_decisions import Action, Decision
from agentscope_reme.pipelines.dream_units import CATEGORIES, EvidenceClaim, Extraction, TopicClaim, UnitClaim
from agentscope_reme.pipelines.fence import FENCES
from agentscope_reme.prompts import load_prompt

from .dreams import TODAY, Script, dream, found, notes_below, place, unit, vault_at, write_card

NAMES = ("dream_extract", "dream_integrate", "topics_choose")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_actions_and_categories_of_the_prompts_are_those_of_the_code(language: str) -> None:
    offered = re.findall(r"^- `(\w+)`", load_prompt("dream_integrate", language), re.MULTILINE)
    assert sorted(offered) == sorted(get_args(Action))
    assert all(f"`{category}`" in load_prompt("dream_extract", language) for category in CATEGORIES)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_field_and_fence_that_a_prompt_names_exists(language: str) -> None:
    fields = {
        name for model in (Decision, Extraction, UnitClaim, TopicClaim, EvidenceClaim) for name in model.model_fields
    }
    known = fields | set(get_args(Action)) | set(CATEGORIES)
    for name in NAMES:
        text = load_prompt(name, language)
        assert set(re.findall(r"`([a-z_]+)`", text)) <= known
        assert set(re.findall(r"<(\w+)", text)) <= set(FENCES)
        # Nothing is promised that this pipeline does not do: it holds no tools, and MEMORY.md is not its own.
        assert not re.search(r"MEMORY\.md|memory_search|\bread\(|\bwrite\(", text)


@pytest.mark.parametrize("name", NAMES)
def test_both_languages_have_the_same_blanks(name: str) -> None:
    blanks = [sorted(re.findall(r"\{\w+\}", load_prompt(name, language))) for language in ("en", "zh")]
    assert blanks[0] == blanks[1]


@pytest.mark.parametrize(
    ("line", "statement", "language"),
    [
        (
            "小王: 我养了一只叫元宝的猫，用 Orion-X 猫砂盆。",
            "小王养了一只叫元宝的猫，用 Orion-X 猫砂盆。",
            "zh",
        ),
        ("Ann: I have a cat called 元宝 and an Orion-X litter box.", "Ann has a cat called 元宝.", "en"),
    ],
)
async def test_c11_11_notes_are_in_the_language_of_what_was_said_and_names_stay(
    vault_dir: Path, line: str, statement: str, language: str
) -> None:
    vault = vault_at(vault_dir)
    path = write_card(vault, TODAY, "cat", line)
    claim = unit("cat", statement, place(vault, path, "元宝"))
    script = Script(lambda user: found([claim]))
    await dream(vault, script)
    assert {one.language for one in script.asked} == {language}
    directive = {"en": "in English, proper names as they stand", "zh": "用中文写，专有名词照笔记里的原样"}[language]
    assert directive in script.asked[0].system
    (text,) = notes_below(vault_dir).values()
    assert "元宝" in text
