"""Daily notes become long-term notes: extract, integrate, topics, finish.

A model says what is worth keeping and where it belongs; what it says is checked against the files and put into effect
by rules (``dream_units``, ``dream_decisions``). Nothing is written before all is decided and the plan is on the disk.
"""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from ..errors import NoteError, ReMeError, StateError
from ..models import NodeHit, Response
from ..prompts import load_prompt
from ..vault.daily import daily_reindex, day_of
from ..vault.encoding import decode_exact, kind_of
from ..vault.notes import finish
from ..vault.run_lock import run_lock
from ..vault.run_records import write_log
from .agent import PlanError
from .dream_claims import overlap
from .dream_decisions import Candidate, Decision, Step, known_already, settle
from .dream_instructions import LEFT_OUT, instructs
from .dream_proposals import write_proposals
from .dream_reading import read_notes
from .dream_report import DreamReport, full_log
from .dream_sources import MAX_PIECES, Scan, scan
from .dream_state import NAME, DreamState, Plan, read_state
from .dream_units import Topic, Unit, still_there
from .dream_writing import candidate_of, free_path, with_step, write_steps
from .evidence import language_of
from .fence import fenced
from .topics import Planning, choose_topics, past_topics, read_interests, topic_of_unit, write_interests

if TYPE_CHECKING:
    from ..index import Index
    from ..vault import Vault

logger = logging.getLogger(__name__)

NODES = 8
"""Digest notes that a unit is compared with."""

CHANGED_NODES = 4
"""Those beside them that the same run makes or changes, which the index does not know yet."""

NOTE_CHARS = 3_000
"""Most characters of a digest note that the model is shown."""

TRIES = 3
"""Runs in which a model makes no plan of a unit before it becomes a note of its own without one."""

MOST_WAITING = 30
"""Units that wait from which on no more notes are read, so that what waits cannot grow without bound."""

LOCK_SECONDS = 30.0
"""How long a run waits for another one to end."""

_NO_MODEL = "auto_dream needs a chat model, and none is configured"

Language = Literal["auto", "en", "zh"]


async def auto_dream(
    vault: "Vault",
    index: "Index",
    *,
    planner: Planning | None,
    date: str = "",
    scan_days: int = 2,
    max_units: int = 5,
    topic_count: int = 3,
    topic_diversity_days: int = 7,
    hint: str = "",
    language: Language = "auto",
    proposals: int = 0,
    lock_wait: float = LOCK_SECONDS,
) -> Response:
    """Integrate what daily notes hold into the long-term notes of ``digest/``, and write down topics.

    Args:
        vault: The files.
        index: Finds the digest notes that a unit may belong to.
        planner: Asks the model. Without one the response says so; what needs none is done: a run that was interrupted
            is completed, and units that wait give the day's topics, chosen by rules.
        date: The day the run is for (``YYYY-MM-DD``). Without one it is today, and what earlier days still hold that no
            run has read is read as well.
        scan_days: How many days up to it are looked at first.
        max_units: Most units integrated in one run; the others wait for the next.
        topic_count: Most topics of the day in ``interests.yaml``.
        topic_diversity_days: Topics of that many days before are not repeated.
        hint: What to look for, in the caller's words.
        language: Of prompts and notes; ``auto`` is that of the notes read.
        proposals: Most lines that stand as proposals in MEMORY.md; 0 leaves it alone.
        lock_wait: Seconds to wait for another run in this vault.

    ``success`` is False when something failed; what could be done was done, and the rest is tried by the next run.
    ``metadata`` has ``run_id`` (undoes the run), ``created``, ``modified``, ``integrated``, ``skipped``, ``waiting``,
    ``topics``, ``log`` and more: see docs/pipelines.md.
    """
    try:
        day = day_of(vault, date)
    except ReMeError as error:
        return Response(False, f"{error}; nothing was changed", {"date": date, "errors": [str(error)]})
    report = DreamReport(date=day, scan_days=max(1, scan_days))
    if planner is None and not await asyncio.to_thread(_has_work, vault):
        why = f"{_NO_MODEL}; nothing was changed"
        return Response(False, why, {"date": day, "errors": [why]})
    if not vault.root.is_dir():
        return report.response(logged=False)
    run = _Run(vault, index, planner, report, language, hint)
    run.proposals = max(0, proposals)
    wanted = max(0, topic_count), max(0, topic_diversity_days)
    try:
        async with run_lock(vault.storage, NAME, wait=lock_wait):
            if planner is None:
                return await run.without_model(*wanted)
            return await run.dream(planner, not date, max(0, max_units), *wanted)
    except StateError as error:
        report.errors.append(str(error))
        return report.response(logged=False)
    except ReMeError as error:
        logger.warning("A dream ended early: %s", error)
        report.errors.append(str(error))
        return report.response(logged=False)


class _Run:
    """One run, under its lock."""

    def __init__(
        self,
        vault: "Vault",
        index: "Index",
        planner: Planning | None,
        report: DreamReport,
        language: Language,
        hint: str,
    ) -> None:
        self.vault, self.index, self.planner, self.report = vault, index, planner, report
        self.language, self.hint = language, hint
        self.proposals = 0
        self.texts: dict[str, str] = {}  # digest notes as they will be, by path

    async def without_model(self, topic_count: int, diversity: int) -> Response:
        """Complete what an interrupted run left, and choose topics among the units that wait."""
        report = self.report
        state = await self._completed()
        waiting = await asyncio.to_thread(self._still_waiting, state.waiting)
        topics = await self._choose([topic_of_unit(unit) for unit in waiting], topic_count, diversity)
        report.errors.append(_NO_MODEL)
        report.waiting = waiting
        if not topics:
            return report.response(logged=False)
        report.topics = topics
        plan = Plan(report.run_id, report.date, topics=topics, topic_count=topic_count, log=report.log_lines())
        plan.partial, plan.waiting, plan.stuck = state.partial, waiting, state.stuck
        await finish(self._write, state, plan)
        return report.response(logged=True)

    async def _completed(self) -> DreamState:
        """The state, after what an interrupted run left was written; this run gets its id."""
        report = self.report
        state = await asyncio.to_thread(read_state, self.vault)
        if state.plan is not None:
            report.resumed = state.plan.run_id
            await finish(self._write, state, state.plan)
        report.run_id = self.vault.log.new_id()
        return state

    async def dream(
        self, planner: Planning, all_days: bool, max_units: int, topic_count: int, diversity: int
    ) -> Response:
        """Complete what an interrupted run left, then read, decide, write."""
        report = self.report
        state = await self._completed()
        try:
            await finish(daily_reindex, self.vault, report.date)
        except ReMeError as error:
            report.warnings.append(f"the page of {report.date} was not brought up to date: {error}")
        known = dict(state.notes)
        found = await asyncio.to_thread(scan, self.vault, report.date, report.scan_days, known, all_days=all_days)
        self._tell_scan(found)
        plan = Plan(report.run_id, report.date, topic_count=topic_count, proposals=self.proposals)
        waiting = await asyncio.to_thread(self._still_waiting, state.waiting)
        reading = await read_notes(
            planner,
            found.changed,
            state.partial,
            most=MAX_PIECES if len(waiting) < MOST_WAITING else 0,
            hint=self.hint,
            language=self.language,
            last=state.stuck,
        )
        plan.stuck = reading.stuck
        plan.notes, plan.partial = {**found.moved, **reading.notes}, reading.partial
        report.units, report.read, report.left = reading.units, reading.read, reading.left
        report.warnings += reading.warnings
        report.errors += reading.errors
        todo = list({unit.id: unit for unit in [*waiting, *reading.units]}.values())
        plan.waiting = todo[max_units:]
        plan.steps, failed = await self._integrate(planner, todo[:max_units])
        plan.waiting = [*plan.waiting, *failed]  # behind the others, which they must not keep from their turn
        topics = reading.topics or ([topic_of_unit(unit) for unit in waiting] if reading.errors else [])
        plan.topics = await self._choose(topics, topic_count, diversity)
        return await self._conclude(state, plan, found)

    async def _conclude(self, state: DreamState, plan: Plan, found: Scan) -> Response:
        report = self.report
        report.steps, report.waiting, report.topics = plan.steps, plan.waiting, plan.topics
        if found.gone:
            report.unsourced = await asyncio.to_thread(self._citing, found.gone)
            for path in found.gone:
                state.notes.pop(path, None)
        if not (plan.steps or plan.topics):
            # What was read and holds nothing needs no log, only to be known.
            changed = (state.waiting, state.stuck) != (plan.waiting, plan.stuck)
            state.follow(plan)
            if plan.notes or plan.partial or found.gone or changed:
                await finish(state.save, self.vault)
            return report.response(logged=False)
        plan.log = report.log_lines()
        await finish(self._write, state, plan)
        return report.response(logged=True)

    def _write(self, state: DreamState, plan: Plan) -> None:
        """Make the plan durable, write it, and go on to the state after it. Does what is left after an interruption."""
        vault, report = self.vault, self.report
        state.plan = plan
        state.save(vault)
        written = write_steps(vault, plan.steps, plan.run_id)
        errors = [f"{path}: {reason}" for path, reason in written.failed]
        try:
            write_interests(vault, plan.day, plan.topics, plan.topic_count, plan.run_id)
            write_proposals(vault, plan.steps, plan.proposals, plan.run_id)
        except ReMeError as error:
            errors.append(str(error))
        entries = [entry for entry in vault.log.entries() if entry.group == plan.run_id]
        report.add_changes(entries)
        report.errors += errors
        lines = [*plan.log, *(f"- failed: {error}" for error in errors)]
        lines += [f"- waits, as what it was about is gone: {step.path}" for step in written.waiting]
        write_log(vault.storage, plan.run_id, full_log(plan.run_id, plan.day, lines, entries))
        back = [step.unit for step in written.waiting]
        state.follow(plan, back)
        report.waiting = [*back, *report.waiting]
        state.save(vault)

    # --- integrate ------------------------------------------------------------------------------------------------

    async def _integrate(self, planner: Planning, units: Sequence[Unit]) -> tuple[list[Step], list[Unit]]:
        """A step for each unit, the oldest first; the units for which the model gave no decision."""
        steps: list[Step] = []
        failed: list[Unit] = []
        for unit in sorted(units, key=lambda unit: min((one.date for one in unit.evidence), default="")):
            try:
                step = await self._decide(planner, unit)
            except PlanError as error:
                tried = replace(unit, tries=unit.tries + (error.reason in ("malformed", "too_long")))
                if tried.tries < TRIES:
                    failed.append(tried)
                    self.report.errors.append(f"no decision on {unit.name!r}, which waits: {error}")
                    continue
                step = Step("create", unit, reason=f"the model gave no usable decision in {TRIES} runs")
            steps.append(await asyncio.to_thread(self._foresee, step))
        return steps, failed

    async def _decide(self, planner: Planning, unit: Unit) -> Step:
        hits = await self.index.node_search(f"{unit.name} {' '.join(unit.statement.split())}", NODES)
        candidates = await asyncio.to_thread(self._candidates, unit, hits)
        step = await asyncio.to_thread(known_already, unit, candidates)
        if step is not None:
            return step
        user = await asyncio.to_thread(_request, unit, candidates)
        system = load_prompt("dream_integrate", unit.language)
        decision = await planner.plan(Decision, system=system, user=user, language=unit.language)
        return await asyncio.to_thread(settle, unit, decision, candidates)

    def _candidates(self, unit: Unit, hits: Sequence[NodeHit]) -> list[Candidate]:
        """What the index found, and what this run has changed that has most words of the unit."""
        about = f"{unit.name} {unit.statement}"
        changed = sorted(self.texts, key=lambda path: -overlap(about, self.texts[path]))[:CHANGED_NODES]
        paths = dict.fromkeys([*(hit.path for hit in hits), *changed])
        texts = ((path, self._text(path)) for path in paths)
        return [candidate_of(path, text) for path, text in texts if text is not None]

    def _text(self, path: str) -> str | None:
        if path in self.texts:
            return self.texts[path]
        try:
            data = self.vault.read_bytes(path)
        except NoteError:
            return None
        return decode_exact(data) if kind_of(data).exact else None

    def _foresee(self, step: Step) -> Step:
        """Have the steps that follow see the note as this one will leave it."""
        if step.action == "none":
            return step
        if step.action == "create":
            step = replace(step, path=free_path(self.vault, step.unit.category, step.unit.name, self.texts))
        text = None if step.action == "create" else self._text(step.path)
        changed = with_step(text, step, self.vault.now().replace(microsecond=0))
        if changed is not None:
            self.texts[step.path] = changed
        return step

    # --- topics, and what else is told ----------------------------------------------------------------------------

    async def _choose(self, topics: Sequence[Topic], count: int, diversity: int) -> list[Topic]:
        if not topics or not count:
            return []
        report = self.report
        try:
            present = await asyncio.to_thread(read_interests, self.vault, report.date)
        except ReMeError as error:
            report.errors.append(str(error))
            return []
        past = await asyncio.to_thread(past_topics, self.vault, report.date, diversity)
        kept = present[0] if present else []
        tongue = self.language if self.language in ("en", "zh") else language_of(topic.title for topic in topics)
        chosen, told = await choose_topics(self.planner, topics, kept, past, count=count, language=tongue)
        report.warnings += [told] if told else []
        return chosen

    def _tell_scan(self, found: Scan) -> None:
        report = self.report
        report.scanned, report.outside, report.gone = len(found.versions), found.outside, list(found.gone)
        report.unchanged = len(found.versions) - len(found.changed) - found.outside
        report.warnings += [reason for _, reason in found.failed]

    def _still_waiting(self, units: Sequence[Unit]) -> list[Unit]:
        return [unit for one in units if (unit := still_there(self.vault, one)) is not None]

    def _citing(self, gone: Sequence[str]) -> list[str]:
        """The digest notes that rest on notes which are gone; what they say stays."""
        from ..vault.inbound import links_to

        links = links_to(self.vault, set(gone))
        return sorted(
            {f"{link.source_path} cites {link.target_path}" for link in links if link.source_path.startswith("digest/")}
        )


def _has_work(vault: "Vault") -> bool:
    """Whether an earlier run left something that can be done without a model."""
    state = read_state(vault) if vault.root.is_dir() else DreamState()
    return state.plan is not None or bool(state.waiting)


def _request(unit: Unit, candidates: Sequence[Candidate]) -> str:
    """A unit with the lines it rests on, and the notes it may belong to, as data."""
    said = "\n".join(f"- {one.date} {one.speaker}: {one.text}" for one in unit.evidence)
    shown = fenced("unit", f"{unit.statement}\n{said}", name=unit.name, category=unit.category, since=unit.valid_from)
    return "\n\n".join([shown, *(_shown(candidate, unit) for candidate in candidates)])


def _shown(candidate: Candidate, unit: Unit) -> str:
    """A digest note as the model sees it: its statements with their ids, and what else its user wrote.

    Of a long note, the statements that have most words of the unit.
    """
    rows = []
    for held in candidate.part.statements:
        days = " – ".join(day for day in (held.valid_from, held.valid_to) if day)
        row = f"[{held.id}] {'' if held.current else '(earlier) '}{held.text}{f' ({days})' if days else ''}"
        rows.append((overlap(unit.statement, held.text), row))
    if not rows:
        rows = [(0.0, candidate.body.strip())]
    room = NOTE_CHARS
    chosen: set[int] = set()
    for number in sorted(range(len(rows)), key=lambda number: -rows[number][0]):
        if len(rows[number][1]) <= room or not chosen:
            chosen.add(number)
            room -= len(rows[number][1])
    external = candidate.trust == "external"
    lines = [line for number in sorted(chosen) for line in rows[number][1][:NOTE_CHARS].split("\n")]
    shown = [LEFT_OUT[unit.language] if instructs(line, external=external) else line for line in lines]
    return fenced("note", "\n".join(shown), path=candidate.path, name=candidate.name, trust=candidate.trust or "")
