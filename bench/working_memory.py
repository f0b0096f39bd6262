"""What one reasoning step costs, beside AgentScope's own compression.

    python bench/working_memory.py [--steps 200]

A memory of 100, 1 000 and 6 000 messages; before each step one message is added, below the threshold, as in a
conversation that goes on. Timed is what each adds to a step of ``ReActAgent``: our ``pre_reasoning`` hook as AgentScope
calls it, and ``_compress_memory_if_needed`` with its cheapest counter (characters) and with the exact Qwen one that our
hook uses. Model calls are no part of it: nothing is compacted here.
"""

import argparse
import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable
from typing import Any

from agentscope.agent import ReActAgent
from agentscope.formatter import OpenAIChatFormatter
from agentscope.memory import InMemoryMemory
from agentscope.message import Msg
from agentscope.token import CharTokenCounter, TokenCounterBase
from agentscope.tool import Toolkit
from replay import Recording, percentile, table

from agentscope_reme import ReMe
from agentscope_reme.memory.tokens import default_counter

SIZES = (100, 1_000, 6_000)
WINDOW = 2_000_000


class QwenTokenCounter(TokenCounterBase):
    """The Qwen vocabulary as an AgentScope counter, for the other side."""

    async def count(self, messages: list[dict[str, Any]], **_: Any) -> int:
        """Count the texts of formatted messages."""
        return sum(default_counter().count_text(str(message)) for message in messages)


def conversation(count: int) -> list[Msg]:
    """Return messages as long agent sessions have them: talk, calls and results, Chinese and English."""
    messages: list[Msg] = []
    while len(messages) < count:
        i = len(messages)
        call = {"id": f"c{i}", "name": "view"}
        messages += [
            Msg("user", f"Step {i}: please look at src/module_{i}.py, 然后告诉我第 {i} 行写了什么。 " * 2, "user"),
            Msg("agent", [{**call, "type": "tool_use", "input": {"path": f"m{i}.py"}}], "assistant"),
            Msg("system", [{**call, "type": "tool_result", "output": "line of code\n" * 20}], "system"),
            Msg("agent", [{"type": "text", "text": f"Line {i} is a handler. 第 {i} 行定义了处理函数。"}], "assistant"),
        ]
    return messages[:count]


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


async def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=200)
    steps = parser.parse_args().steps
    rows = []
    for size in SIZES:
        few = min(steps, max(3, 20_000 // size))
        rows.append(
            [
                str(size),
                await ours(size, steps),
                await builtin(size, few, CharTokenCounter()),
                await builtin(size, few, QwenTokenCounter()),
            ]
        )
    head = ["messages", "this hook, ms p50 / p95", "compression_config, characters", "compression_config, Qwen"]
    print(table(head, rows))


if __name__ == "__main__":
    asyncio.run(main())
