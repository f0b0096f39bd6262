"""What a dream remembers between its runs, and what a run that was decided on is about to write.

``notes`` names for each daily note the version that was *read*: a note that was edited meanwhile is another version,
and read by the next run. Units beyond what a run integrates wait. A plan is on the disk before its first note is
written, so that after a crash the next run completes it without asking a model again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..vault.run_records import load_state, save_state
from .dream_decisions import Step, step_of
from .dream_units import Topic, Unit, unit_of
from .topics import plain_topic, topic_of

if TYPE_CHECKING:
    from ..vault import Vault

NAME = "auto_dream"


@dataclass(slots=True)
class Plan:
    """What a run writes, and the state after it. ``log`` are lines of its log that only this run knows.

    ``stuck`` are notes that the model made no plan of.
    """

    run_id: str
    day: str
    steps: list[Step] = field(default_factory=list)
    topics: list[Topic] = field(default_factory=list)
    topic_count: int = 0
    proposals: int = 0
    notes: dict[str, str] = field(default_factory=dict)
    partial: dict[str, tuple[str, int]] = field(default_factory=dict)
    waiting: list[Unit] = field(default_factory=list)
    stuck: list[str] = field(default_factory=list)
    log: list[str] = field(default_factory=list)

    def plain(self) -> dict[str, Any]:
        """As JSON holds it."""
        return {
            "run_id": self.run_id,
            "day": self.day,
            "steps": [step.plain() for step in self.steps],
            "topics": [plain_topic(topic) for topic in self.topics],
            "topic_count": self.topic_count,
            "proposals": self.proposals,
            "notes": self.notes,
            "partial": self.partial,
            "waiting": [unit.plain() for unit in self.waiting],
            "stuck": self.stuck,
            "log": self.log,
        }


@dataclass(slots=True)
class DreamState:
    """``notes``: versions read, by path; ``partial``: of a long note, the version and the last line read.

    ``stuck`` are notes that the last run failed on, which the next one reads after the others.
    """

    notes: dict[str, str] = field(default_factory=dict)
    partial: dict[str, tuple[str, int]] = field(default_factory=dict)
    waiting: list[Unit] = field(default_factory=list)
    stuck: list[str] = field(default_factory=list)
    plan: Plan | None = None

    def follow(self, plan: Plan, back: Sequence[Unit] = ()) -> None:
        """Be the state after a plan; the units ``back`` could not be written and wait."""
        self.notes |= plan.notes
        self.partial = plan.partial
        self.waiting = [*back, *plan.waiting]
        self.stuck = plan.stuck
        self.plan = None

    def save(self, vault: "Vault") -> None:
        """Write it, durably; not when it is as it was."""
        plain: dict[str, Any] = {
            "notes": dict(sorted(self.notes.items())),
            "partial": dict(sorted(self.partial.items())),
            "waiting": [unit.plain() for unit in self.waiting],
        }
        if self.stuck:
            plain["stuck"] = self.stuck
        if self.plan is not None:
            plain["plan"] = self.plan.plain()
        save_state(vault.storage, NAME, plain)


def read_state(vault: "Vault") -> DreamState:
    """The state as it is on the disk. What of it cannot be read counts as not there: its notes are read again."""
    plain = load_state(vault.storage, NAME)
    state = DreamState(
        _versions(plain.get("notes")),
        _partial(plain.get("partial")),
        _units(plain.get("waiting")),
        _paths(plain.get("stuck")),
    )
    told = plain.get("plan")
    if isinstance(told, Mapping):
        steps = [step_of(step) for step in told.get("steps") or () if isinstance(step, dict)]
        topics = [topic_of(topic) for topic in told.get("topics") or ()]
        run_id, day = told.get("run_id"), told.get("day")
        if isinstance(run_id, str) and isinstance(day, str) and None not in steps:
            state.plan = Plan(
                run_id=run_id,
                day=day,
                steps=[step for step in steps if step is not None],
                topics=[topic for topic in topics if topic is not None],
                topic_count=int(told.get("topic_count") or 0),
                proposals=int(told.get("proposals") or 0),
                notes=_versions(told.get("notes")),
                partial=_partial(told.get("partial")),
                waiting=_units(told.get("waiting")),
                stuck=_paths(told.get("stuck")),
                log=[str(line) for line in told.get("log") or ()],
            )
    return state


def _versions(value: Any) -> dict[str, str]:
    return {str(path): str(version) for path, version in value.items()} if isinstance(value, Mapping) else {}


def _paths(value: Any) -> list[str]:
    return [str(path) for path in value] if isinstance(value, list) else []


def _partial(value: Any) -> dict[str, tuple[str, int]]:
    found = {}
    for path, seen in value.items() if isinstance(value, Mapping) else ():
        if isinstance(seen, list | tuple) and len(seen) == 2 and isinstance(seen[1], int):
            found[str(path)] = (str(seen[0]), seen[1])
    return found


def _units(value: Any) -> list[Unit]:
    units = [unit_of(one) for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []
    return [unit for unit in units if unit is not None]
