"""Token counts: one counter decides when to compact, where to cut and what is reported (P4).

A :class:`TokenBudget` counts texts, messages and tool schemas with the first of: the counter the user passes, the Qwen
vocabulary inside ``dashscope`` (exact, offline), a bounded estimate by character class. Counting is synchronous and
cheap once :meth:`TokenBudget.ready` has loaded the vocabulary off the event loop; AgentScope's asynchronous counters
are awaited per message.
"""

import asyncio
import inspect
import logging
import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol

from .blocks import MEDIA, blocks_of, json_text, output_blocks

if TYPE_CHECKING:
    from agentscope.message import Msg
    from agentscope.token import TokenCounterBase

logger = logging.getLogger(__name__)

# What a request adds around a message (role, name, separators, as JSON or as a chat template: 5 to 25 tokens) and
MESSAGE_OVERHEAD = 10
BLOCK_OVERHEAD = 6
# Texts longer than this are counted in a worker thread, so that the loop is not held (about 1 ms at 9 MB/s).
THREAD_CHARS = 10_000

# Tokens per unit of each character class, fitted to the Qwen vocabulary on English and Chinese dialogue, code and JSON
# (bench/tokens.py prints the fit).
_WORD = re.compile(r"[A-Za-z]+")
_DIGIT = re.compile(r"[0-9]")
_HAN = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]")
_WIDE = re.compile(r"[\u3000-\u303f\u3040-\u30ff\uac00-\ud7af\uff00-\uffef]")
_SPACE = re.compile(r"\s+")
_SIGNS = re.compile(r"[!-/:-@\[-`{-~]+")
_PER_HAN = 0.66
_PER_WIDE = 0.75
_PER_SIGN = 0.25
_PER_SIGN_RUN = 0.6
_PER_BREAK = 0.6
_PER_OTHER = 1.0
_LETTERS_PER_TOKEN = 6.0


class TextCounter(Protocol):
    """Counts the tokens of a text. Synchronous; never raises for any text."""

    name: str

    def count_text(self, text: str) -> int:
        """Return how many tokens ``text`` has, special-token text counted as plain text."""
        ...


class EstimateCounter:
    """A dependency-free estimate by character class, the last resort. Linear in the text's length."""

    name = "estimate"

    def count_text(self, text: str) -> int:
        """Estimate: words by length, digits one each, Han and wide characters about .7, signs by run."""
        if not text:
            return 0
        words = _WORD.findall(text)
        letters = sum(map(len, words))
        digits = len(_DIGIT.findall(text))
        han = len(_HAN.findall(text))
        wide = len(_WIDE.findall(text))
        spaces = _SPACE.findall(text)
        blank = sum(map(len, spaces))
        breaks = sum(1 for run in spaces if "\n" in run or len(run) > 1)
        runs = _SIGNS.findall(text)
        signs = sum(map(len, runs))
        other = max(0, len(text) - letters - digits - han - wide - blank - signs)
        by_word = sum(math.ceil(len(word) / _LETTERS_PER_TOKEN) if len(word) > 9 else 1 for word in words)
        total = by_word + digits + han * _PER_HAN + wide * _PER_WIDE + breaks * _PER_BREAK
        return math.ceil(total + signs * _PER_SIGN + len(runs) * _PER_SIGN_RUN + other * _PER_OTHER)


class QwenCounter:
    """Exact counts with the Qwen vocabulary that ships inside ``dashscope``. Construction reads it (0.4 s)."""

    name = "qwen"

    def __init__(self) -> None:
        from dashscope import get_tokenizer

        self._tokenizer = get_tokenizer("qwen-max")

    def count_text(self, text: str) -> int:
        """Count; ``<|endoftext|>`` and its like are plain text here."""
        return len(self._tokenizer.encode(text, allowed_special=set(), disallowed_special=()))


@lru_cache(maxsize=1)
def default_counter() -> TextCounter:
    """Return the Qwen counter, or the estimate where its vocabulary cannot be loaded."""
    try:
        counter = QwenCounter()
        counter.count_text("ready")
    except Exception as error:  # a missing or damaged vocabulary must never stop a turn
        logger.warning("The Qwen vocabulary could not be loaded (%s); token counts are estimates.", error)
        return EstimateCounter()
    return counter


class TokenBudget:
    """Counts everything that goes into a request with one counter.

    Args:
        counter: A :class:`TextCounter`, an AgentScope ``TokenCounterBase``, or None for the default.
        media_tokens: Price of one image, audio or video block, in tokens, whatever its size.
    """

    def __init__(self, counter: "TextCounter | TokenCounterBase | None" = None, media_tokens: int = 1_600) -> None:
        self._given = counter
        self._text: TextCounter | None = counter if hasattr(counter, "count_text") else None
        self._estimate = EstimateCounter()
        self.media_tokens = media_tokens
        self._fixed: dict[str, int] = {}
        self._complained: set[str] = set()

    def __deepcopy__(self, memo: dict[int, Any]) -> "TokenBudget":
        return self

    @property
    def name(self) -> str:
        """The counter in use: ``qwen``, ``estimate``, or the class of the one that was passed."""
        if self._is_agentscope:
            return type(self._given).__name__
        return self._text.name if self._text is not None else "not loaded"

    @property
    def _is_agentscope(self) -> bool:
        return self._given is not None and not hasattr(self._given, "count_text")

    async def ready(self) -> None:
        """Load the default vocabulary, once, off the event loop."""
        if self._text is None:
            self._text = self._estimate if self._is_agentscope else await asyncio.to_thread(default_counter)

    def count_text(self, text: str) -> int:
        """Count a text now. Before :meth:`ready` this is the estimate."""
        counter = self._text or self._estimate
        return self._checked(lambda: counter.count_text(text), text)

    async def text(self, text: str) -> int:
        """Count a text, long ones in a worker thread; with an AgentScope counter, as one user message."""
        await self.ready()
        if self._is_agentscope:
            return await self._ask("user", text, text)
        if len(text) > THREAD_CHARS:
            return await asyncio.to_thread(self.count_text, text)
        return self.count_text(text)

    async def fixed(self, text: str) -> int:
        """Count a text that comes back every step (system prompt, schemas, envelope); remembered by its value."""
        if not text:
            return 0
        known = self._fixed.get(text)
        if known is None:
            known = await self.text(text)
            if len(self._fixed) >= 64:
                self._fixed.pop(next(iter(self._fixed)))
            self._fixed[text] = known
        return known

    async def message(self, message: "Msg") -> int:
        """Count one message: its texts, calls, results and media, and what a provider adds around them."""
        await self.ready()
        text, extra = message_cost(message, self.media_tokens)
        if self._is_agentscope:
            return extra + await self._ask(message.role, text, text)
        if len(text) > THREAD_CHARS:
            return extra + await asyncio.to_thread(self.count_text, text)
        return extra + self.count_text(text)

    async def messages(self, messages: Sequence["Msg"]) -> int:
        """Count several messages."""
        return sum([await self.message(message) for message in messages])

    async def _ask(self, role: str, text: str, fallback: str) -> int:
        counter: Any = self._given
        try:
            # `return_dict=False` keeps transformers 5 from answering with an object that has no length for slow
            # tokenizers; counters without keyword arguments are asked plainly.
            takes_any = any(
                parameter.kind is inspect.Parameter.VAR_KEYWORD
                for parameter in inspect.signature(counter.count).parameters.values()
            )
            options = {"return_dict": False} if takes_any and "HuggingFace" in type(counter).__name__ else {}
            answer = counter.count([{"role": role, "content": text}], **options)
            value = await answer if inspect.isawaitable(answer) else answer
        except Exception as error:
            return self._fall_back(fallback, repr(error))
        return self._usable(value, fallback)

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
        texts.append(str(block.get("text") or ""))
        return 0
    if kind == "thinking":
        texts.append(str(block.get("thinking") or ""))
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
