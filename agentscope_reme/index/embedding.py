"""An embedding model, called on a thread of its own: in batches, with patience, and for no longer than a search waits.

Any object with AgentScope's ``EmbeddingModelBase`` interface serves: ``model_name``, ``dimensions`` and an asynchronous
call that takes a list of texts and returns something with ``embeddings``.
"""

import asyncio
import hashlib
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np

from ..errors import ConfigError
from .embedding_client import with_own_connections
from .vectors_table import Numbers

log = logging.getLogger(__name__)
T = TypeVar("T")

# Seconds between attempts at a batch.
PAUSES = (0.5, 1.0, 2.0)
# Seconds after which a batch that has not come back counts as failed.
BATCH_SECONDS = 60.0
# A question is not asked again for so many seconds after the model took too long; doubled each time, up to the second.
REST_SECONDS, LONGEST_REST = 5.0, 60.0
# A failure that took less than this does not delay searches: the model is asked again at once.
QUICK_SECONDS = 0.25
KEPT_QUESTIONS = 256


class EmbeddingModel(Protocol):
    """What is used of AgentScope's ``EmbeddingModelBase``."""

    model_name: str
    dimensions: int

    def __call__(self, text: list[str]) -> Awaitable[Any]: ...


class EmbeddingFault(Exception):
    """The model could not be used; the message says why. Never leaves the index."""


class WrongDimensions(EmbeddingFault):
    """The model's vectors have another length than it says."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question's vector, or why there is none."""

    vector: Numbers | None = None
    fault: str = ""


class ModelThread:
    """A daemon thread with an event loop for calls of a model. It starts with the first one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._closed = False

    def run(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        """Start a coroutine there. Raises RuntimeError after :meth:`close`."""
        with self._lock:
            if self._closed:
                work.close()
                raise RuntimeError("the thread is closed")
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=self._serve, args=(self._loop,), name="reme-embedding", daemon=True
                )
                self._thread.start()
            return asyncio.run_coroutine_threadsafe(work, self._loop)

    def call_soon(self, function: Callable[[], None]) -> None:
        """Call a function there, if the thread is running."""
        with self._lock:
            if self._loop is not None and not self._closed:
                self._loop.call_soon_threadsafe(function)

    def close(self, seconds: float) -> None:
        """Cancel what runs and end the thread; one that hangs in a model's call is left to itself."""
        with self._lock:
            loop, thread, self._closed = self._loop, self._thread, True
        if loop is None or thread is None or not thread.is_alive():
            return
        loop.call_soon_threadsafe(loop.stop)
        thread.join(seconds)
        if thread.is_alive():
            log.warning("an embedding model has not come back; its thread is left behind")

    @staticmethod
    def _serve(loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        try:
            loop.run_forever()
            tasks = asyncio.all_tasks(loop)
            for task in tasks:
                task.cancel()
            loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.run_until_complete(loop.shutdown_default_executor())
        finally:
            loop.close()


class Embedder:
    """Turns texts into vectors with one model. ``run`` starts a coroutine on the thread the model is called on.

    ``fault`` is what went wrong last, "" while all is well.
    """

    def __init__(
        self, model: EmbeddingModel, *, batch: int = 32, question_prefix: str = "", text_prefix: str = ""
    ) -> None:
        said = model.dimensions
        if isinstance(said, bool) or not str(said).isdecimal() or int(said) < 1:
            raise ConfigError(
                f"the embedding model {model.model_name} has dimensions={said!r}; make it with their number"
            )
        self.model = with_own_connections(model)
        self.dimensions = int(said)  # how many numbers the model says its vectors have
        self._made_for = (model.model_name, said)
        limit = getattr(model, "batch_size_limit", None)  # some classes have none, or 0 where there is none
        self.batch = min(batch, limit) if isinstance(limit, int) and limit > 0 else batch
        self._question_prefix, self._text_prefix = question_prefix, text_prefix
        self.thread = ModelThread()
        self.fault = ""
        self.calls = 0
        self._known: OrderedDict[str, Numbers] = OrderedDict()
        self._rest_until, self._rest = 0.0, REST_SECONDS

    @property
    def name(self) -> str:
        """The model, and what is put before texts: what stored vectors must agree in."""
        if not self._text_prefix:
            return str(self._made_for[0])
        digest = hashlib.sha256(self._text_prefix.encode("utf-8", "surrogatepass")).hexdigest()
        return f"{self._made_for[0]}+{digest[:8]}"

    # --- questions, from any thread -------------------------------------------------------------------------------

    async def ask(self, question: str, seconds: float, allowed: float = 0.0) -> Asked:
        """The vector of a question, within so many seconds, which are what is left of those allowed.

        What comes later serves the next time.
        """
        known = self._known.get(question)
        if known is not None:
            self._known.move_to_end(question)
            return Asked(known)
        left = self._rest_until - time.monotonic()
        if left > 0:
            return Asked(fault=f"{self.fault}; it is asked again in {left:.0f} s")
        from .freshness import result_of

        began = time.monotonic()
        try:
            return Asked(await result_of(self.thread.run(self._question(question)), seconds))
        except TimeoutError:
            within = round(max(seconds, allowed), 1)
            self.fault = f"the embedding model {self.model.model_name} did not answer within {within:g} s"
        except EmbeddingFault as error:
            self.fault = str(error)
        except (RuntimeError, CancelledError):
            return Asked(fault="the index is being closed")
        if time.monotonic() - began > QUICK_SECONDS:
            self._rest_until = time.monotonic() + self._rest
            self._rest = min(2 * self._rest, LONGEST_REST)
        return Asked(fault=self.fault)

    async def _question(self, question: str) -> Numbers:
        prefix = self._question_prefix
        asked = getattr(self.model, "embed_question", None) if not prefix else None
        began = time.monotonic()
        try:
            vector = (await self._call([prefix + question], asked))[0]
        except WrongDimensions:
            raise
        except EmbeddingFault:
            if time.monotonic() - began > QUICK_SECONDS:
                raise
            vector = (await self._call([prefix + question], asked))[0]
        if vector is None:
            raise EmbeddingFault(f"the embedding model {self.model.model_name} returned no numbers for the question")
        self._known[question] = vector
        while len(self._known) > KEPT_QUESTIONS:
            self._known.popitem(last=False)
        self._well()
        return vector

    # --- texts, on the model's thread -----------------------------------------------------------------------------

    async def embed(self, texts: Sequence[str]) -> list[Numbers | None]:
        """Vectors of at most ``batch`` texts, None for one that the model does not take.

        A batch that fails is tried again after pauses. When it still fails while the model works for another text, its
        texts are tried one by one. Raises EmbeddingFault when the model does not work.
        """
        prefixed = [self._text_prefix + text for text in texts]
        for pause in (*PAUSES, None):
            try:
                found = await self._call(prefixed)
                self._well()
                return found
            except WrongDimensions as error:
                self.fault = str(error)
                raise
            except EmbeddingFault as error:
                self.fault = str(error)
                if pause is not None:
                    await asyncio.sleep(pause)
        reason = self.fault
        await self._call(["ok"])  # raises when nothing works
        log.info("the embedding model does not take one of %d texts (%s); trying each", len(texts), reason)
        out: list[Numbers | None] = []
        for text in prefixed:
            try:
                out += await self._call([text])
            except EmbeddingFault:
                out.append(None)
        self._well()
        return out

    def _well(self) -> None:
        self.fault, self._rest_until, self._rest = "", 0.0, REST_SECONDS

    async def _call(self, texts: list[str], call: Any = None) -> list[Numbers | None]:
        name = self.model.model_name
        if (name, self.model.dimensions) != self._made_for:
            # Its vectors and those that are there are not comparable.
            raise EmbeddingFault(
                f"the embedding model {self._made_for[0]} with dimensions={self._made_for[1]} has become {name} with "
                f"dimensions={self.model.dimensions}; open the vault anew with it"
            )
        self.calls += 1
        bound = asyncio.timeout(BATCH_SECONDS)
        try:
            async with bound:
                response = await (call or self.model)(texts)
            rows = list(response.embeddings)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            # Something inside of the model was cancelled: nobody has cancelled this.
            raise EmbeddingFault(f"the embedding model {name} broke off its own call") from None
        except GeneratorExit:  # the call itself is given up
            raise
        except BaseException as error:  # on this thread an exit ends nothing but it; a panic in Rust is no Exception
            if isinstance(error, TimeoutError) and bound.expired():
                said = f"did not answer within {BATCH_SECONDS:g} s"
            else:  # a limit of time of its own counts as a failure of its own
                said = f"failed: {_in_words(error)}"
            raise EmbeddingFault(f"the embedding model {name} {said}") from error
        if len(rows) != len(texts):
            raise EmbeddingFault(f"the embedding model {name} returned {len(rows)} vectors for {len(texts)} texts")
        return [self._checked(row) for row in rows]

    def _checked(self, row: Any) -> Numbers | None:
        """A vector as numbers; None where it or some of them are none, or all are 0."""
        try:
            vector = np.asarray(row, np.float64)
        except Exception:  # a tensor may raise anything
            return None
        if not vector.ndim:
            return None
        if vector.ndim > 1:
            raise WrongDimensions(
                f"the embedding model {self.model.model_name} returns arrays of shape {vector.shape} where lists of "
                f"{self.dimensions} numbers belong"
            )
        if len(vector) != self.dimensions:
            raise WrongDimensions(
                f"the embedding model {self.model.model_name} returns vectors of {len(vector)} numbers, but its "
                f"dimensions are {self.dimensions}; make the model with dimensions={len(vector)}"
            )
        largest = float(np.abs(vector).max())
        if not np.isfinite(largest) or largest == 0.0:
            return None
        # Their direction counts: numbers too large or too small for the length in single precision are brought nearer.
        return (vector if 1e-12 < largest < 1e12 else vector / largest).astype(np.float32)


def _in_words(error: BaseException) -> str:
    """What went wrong, on one line and not at any length."""
    try:
        said = " ".join(str(error).split())[:300]
    except Exception:
        said = ""
    return f"{type(error).__name__}: {said}" if said else type(error).__name__
