"""A chat model whose provider's usage corrects the token counts. Opt-in: ``reme.metered(model)``.

AgentScope 1.x agents throw the usage of a reply away, so the model itself has to be listened to. The wrapper changes
nothing of what goes in and comes out; what it learns is bounded (:mod:`~agentscope_reme.memory.calibration`), and
nothing that goes wrong in it reaches the agent.
"""

import copy
import json
import logging
from collections import OrderedDict
from collections.abc import AsyncGenerator, Mapping
from typing import Any

from .blocks import json_text
from .pacing import Pace
from .tokens import MESSAGE_OVERHEAD, TokenBudget

logger = logging.getLogger(__name__)

# Texts of requests whose counts are remembered: nearly all of a request was in the one before.
MOST_REMEMBERED = 5_000
# Under these keys of a formatted message stand media, whose price the counter does not know.
_MEDIA = {"image", "image_url", "images", "audio", "input_audio", "video", "video_url", "inline_data", "file_data"}
_MEDIA_TYPES = {"image", "image_url", "audio", "input_audio", "video", "video_url", "input_image", "input_file"}
# Objects that reach the model as JSON; everything else in a message is a frame around texts.
_ARGUMENTS = {"arguments", "input", "args", "response"}
_FRAME = {"type", "role"}


class MeteredModel:
    """Stands for a chat model: every attribute, set or read, is the model's, and ``isinstance`` says so too.

    A deep copy meters a deep copy of the model for the same budget. Pickled, it is the model alone.

    Args:
        model: An AgentScope chat model.
        budget: What its provider's usage corrects.
    """

    __slots__ = ("__weakref__", "_metered_budget", "_metered_known", "_metered_model")

    def __init__(self, model: Any, budget: TokenBudget) -> None:
        object.__setattr__(self, "_metered_model", model)
        object.__setattr__(self, "_metered_budget", budget)
        object.__setattr__(self, "_metered_known", OrderedDict())

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return type(self._metered_model)

    def __getattr__(self, name: str) -> Any:
        return getattr(object.__getattribute__(self, "_metered_model"), name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._metered_model, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._metered_model, name)

    def __dir__(self) -> list[str]:
        return dir(self._metered_model)

    def __repr__(self) -> str:
        return f"<metered {self._metered_model!r}>"

    def __copy__(self) -> "MeteredModel":
        return MeteredModel(copy.copy(self._metered_model), self._metered_budget)

    def __deepcopy__(self, memo: dict[int, Any]) -> "MeteredModel":
        return MeteredModel(copy.deepcopy(self._metered_model, memo), self._metered_budget)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _the_model, (self._metered_model,)

    async def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the model and return what it returns; its usage is looked at when the answer is complete."""
        parts = _parts_of(args, kwargs)
        response = await self._metered_model(*args, **kwargs)
        # Asked of the type: a ChatResponse answers an unknown attribute with KeyError, which hasattr lets through.
        if hasattr(type(response), "__aiter__"):
            return self._followed(response, parts)
        await self._learn(parts, _input_tokens(response))
        return response

    async def _followed(self, chunks: Any, parts: "_Parts | None") -> AsyncGenerator[Any, None]:
        reported: Any = None
        try:
            async for chunk in chunks:
                reported = _input_tokens(chunk) or reported
                yield chunk
        finally:
            close = getattr(chunks, "aclose", None)
            if close is not None:
                await close()
        await self._learn(parts, reported)

    async def _learn(self, parts: "_Parts | None", reported: Any) -> None:
        if parts is None or not reported:
            return
        try:
            counted = await self._counted(parts)
            model = f"{type(self._metered_model).__name__} {getattr(self._metered_model, 'model_name', '')}"
            calibration = self._metered_budget.calibration
            before = calibration.factor
            if not calibration.learn(model, counted, reported):
                logger.debug("%s reported %r tokens for %d; nothing is learned from it.", model, reported, counted)
            elif calibration.factor != before:
                now = calibration.factor
                logger.info("%s reported %d tokens for %d; counts are times %.2f.", model, reported, counted, now)
        except Exception:
            logger.exception("The usage of a model could not be taken into account; the reply goes on.")

    async def _counted(self, parts: "_Parts") -> int:
        total = parts.messages * MESSAGE_OVERHEAD
        known: OrderedDict[tuple[int, int, int], int] = self._metered_known
        pace = Pace()
        for text in parts.texts:
            await pace.turn()
            # By its hash: the texts themselves belong to requests that are long gone.
            key = (hash(text), len(text), self._metered_budget.generation)
            if key not in known:
                known[key] = await self._metered_budget.raw_text(text)
                while len(known) > MOST_REMEMBERED:
                    known.popitem(last=False)
            known.move_to_end(key)
            total += known[key]
        return total


class _Parts:
    """The texts of a request, and how many messages it has."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.messages = 0
        self.media = False


def metered(model: Any, budget: TokenBudget) -> Any:
    """Return a model that reports to ``budget``; a model that does so already comes back as it is."""
    if type(model) is MeteredModel:
        if model._metered_budget is budget:
            return model
        model = model._metered_model
    return MeteredModel(model, budget)


def _the_model(model: Any) -> Any:
    return model


def _parts_of(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> _Parts | None:
    """Collect the texts of a request before the model may change it; None where they cannot stand for all of it."""
    try:
        messages = args[0] if args else kwargs.get("messages")
        tools = args[1] if len(args) > 1 else kwargs.get("tools")
        structured = args[3] if len(args) > 3 else kwargs.get("structured_model")
        if not isinstance(messages, list) or not messages or structured is not None:
            return None
        parts = _Parts()
        for message in messages:
            texts: list[str] = []
            _collect(message, texts, parts)
            parts.texts.append("\n".join(texts))
            parts.messages += 1
        if tools:
            parts.texts.append(json.dumps(tools, ensure_ascii=False, default=str))
    except Exception:
        logger.debug("The request of a metered model is not understood.", exc_info=True)
        return None
    return None if parts.media else parts


def _collect(value: Any, texts: list[str], parts: _Parts) -> None:
    if isinstance(value, str):
        texts.append(value)
    elif isinstance(value, list | tuple):
        for item in value:
            _collect(item, texts, parts)
    elif isinstance(value, Mapping):
        parts.media = parts.media or value.get("type") in _MEDIA_TYPES
        for key, item in value.items():
            if key in _MEDIA and item:
                parts.media = True
            elif key in _ARGUMENTS and isinstance(item, Mapping):
                texts.append(json_text(item))
            elif key not in _FRAME and item is not None:
                _collect(item, texts, parts)


def _input_tokens(response: Any) -> Any:
    """Return the input tokens a response reports; None where it reports none, or nothing usable."""
    try:
        return response.usage.input_tokens
    except Exception:
        return None
