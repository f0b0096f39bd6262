"""Integrity over real agent runs with tool calls, joined into sessions of 1 000 messages and more.

    python bench/trajectories.py FILE [--window 8000] [--messages 1000]

FILE is JSON lines: ``{"id", "messages": [{"role", "content", "tool_calls": [{"id", "name", "arguments"}],
"tool_call_id", "name"}]}``. Each call is answered with the recorded result, by a tool that looks it up; calls that the
recording leaves without an answer stay dangling, as after an interruption.
"""

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from agentscope.message import Msg
from agentscope.tool import ToolResponse
from replay import Integrity, Replay, data_file, table

from agentscope_reme import ReMe


def runs(path: Path) -> Iterator[list[dict[str, Any]]]:
    """Yield the messages of each run."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)["messages"]


def sessions(path: Path, least: int) -> Iterator[list[dict[str, Any]]]:
    """Join runs until each session has at least ``least`` messages; the rest makes the last one."""
    held: list[dict[str, Any]] = []
    for messages in runs(path):
        held += messages
        if len(held) >= least:
            yield held
            held = []
    if held:
        yield held


def arguments_of(call: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a recorded call, whatever was recorded."""
    try:
        parsed = json.loads(call["arguments"] or "{}")
    except json.JSONDecodeError:
        return {"raw": call["arguments"]}
    return parsed if isinstance(parsed, dict) else {"raw": call["arguments"]}


class Actor:
    """Plays one session into an agent, message by message."""

    def __init__(self, replay: Replay) -> None:
        self.replay = replay
        self.results: dict[str, str] = {}
        self.known: set[str] = set()

    def _tool(self, name: str) -> None:
        async def tool(**arguments: Any) -> ToolResponse:
            return ToolResponse(content=[{"type": "text", "text": self.results.get(arguments.pop("_call", ""), "")}])

        tool.__name__ = name
        tool.__doc__ = f"The recorded tool {name}."
        self.replay.agent.toolkit.register_tool_function(tool, include_var_keyword=True)
        self.known.add(name)

    async def play(self, messages: list[dict[str, Any]]) -> Integrity:
        """Play the session; each assistant message is one reasoning step of the agent."""
        told: list[Msg] = []
        agent, memory, model = self.replay.agent, self.replay.memory, self.replay.model
        position = 0
        while position < len(messages):
            message = messages[position]
            if message["role"] in ("system", "user"):
                # Runs are joined, so the recorded system prompts of later runs come as what a user says.
                told.append(Msg("user", message["content"] or "", "user"))
                position += 1
                continue
            # One reply: assistant messages and their results, until the recording hands over to someone else.
            steps: list[list[dict[str, Any]]] = []
            while position < len(messages) and messages[position]["role"] in ("assistant", "tool"):
                one = messages[position]
                if one["role"] == "tool":
                    self.results[one["tool_call_id"]] = one["content"] or ""
                else:
                    steps.append(self._blocks(one))
                position += 1
            await self._reply(agent, memory, model, told, steps)
            told = []
        if told:
            await memory.add(told)
        return self.replay.check()

    def _blocks(self, message: dict[str, Any]) -> list[dict[str, Any]]:
        blocks: list[dict[str, Any]] = [{"type": "text", "text": message["content"]}] if message["content"] else []
        for call in message.get("tool_calls") or ():
            if call["name"] not in self.known:
                self._tool(call["name"])
            given = {**arguments_of(call), "_call": call["id"]}
            blocks.append({"type": "tool_use", "id": call["id"], "name": call["name"], "input": given})
        return blocks

    async def _reply(
        self, agent: Any, memory: Any, model: Any, told: list[Msg], steps: list[list[dict[str, Any]]]
    ) -> None:
        answered = [
            all(block.get("type") != "tool_use" or block["id"] in self.results for block in step) for step in steps
        ]
        whole = [step for step, has in zip(steps, answered, strict=True) if has]
        model.lines.extend(whole)
        if whole:
            if any(block["type"] == "tool_use" for block in whole[-1]):
                model.lines.append([{"type": "text", "text": "(next)"}])
            await agent(told or None)
            model.lines.clear()
        else:
            await memory.add(told)
        for step, has in zip(steps, answered, strict=True):
            if not has:  # the run stopped at this call
                await memory.add(Msg(agent.name, step, "assistant"))


async def main() -> int:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?")
    parser.add_argument("--window", type=int, default=16_000)
    parser.add_argument("--messages", type=int, default=1_000)
    options = parser.parse_args()
    path = data_file(options.file, "usage: python bench/trajectories.py FILE")
    rows = []
    for number, messages in enumerate(sessions(path, options.messages), 1):
        with tempfile.TemporaryDirectory() as folder:
            async with ReMe(vault_dir=folder, max_input_length=options.window) as reme:
                replay = Replay(
                    reme, f"session {number}", f"s{number}", agent_name="agent", sys_prompt="You use tools to help."
                )
                rows.append(await Actor(replay).play(messages))
    print(table(Integrity.HEAD, [row.row() for row in rows]))
    return 0 if all(row.whole for row in rows) else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
