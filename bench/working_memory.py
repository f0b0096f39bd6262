"""What working memory costs, beside AgentScope's own compression: one table for each budget.

    python bench/working_memory.py [--steps 200] [--only step|compaction|length] [--earlier PYTHON]

1. A step: a memory of 100, 1 000 and 6 000 messages; before each step one message is added, below the threshold, as in
   a conversation that goes on. Timed is what each adds to a step of ``ReActAgent``: our ``pre_reasoning`` hook as
   AgentScope calls it, and ``_compress_memory_if_needed`` with its cheapest counter (characters) and with the exact
   Qwen one that our hook uses. No model is asked. With ``--earlier`` also the hook of reme-ai 0.3, run by the Python of
   an environment that has it (``bench/earlier_hook.py``).
2. A compaction: a memory of 750 to 6 000 messages, all counted, whose window becomes too small. The model answers at
   once, so that what is left is the compaction's own work: cut, checkpoint, journal with fsync, swap. ``hold`` is the
   longest time the event loop was not free, seen by a task that wants to run every millisecond; ``CPU`` the processor
   time of all threads, which other work on the machine disturbs least. The quickest of three runs is shown, each after
   a garbage collection; the hold is that of two more, since the task that watches for it takes time of its own.
3. Length: one session of 2 000, 10 000 and 20 000 messages in a window of 16 000 tokens, a step after each message, in
   a process of its own. ``RSS`` is what the process holds after a garbage collection, ``grown`` that it has grown since
   500 messages; ``state`` what ``state_dict`` has as JSON, and in it ``tombstones``. ``searched`` has the index of the
   vault in the same process, which holds every turn that left so that it can be found.
"""

import argparse
import asyncio
import gc
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from agentscope.agent import ReActAgent
from agentscope.formatter import OpenAIChatFormatter
from agentscope.memory import InMemoryMemory
from agentscope.message import Msg
from agentscope.model import ChatModelBase, ChatResponse
from agentscope.token import CharTokenCounter, TokenCounterBase
from agentscope.tool import Toolkit
from long_talk import conversation, turn
from replay import Recording, percentile, table

from agentscope_reme import ReMe
from agentscope_reme.memory.tokens import default_counter

SIZES = (100, 1_000, 6_000)
FOLDED = (750, 1_500, 3_000, 6_000)
LENGTHS = (500, 2_000, 10_000, 20_000)
WINDOW = 2_000_000
SMALL_WINDOW = 16_000
SECTIONS = ("Goal", "Constraints", "Progress", "Key Decisions", "Next Steps", "Critical Context")
CHECKPOINT = "\n\n".join(f"## {name}\nThe work goes on." for name in SECTIONS)
FIELDS = ("task_overview", "current_state", "important_discoveries", "next_steps", "context_to_preserve")


class QwenTokenCounter(TokenCounterBase):
    """The Qwen vocabulary as an AgentScope counter, for the other side."""

    async def count(self, messages: list[dict[str, Any]], **_: Any) -> int:
        """Count the texts of formatted messages."""
        return sum(default_counter().count_text(str(message)) for message in messages)


class AtOnce(ChatModelBase):
    """A model that answers a request for a checkpoint at once, in the form of either side."""

    def __init__(self) -> None:
        super().__init__("at-once", False)

    async def __call__(self, *_: Any, **__: Any) -> ChatResponse:
        return ChatResponse(
            content=[{"type": "text", "text": CHECKPOINT}], metadata=dict.fromkeys(FIELDS, "The work goes on.")
        )


@asynccontextmanager
async def watched_loop(holds: list[float], watching: bool) -> Any:
    """Append the longest time in milliseconds for which the event loop was not free; 0 when nobody watches."""
    longest = 0.0
    if not watching:
        yield
        holds.append(0.0)
        return

    async def watch() -> None:
        nonlocal longest
        while True:
            before = time.perf_counter()
            await asyncio.sleep(0.001)
            longest = max(longest, time.perf_counter() - before - 0.001)

    task = asyncio.create_task(watch())
    await asyncio.sleep(0.01)
    longest = 0.0
    try:
        yield
    finally:
        await asyncio.sleep(0.005)
        task.cancel()
        holds.append(longest * 1000)


# --- a step ---------------------------------------------------------------------------------------------------------


async def timed(steps: int, memory: Any, step: Callable[[], Awaitable[Any]]) -> str:
    """Add a message and time the step after it, many times; return p50 and p95 in milliseconds."""
    await step()
    times = []
    for number in range(steps):
        await memory.add(Msg("user", f"And number {number}? 还有第 {number} 个呢？", "user"))
        started = time.perf_counter()
        await step()
        times.append((time.perf_counter() - started) * 1000)
    times.sort()
    return f"{percentile(times, 50):.3f} / {percentile(times, 95):.3f}"


def agent_with(memory: Any, compression: Any = None) -> ReActAgent:
    """Return an agent over a memory; its model is never asked."""
    return ReActAgent(
        name="agent",
        sys_prompt="You help with code.",
        model=Recording(lambda messages, tools: None),
        formatter=OpenAIChatFormatter(),
        toolkit=Toolkit(),
        memory=memory,
        compression_config=compression,
    )


async def ours(size: int, steps: int) -> str:
    """Time the hook."""
    with tempfile.TemporaryDirectory() as folder:
        async with ReMe(vault_dir=folder, max_input_length=WINDOW) as reme:
            agent = agent_with(reme.get_in_memory_memory("bench"))
            reme.attach(agent)
            await agent.memory.add(conversation(size))
            hook = agent._instance_pre_reasoning_hooks["agentscope_reme"]
            return await timed(steps, agent.memory, lambda: hook(agent, {"tool_choice": None}))


async def builtin(size: int, steps: int, counter: TokenCounterBase) -> str:
    """Time AgentScope's own check, with a threshold that is never passed."""
    config = ReActAgent.CompressionConfig(enable=True, agent_token_counter=counter, trigger_threshold=10**12)
    agent = agent_with(InMemoryMemory(), config)
    await agent.memory.add(conversation(size))
    return await timed(steps, agent.memory, agent._compress_memory_if_needed)


def earlier(python: str | None) -> dict[int, str]:
    """Time the hook of reme-ai 0.3 in its own environment; nothing without one."""
    if python is None:
        return {}
    script = Path(__file__).with_name("earlier_hook.py")
    said = subprocess.run([python, script, *map(str, SIZES)], capture_output=True, text=True, check=True)
    rows = [json.loads(line) for line in said.stdout.splitlines() if line.startswith("[")]
    return {int(size): f"{median:.3f} / {high:.3f}" for size, median, high in rows}


async def steps_table(steps: int, python: str | None) -> str:
    """What a step costs that adds one message."""
    rows, older = [], earlier(python)
    for size in SIZES:
        few = min(steps, max(3, 20_000 // size))
        rows.append(
            [
                str(size),
                await ours(size, steps),
                await builtin(size, few, CharTokenCounter()),
                await builtin(size, few, QwenTokenCounter()),
                older.get(size, "no --earlier"),
            ]
        )
    head = [
        "messages", "this hook, ms p50 / p95", "compression_config, characters", "compression_config, Qwen",
        "reme-ai 0.3",
    ]  # fmt: skip
    return table(head, rows)


# --- a compaction ---------------------------------------------------------------------------------------------------


Times = tuple[float, float, float, int]


async def our_compaction(size: int, model: Any, watching: bool) -> Times:
    """Time one compaction of a memory in which all is counted; milliseconds by clock, of work, held, messages moved."""
    with tempfile.TemporaryDirectory() as folder:
        settings = {"max_input_length": WINDOW, "write_memory_on_compaction": False, "watch": "off"}
        async with ReMe(vault_dir=folder, chat_model=model, **settings) as reme:
            agent = agent_with(reme.get_in_memory_memory("bench"))
            reme.attach(agent)
            await agent.memory.add(conversation(size))
            hook = agent._instance_pre_reasoning_hooks["agentscope_reme"]
            await hook(agent, {"tool_choice": None})
            agent.memory.set_window(int(await agent.memory.message_tokens() * 1.2))
            holds: list[float] = []
            gc.collect()
            async with watched_loop(holds, watching):
                started, worked = time.perf_counter(), time.process_time()
                await hook(agent, {"tool_choice": None})
                took, worked = time.perf_counter() - started, time.process_time() - worked
            return took * 1000, worked * 1000, holds[0], size - len(agent.memory.content)


async def their_compaction(size: int, watching: bool) -> Times:
    """Time AgentScope's own, likewise."""
    config = ReActAgent.CompressionConfig(
        enable=True,
        agent_token_counter=QwenTokenCounter(),
        trigger_threshold=1,
        compression_model=AtOnce(),
        compression_formatter=OpenAIChatFormatter(),
    )
    agent = agent_with(InMemoryMemory(), config)
    await agent.memory.add(conversation(size))
    holds: list[float] = []
    gc.collect()
    async with watched_loop(holds, watching):
        started, worked = time.perf_counter(), time.process_time()
        await agent._compress_memory_if_needed()
        took, worked = time.perf_counter() - started, time.process_time() - worked
    return took * 1000, worked * 1000, holds[0], size


async def quickest(run: Callable[[bool], Awaitable[Times]]) -> Times:
    """Return the run of three that took least, with the shortest hold of two more."""
    took, worked, _, moved = min([await run(False) for _ in range(3)])
    return took, worked, min([(await run(True))[2] for _ in range(2)]), moved


async def compactions_table() -> str:
    """What a compaction costs beside the model."""
    await our_compaction(100, AtOnce(), False)
    rows = []
    for size in FOLDED:
        model = await quickest(lambda watching, size=size: our_compaction(size, AtOnce(), watching))
        plain = await quickest(lambda watching, size=size: our_compaction(size, None, watching))
        theirs = await quickest(lambda watching, size=size: their_compaction(size, watching))
        times = [f"{value:.0f}" for run in (model, plain, theirs) for value in run[:3]]
        rows.append([str(size), str(model[3]), f"{model[1] / model[3]:.3f}", *times])
    head = [
        "messages", "moved", "CPU ms a message", "with a model, ms", "CPU", "hold",
        "extractive, ms", "CPU", "hold", "compression_config, Qwen, ms", "CPU", "hold",
    ]  # fmt: skip
    return table(head, rows)


# --- a long session -------------------------------------------------------------------------------------------------


def held_mb() -> float:
    """Return what this process holds, in MB; 0 where the system does not say."""
    gc.collect()
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6
    except OSError:
        return 0.0


async def live(side: str, lengths: tuple[int, ...]) -> None:
    """Print one JSON line for each length: messages, MB held, bytes of the state and of its tombstones."""
    with tempfile.TemporaryDirectory() as folder:
        cards = side == "cards"
        async with ReMe(folder, max_input_length=SMALL_WINDOW, write_memory_on_compaction=cards, watch="off") as reme:
            if side == "builtin":
                config = ReActAgent.CompressionConfig(
                    enable=True,
                    agent_token_counter=CharTokenCounter(),
                    trigger_threshold=SMALL_WINDOW * 2,
                    compression_model=AtOnce(),
                    compression_formatter=OpenAIChatFormatter(),
                )
                agent = agent_with(InMemoryMemory(), config)
                step: Any = agent._compress_memory_if_needed
            else:
                agent = agent_with(reme.get_in_memory_memory("bench"))
                reme.attach(agent)
                hook = agent._instance_pre_reasoning_hooks["agentscope_reme"]
                step = lambda: hook(agent, {"tool_choice": None})  # noqa: E731
            count = 0
            while count < lengths[-1]:
                for message in turn(count):
                    await agent.memory.add(message)
                    count += 1
                await step()
                if count in lengths:
                    await reme.await_summary_tasks()
                    if side == "searched":
                        await reme.search("module")
                    state = agent.memory.state_dict()
                    stones = (state.get("reme") or {}).get("tombstones") or ""
                    size = len(json.dumps(state))
                    del state
                    print(json.dumps([count, held_mb(), size, len(stones), len(agent.memory.content)]), flush=True)


def length_table(lengths: tuple[int, ...]) -> str:
    """What a session of a certain length holds."""
    names = {
        "ours": "this memory",
        "cards": "this memory, cards written in the background",
        "searched": "this memory, searched",
        "builtin": "InMemoryMemory with compression_config",
    }
    rows = []
    for side, name in names.items():
        few = tuple(length for length in lengths if side != "builtin" or length <= 2_000)
        said = subprocess.run(
            [sys.executable, __file__, "--live", side, *map(str, few)], capture_output=True, text=True, check=True
        )
        lines = [json.loads(line) for line in said.stdout.splitlines() if line.startswith("[")]
        first = lines[0][1]
        rows += [
            [
                name,
                str(count),
                f"{held:.1f}",
                f"{held - first:+.1f}",
                str(here),
                f"{size / 1000:.0f}",
                f"{stones / 1000:.0f}",
            ]
            for count, held, size, stones, here in lines
        ]
    head = ["memory", "messages", "RSS, MB", "grown", "messages kept", "state, kB", "of it tombstones"]
    return table(head, rows)


async def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--only", choices=("step", "compaction", "length"))
    parser.add_argument("--earlier", metavar="PYTHON", help="Python of an environment that has reme-ai 0.3")
    parser.add_argument("--live", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.live:
        await live(options.live[0], tuple(map(int, options.live[1:])))
        return
    if options.only in (None, "step"):
        print("## A step that adds one message (budget: 1 ms, flat)\n")
        print(await steps_table(options.steps, options.earlier), "\n")
    if options.only in (None, "compaction"):
        print("## A compaction's own work (budget: 300 ms at 6 000, linear; hold 50 ms)\n")
        print(await compactions_table(), "\n")
    if options.only in (None, "length"):
        print("## A long session (budget: the process does not grow with it)\n")
        print(length_table(LENGTHS))


if __name__ == "__main__":
    asyncio.run(main())
