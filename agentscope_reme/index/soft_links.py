"""Where links lead by the soft rule (base names, aliases), whatever the graph's rule is.

The anchors remember what was found; here is known which of it a file that comes, goes or is renamed puts in doubt.
"""

from array import array
from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING
from unicodedata import normalize

import numpy as np

from ..vault.pairs import Pairs, hash_of
from .columns import grown
from .keyword_columns import Ints

if TYPE_CHECKING:
    from .store import Store

_UNKNOWN = -2


class SoftLinks:
    """Looks targets up. Not thread-safe: the caller holds the store's lock."""

    def __init__(self, store: "Store") -> None:
        self._store = store
        self._corpus: object = None
        self._seen = 0  # of the corpus's changes of names
        # Numbers of the targets that were looked up, by a hash of what their spellings share, and those that wait for
        # somebody to change a name.
        self._alike = Pairs()
        self._waiting = array("I")
        self._numbering = -1  # of those numbers
        # By number of a path in the anchors, the file's id, as far as it has been asked for.
        self._files: Ints = np.zeros(0, np.int32)
        self._state = (-1, -1, -1)

    def current(self) -> Callable[[int, str], str | None]:
        """The file a target leads to, None where it leads to none or to several; valid until the next change.

        What it gives is asked with the number of the target in the anchors, and its text.

        Has the anchors doubt what names that changed meanwhile may answer to.
        """
        corpus = self._store.corpus
        missed = corpus.renames - self._seen
        anchors = corpus.anchors
        if self._corpus is not corpus or missed > len(corpus.renamed) or self._numbering != anchors.numbering:
            self._alike, self._waiting, self._numbering = Pairs(), array("I"), anchors.numbering
            self._state = (-1, -1, -1)
            anchors.doubt()
        elif missed:
            for number in self._waiting:
                self._alike.add(hash_of(_key(anchors.target(number))), number)
            self._waiting = array("I")
            for names in islice(corpus.renamed, len(corpus.renamed) - missed, None):
                for key in set(map(_key, names)):
                    anchors.doubt(self._alike.of(hash_of(key)))  # and perhaps some others
        self._corpus, self._seen = corpus, corpus.renames
        return self._leads_to

    def files(self, paths: Ints) -> Ints:
        """The ids of the files at some paths, given by their numbers in the anchors; -1 where there is none."""
        corpus = self._store.corpus
        anchors = corpus.anchors
        state = (corpus.revision, corpus.numbering, anchors.numbering)
        if state != self._state:
            self._state, self._files = state, np.full(anchors.paths, _UNKNOWN, np.int32)
        known = self._files = grown(self._files, anchors.paths, _UNKNOWN)
        for path in paths[known[paths] == _UNKNOWN].tolist():
            entry = corpus.files.get(anchors.path(path))
            known[path] = -1 if entry is None else entry.id
        return known[paths]

    def _leads_to(self, number: int, target: str) -> str | None:
        self._waiting.append(number)
        return self._store.graph.softly(target)


def _key(name: str) -> str:
    """What every spelling of a target has in common: its last part, whatever its case and with or without ``.md``."""
    return normalize("NFC", name).casefold().rpartition("/")[2].removesuffix(".md").strip()
