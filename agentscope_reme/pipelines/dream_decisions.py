"""What becomes of a unit: a new digest note, or a change of one that is there. A model proposes, the rules decide.

The rules hold whatever a model says: a statement is only taken for another where they differ in no number, date, name
or denial; nothing from outside is written into a note that rests on what people said; what is replaced stays, with the
days on which it held; words of a user are never rewritten.
"""

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from pydantic import Field, field_validator

from .dream_claims import denies, differences, invented, normalised, only_numbers_differ, overlap, says_more
from .dream_digest import Held, Part, SourceLink
from .dream_instructions import instructs
from .dream_sources import Trust
from .dream_units import Claim, Unit, one_line, plain_statement
from .evidence import language_of
from .opposites import opposed

_CODE = re.compile(r"(`+)(.+?)(?<!`)\1(?!`)")

Action = Literal["create", "corroborate", "refine", "correct", "skip"]

SAME_WORDS = 0.8
"""Share of a statement's content words in another one from which on the other one holds all it says."""

LIKE_WORDS = 0.6
LIKE_WORDS_ZH = 0.35
"""Below this share two statements are not taken for one; of Chinese it is counted in pairs of characters."""


class Decision(Claim):
    """What to do with one unit."""

    action: Action = Field(
        description="create: no note is about this. corroborate: a statement already says the same. refine: the unit "
        "adds to a note. correct: the unit contradicts a statement, which held before. skip: not worth keeping."
    )
    target: str = Field("", description="The path of the note that is changed, as its tag gives it; empty for create.")
    statement_id: str = Field("", description="The id in brackets of the statement that is meant, such as d3fa9c10.")
    statement: str = Field("", description="For refine with a statement_id: one wording that holds all of both.")
    related: list[str] = Field(default_factory=list, description="Paths of shown notes that this one should link to.")
    reason: str = Field("", description="Why, in a few words.")

    @field_validator("action", mode="before")
    @classmethod
    def _any_case(cls, value: Any) -> Any:
        return value.strip().lower() if isinstance(value, str) else value


@dataclass(frozen=True, slots=True)
class Candidate:
    """A digest note that a unit may belong to. ``body`` is its text without front matter."""

    path: str
    name: str
    description: str
    trust: Trust | None
    part: Part
    body: str


@dataclass(frozen=True, slots=True)
class Step:
    """What is written for one unit. ``target`` is the id of the statement that is meant, "" for none.

    ``action``: ``create``, ``add`` (a statement of its own), ``sources`` (of a statement), ``reword``, ``correct``
    (the target held before), ``earlier`` (the unit held before the target), ``cite`` (sources of the whole note),
    ``none``.
    """

    action: Literal["create", "add", "sources", "reword", "correct", "earlier", "cite", "none"]
    unit: Unit
    path: str = ""
    target: str = ""
    text: str = ""
    related: tuple[str, ...] = ()
    reason: str = ""

    @property
    def told_as(self) -> Action:
        """The step in the words of a report."""
        told: dict[str, Action] = {"create": "create", "sources": "corroborate", "cite": "corroborate", "none": "skip"}
        return told.get(self.action, "correct" if self.action in ("correct", "earlier") else "refine")

    @property
    def sources(self) -> tuple[SourceLink, ...]:
        """Links to what the unit rests on, one for each note."""
        labels: dict[str, list[str]] = {}
        for one in self.unit.evidence:
            said = " ".join(part for part in (one.date, one.speaker) if part)
            labels.setdefault(one.path, []).append(said.translate(str.maketrans("[]|", "()/")))
        return tuple(SourceLink(path, next(iter(dict.fromkeys(said)))) for path, said in labels.items())

    def plain(self) -> dict[str, Any]:
        """As JSON holds it."""
        return {**asdict(self), "unit": self.unit.plain()}


def step_of(plain: dict[str, Any]) -> Step | None:
    """A step as JSON holds it, None when it is none."""
    from .dream_units import unit_of

    unit = unit_of(plain.get("unit") or {})
    try:
        fields = {key: plain[key] for key in Step.__dataclass_fields__ if key not in ("unit", "related")}
        return None if unit is None else Step(unit=unit, related=tuple(plain["related"]), **fields)
    except (KeyError, TypeError):
        return None


def known_already(unit: Unit, candidates: Sequence[Candidate]) -> Step | None:
    """What needs no model: the unit is written there, or a current statement is the same in the very words.

    A statement that somebody took out of a note is not put back.
    """
    for candidate in candidates:
        if candidate.part.find(unit.id) is not None:
            return Step("none", unit, candidate.path, unit.id, reason="it stands there already")
    for candidate in candidates:
        held = candidate.part.same(unit.statement)
        if held is not None and _may_mix(unit, candidate) and not _another_period(unit, held, candidate.part):
            return Step("sources", unit, candidate.path, held.id, reason="the same words")
    for candidate in candidates:
        if candidate.part.was_removed(unit.statement) and _may_mix(unit, candidate):
            return Step("none", unit, candidate.path, reason="somebody took it out of this note")
    return None


def settle(unit: Unit, decision: Decision, candidates: Sequence[Candidate]) -> Step:
    """Turn a model's decision into a step that keeps the rules."""
    reason = one_line(decision.reason, 200)
    if decision.action == "skip":
        return Step("none", unit, reason=reason or "not worth keeping")
    by_path = {candidate.path: candidate for candidate in candidates}
    related = tuple(path for path in dict.fromkeys(map(_path, decision.related)) if path in by_path)
    target = by_path.get(_path(decision.target))
    made = Step("create", unit, related=related, reason=reason)
    if decision.action == "create":
        return made
    if target is None:
        return replace(made, reason=f"{decision.action} named no note that was shown; made one of its own")
    if not _may_mix(unit, target):
        why = "what comes from outside is kept apart from what people said"
        return replace(made, related=tuple(dict.fromkeys((target.path, *related))), reason=why)
    about = Step(
        "add", unit, target.path, related=tuple(path for path in related if path != target.path), reason=reason
    )
    held = _meant(target.part, decision.statement_id)
    if held is None:
        if decision.action == "corroborate" and target.body.strip() and not says_more(unit.statement, target.body):
            return replace(about, action="cite")
        return about
    about = replace(about, target=held.id)
    if decision.action == "corroborate":
        return _corroborated(about, held, target.part)
    if decision.action == "refine":
        return _refined(about, held, decision.statement, target.part)
    return _corrected(about, held, target.part)


def _corroborated(step: Step, held: Held, part: Part) -> Step:
    """The same statement again, unless they differ in what rules can tell: then it is news, and both are kept."""
    found = says_more(step.unit.statement, held.text)
    if "names" in found:
        return replace(step, action="add", reason=f"{_told(found)} differ, so it is another statement")
    if found:
        return _corrected(replace(step, reason=f"{_told(found)} differ, so it is no repetition"), held, part)
    if not _another_period(step.unit, held, part):
        return _said_again(step, held)
    why = "it held at another time, and not in between"
    if held.current or len(part.current) != 1:
        return replace(step, action="earlier" if held.current else "add", reason=why)
    return _corrected(replace(step, target=part.current[0].id, reason=why), part.current[0], part)


def _said_again(step: Step, held: Held) -> Step:
    """A statement in other words is kept in them where they may say something that rules cannot tell."""
    statement = step.unit.statement
    share = overlap(statement, held.text)
    if held.says(statement) or share >= SAME_WORDS:
        return replace(step, action="sources")
    if share >= _like_words(statement):
        return replace(step, action="sources", text=statement)
    return replace(step, action="add", reason="too few words in common to be the same statement")


def _like_words(statement: str) -> float:
    return LIKE_WORDS_ZH if language_of([statement]) == "zh" else LIKE_WORDS


def _another_period(unit: Unit, held: Held, part: Part) -> bool:
    """Whether a statement in the same words tells of another time than the one it would be merged with."""
    if not held.current:
        return not held.valid_from <= unit.valid_from <= (held.valid_to or "9999")
    between = (one.valid_from for one in part.statements if not one.current and one.valid_from)
    return bool(unit.valid_from) and any(unit.valid_from <= start < held.valid_from for start in between)


def _refined(step: Step, held: Held, wording: str, part: Part) -> Step:
    """One wording for both where it loses no word that counts, else a statement of its own beside it."""
    unit = step.unit
    text = plain_statement(wording, [held.text, unit.statement])
    external = unit.trust == "external"
    if not text or instructs(text, external=external) or invented(text, [held.text, unit.statement], []):
        text = unit.statement
    contrary = denies(text) != denies(held.text) or opposed(text, held.text, contrary=True)
    if (contrary and overlap(held.text, text) >= _like_words(text)) or only_numbers_differ(unit.statement, held.text):
        return _corrected(step, held, part)
    holds_both = all(_holds(text, said) for said in (held.text, unit.statement))
    if holds_both and not held.edited and held.current:
        return replace(step, action="reword", text=text)
    return replace(step, action="add")


def _holds(text: str, said: str) -> bool:
    """Whether a wording has all of a statement that rules can tell: of code and of steps, every line as it is."""
    exact = [code for _, code in _CODE.findall(said)] + (said.split("\n") if "\n" in said else [])
    whole = normalised(text)
    return overlap(said, text) == 1.0 and not says_more(said, text) and all(normalised(part) in whole for part in exact)


def _corrected(step: Step, held: Held, part: Part) -> Step:
    """The later of two statements is the current one; the other stays with its days. A user's own words stay as well.

    What held before and is written there as such is not written again.
    """
    unit = step.unit
    if not differences(held.text, unit.statement) and overlap(unit.statement, held.text) == 1.0:
        return replace(step, action="sources")
    if not held.current:
        return replace(step, action="add")
    if held.edited:
        return replace(step, action="add", reason="the words it contradicts are a user's, so they stay")
    if not held.valid_from or not unit.valid_from or unit.valid_from >= held.valid_from:
        return replace(step, action="correct")
    for past in part.statements:
        same = not past.current and normalised(past.text) == normalised(unit.statement)
        if same and not _another_period(unit, past, part):
            return replace(step, action="sources", target=past.id)
    return replace(step, action="earlier")


def _meant(part: Part, statement_id: str) -> Held | None:
    held = part.find(statement_id.strip().lstrip("^").strip("[]"))
    if held is None and len(part.current) == 1:
        return part.current[0]
    return held


def _may_mix(unit: Unit, candidate: Candidate) -> bool:
    """Trust is never gained by being written beside what has more of it, and never lost by a document's word."""
    return (unit.trust == "external") == (candidate.trust == "external")


def _told(found: frozenset[str]) -> str:
    return " and ".join(sorted(found))


def _path(path: str) -> str:
    return path.strip().strip("`").removeprefix("[[").removesuffix("]]").split("|", 1)[0].split("#", 1)[0].strip()
