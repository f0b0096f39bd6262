"""ToolResultCompactor: long tool results become head, tail and a pointer to a file that holds all of it.

It works in three places: as ``Toolkit`` middleware, where a result enters; by age, in the memory, where newer results
have come after it; and as a plain function on messages. The file is named by the content's hash and is on disk before
anything is cut. What has been cut is kept as data (``Msg.metadata``), never recognised by its text, so that doing it
twice changes nothing and a text that imitates the notice gains nothing.
"""

import asyncio
import logging
import math
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..errors import ReMeError
from .blocks import blocks_of, output_blocks
from .clipping import Clipped, Pointer, byte_length, clipped_aside, without_notice
from .entering import Entering, fingerprint, joined_text, keep_state
from .headroom import head_room
from .media import inline_media
from .running import RunningCalls, current_step, current_window, restoring
from .tokens import TokenBudget
from .vault_pages import page_call
from .vault_tools import current_tools

if TYPE_CHECKING:
    from agentscope.message import Msg
    from agentscope.tool import ToolResponse

    from ..vault import Vault

logger = logging.getLogger(__name__)

# No result is cut below this, so that the notice always fits.
MIN_BYTES = 400


class ToolResultCompactor:
    """Bounds tool results.

    Args:
        vault: Where full results are kept.
        recent_tool_results: How many of the newest results count as recent.
        recent_max_bytes: Bound of a recent result; a quarter of the window bounds it as well.
        old_max_bytes: Bound of an older result.
        budget: Counts tokens, for the bound by the window.
        window: Tokens of the context window where the running agent does not say.
    """

    def __init__(
        self,
        vault: "Vault",
        *,
        recent_tool_results: int = 3,
        recent_max_bytes: int = 51_200,
        old_max_bytes: int = 3_000,
        budget: TokenBudget | None = None,
        window: int = 128_000,
    ) -> None:
        self._vault = vault
        self._budget = budget or TokenBudget()
        self.configure(recent_tool_results, recent_max_bytes, old_max_bytes, window)
        # Tools that read the vault itself: their results are pages already and are never stored a second time.
        self.reading_tools: set[str] = set()
        self.running = RunningCalls()
        self.entering = Entering()

    def __deepcopy__(self, memo: dict[int, Any]) -> "ToolResultCompactor":
        return self

    def configure(self, recent_tool_results: int, recent_max_bytes: int, old_max_bytes: int, window: int) -> None:
        """Set the bounds, also of toolkits and memories that use this already; the units are those of the class."""
        self.recent_tool_results = recent_tool_results
        self.recent_max_bytes = recent_max_bytes
        self.old_max_bytes = old_max_bytes
        self._window = window

    # --- where a result enters ----------------------------------------------------------------------------------

    def install(self, toolkit: Any) -> bool:
        """Register the middleware on a toolkit, once; return whether it was new."""
        if self._is_installed(toolkit):
            return False
        toolkit.register_middleware(self.middleware)
        return True

    def _is_installed(self, toolkit: Any) -> bool:
        return any(getattr(one, "__self__", None) is self for one in getattr(toolkit, "_middlewares", ()))

    def _is_of_another_vault(self) -> bool:
        """Whether the agent that calls has another one of these, on a toolkit that agents of two vaults share."""
        step = current_step.get()
        return step is not None and step.results is not self and self._is_installed(step.toolkit)

    async def middleware(
        self,
        kwargs: dict[str, Any],
        next_handler: Callable[..., Coroutine[Any, Any, "AsyncGenerator[ToolResponse, None]"]],
    ) -> "AsyncGenerator[ToolResponse, None]":
        """Pass a tool's chunks through, long ones bounded as a recent result. Never raises on its own account.

        Chunks are cumulative, so only the last one is stored: a long chunk is held until the next one comes or the tool
        ends.
        """
        call: Mapping[str, Any] = kwargs.get("tool_call") or {}
        # Pages of the vault are whole but where no step follows that could make room for them.
        exempt = self._is_of_another_vault() or (call.get("name") in self.reading_tools and head_room.get() is None)
        name, given = str(call.get("id")), fingerprint(())
        held: ToolResponse | None = None
        restore, running = restoring(), self.running.begin(name)
        try:
            try:
                async for response in await next_handler(**kwargs):
                    restore()
                    self.entering.begin(name, response.content, given)
                    # The same object again has been added to: by the tool, or by AgentScope when it interrupts one.
                    if held is not None and held is not response:
                        shown = await self._bound_response(call, held, save=False)
                        given = fingerprint(shown.content)
                        self.entering.begin(name, response.content, given)
                        yield shown
                    held = None
                    if exempt or not await self._is_long(call, response):
                        self.entering.end(name)
                        given = fingerprint(response.content)
                        yield response
                    else:
                        held = response
            except Exception:
                restore()
                if held is not None:
                    yield await self._saved(call, held)
                raise
            restore()
            if held is not None:
                yield await self._saved(call, held)
        finally:
            self.running.end(running)

    async def _saved(self, call: Mapping[str, Any], response: "ToolResponse") -> "ToolResponse":
        bounded = await self._bound_response(call, response, save=True)
        self.entering.end(str(call.get("id")))
        return bounded

    async def _is_long(self, call: Mapping[str, Any], response: "ToolResponse") -> bool:
        try:
            return (await self._limit_for(call, joined_text(response.content))) is not None
        except Exception:
            logger.exception("A tool result could not be measured; it is passed on whole.")
            return False

    async def _bound_response(self, call: Mapping[str, Any], response: "ToolResponse", *, save: bool) -> "ToolResponse":
        try:
            limit = await self._limit_for(call, joined_text(response.content))
            if limit is None:
                return response
            page = self._page(call.get("name"), call.get("input"))
            bounded = await self._bounded(response.content, limit, page=page, save=save, lose=True)
            if bounded is not None:
                # A tool may go on filling the very response it has given out.
                response = copy(response)
                response.content = bounded.output
                if save:
                    self.entering.cut(str(call.get("id")), bounded.output, bounded.state)
        except Exception:
            logger.exception("A result of %s could not be bounded; it is passed on whole.", call.get("name"))
        return response

    def _page(self, tool: Any, arguments: Any) -> Pointer | None:
        """Where a result can be had again without a file of its own."""
        return page_call(str(tool), arguments) if tool in self.reading_tools else None

    async def _limit_for(self, call: Mapping[str, Any], text: str) -> int | None:
        """Return the bytes a recent result may have; None when this one is within them and a quarter of the window."""
        window, room, limit = current_window.get() or self._window, head_room.get(), None
        if call.get("name") not in self.reading_tools:
            limit = await self.limit_in_tokens(text, self.recent_max_bytes, window // 4)
        if room is None or not text:
            return limit
        await room.open()
        size = byte_length(text)
        sample = text if len(text) <= 4_000 else text[:2_000] + text[-2_000:]
        rate = 1.05 * await self._budget.text(sample) / byte_length(sample)
        wanted = math.ceil(rate * min(size, limit or size))
        granted = room.grant(str(call.get("id")), wanted)
        # Where next to nothing is left, the notice alone says where the text lies.
        return limit if granted >= wanted else max(1, int(granted / rate))

    async def limit_in_tokens(self, text: str, limit: int, tokens: int) -> int | None:
        """Return a byte limit at which ``text`` has at most ``limit`` bytes and ``tokens`` tokens; None when it has."""
        size = byte_length(text)
        if size <= min(limit, tokens):  # a token has at least one byte
            return None
        sample = text if len(text) <= 4 * limit else text[: 2 * limit]
        rate = await self._budget.text(sample) / byte_length(sample)
        if size <= limit and rate * size <= tokens:
            return None
        return max(MIN_BYTES, min(limit, int(tokens / max(rate, 1e-9) * 0.95)))

    # --- by age, and on demand ----------------------------------------------------------------------------------

    async def age(
        self, message: "Msg", limit: int, inputs: Mapping[str, Any] | None = None, *, media: bool = True
    ) -> list[str]:
        """Bound the results in a stored message, in place, and return the paths of the files that hold them.

        Args:
            message: A message with tool results.
            limit: Bytes for each.
            inputs: Arguments of the calls by id: a page of a file that never changes needs no second copy.
            media: Move images, audio and video to files as well.

        A result whose file cannot be written stays as it is.
        """
        paths: list[str] = []
        for block in blocks_of(message):
            if block.get("type") != "tool_result":
                continue
            name = str(block.get("id"))
            bounded = await self._bounded(
                block.get("output"),
                limit,
                known=self.entering.state(message, name, block.get("output")),
                page=self._page(block.get("name"), (inputs or {}).get(name)),
                media=media,
            )
            if bounded is not None and bounded.paths:
                block["output"] = bounded.output
                keep_state(message, name, bounded.state)
                paths += bounded.paths
        return paths

    async def compact(self, messages: Sequence["Msg"], *, recent: int | None = None) -> list["Msg"]:
        """Return the messages with long results bounded; those given are not changed.

        The newest ``recent`` results, and those no later assistant message has seen, are bounded as recent, older ones
        as old.
        """
        from copy import deepcopy

        keep = self.recent_tool_results if recent is None else recent
        holders = [i for i, m in enumerate(messages) if any(b.get("type") == "tool_result" for b in blocks_of(m))]
        spoke = max((i for i, m in enumerate(messages) if m.role == "assistant"), default=-1)
        fresh = set(holders[len(holders) - keep :] if keep else []) | {i for i in holders if i > spoke}
        inputs = {
            str(b.get("id")): b.get("input") for m in messages for b in blocks_of(m) if b.get("type") == "tool_use"
        }
        out = list(messages)
        for i in holders:
            changed = copy(messages[i])
            changed.content, changed.metadata = deepcopy(messages[i].content), deepcopy(messages[i].metadata)
            limit = self.recent_max_bytes if i in fresh else self.old_max_bytes
            if await self.age(changed, limit, inputs, media=i not in fresh):
                out[i] = changed
        return out

    # --- the work -----------------------------------------------------------------------------------------------

    async def _bounded(
        self,
        output: Any,
        limit: int,
        *,
        known: dict[str, Any] | None = None,
        page: Pointer | None = None,
        media: bool = False,
        save: bool = True,
        lose: bool = False,
    ) -> "_Bounded | None":
        """Bound one output; None when it may stay as it is. ``lose`` clips also what cannot be kept in a file."""
        blocks = output_blocks(output)
        text = joined_text(blocks)
        moved = await self._moved_media(blocks) if media else {}
        cut: Clipped | None = None
        state: dict[str, Any] = {**(known or {}), "limit": limit}
        paths = [path for path, _ in moved.values()]
        if byte_length(text) > limit:
            pointer, source, total = await self._source(text, known, page, save)
            if pointer.path or lose:
                cut = await clipped_aside(source, limit, pointer, total=total)
                state |= {"path": pointer.path, "size": pointer.size, "lines": pointer.lines, "again": pointer.again}
                state |= {"total": cut.total, "notice": cut.notice}
                paths += [pointer.path] if pointer.path else []
        if cut is None and not moved:
            return None
        if isinstance(output, str) and cut is not None:
            return _Bounded(cut.text, state, paths)
        return _Bounded(_rebuilt(blocks, cut.text if cut else None, moved), state, paths)

    async def _source(
        self, text: str, known: Mapping[str, Any] | None, page: Pointer | None, save: bool
    ) -> tuple[Pointer, str, int | None]:
        """Return where the full text lies, the text to clip, and how long the full one is where that is shorter."""
        total: int | None = None
        if known and known.get("notice"):
            total = int(known.get("total") or 0)
            path, again = str(known.get("path") or ""), str(known.get("again") or "")
            if path:
                size, lines = int(known.get("size") or 0), int(known.get("lines") or 0)
                pointer = Pointer(path, size, lines, again=again, reader=current_tools.get().read)
                if not again:
                    try:
                        stored = await asyncio.to_thread(self._vault.read_bytes, path)
                        return pointer, stored.decode("utf-8", "replace"), None
                    except (ReMeError, OSError):
                        logger.info("%s is gone; what is left of it is bounded as it is.", path)
                return pointer, without_notice(text, str(known["notice"])), total
        if page is not None:
            return page, text, None
        if not save:
            lines = text.count("\n") + 1
            return Pointer("", byte_length(text), lines, "the tool is still running"), text, None
        if total is None:
            return await self._save(text), text, None
        # It was cut where it entered, when it could not be saved: what was kept can be saved now.
        kept = await self._save(text)
        return replace(kept, what="What was kept of it"), without_notice(text, str((known or {})["notice"])), total

    async def _save(self, text: str) -> Pointer:
        try:
            stored = await self._vault.store_result(text, ".txt")
        except (ReMeError, OSError) as error:
            logger.warning("A long text could not be saved (%s).", error)
            return Pointer("", byte_length(text), text.count("\n") + 1)
        return Pointer(stored.path, stored.size, stored.lines, reader=current_tools.get().read)

    async def _moved_media(self, blocks: Sequence[Mapping[str, Any]]) -> dict[int, tuple[str, str]]:
        """Store base64 media; return {index: (path, what stands for it)}. What cannot be stored is not in it."""
        moved = {}
        for i, block in enumerate(blocks):
            found = inline_media(block)
            if found is None:
                continue
            data, suffix = found
            try:
                stored = await self._vault.store_result(data, suffix)
            except (ReMeError, OSError) as error:
                logger.warning("%s could not be moved to a file (%s).", block.get("type"), error)
                continue
            moved[i] = (stored.path, f"[{block.get('type')} moved to {stored.path} ({stored.size} bytes)]")
        return moved


class _Bounded:
    """A bounded output, what is kept about it, and the files that hold all of it."""

    def __init__(self, output: Any, state: dict[str, Any], paths: list[str]) -> None:
        self.output, self.state, self.paths = output, state, paths


def _rebuilt(
    blocks: Sequence[dict[str, Any]], text: str | None, moved: Mapping[int, tuple[str, str]]
) -> list[dict[str, Any]]:
    """Put the clipped text where the first text stood, markers where media stood; everything else stays."""
    out: list[dict[str, Any]] = []
    placed = False
    for i, block in enumerate(blocks):
        if i in moved:
            out.append({"type": "text", "text": moved[i][1]})
        elif block.get("type") == "text" and text is not None:
            if not placed:
                out.append({"type": "text", "text": text})
                placed = True
        else:
            out.append(block)
    return out
