"""What files say of themselves and of each other that counts in ranking, and who speaks in the vault."""

import re
from dataclasses import dataclass, field
from typing import Any

from .corpus import Corpus
from .keyword_columns import Ints
from .reading import day_number

_LINK = re.compile(r"^!?\[\[([^\]|#]+)(?:[#|][^\]]*)?\]\]$")


@dataclass(slots=True)
class Standing:
    """Worked out once per state of the corpus, from the few files that say such a thing."""

    state: tuple[int, int] = (-1, -1)
    preferred: frozenset[int] = frozenset()
    superseded: frozenset[int] = frozenset()
    voices: frozenset[int] = frozenset()  # speakers of living files
    ends: dict[int, int] = field(default_factory=dict)  # file id -> last day it is valid
    spoken: dict[str, frozenset[str]] = field(default_factory=dict)  # a speaker's name -> its terms
    days: Ints | None = None  # of all units, once a question has named a date


def standing_of(corpus: Corpus, before: Standing) -> Standing:
    """The standing of a corpus as it is now; ``before`` is what was worked out last."""
    state = (corpus.revision, corpus.numbering)
    if before.state == state:
        return before
    preferred: set[int] = set()
    ends: dict[int, int] = {}
    superseded: set[int] = set()
    for path in corpus.telling:
        entry = corpus.files[path]
        front = entry.front
        if entry.is_preferred:
            preferred.add(entry.id)
        if (end := day_number(str(front.get("valid_to", "")))) != 0:
            ends[entry.id] = end
        if front.get("superseded_by"):
            superseded.add(entry.id)
        for target in _targets(front.get("supersedes")):
            found = corpus.files.get(target) or corpus.files.get(f"{target}.md")
            if found is not None and found != entry:
                superseded.add(found.id)
    voices = frozenset(+corpus.speaking)
    known = before.spoken if len(before.spoken) <= len(voices) + 100 else {}
    return Standing(state, frozenset(preferred), frozenset(superseded), voices, ends, known)


def _targets(value: Any) -> list[str]:
    out = []
    for one in value if isinstance(value, list) else [value]:
        if isinstance(one, str) and one.strip():
            link = _LINK.match(one.strip())
            out.append((link.group(1) if link else one).strip())
    return out
