"""What the prompt for documents promises is what the code does, in both languages."""

import re
from pathlib import Path
from typing import get_args

import pytest

from agentscope_reme.pipelines.auto_resource import auto_resource
from agentscope_reme.pipelines.naming import MAX_NAME
from agentscope_reme.pipelines.resource_card import _HEADINGS, KINDS, MAX_TEXT
from agentscope_reme.pipelines.resource_plan import MAX_POINTS, PlannedPoint, ResourcePlan, system_prompt
from tests.pipelines.documents import REPORT, cards, planner_of, points, vault_at
from tests.support.scripted_model import call

LANGUAGES = ("en", "zh")


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_kinds_of_the_prompt_are_those_of_the_plan_and_of_the_card(language: str) -> None:
    listed = re.findall(r"^- (\w+)[:：]", system_prompt(language), re.MULTILINE)
    assert tuple(listed) == KINDS == get_args(PlannedPoint.model_fields["kind"].annotation)
    assert set(KINDS) <= set(_HEADINGS[language])


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_slot_is_filled_and_the_fields_that_are_named_exist(language: str) -> None:
    prompt = system_prompt(language)
    assert not re.search(r"\{\w+\}", prompt)
    named = set(re.findall(r"`(\w+)`", prompt))
    assert (
        {"name", "description", "sources"} <= named <= set(ResourcePlan.model_fields) | set(PlannedPoint.model_fields)
    )
    chars, name_chars, most = MAX_TEXT // 2, MAX_NAME, 12
    assert {chars, name_chars, most} <= {int(number) for number in re.findall(r"\d+", prompt)}
    assert most <= MAX_POINTS, "no statement that was asked for is left out"


async def test_statements_are_kept_or_thrown_away_as_the_prompt_says(vault_dir: Path) -> None:
    long = "Revenue rose to 4,200 EUR. " + "It rose and rose. " * 15
    assert len(long) <= MAX_TEXT // 2
    told = points(
        (long.strip(), [1]),
        ("The lease ends on 2027-05-03.", [2]),
        ("Revenue fell to 3,900 EUR.", [1]),
        ("Nobody has found another tenant.", []),
        name="Basel office",
    )
    planner, _ = planner_of(told)
    vault = vault_at(vault_dir, report_md=REPORT)
    response = await auto_resource(vault, ["resource/report.md"], planner=planner)
    ((path, text),) = cards(vault).items()
    assert path.endswith("/basel-office.md")
    assert f"- {long.strip()} (line 3)" in text, "a statement of the promised length is whole"
    assert "- The lease ends on 2027-05-03. (line 7)" in text
    assert "3,900" not in text
    assert "another tenant" not in text
    refused = " ".join(response.metadata["results"][0]["refused"])
    assert "3900 is not in the passages" in refused
    assert "it rests on no passage" in refused


@pytest.mark.parametrize("language", LANGUAGES)
async def test_of_a_later_part_the_model_is_shown_what_was_noted_before(vault_dir: Path, language: str) -> None:
    parts = [f"The oak of lot {part} is sold. {'x ' * 400}" for part in range(60)]
    planner, model = planner_of(points(("The oak of lot 1 is sold.", [2])), default=call("submit_plan", points=[]))
    vault = vault_at(vault_dir, wood_txt="\n\n".join(parts))
    await auto_resource(vault, ["resource/wood.txt"], planner=planner, language=language)  # type: ignore[arg-type]
    first, second = (request.role_text("user") for request in model.requests[:2])
    assert "<note>" not in first
    assert "<note>\n- The oak of lot 1 is sold.\n</note>" in second
    assert model.last.role_text("system").startswith(system_prompt(language))
