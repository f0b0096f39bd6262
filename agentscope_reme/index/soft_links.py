"""Where links lead by the soft rule (base names, aliases), whatever the graph's rule is.

The anchors remember what was found; here is known which of it a file that comes, goes or is renamed puts in doubt.
"""

from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING
from unicodedata import normalize

if TYPE_CHECKING:
    from .sync import Store


class SoftLinks:
    """Looks targets up. Not thread-safe: the caller holds the store's lock."""

    def __init__(self, store: "Store") -> None:
        self._store = store
        self._corpus: object = None
        self._seen = 0  # of the corpus's changes of names
        self._alike: dict[str, list[str]] = {}  # targets that were looked up, by what their spellings share

    def current(self) -> Callable[[str], str | None]:
        """The file a target leads to, None where it leads to none or to several; valid until the next change.

        Has the anchors doubt what names that changed meanwhile may answer to.
        """
        corpus = self._store.corpus
        missed = corpus.renames - self._seen
        if self._corpus is not corpus or missed > len(corpus.renamed):
            self._alike = {}
            corpus.anchors.doubt()
        elif missed:
            for names in islice(corpus.renamed, len(corpus.renamed) - missed, None):
                for key in set(map(_key, names)):
                    corpus.anchors.doubt(self._alike.pop(key, ()))
        self._corpus, self._seen = corpus, corpus.renames
        return self._leads_to

    def _leads_to(self, target: str) -> str | None:
        self._alike.setdefault(_key(target), []).append(target)
        return self._store.graph.resolve(target, "", "obsidian").path


def _key(name: str) -> str:
    """What every spelling of a target has in common: its last part, whatever its case and with or without ``.md``."""
    return normalize("NFC", name).casefold().rpartition("/")[2].removesuffix(".md").strip()
