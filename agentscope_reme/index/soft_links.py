"""Where links lead by the soft rule (base names, aliases), whatever the graph's rule is.

The anchors remember what was found, and a stored index has it; here a file that comes, goes or is renamed puts in doubt
what is spelled like one of its names.
"""

from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from .columns import grown
from .keyword_columns import Ints

if TYPE_CHECKING:
    from .store import Store

_UNKNOWN = -2


class SoftLinks:
    """Looks targets up. Not thread-safe: the caller holds the store's lock."""

    def __init__(self, store: "Store") -> None:
        self._store = store
        # By number of a path in the anchors, the file's id, as far as it has been asked for.
        self._files: Ints = np.zeros(0, np.int32)
        self._corpus: object = None
        self._state = (-1, -1, -1)

    def current(self) -> Callable[[str], str | None]:
        """The file a target leads to, None where it leads to none or to several; valid until the next change.

        Has the anchors doubt what names that changed meanwhile may answer to.
        """
        corpus, graph = self._store.corpus, self._store.graph
        anchors = corpus.anchors
        missed = corpus.renames - anchors.seen
        if missed > len(corpus.renamed):
            anchors.doubt()
        elif missed:
            changed = islice(corpus.renamed, len(corpus.renamed) - missed, None)
            for name in {name for names in changed for name in names}:
                anchors.doubt(graph.targets_like(name))
        anchors.seen = corpus.renames
        return graph.softly

    def look_up_all(self) -> None:
        """Have the anchors know where each link leads."""
        self._store.corpus.anchors.look_up_all(self.current())

    def files(self, paths: Ints) -> Ints:
        """The ids of the files at some paths, given by their numbers in the anchors; -1 where there is none."""
        corpus = self._store.corpus
        anchors = corpus.anchors
        state = (corpus.revision, corpus.numbering, anchors.numbering)
        if corpus is not self._corpus or state != self._state:
            self._corpus, self._state = corpus, state
            self._files = np.full(anchors.paths, _UNKNOWN, np.int32)
        known = self._files = grown(self._files, anchors.paths, _UNKNOWN)
        found = known.take(paths)
        unknown = (found == _UNKNOWN).nonzero()[0]
        if len(unknown):
            for path in paths.take(unknown).tolist():
                known[path] = corpus.files.id_of(anchors.path(path))
            found = known.take(paths)
        return found
