"""What an index holds once it is open: the store, what keeps and searches it, and the stored index it came from."""

import logging
import os
import threading
from typing import TYPE_CHECKING, Any

from ..errors import ReMeError
from .freed_memory import give_back

if TYPE_CHECKING:
    from ..config import ReMeConfig, Weights
    from ..vault.notes import Vault
    from .known_file import KnownFile
    from .retrieval import Retriever
    from .store import Store
    from .sync import Sync
    from .tokenizer import Tokenizer

log = logging.getLogger(__name__)

# Raise it with every change after which the same files may give another index.
_CONTENT = 8


class Opened:
    """The parts of an open index. ``lock`` is who may write it, ``damage`` what was wrong with the stored one."""

    def __init__(
        self,
        vault: "Vault",
        store: "Store",
        sync: "Sync",
        retriever: "Retriever",
        tokenizer: "Tokenizer",
        lock: Any,
        fingerprint: str,
    ) -> None:
        self.vault = vault
        self.store, self.sync, self.retriever, self.tokenizer = store, sync, retriever, tokenizer
        self.lock = lock
        self.fingerprint = fingerprint
        self.saving = threading.Lock()
        self.saved = -1  # revision of the corpus that is on disk
        self.stored = False
        self.damage = ""

    @classmethod
    def empty(
        cls, vault: "Vault", config: "ReMeConfig", weights: "Weights | None", tokenizer: "Tokenizer", lock: Any
    ) -> "Opened":
        """An index of nothing."""
        from .compiled import kernels
        from .corpus import Corpus
        from .graph import LinkGraph
        from .retrieval import Retriever
        from .store import Store
        from .sync import Sync

        if kernels is not None:
            vault.storage.read_plain_files_by(kernels.read_plain)
        store = Store(Corpus(), LinkGraph(config.link_resolution))
        retriever = Retriever(vault, store, tokenizer, weights or config.ranking, config.chunk_chars)
        settings = f"{_CONTENT}|{config.chunk_chars}|{config.embed_toc}|{tokenizer.fingerprint}"
        return cls(vault, store, Sync(vault, config, tokenizer, store), retriever, tokenizer, lock, settings)

    @classmethod
    def load(cls, vault: "Vault", config: "ReMeConfig", weights: "Weights | None") -> "Opened":
        """The stored index, or an empty one where there is none that fits."""
        from . import snapshot
        from .tokenizer import Tokenizer

        tokenizer = Tokenizer(config.chinese)
        tokenizer.warm()
        opened = cls.empty(vault, config, weights, tokenizer, snapshot.WriterLock(vault.root))
        loaded = snapshot.load(vault.storage, opened.fingerprint)
        opened.stored = os.path.exists(vault.root / snapshot.INDEX)  # False also where nobody lets us look
        opened.damage = loaded.damage
        if loaded.damage:
            log.warning("the stored index of %s %s; it is built again from the files", vault.root, loaded.damage)
            if opened.lock.acquire():
                snapshot.set_aside(vault.root)
        if loaded.corpus is not None:
            opened.store.corpus = loaded.corpus
            opened.saved = loaded.corpus.revision
            files = loaded.corpus.files
            opened.store.graph.fill(
                files.paths_by_id, files.links_by_id, map(_names, files.living()), loaded.corpus.anchors.targets
            )
            give_back()
        return opened

    def save(self, always: bool) -> bool:
        """Write the index if this process may and there is something to write; whether what is stored is current."""
        from . import snapshot

        with self.saving:
            with self.store.lock:
                corpus = self.store.corpus
                if self.saved == corpus.revision and self.sync.restamped < 50 and not always:
                    return True
                if not corpus.files and not self.stored:
                    return True  # nothing to keep: an empty vault stays untouched
                if not self.vault.root.is_dir():
                    return False  # moved, deleted, or on a disk that is away: no new folder takes its place
                if not self.lock.acquire():
                    return False
                self.retriever.look_ahead()
                packed, revision = snapshot.pack(corpus, self.fingerprint), corpus.revision
                self.sync.restamped = 0
            try:
                # Not under the store's lock: a move holds the vault's lock while it asks the index for links.
                snapshot.write(self.vault.storage, packed)
            except (ReMeError, OSError) as error:
                log.warning("the index could not be stored: %s", error)
                return False
            self.saved, self.stored = revision, True
            del packed
            give_back()
        return True


def _names(known: "KnownFile") -> tuple[str, ...]:
    title, _, _, aliases = known.card
    return title, *aliases
