"""Token counts: one counter decides when to compact, where to cut and what is reported (P4).

A :class:`TokenBudget` counts texts, messages and tool schemas with the first of: the counter the user passes, the Qwen
vocabulary inside ``dashscope`` (exact, offline), a bounded estimate by character class. Counting is synchronous and
cheap once :meth:`TokenBudget.ready` has loaded the vocabulary off the event loop; AgentScope's asynchronous counters
are awaited per message. A counter that answers nothing usable, or cannot be loaded, is replaced for that message, or
until it can.
"""

import asyncio
import inspect
import logging
import math
from collections.abc import Callable, Mapping, Sequence
from concurrent import futures
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .blocks import MEDIA, blocks_of, json_text, output_blocks, shown
from .calibration import Calibration
from .counters import EstimateCounter, HuggingFaceCounter, QwenCounter, TextCounter, default_counter
from .framework_counter import FrameworkCounter, started

if TYPE_CHECKING:
    from agentscope.message import Msg
    from agentscope.token import TokenCounterBase

__all__ = [
    "EstimateCounter",
    "HuggingFaceCounter",
    "QwenCounter",
    "TextCounter",
    "TokenBudget",
    "default_counter",
    "message_cost",
]

logger = logging.getLogger(__name__)

# What a request adds around a message (role, name, separators, as JSON or as a chat template: 5 to 25 tokens), and
# around a call or a result in it.
MESSAGE_OVERHEAD = 10
BLOCK_OVERHEAD = 6
# Texts longer than this are counted in a worker thread, so that the loop is not held (about 1 ms at 9 MB/s).
THREAD_CHARS = 10_000
# Seconds that the first turn, and that a start, waits for a Hugging Face tokenizer that lies on this machine.
TURN_WAITS = 3.0
START_WAITS = 20.0


class TokenBudget:
    """Counts everything that goes into a request with one counter.

    Args:
        counter: A :class:`TextCounter`, an AgentScope ``TokenCounterBase``, the name or folder of a Hugging Face
            tokenizer, or None for the default.
        media_tokens: Price of one image, audio or video block, in tokens, whatever its size.
    """

    def __init__(
        self, counter: "TextCounter | TokenCounterBase | str | None" = None, media_tokens: int = 1_600
    ) -> None:
        self._estimate = EstimateCounter()
        self._text: TextCounter | None = None
        self._framework: FrameworkCounter | None = None
        self._loading: Future[HuggingFaceCounter] | None = None
        self._wanted, self._fetching = "", False
        self.media_tokens = media_tokens
        self.calibration = Calibration()
        # Rises when another counter takes over, so that what was counted is counted again.
        self.generation = 0
        self._fixed: dict[str, int] = {}
        self._complained: set[str] = set()
        given: Any = counter
        if isinstance(given, str):
            self._wanted = given
        elif hasattr(given, "count_text") and not inspect.iscoroutinefunction(given.count_text):
            self._text = given
        elif given is not None:
            tokenizer = getattr(given, "tokenizer", None)
            # The tokenizer itself needs no chat template, holds no event loop and adds no system prompt of its own.
            if type(given).__name__ == "HuggingFaceTokenCounter" and tokenizer is not None:
                self._text = HuggingFaceCounter(tokenizer)
            else:
                self._framework = FrameworkCounter(given)
                self._text = self._estimate

    def __deepcopy__(self, memo: dict[int, Any]) -> "TokenBudget":
        return self

    @property
    def name(self) -> str:
        """The counter in use: ``qwen``, ``estimate``, ``huggingface …``, or the class of the one that was passed."""
        if self._framework is not None:
            return self._framework.name
        return self._text.name if self._text is not None else "not loaded"

    @property
    def correction(self) -> float:
        """What counts are multiplied by: 1.0, unless a metered model's provider counts otherwise."""
        return self.calibration.factor

    async def ready(self, wait: float = TURN_WAITS) -> None:
        """Load the vocabulary, once, off the event loop; what is not there within ``wait`` seconds has a stand-in."""
        if self._wanted:
            await self._ready_tokenizer(self._wanted, wait)
        elif self._text is None:
            self._text = await asyncio.to_thread(default_counter)

    async def _ready_tokenizer(self, wanted: str, seconds: float) -> None:
        """Have a Hugging Face tokenizer: soon when it is on this machine, else in the background."""
        if self._loading is None:
            self._loading = started(lambda: HuggingFaceCounter(wanted, local_only=True))
        loading = self._loading
        if self._text is None:
            await asyncio.to_thread(futures.wait, [loading], seconds)
        if loading.done() and loading is self._loading:
            error = loading.exception()
            if error is None:
                self._take_over(loading.result())
                self._wanted = ""
                return
            fetch = not self._fetching and not isinstance(error, ImportError) and not Path(wanted).exists()
            self._complain(wanted, error, fetch)
            if fetch:
                self._fetching = True
                self._loading = started(lambda: HuggingFaceCounter(wanted))
            else:
                self._wanted = ""
        if self._text is None:
            self._text = await asyncio.to_thread(default_counter)

    def _take_over(self, counter: TextCounter) -> None:
        if self._text is not None:
            self.generation += 1
            self._fixed.clear()
        self._text = counter

    def _complain(self, wanted: str, error: BaseException, fetch: bool) -> None:
        then = "It is fetched in the background; until it is here" if fetch else "Until the next start"
        logger.warning(
            "The tokenizer %r could not be loaded (%s: %s). %s the default counter counts.",
            wanted, type(error).__name__, str(error).split("\n", 1)[0][:200], then,
        )  # fmt: skip

    def corrected(self, tokens: int) -> int:
        """Return what a counter said as the provider would count it."""
        factor = self.calibration.factor
        return tokens if factor == 1.0 else math.ceil(tokens * factor)

    def count_text(self, text: str) -> int:
        """Count a text now. Before :meth:`ready` this is the estimate."""
        return self.corrected(self._count(text))

    async def text(self, text: str) -> int:
        """Count a text, long ones in a worker thread; with an AgentScope counter, as one user message."""
        return self.corrected(await self.raw_text(text))

    async def raw_text(self, text: str) -> int:
        """Count a text as the counter does, without correction."""
        await self.ready()
        if self._framework is not None:
            return await self._ask(self._framework, text)
        if len(text) > THREAD_CHARS:
            return await asyncio.to_thread(self._count, text)
        return self._count(text)

    async def fixed(self, text: str) -> int:
        """Count a text that comes back every step (system prompt, schemas, envelope); remembered by its value."""
        if not text:
            return 0
        known = self._fixed.get(text)
        if known is None:
            known = await self.raw_text(text)
            if len(self._fixed) >= 64:
                self._fixed.pop(next(iter(self._fixed)))
            self._fixed[text] = known
        return self.corrected(known)

    async def message(self, message: "Msg") -> int:
        """Count one message: its texts, calls, results and media, and what a provider adds around them."""
        return self.corrected(await self.raw_message(message))

    async def raw_message(self, message: "Msg") -> int:
        """Count one message as the counter does, without correction."""
        text, extra = message_cost(message, self.media_tokens)
        return extra + await self.raw_text(text)

    async def messages(self, messages: Sequence["Msg"]) -> int:
        """Count several messages."""
        return sum([await self.message(message) for message in messages])

    async def _ask(self, framework: FrameworkCounter, text: str) -> int:
        try:
            value = await framework.count(text)
        except Exception as error:
            return self._fall_back(text, repr(error))
        return self._usable(value, text)

    def _count(self, text: str) -> int:
        counter = self._text or self._estimate
        return self._checked(lambda: counter.count_text(text), text)

    def _checked(self, count: Callable[[], Any], text: str) -> int:
        try:
            value = count()
        except Exception as error:
            return self._fall_back(text, repr(error))
        return self._usable(value, text)

    def _usable(self, value: Any, text: str) -> int:
        if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value) and value >= 0:
            return int(value)
        return self._fall_back(text, f"it answered {value!r}")

    def _fall_back(self, text: str, why: str) -> int:
        if why not in self._complained and len(self._complained) < 20:
            self._complained.add(why)
            logger.warning("Token counter %s failed (%s); that message is estimated.", self.name, why)
        return self._estimate.count_text(text)


def message_cost(message: "Msg", media_tokens: int) -> tuple[str, int]:
    """Return the text of a message that has to be counted, and the tokens to add to its count."""
    texts: list[str] = [str(message.name)]
    extra = MESSAGE_OVERHEAD
    for block in blocks_of(message):
        extra += _collect(block, texts, media_tokens)
    return "\n".join(texts), extra


def _collect(block: Mapping[str, Any], texts: list[str], media_tokens: int) -> int:
    """Append the block's texts; return its fixed price."""
    kind = block.get("type")
    if kind == "text":
        texts.append(shown(block.get("text") or ""))
        return 0
    if kind == "thinking":
        texts.append(shown(block.get("thinking") or ""))
        return BLOCK_OVERHEAD
    if kind == "tool_use":
        # `raw_input` repeats `input`; it is not sent.
        texts += [str(block.get("id")), str(block.get("name")), json_text(block.get("input"))]
        return BLOCK_OVERHEAD * 2
    if kind == "tool_result":
        texts += [str(block.get("id")), str(block.get("name"))]
        return BLOCK_OVERHEAD + sum(_collect(part, texts, media_tokens) for part in output_blocks(block.get("output")))
    if kind in MEDIA:
        return media_tokens
    texts.append(json_text(dict(block)))
    return BLOCK_OVERHEAD
