"""The demo: a real ``ReActAgent`` in a small window, a conversation of 66 messages, and what is left to be found of it.

What is printed was measured in this run. The exit code is 1 when an answer cites nothing, or a check fails.
"""

import logging
import os
import shutil
import tempfile
from collections.abc import AsyncGenerator, Callable, Coroutine
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from agentscope.agent import ReActAgent
from agentscope.formatter import DashScopeChatFormatter, FormatterBase, OpenAIChatFormatter
from agentscope.message import Msg, TextBlock
from agentscope.model import ChatModelBase, DashScopeChatModel, OpenAIChatModel
from agentscope.tool import Toolkit, ToolResponse

from .. import ReMe
from .._version import __version__
from ..errors import ReMeError
from ..models import CompactionEvent
from . import demo_data as data
from .demo_checks import citation_checks, unpaired_calls, vault_leaves
from .demo_screen import Answered, Folding, Gauge, Screen, ToolUse, screen
from .offline_answers import stored_at
from .offline_model import OfflineModel

WINDOW = 8_000
_SESSION, _LATER = "studio-move", "a-week-later"
_TOOLS = ("memory_search", "read", "append")


@dataclass(frozen=True, slots=True)
class Engine:
    """The model that answers, and whether it is a language model (which then also writes the checkpoints)."""

    model: ChatModelBase
    formatter: FormatterBase
    about: str
    is_language_model: bool


async def read_kiln_log(firing: int) -> ToolResponse:
    """Read the controller's log of one firing of the big kiln.

    Args:
        firing: Number of the firing, such as 27.
    """
    return _text(data.kiln_log(firing))


async def list_inventory(room: Literal["glaze", "wheel", "kiln"]) -> ToolResponse:
    """List what stands in a room of the studio, with weights in kg.

    Args:
        room: The room.
    """
    return _text(data.inventory(room))


async def compare_quotes(kind: Literal["movers", "insurance"]) -> ToolResponse:
    """Show the offers that came in, line by line.

    Args:
        kind: What the offers are for.
    """
    return _text(data.quotes(kind))


async def run_demo(*, plain: bool = False, vault_dir: Path | None = None, model_name: str = "") -> int:
    """Run the demo and return its exit code.

    Args:
        plain: Plain lines instead of colours and boxes.
        vault_dir: A new or empty folder that keeps the vault; a temporary one, removed at the end, by default.
        model_name: Name of the provider's model, when a key is set.

    Raises:
        ReMeError: The folder is not empty, or the model cannot be reached.
    """
    if vault_dir is not None and vault_dir.exists() and (not vault_dir.is_dir() or any(vault_dir.iterdir())):
        raise ReMeError(f"{vault_dir} is not an empty folder; nothing was done. Name a new one for the demo's vault.")
    engine = choose_engine(model_name)
    root = vault_dir or Path(tempfile.mkdtemp(prefix="agentscope-reme-demo-"))
    try:
        return await _Demo(engine, root, vault_dir is not None, screen(plain)).run()
    finally:
        if vault_dir is None:
            shutil.rmtree(root, ignore_errors=True)


def choose_engine(model_name: str = "") -> Engine:
    """The model of ``DASHSCOPE_API_KEY``, of ``OPENAI_API_KEY`` (and ``OPENAI_BASE_URL``), or the offline program."""
    if key := os.environ.get("DASHSCOPE_API_KEY"):
        name = model_name or "qwen-plus"
        return Engine(DashScopeChatModel(name, key), DashScopeChatFormatter(), f"{name} on DashScope", True)
    if key := os.environ.get("OPENAI_API_KEY"):
        name = model_name or "gpt-4.1-mini"
        address = os.environ.get("OPENAI_BASE_URL")
        client = {"base_url": address} if address else {}
        model = OpenAIChatModel(name, api_key=key, client_kwargs=client)
        return Engine(model, OpenAIChatFormatter(), f"{name} at {address or 'OpenAI'}", True)
    return Engine(OfflineModel(), OpenAIChatFormatter(), "a small offline program, not a language model", False)


class _Witness(ChatModelBase):
    """Passes everything on to the model and counts what it was sent."""

    def __init__(self, model: ChatModelBase) -> None:
        super().__init__(model.model_name, model.stream)
        self._model = model
        self.requests = 0
        self.unpaired = 0

    async def __call__(self, messages: list[dict[str, Any]], *args: Any, **kwargs: Any) -> Any:
        self.requests += 1
        self.unpaired += unpaired_calls(messages)
        try:
            return await self._model(messages, *args, **kwargs)
        except Exception as error:
            raise ReMeError(f"The model {self.model_name} failed: {type(error).__name__}: {error}") from error


@dataclass
class _Watch:
    """What happens while the agent works: since the last message (``happened`` to ``cards``), and in all."""

    time: str = ""
    happened: list[ToolUse | Folding] = field(default_factory=list)
    searched: list[str] = field(default_factory=list)
    cards: list[str] = field(default_factory=list)
    folded: list[CompactionEvent] = field(default_factory=list)
    foldings: int = 0
    largest: int = 0
    seen: set[str] = field(default_factory=set)
    dated: set[str] = field(default_factory=set)


class _Demo:
    """One run: the first session, the facts, the second session, the files."""

    def __init__(self, engine: Engine, root: Path, kept: bool, out: Screen) -> None:
        self._engine = engine
        self._witness = _Witness(engine.model)
        self._root = root
        self._kept = kept
        self._out = out
        self._conversation = data.load_conversation()
        self._watch = _Watch()
        self._failed = False

    async def run(self) -> int:
        # Failures that matter here are shown by the demo itself; everything else would tear its picture.
        ours = logging.getLogger("agentscope_reme")
        level = ours.level
        ours.setLevel(logging.ERROR)
        try:
            return await self._show()
        finally:
            ours.setLevel(level)

    async def _show(self) -> int:
        self._head()
        async with self._reme() as reme:
            await self._first_session(reme)
        self._out.part("A week later: a new session on the same vault")
        async with self._reme() as reme:
            await self._second_session(reme)
        self._out.part("The vault: plain files, yours")
        name = str(self._root) if self._kept else "(a temporary folder)"
        self._out.tree(name, vault_leaves(self._root))
        self._out.end(self._farewell())
        return 1 if self._failed else 0

    def _reme(self) -> ReMe:
        engine = self._engine
        writer = {"chat_model": engine.model, "formatter": engine.formatter} if engine.is_language_model else {}
        return ReMe(vault_dir=self._root, max_input_length=WINDOW, on_event=self._note_event, **writer)

    def _head(self) -> None:
        days = len({turn.date for turn in self._conversation.turns})
        where = f"in {self._root}" if self._kept else "in a temporary folder, removed at the end (--vault DIR keeps it)"
        self._out.title(
            f"agentscope-reme {__version__}: an agent that remembers",
            [
                f"Wen plans the move of her pottery studio: {len(self._conversation.turns)} messages in {days} days, "
                "English and Chinese.",
                f"The agent has a window of {WINDOW:,} tokens, too small for that. Watch what happens as it fills.",
                f"Model: {self._engine.about}.",
                f"Vault: {where}.",
            ],
        )

    # --- the first session ----------------------------------------------------------------------------------------

    async def _first_session(self, reme: ReMe) -> None:
        reme.vault.subscribe(self._note_change)
        agent = self._agent(reme, _SESSION)
        self._out.part("The conversation: what Wen says, and how full the context is after the answer")
        day = ""
        for turn in self._conversation.turns:
            if turn.date != day:
                day = turn.date
                self._out.day(day)
            self._watch.happened.clear()
            self._watch.cards.clear()
            self._watch.time = turn.time
            reply = await agent(Msg("Wen", turn.text, "user", timestamp=f"{turn.time}:00.000"))
            await self._set_clock(agent)
            if any(isinstance(event, Folding) for event in self._watch.happened):
                await reme.await_summary_tasks()
            self._watch.seen.update(message.id for message, _ in agent.memory.content)
            use = await agent.memory.estimate_tokens()
            self._out.turn(turn.time[-5:], turn.text, Gauge(use.estimated_tokens, WINDOW))
            self._show_steps(reply)
        self._out.part("What was measured")
        facts = await self._facts(agent, reme)
        self._failed |= not all(holds for _, holds in facts)
        self._out.checks(facts)

    def _show_steps(self, reply: Msg) -> None:
        used_tools = False
        cards = [f"notes of it in {path}" for path in dict.fromkeys(self._watch.cards)]
        for event in self._watch.happened:
            if isinstance(event, Folding):
                self._out.folding(replace(event, also=tuple(cards)))
            else:
                used_tools = True
                for line in event.lines():
                    self._out.step("tool", line)
        if used_tools:
            lines = [line for line in (reply.get_text_content() or "").splitlines() if line.strip()]
            for line in [line for line in lines if not line.rstrip().endswith((":", "："))][:3]:
                self._out.step("Remy", line)

    async def _facts(self, agent: ReActAgent, reme: ReMe) -> list[tuple[str, bool]]:
        journal = reme.vault.journal(_SESSION)
        left = [line.id for line in journal.lines()]
        here = [message.id for message, _ in agent.memory.content]
        lost = self._watch.seen - set(left) - set(here)
        twice = len(left) + len(here) - len(set(left) | set(here))
        return [
            (
                f"{len(self._watch.seen)} messages: {len(left)} in the journal, {len(here)} still in the context, "
                f"{len(lost) or 'none'} lost, {twice or 'none'} twice",
                not lost and not twice,
            ),
            (
                f"{self._watch.foldings} compactions; the largest context ever sent had {self._watch.largest:,} tokens "
                f"of {WINDOW:,}",
                self._watch.foldings > 0 and 0 < self._watch.largest <= WINDOW,
            ),
            (
                f"{self._witness.requests} requests to the model, {self._witness.unpaired or 'none'} with a tool call "
                "without its result",
                not self._witness.unpaired,
            ),
        ]

    # --- the second session ---------------------------------------------------------------------------------------

    async def _second_session(self, reme: ReMe) -> None:
        agent = self._agent(reme, _LATER)
        for number, question in enumerate(self._conversation.questions, 1):
            self._watch.searched.clear()
            self._watch.time = data.LATER
            reply = await agent(Msg("Wen", question, "user", timestamp=f"{data.LATER}:00.000"))
            answer = (reply.get_text_content() or "").strip()
            checks = await citation_checks(answer, reme.vault)
            self._failed |= not all(holds for _, holds in checks)
            self._out.answered(
                number, Answered(question, "; ".join(self._watch.searched) or "(not called)", answer, checks)
            )

    # --- what both have -------------------------------------------------------------------------------------------

    def _agent(self, reme: ReMe, session_id: str) -> ReActAgent:
        toolkit = Toolkit()
        # First, so that it sees results as the memory lets them through.
        toolkit.register_middleware(self._watch_tools)
        for function in (read_kiln_log, list_inventory, compare_quotes):
            toolkit.register_tool_function(function)
        prompt = f"{data.SYSTEM_PROMPT}\n\n{reme.guidance('en')}"
        agent = ReActAgent("Remy", prompt, self._witness, self._engine.formatter, toolkit)
        agent.set_console_output_enabled(False)
        agent.register_instance_hook("pre_reasoning", "story_clock", self._set_clock)
        reme.attach(agent, session_id=session_id, tools=_TOOLS)
        agent.register_instance_hook("pre_reasoning", "watch", self._watch_context)
        return agent

    async def _set_clock(self, agent: Any, kwargs: dict[str, Any] | None = None) -> None:
        """Date what the agent said and its tools returned by the story, as the user's messages are."""
        for message, _ in agent.memory.content if self._watch.time else ():
            if message.id not in self._watch.dated:
                self._watch.dated.add(message.id)
                message.timestamp = f"{self._watch.time}:30.000" if message.name != "Wen" else message.timestamp

    def _note_event(self, event: CompactionEvent) -> None:
        if event.kind == "compacted":
            self._watch.folded.append(event)

    def _note_change(self, path: str, kind: str) -> None:
        if path.startswith("daily/") and path.count("/") == 2:
            self._watch.cards.append(path)

    async def _watch_context(self, agent: Any, kwargs: dict[str, Any]) -> None:
        """Right after the memory's own hook, so what is measured here is what will be sent."""
        memory = agent.memory
        use = await memory.estimate_tokens()
        self._watch.largest = max(self._watch.largest, use.estimated_tokens)
        self._watch.seen.update(message.id for message, _ in memory.content)
        for event in self._watch.folded:
            self._watch.foldings += 1
            last = memory.journal.count()
            self._watch.happened.append(
                Folding(
                    number=self._watch.foldings,
                    before=Gauge(event.tokens_before, WINDOW),
                    after=Gauge(event.tokens_after, WINDOW),
                    moved=event.messages_moved,
                    journal=memory.journal.path,
                    first_line=last - event.messages_moved + 1,
                    last_line=last,
                    checkpoint_tokens=use.compressed_summary_tokens,
                    checkpoint=_contents(memory.get_compressed_summary()),
                )
            )
        self._watch.folded.clear()

    async def _watch_tools(
        self,
        kwargs: dict[str, Any],
        next_handler: Callable[..., Coroutine[Any, Any, AsyncGenerator[ToolResponse, None]]],
    ) -> AsyncGenerator[ToolResponse, None]:
        call = kwargs["tool_call"]
        text = ""
        async for response in await next_handler(**kwargs):
            text = "".join(block.get("text") or "" for block in response.content)
            yield response
        kept = len(text.encode())
        stored = stored_at(text) if call["name"] not in _TOOLS else ""
        size = (self._root / stored).stat().st_size if stored else kept
        arguments = ", ".join(f"{name}={value!r}" for name, value in (call["input"] or {}).items())
        self._watch.happened.append(ToolUse(f"{call['name']}({arguments})", size, kept, stored))
        if call["name"] == "memory_search":
            self._watch.searched.append(str((call["input"] or {}).get("query", "")))

    def _farewell(self) -> list[str]:
        if not self._kept:
            return ["The temporary folder is removed now. Keep one: agentscope-reme demo --vault my-vault"]
        return [
            f"The vault stays in {self._root}. Open it in any editor, or ask it yourself:",
            f'  agentscope-reme search "How heavy is the big kiln?" --vault {self._root}',
        ]


def _contents(checkpoint: str) -> str:
    """How much a checkpoint says: its lines, and the sections that are not empty."""
    section, sections, count = "", set(), 0
    for line in checkpoint.splitlines():
        if line.startswith("## "):
            section = line
        elif section and line.strip() and line.strip() != "(none)":
            sections.add(section)
            count += 1
    return f"{count} lines in {len(sections)} sections"


def _text(text: str) -> ToolResponse:
    return ToolResponse(content=[TextBlock(type="text", text=text)])
