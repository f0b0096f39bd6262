"""Replays of recorded conversations through a real ReActAgent with this memory, and what is checked at every step.

The agent's model is the recording: it answers with the line, or the calls, that were said. Every request it gets is
counted and checked as a provider would check it.
"""

import hashlib
import json
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agentscope.agent import ReActAgent
from agentscope.formatter import OpenAIChatFormatter
from agentscope.message import Msg
from agentscope.model import ChatModelBase, ChatResponse

from agentscope_reme import ReMe
from agentscope_reme.memory.tokens import default_counter
from agentscope_reme.models import CompactionEvent


@dataclass
class Integrity:
    """What one replay showed. Token counts are of the formatted request: every text in it, by the Qwen vocabulary."""

    name: str
    window: int
    messages: int = 0
    requests: int = 0
    compactions: int = 0
    offloaded: int = 0
    largest_request: int = 0
    over_window: int = 0
    broken_pairs: int = 0
    in_context: int = 0
    in_journal: int = 0
    missing: int = 0
    doubled: int = 0
    step_ms: list[float] = field(default_factory=list)
    events: list[CompactionEvent] = field(default_factory=list)

    HEAD = (
        "run", "messages", "requests", "compactions", "results moved", "window", "largest request", "over window",
        "in context", "in journal", "missing", "doubled", "broken pairs", "hook ms p50", "p95", "max",
    )  # fmt: skip

    def row(self) -> list[str]:
        """One row of the table under :data:`HEAD`."""
        times = sorted(self.step_ms)
        return [
            self.name, *map(str, (
                self.messages, self.requests, self.compactions, self.offloaded, self.window, self.largest_request,
                self.over_window, self.in_context, self.in_journal, self.missing, self.doubled, self.broken_pairs,
            )),
            f"{percentile(times, 50):.2f}", f"{percentile(times, 95):.2f}", f"{times[-1] if times else 0:.1f}",
        ]  # fmt: skip

    @property
    def whole(self) -> bool:
        """Whether nothing was lost, doubled, broken or too large."""
        return not (self.missing or self.doubled or self.broken_pairs or self.over_window)


def percentile(ordered: Sequence[float], share: float) -> float:
    """Return the nearest-rank percentile of an ascending list; 0 for an empty one."""
    if not ordered:
        return 0.0
    return ordered[min(len(ordered) - 1, max(0, round(share / 100 * len(ordered) + 0.5) - 1))]


def request_tokens(messages: Sequence[dict[str, Any]], tools: Sequence[dict[str, Any]] | None) -> int:
    """Count a formatted request: each message and the tools as JSON text, which is more than a provider counts."""
    count = default_counter().count_text
    total = sum(count(json.dumps(message, ensure_ascii=False)) for message in messages)
    return total + (count(json.dumps(tools, ensure_ascii=False)) if tools else 0)


def broken_pairs(messages: Sequence[dict[str, Any]]) -> int:
    """Count calls without an answer right behind them, and answers without a call before them."""
    broken, waiting = 0, set()
    for message in messages:
        if message["role"] == "tool":
            broken += message["tool_call_id"] not in waiting
            waiting.discard(message["tool_call_id"])
            continue
        broken += len(waiting)
        waiting = {call["id"] for call in message.get("tool_calls") or ()}
    return broken + len(waiting)


class Recording(ChatModelBase):
    """A model that says what was recorded, and hands every request to ``watch`` first."""

    def __init__(self, watch: Callable[[list[dict[str, Any]], list[dict[str, Any]] | None], None]) -> None:
        super().__init__("recording", False)
        self.lines: deque[list[dict[str, Any]]] = deque()
        self._watch = watch

    async def __call__(self, messages: Any, tools: Any = None, tool_choice: Any = None, **_: Any) -> ChatResponse:
        self._watch(messages, tools)
        return ChatResponse(content=self.lines.popleft() if self.lines else [{"type": "text", "text": "(silence)"}])


class Replay:
    """One agent, one recording. ``result`` holds the figures; call :meth:`check` at the end."""

    def __init__(self, reme: ReMe, name: str, session_id: str, *, agent_name: str, sys_prompt: str) -> None:
        self.reme = reme
        self.result = Integrity(name, reme.config.max_input_length)
        self.model = Recording(self._request)
        self.agent = ReActAgent(
            name=agent_name, sys_prompt=sys_prompt, model=self.model, formatter=OpenAIChatFormatter(), max_iters=200
        )
        self.agent.set_console_output_enabled(False)
        # Recorded agents have tools called `edit` and `read` of their own.
        self.memory = reme.attach(self.agent, session_id=session_id, prefix="memory_")
        self.seen: Counter[str] = Counter()
        reme.on_event = self._event
        keep = reme.compaction.keep_within_window

        async def timed(*args: Any, **kwargs: Any) -> Any:
            started = time.perf_counter()
            try:
                return await keep(*args, **kwargs)
            finally:
                self.result.step_ms.append((time.perf_counter() - started) * 1000)

        reme.compaction.keep_within_window = timed  # type: ignore[method-assign]
        add = self.memory.add

        async def noted(memories: Any, *args: Any, **kwargs: Any) -> None:
            for message in [memories] if isinstance(memories, Msg) else memories or []:
                self.seen[message.id] += 1
            await add(memories, *args, **kwargs)

        self.memory.add = noted  # type: ignore[method-assign]

    def _event(self, event: CompactionEvent) -> None:
        self.result.events.append(event)
        self.result.compactions += event.kind == "compacted"
        self.result.offloaded += event.results_offloaded

    def _request(self, messages: list[dict[str, Any]], tools: list[dict[str, Any]] | None) -> None:
        size = request_tokens(messages, tools)
        result = self.result
        result.requests += 1
        result.largest_request = max(result.largest_request, size)
        result.over_window += size > result.window
        result.broken_pairs += broken_pairs(messages)

    def check(self) -> Integrity:
        """Compare what was added with what is in the context and in the journal."""
        here = Counter(message.id for message, _ in self.memory.content)
        left = Counter(line.id for line in self.memory.journal.read())
        where = here + left
        result = self.result
        result.messages = len(self.seen)
        result.in_context, result.in_journal = sum(here.values()), sum(left.values())
        result.missing = sum(1 for name in self.seen if not where[name])
        result.doubled = sum(1 for count in where.values() if count > 1)
        return result


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table, padded for reading in a terminal."""
    widths = [max(len(str(row[i])) for row in [head, *rows]) for i in range(len(head))]

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(str(cell).ljust(width) for cell, width in zip(cells, widths, strict=True)) + " |"

    return "\n".join([line(head), "|" + "|".join("-" * (width + 2) for width in widths) + "|", *map(line, rows)])


def data_file(argument: str | None, usage: str) -> Path:
    """Return the data file a bench was given, after printing its name and checksum; exit with usage without one."""
    path = Path(argument) if argument else None
    if path is None or not path.is_file():
        sys.exit(usage if path is None else f"{path}: no such file\n{usage}")
    print(f"data: {path.name}, sha256 {hashlib.sha256(path.read_bytes()).hexdigest()[:16]}")
    return path
