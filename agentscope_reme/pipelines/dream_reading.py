"""Reading daily notes with a model: which of them, in which requests, and what of them counts as read afterwards."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from ..prompts import load_prompt
from .agent import PlanError
from .dream_sources import Piece, Source, requests
from .dream_units import Extraction, Topic, Unit, checked_topics, checked_units
from .evidence import language_of
from .fence import fenced
from .topics import Planning

Partial = Mapping[str, tuple[str, int]]
"""Of notes that were read in part: the version, and the last line."""

MAX_SPLITS = 6
"""How often in one run a request is divided because of which the model failed."""


@dataclass(slots=True)
class Reading:
    """What was found. ``notes`` and ``partial`` are what counts as read; ``left`` waits for the next run.

    ``stuck`` of these are notes that the model failed on.
    """

    units: list[Unit] = field(default_factory=list)
    topics: list[Topic] = field(default_factory=list)
    notes: dict[str, str] = field(default_factory=dict)
    partial: dict[str, tuple[str, int]] = field(default_factory=dict)
    read: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    stuck: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


async def read_notes(
    planner: Planning,
    changed: Sequence[Source],
    partial: Partial,
    *,
    most: int,
    hint: str,
    language: str,
    last: Collection[str] = (),
) -> Reading:
    """Ask what the changed notes hold, in at most ``most`` requests and some more for those that had to be divided.

    The notes ``last`` are read after the others: what the model failed on before keeps nothing from being read.

    A request that is too long for the model, or that it makes no plan of, is divided: one note cannot keep others from
    being read. What the model fails on is not read, and its later lines wait for the earlier ones.
    """
    reading = Reading(notes={source.path: source.version for source in changed if not source.lines})
    sources = sorted((source for source in changed if source.lines), key=lambda source: source.path in last)
    version_of = {source.path: source.version for source in sources}
    known = {path: seen for path, seen in partial.items() if version_of.get(path) == seen[0]}
    batches = await asyncio.to_thread(requests, sources, {path: last for path, (_, last) in known.items()})
    todo, splits = batches[:most], 0
    stuck = dict.fromkeys(path for path in version_of if path in last)
    failed: set[str] = set()
    while todo:
        pieces = [piece for piece in todo.pop(0) if piece.source.path not in failed]
        if not pieces:
            continue
        tongue, user = await asyncio.to_thread(_request, pieces, hint, language)
        system = load_prompt("dream_extract", tongue)
        try:
            claims = await planner.plan(Extraction, system=system, user=user, language=tongue)
        except PlanError as error:
            parts = _divided(pieces, error) if splits < MAX_SPLITS else []
            if parts:
                splits += 1
                todo[:0] = parts
                continue
            paths = list(dict.fromkeys(piece.source.path for piece in pieces))
            failed.update(paths)
            stuck |= dict.fromkeys(paths)
            told = f"nothing was taken from {', '.join(paths)}, which the next run reads again: {error}"
            reading.errors.append(told)
            continue
        await asyncio.to_thread(_take, reading, claims, pieces, tongue)
    reading.read = [path for path in version_of if path in reading.notes or path in reading.partial]
    reading.left = [path for path in version_of if path not in reading.notes]
    reading.partial = {path: seen for path, seen in {**known, **reading.partial}.items() if path in reading.left}
    reading.stuck = [path for path in stuck if path in failed or path not in reading.read]
    return reading


def _request(pieces: Sequence[Piece], hint: str, language: str) -> tuple[str, str]:
    """The language of a request, and what its user message holds."""
    tongue = language if language in ("en", "zh") else language_of([piece.text for piece in pieces])
    notes = [
        fenced(
            "note",
            piece.shown(tongue),
            path=piece.source.path,
            day=piece.source.day,
            name=piece.source.name,
            trust=piece.source.trust,
        )
        for piece in pieces
    ]
    return tongue, "\n\n".join([*notes, *([fenced("hint", hint)] if hint.strip() else [])])


def _divided(pieces: Sequence[Piece], error: PlanError) -> list[list[Piece]]:
    """Two requests instead of one; nothing when that would not help."""
    if error.reason not in ("too_long", "malformed"):
        return []
    if len(pieces) > 1:
        middle = len(pieces) // 2
        return [list(pieces[:middle]), list(pieces[middle:])]
    return [[half] for half in pieces[0].halves()] if error.reason == "too_long" else []


def _take(reading: Reading, claims: Extraction, pieces: Sequence[Piece], language: str) -> None:
    units, dropped = checked_units(claims.units, pieces, language)
    topics, unfounded = checked_topics(claims.topics, pieces)
    where = ", ".join(dict.fromkeys(piece.source.path for piece in pieces))
    reading.units += units
    reading.topics += topics
    reading.warnings += [f"{text} ({where})" for text in (*dropped, *unfounded, *claims.left_out)]
    for piece in pieces:
        source = piece.source
        if piece.ends:
            reading.notes[source.path] = source.version
            reading.partial.pop(source.path, None)
        else:
            reading.partial[source.path] = (source.version, piece.last)
