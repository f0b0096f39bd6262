"""Compactor: messages -> checkpoint, or a reason why not.

The model is called directly, with plain text and never with ``structured_model`` (endpoints differ in what they
support); what it gets is bounded, in pieces that each carry the checkpoint so far. A wall-clock limit covers all of
it. Nothing here touches a memory.
"""

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..models import Failed
from ..prompts import load_prompt
from .blocks import is_said_by_user, text_of
from .checkpoint import EXTRACTIVE, Rejected, accept, identifiers
from .envelope import without_envelope
from .extractive import extractive_checkpoint
from .pacing import aside
from .transcript import pieces, rendered

if TYPE_CHECKING:
    from agentscope.formatter import FormatterBase
    from agentscope.message import Msg
    from agentscope.model import ChatModelBase

logger = logging.getLogger(__name__)

_TOO_LONG = re.compile(
    r"context.{0,20}(length|window|limit)|maximum context|too (long|large|many tokens)|token limit|input.{0,12}length"
    r"|exceed.{0,40}token|range of input length",
    re.IGNORECASE,
)
SMALLER_TRIES = 3
MIN_PIECE_CHARS = 1_000
PROMPT_TOKENS = 700
# Names that a checkpoint is checked for, the newest first; no cap leaves room for more.
MOST_IDENTIFIERS = 2_000


@dataclass(frozen=True)
class Checkpoint:
    """A checked checkpoint; ``generator`` is ``model`` or ``extractive``."""

    text: str
    generator: str


class Compactor:
    """Makes checkpoints.

    Args:
        model: Any AgentScope chat model; without one the checkpoint is extractive.
        formatter: The formatter of that model; without one, plain ``{"role", "content"}`` messages are sent.
        timeout: Seconds for all calls of one checkpoint together.
        add_thinking_block: Give thinking blocks to the model, as plain text.
    """

    def __init__(
        self,
        model: "ChatModelBase | None" = None,
        formatter: "FormatterBase | None" = None,
        *,
        timeout: float = 60.0,
        add_thinking_block: bool = True,
    ) -> None:
        self.model = model
        self.formatter = formatter
        self._timeout = timeout
        self._thinking = add_thinking_block

    async def checkpoint(
        self,
        messages: Sequence["Msg"],
        previous: str = "",
        *,
        language: str,
        cap: int,
        window: int,
        replaced_tokens: int,
        count: Callable[[str], Awaitable[int]],
        extra_instruction: str = "",
    ) -> Checkpoint | Failed:
        """Fold ``messages`` and the ``previous`` checkpoint into a new one.

        Args:
            messages: What is folded, in order.
            previous: The checkpoint so far, or "".
            language: ``en`` or ``zh``.
            cap: Most tokens of the result.
            window: Tokens of the model's context window; each call stays below it.
            replaced_tokens: Tokens of messages and previous checkpoint; the result has to be shorter.
            count: Counts tokens of a text.
            extra_instruction: What the user wants kept or left out, for the model.
        """
        if self.model is None:
            return await self.extract(messages, previous, language=language, cap=cap, count=count)
        limit = asyncio.timeout(self._timeout)
        try:
            async with limit:
                return await self._ask_in_pieces(
                    messages, previous, language, cap, window, replaced_tokens, count, extra_instruction
                )
        except Exception as error:
            if isinstance(error, TimeoutError) and limit.expired():
                return Failed("timeout", f"no checkpoint within {self._timeout:g} s")
            return Failed("model_error", repr(error))

    async def extract(
        self,
        messages: Sequence["Msg"],
        previous: str,
        *,
        language: str,
        cap: int,
        count: Callable[[str], Awaitable[int]],
    ) -> Checkpoint:
        """Return the checkpoint that needs no model."""
        text = await extractive_checkpoint(messages, previous, cap=cap, count=count, language=language)
        return Checkpoint(text, "extractive")

    async def _ask_in_pieces(
        self,
        messages: Sequence["Msg"],
        previous: str,
        language: str,
        cap: int,
        window: int,
        replaced_tokens: int,
        count: Callable[[str], Awaitable[int]],
        extra_instruction: str,
    ) -> Checkpoint | Failed:
        # Beside the transcript there are the prompt, the checkpoint so far and the answer; and the model may count more
        # than we do.
        room = max(window // 4, min(window * 3 // 4, window - 2 * cap - PROMPT_TOKENS))
        limit = max(MIN_PIECE_CHARS, int(room * await _characters_per_token(messages, count)))
        for _ in range(SMALLER_TRIES):
            try:
                return await self._fold(
                    messages, previous, language, cap, limit, replaced_tokens, count, extra_instruction
                )
            except Exception as error:
                if not _TOO_LONG.search(str(error)) or limit <= MIN_PIECE_CHARS:
                    raise
                logger.warning("The summariser's request was too long (%s); trying smaller pieces.", error)
                limit = max(MIN_PIECE_CHARS, limit // 2)
        return Failed("context_length", "the summariser refuses even small pieces")

    async def _fold(
        self,
        messages: Sequence["Msg"],
        previous: str,
        language: str,
        cap: int,
        limit: int,
        replaced_tokens: int,
        count: Callable[[str], Awaitable[int]],
        extra_instruction: str,
    ) -> Checkpoint | Failed:
        said = [text_of(message) for message in reversed(messages) if is_said_by_user(message)]
        must_keep = await asyncio.to_thread(identifiers, [*said, previous], MOST_IDENTIFIERS)
        draft = without_envelope(previous).replace(EXTRACTIVE, "").strip()
        parts = await aside(len(messages), lambda: list(pieces(messages, limit, thinking=self._thinking)))
        if not parts:
            return Failed("nothing_to_summarise")
        for number, part in enumerate(parts, 1):
            # Only the last one has to be shorter than what it replaces; those before it are drafts.
            longest = replaced_tokens if number == len(parts) else cap + 1

            async def asked(extra: str, part: str = part, draft: str = draft, longest: int = longest) -> Any:
                answer = await self._ask(part, draft, language, cap, extra)
                return await accept(answer, must_keep=must_keep, replaced_tokens=longest, cap=cap, count=count)

            outcome = await asked(extra_instruction)
            if isinstance(outcome, Rejected) and outcome.reason == "oversized":
                shorter = load_prompt("checkpoint_shorter", language).format(tokens=cap, words=cap // 2)
                outcome = await asked(f"{extra_instruction}\n{shorter}".strip())
            if isinstance(outcome, Rejected):
                return Failed(outcome.reason, f"piece {number} of {len(parts)}")
            draft = outcome.text
        return Checkpoint(draft, "model")

    async def _ask(self, part: str, previous: str, language: str, cap: int, extra: str) -> str:
        from agentscope.message import Msg

        system = load_prompt("checkpoint_system", language).format(tokens=cap)
        name = "checkpoint_update" if previous else "checkpoint_first"
        request = load_prompt(name, language)
        # A transcript may hold braces, and each other's slots; so they are filled in one pass, and not by format().
        slots = {"{previous}": _defused(previous), "{conversation}": _defused(part)}
        request = re.sub(r"\{previous\}|\{conversation\}", lambda slot: slots[slot.group(0)], request)
        if extra:
            request += f"\n\n{extra}"
        if self.formatter is not None:
            prompt: Any = await self.formatter.format([Msg("system", system, "system"), Msg("user", request, "user")])
        else:
            prompt = [{"role": "system", "content": system}, {"role": "user", "content": request}]
        return await answer_text(self.model, prompt)


async def _characters_per_token(messages: Sequence["Msg"], count: Callable[[str], Awaitable[int]]) -> float:
    """Measure on a sample from all over the conversation, so that pieces of Chinese and English hold equal tokens."""
    step = max(1, len(messages) // 20)
    sample = "\n".join(rendered(message)[:800] for message in messages[::step])
    tokens = await count(sample)
    return min(4.0, max(0.5, 0.9 * len(sample) / tokens)) if tokens else 1.0


def _defused(text: str) -> str:
    return re.sub(r"<(\s*/?\s*(?:conversation|previous-checkpoint))", r"‹\1", text, flags=re.IGNORECASE)


async def answer_text(model: Any, prompt: Any) -> str:
    """Call a chat model, streaming or not, and return the text of its complete answer ("" when it has none)."""
    response = await model(prompt)
    # Asked of the type: a ChatResponse answers an unknown attribute with KeyError, which hasattr lets through.
    if hasattr(type(response), "__aiter__"):
        last = None
        async for chunk in response:
            last = chunk
        response = last
    content = getattr(response, "content", None) or []
    texts = [
        str(block.get("text") or "") for block in content if isinstance(block, dict) and block.get("type") == "text"
    ]
    return "\n".join(texts).strip()
