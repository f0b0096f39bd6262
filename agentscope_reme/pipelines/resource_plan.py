"""What a model is asked for when a document becomes a card, and what of its reply is taken.

A document is read in pieces, its blocks numbered. Each statement of the reply names the blocks it rests on; what they
do not bear out, or what reads as an instruction, is refused.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, Field, field_validator

from ..prompts import load_prompt
from .agent import PlanError
from .dream_claims import invented, normalised, shares_words
from .dream_instructions import instructs
from .evidence import language_of
from .fence import fenced
from .forms import Form
from .naming import MAX_NAME, NAME_BYTES, shortened
from .resource_card import MAX_DESCRIPTION, MAX_TEXT, CardText, Point, name_of, one_line
from .resource_text import Reading

if TYPE_CHECKING:
    from .agent import Planner

PIECE_CHARS = 24_000
"""Most characters of a document in one request."""

SMALLEST_PIECE = 2_000
MOST_PIECES = 16
"""Most requests for one document; what lies behind them is not read by the model, and the card says so."""

MAX_POINTS = 40
_BLOCK_CHARS = 4_000
_ASKED_POINTS = 12


class PlannedPoint(BaseModel):
    """One statement about the document."""

    text: str = Field(description="One or two sentences that can be read alone, in the language of the document.")
    kind: Literal["summary", "fact", "decision", "definition", "step", "open"] = Field(
        "fact", description="summary: what it is about; fact; decision; definition of a term; step; open question."
    )
    sources: list[int] = Field(description="The numbers of the passages that say it.")

    @field_validator("sources", mode="before")
    @classmethod
    def _listed(cls, value: Any) -> Any:
        return [value] if isinstance(value, int) else value


class ResourcePlan(Form):
    """What is worth knowing of a part of a document."""

    name: str = Field("", description="What the document is about, two to six words.")
    description: str = Field("", description="One sentence with the words somebody would search for.")
    points: list[PlannedPoint] = Field(default_factory=list, description="The statements; none when none is worth it.")


@dataclass(slots=True)
class Taken:
    """What was taken of a model's replies, and a sentence for each statement that was refused."""

    name: str = ""
    description: str = ""
    points: list[Point] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    read: int = 0  # blocks that the model was shown
    passed_over: int = 0  # those of them of which it made no plan


async def card_by_model(planner: "Planner", reading: Reading, language: str = "auto") -> tuple[CardText, Taken]:
    """Have the model read a document, piece by piece.

    A piece that the model makes no plan of is passed over, unless nothing else was read.

    Raises:
        PlanError: There is no card; nothing was changed.
    """
    tongue = language_of([reading.text[:200_000]]) if language == "auto" else language
    system = system_prompt(tongue)
    taken, limit, requests = Taken(), PIECE_CHARS, 0
    failed: list[PlanError] = []
    while taken.read < len(reading.blocks) and requests < MOST_PIECES:
        lines = list(_piece(reading, taken.read, limit))
        data = fenced("document", "\n".join(lines), source=reading.path, title=name_of(reading.title, reading.path))
        known = "\n".join(f"- {point.text}" for point in taken.points)
        user = f"{data}\n\n{fenced('note', known)}" if known else data
        try:
            plan = await planner.plan(ResourcePlan, system=system, user=user, language=tongue)
        except PlanError as error:
            if error.reason == "too_long" and limit > SMALLEST_PIECE:
                limit = max(SMALLEST_PIECE, limit // 2)
                continue
            if error.reason != "malformed":
                raise
            failed.append(error)
            taken.read, taken.passed_over = taken.read + len(lines), taken.passed_over + len(lines)
            if taken.passed_over == taken.read and (len(failed) > 1 or taken.read == len(reading.blocks)):
                raise  # a model that understands none of it
            taken.refused.append(f"{len(lines)} passages: {error}")
            requests += 1
            continue
        requests += 1
        _take(plan, taken, reading, taken.read, taken.read + len(lines))
        taken.read += len(lines)
    name = taken.name or name_of(reading.title, reading.path)
    description = taken.description or next((point.text for point in taken.points), name)
    card = CardText(name, shortened(description, MAX_DESCRIPTION), tuple(taken.points[:MAX_POINTS]), tongue)
    return card, taken


def system_prompt(language: str) -> str:
    """What to do; it holds nothing of any document."""
    prompt = load_prompt("resource_card", language)
    for slot, value in {"text_chars": MAX_TEXT // 2, "name_chars": MAX_NAME, "points": _ASKED_POINTS}.items():
        prompt = prompt.replace(f"{{{slot}}}", str(value))
    return prompt


def _piece(reading: Reading, begin: int, limit: int) -> Iterator[str]:
    """The next blocks as numbered lines, as many as fit; always one. Numbers count from 1 in each piece."""
    used = 0
    for number, block in enumerate(reading.blocks[begin:], 1):
        text = block.text
        most = min(_BLOCK_CHARS, limit)
        if len(text) > most:
            text = f"{text[: most * 2 // 3]} […] {text[len(text) - most // 3 :]}"
        if instructs(text, external=True):
            # Line by line: the rest of a passage may well be worth knowing.
            text = "\n".join(line for line in text.split("\n") if not instructs(line, external=True)) or "[…]"
        where = " › ".join(heading for heading in block.headings if not instructs(heading, external=True))
        line = f"[{number}] {where}: {text}" if where else f"[{number}] {text}"
        if used and used + len(line) > limit:
            return
        used += len(line) + 1
        yield line


def _take(plan: ResourcePlan, taken: Taken, reading: Reading, begin: int, end: int) -> None:
    """Add what the blocks from ``begin`` to ``end`` bear out."""
    taken.name = taken.name or _told(plan.name, MAX_NAME, NAME_BYTES)
    taken.description = taken.description or _told(plan.description, MAX_DESCRIPTION)
    known = {normalised(point.text) for point in taken.points}
    taken.refused += plan.left_out
    for planned in plan.points[:MAX_POINTS]:
        text = one_line(planned.text)
        numbers = sorted({begin + number - 1 for number in planned.sources if 0 < number <= end - begin})
        problem = _problem(text, numbers, reading)
        if problem:
            taken.refused.append(f"{shortened(text, 60)!r}: {problem}")
        elif normalised(text) not in known:
            known.add(normalised(text))
            taken.points.append(Point(text, planned.kind, numbers[0], numbers[-1]))


def _problem(text: str, numbers: Sequence[int], reading: Reading) -> str:
    if not text:
        return "it is empty"
    if len(text) > MAX_TEXT:
        return f"it has more than {MAX_TEXT} characters"
    if not numbers:
        return "it rests on no passage"
    if instructs(text, external=True):
        return "it reads as an instruction to a model"
    # A date may follow from the heading above a passage, or from the name of the document.
    around = [reading.title, reading.path, *(part for number in numbers for part in reading.blocks[number].headings)]
    sources = [*(reading.blocks[number].text for number in numbers), *around]
    if wrong := invented(text, sources, ()):
        return f"{', '.join(wrong)} is not in the passages it names"
    if not shares_words(text, sources):
        return "it has no word in common with the passages it names"
    return ""


def _told(text: str, most: int, most_bytes: int = 1_000_000) -> str:
    told = one_line(text)
    return "" if instructs(told, external=True) else shortened(told, most, most_bytes)
