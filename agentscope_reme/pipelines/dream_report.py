"""What a dream says about itself: the response of a run, and its log in ``history/runs/``.

What was changed is taken from the history of the vault, not from what was meant to be changed.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..models import Response
from ..vault.run_records import log_path
from .dream_decisions import Step
from .dream_units import Topic, Unit
from .topics import plain_topic

if TYPE_CHECKING:
    from ..vault import HistoryEntry


@dataclass(slots=True)
class DreamReport:
    """One run. ``scanned`` and ``unchanged`` count daily notes; ``read`` are those a model was shown.

    ``left`` are changed notes that wait for the next run, ``outside`` counts those that the asked days leave out.
    ``gone`` are notes that were read once and are no longer there; ``unsourced`` the digest notes that cite them.
    """

    run_id: str = ""
    date: str = ""
    scan_days: int = 0
    scanned: int = 0
    unchanged: int = 0
    outside: int = 0
    read: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    unsourced: list[str] = field(default_factory=list)
    units: list[Unit] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    waiting: list[Unit] = field(default_factory=list)
    topics: list[Topic] = field(default_factory=list)
    created: list[str] = field(default_factory=list)
    modified: list[str] = field(default_factory=list)
    interests: str = ""
    resumed: str = ""
    warnings: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def add_changes(self, entries: "Iterable[HistoryEntry]") -> None:
        """Take over what the history says that this run changed."""
        for entry in entries:
            if entry.path.endswith(".yaml"):
                self.interests = entry.path
            elif entry.path not in (*self.created, *self.modified):
                (self.created if entry.kind == "created" else self.modified).append(entry.path)

    def response(self, *, logged: bool) -> Response:
        """The report as a value: ``success`` says that nothing failed."""
        facts: dict[str, Any] = {
            "run_id": self.run_id if logged else "",
            "date": self.date,
            "scan_days": self.scan_days,
            "scanned": self.scanned,
            "unchanged": self.unchanged,
            "outside": self.outside,
            "read": self.read,
            "left": self.left,
            "gone": self.gone,
            "unsourced": self.unsourced,
            "units": [_unit(unit) for unit in self.units],
            "integrated": [_step(step) for step in self.steps if step.action != "none"],
            "skipped": [_step(step) for step in self.steps if step.action == "none"],
            "waiting": [_unit(unit) for unit in self.waiting],
            "created": self.created,
            "modified": self.modified,
            "topics": [plain_topic(topic) for topic in self.topics],
            "interests_path": self.interests,
            "log": log_path(self.run_id) if logged else "",
            "resumed": self.resumed,
            "warnings": self.warnings,
            "errors": self.errors,
        }
        return Response(not self.errors, "\n".join(self._summary(logged)), facts)

    def log_lines(self) -> list[str]:
        """What only this run knows, a line each. A line names the notes it is about, so that it goes with them."""
        lines = [f"- read {path}" for path in self.read]
        lines += [f"- {told}" for told in map(_told, self.steps)]
        lines += [f"- waits: {unit.statement!r} ({', '.join(unit.paths)})" for unit in self.waiting]
        lines += [f"- not read yet: {path}" for path in self.left]
        lines += [f"- gone since it was read: {path}" for path in self.gone]
        lines += [f"- topic: {topic.title} ({', '.join(topic.paths)})" for topic in self.topics]
        return lines + [f"- note: {text}" for text in self.warnings] + [f"- failed: {text}" for text in self.errors]

    def _summary(self, logged: bool) -> list[str]:
        done = [f"Completed run {self.resumed}, which had been interrupted."] if self.resumed else []
        done += [
            f"{kind} {path}"
            for kind, paths in (("created", self.created), ("changed", self.modified))
            for path in paths
        ]
        if not logged and not self.errors:
            waits = f" {_count(len(self.waiting), 'unit')} waiting." if self.waiting else ""
            return [*done, f"Nothing new in {_count(self.scanned, 'daily note')}.{waits}", *self.warnings]
        lines = [*done[:1]] if self.resumed else []
        lines.append(
            f"Read {_count(len(self.read), 'note')} of {self.scanned}, found {_count(len(self.units), 'unit')}."
        )
        lines += [_told(step) for step in self.steps]
        if self.waiting:
            lines.append(f"{_count(len(self.waiting), 'unit')} waiting for the next run.")
        if self.left:
            lines.append(f"{_count(len(self.left), 'note')} to be read by the next run.")
        if self.topics:
            lines.append("Topics: " + "; ".join(topic.title for topic in self.topics))
        lines += self.warnings + [f"Failed: {error}" for error in self.errors]
        if logged:
            lines.append(f"Log: {log_path(self.run_id)}. To take all of it back: undo {self.run_id}")
        return lines


def full_log(run_id: str, day: str, lines: Iterable[str], entries: "Iterable[HistoryEntry]") -> list[str]:
    """The log of a run as Markdown: the files it changed, then what it decided."""
    files = [f"- {entry.kind} [[{entry.path}]] ({entry.id})" for entry in entries]
    return [
        f"# Dream {run_id}",
        "",
        f"Of {day}. To take all of it back: `agentscope-reme undo {run_id}`",
        "",
        "## Files",
        "",
        *(files or ["- none"]),
        "",
        "## Decisions",
        "",
        *lines,
    ]


def _told(step: Step) -> str:
    to = f" {step.path}" if step.path else ""
    why = f" [{step.reason}]" if step.reason else ""
    said = " ".join(step.unit.statement.split())
    return f"{step.told_as}{to}: {said} ({', '.join(one.source for one in step.unit.evidence)}){why}"


def _unit(unit: Unit) -> dict[str, Any]:
    return {key: value for key, value in unit.plain().items() if key not in ("language", "tries")}


def _step(step: Step) -> dict[str, Any]:
    evidence = [one.source for one in step.unit.evidence]
    return {
        "unit": step.unit.id,
        "action": step.told_as,
        "path": step.path,
        "statement_id": step.target,
        "statement": step.text or step.unit.statement,
        "evidence": evidence,
        "reason": step.reason,
    }


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
