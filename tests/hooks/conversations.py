"""Conversations as bad as they come: sizes from a word to several windows, parallel calls, pictures, huge arguments.

Every text carries marks (``MARK000017``) at its start, middle and end, so that a test can ask where each piece went.
"""

import random
import re
from types import SimpleNamespace
from typing import Any

from agentscope.formatter import OpenAIChatFormatter
from agentscope.message import Msg
from hypothesis import strategies as st

from agentscope_reme import MemoryCompactionHook
from tests.hooks.agents import ByteCounter, checkpoint, everything_of, kept_files, reme_over, sent_tokens
from tests.support.chat_rules import request_faults
from tests.support.scripted_model import Request, ScriptedModel

SYSTEM = "You are Remy."
PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo" + "A" * 401}}
WINDOWS = (1_000, 2_000, 4_000, 8_000, 20_000)

randoms = st.randoms(use_true_random=False)
windows = st.sampled_from(WINDOWS)
small_windows = st.sampled_from(WINDOWS[:3])
summarisers = st.sampled_from(["none", "good", "broken", "flaky", "growing"])


class Conversation:
    """Steps of a random conversation; after each the model would be asked."""

    def __init__(self, rng: random.Random, window: int) -> None:
        self.rng, self.window = rng, window
        self._marks = self._calls_made = 0
        self.steps: list[list[Msg]] = [[Msg("user", self.text(20), "user")]]
        for _ in range(rng.randint(2, 10)):
            self.steps += self._more()

    def text(self, tokens: int) -> str:
        """A text of about this many tokens (three bytes each)."""
        parts = []
        for _ in range(3):
            self._marks += 1
            parts.append(f"MARK{self._marks:06d}")
        body = f"word{self._marks} 和更多，"
        half = (body * (tokens * 3 // len(body.encode()) // 2 + 1))[: max(1, tokens * 3 // 2)]
        return f"{parts[0]} {half} {parts[1]} {half}\n{parts[2]}"

    def size(self) -> int:
        share = self.rng.choice([0.002, 0.01, 0.03, 0.1, 0.3, 1.2, 3])
        return int(self.window * share * self.rng.random()) + 1

    def _more(self) -> list[list[Msg]]:
        kind = self.rng.random()
        if kind < 0.3:
            content: Any = self.text(self.size())
            if self.rng.random() < 0.25:
                content = [PICTURE] * self.rng.randint(1, 3) + [{"type": "text", "text": content}]
            return [[Msg("user", content, "user")], [Msg("Remy", [_text(self.text(self.size()))], "assistant")]]
        if kind < 0.8:
            return [self._calls(self.rng.choice([1, 1, 2, 3, 8, 20]))]
        if kind < 0.9:
            return [[Msg("system", self.text(max(1, self.window // 100)), "system")]]
        pieces = [_text(self.text(3)) for _ in range(self.rng.randint(1, self.window // 40))]
        return [[Msg("user", pieces, "user")]]

    def _calls(self, count: int) -> list[Msg]:
        self._calls_made += count
        ids = [f"call_{self._calls_made - i:05d}" for i in range(count)]
        blocks: list[Any] = []
        if self.rng.random() < 0.2:
            blocks.append({"type": "thinking", "thinking": self.text(self.size())})
        blocks += [{"type": "tool_use", "id": one, "name": "look", "input": self._arguments()} for one in ids]
        answers = []
        for one in self.rng.sample(ids, len(ids)):
            output: Any = self.text(self.size())
            if self.rng.random() < 0.5:
                output = [_text(output), _text(self.text(self.size()))]
            block = {"type": "tool_result", "id": one, "name": "look", "output": output}
            answers.append(Msg("system", [block], "system"))
        return [Msg("Remy", blocks, "assistant"), *answers]

    def _arguments(self) -> dict[str, Any]:
        kind = self.rng.random()
        if kind < 0.6:
            return {"q": "x"}
        if kind < 0.8:
            return {"q": self.text(self.size())}
        items = [{"a": self.text(max(1, self.size() // 5))} for _ in range(5)]
        return {"items": items, "numbers": list(range(int(self.window * self.rng.random())))}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def summariser(kind: str, rng: random.Random) -> ScriptedModel | None:
    """A summariser that is not there, good, broken, breaks now and then, or never keeps to its limit."""
    if kind == "none":
        return None
    if kind == "broken":
        return ScriptedModel(default=RuntimeError("429"))
    if kind == "growing":
        return ScriptedModel(default=lambda request: checkpoint(facts=request.text[-20_000:]))

    def answer(request: Request) -> str:
        if kind == "flaky" and rng.random() < 0.5:
            raise RuntimeError("500")
        return checkpoint()

    return ScriptedModel(default=answer)


async def run(rng: random.Random, window: int, kind: str, vault_dir: Any) -> "Run":
    """Take a random conversation through the hook; every request there would be is kept and looked at."""
    reme = reme_over(vault_dir, window, summariser(kind, rng), breaker_seconds=0)
    agent = SimpleNamespaceAgent(reme.get_in_memory_memory("s1"))
    hook, formatter = MemoryCompactionHook(reme), OpenAIChatFormatter()
    done = Run(reme, agent.memory, window)
    for step in Conversation(rng, window).steps:
        for message in step:
            done.added[message.id] = message
            await agent.memory.add(message)
        await hook(agent, {})
        shown = await agent.memory.get_memory()
        prompt = await formatter.format([Msg("system", SYSTEM, "system"), *shown])
        done.requests.append(Request(prompt))
    return done


class SimpleNamespaceAgent(SimpleNamespace):
    """What the hook asks of an agent, and nothing else."""

    __hash__ = object.__hash__

    def __init__(self, memory: Any) -> None:
        super().__init__(memory=memory, toolkit=None, sys_prompt=SYSTEM, name="Remy", compression_config=None)


class Run:
    """A conversation that went through the hook."""

    def __init__(self, reme: Any, memory: Any, window: int) -> None:
        self.reme, self.memory, self.window = reme, memory, window
        self.added: dict[str, Msg] = {}
        self.requests: list[Request] = []

    def faults(self) -> list[str]:
        """Why a provider would refuse a request."""
        return [fault for request in self.requests for fault in request_faults(request.messages)]

    def sizes(self) -> list[int]:
        """Tokens of each request, by the configured counter."""
        return [sent_tokens(request, ByteCounter()) for request in self.requests]

    async def lost(self) -> list[str]:
        """Messages, or marks in them, that are neither in the context nor on disk."""
        there = await everything_of(self.reme, self.memory)
        gone = [f"message {name}" for name in self.added if name not in there]
        text = "\n".join(there.values()) + kept_files(self.reme)
        for message in self.added.values():
            gone += [mark for mark in re.findall(r"MARK\d{6}", str(message.content)) if mark not in text]
        return gone
