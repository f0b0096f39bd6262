"""A loop without hooks, for agents that are not a ``ReActAgent``: the context is prepared before each request, by hand.

``pre_reasoning_hook`` takes messages and the summary so far and returns those that fit; ``clear_content`` and ``add``
put them into the memory. What left the context is in the journal before it is gone, and ``memory_search`` finds it. The
window is small on purpose. Runs offline; the "model" repeats how much it was shown.
"""

import asyncio
from typing import Any

from agentscope.message import Msg

from agentscope_reme import ReMe

SYSTEM = "You are a programming assistant who knows Python and system design."
WINDOW = 1_200
TOPICS = ("parser", "scheduler", "cache", "router", "exporter", "linter", "indexer", "renderer", "queue", "archiver")


class MemoryEnhancedAgent:
    """An agent of one's own: it keeps a memory and a summary, and asks its model with what fits."""

    def __init__(self, reme: ReMe) -> None:
        self.reme = reme
        self.memory = reme.get_in_memory_memory("by-hand")
        self.summary = ""
        self.context_usage = 0.0

    async def chat_round(self, user_input: str) -> str:
        """Answer one message."""
        await self.memory.add(Msg("user", user_input, "user"))
        # Before each request: what fits the window, and the summary of what does not.
        messages, self.summary = await self.reme.pre_reasoning_hook(
            messages=await self.memory.get_memory(),
            system_prompt=SYSTEM,
            compressed_summary=self.summary,
            max_input_length=WINDOW,
            compact_ratio=0.75,
            memory_compact_reserve=300,
            enable_tool_result_compact=True,
            tool_result_compact_keep_n=2,
        )
        await self.memory.clear_content()  # what is in it is in the journal first
        await self.memory.add(messages)  # and what was kept comes back in
        usage = await self.memory.estimate_tokens(max_input_length=WINDOW)
        self.context_usage = usage["context_usage_ratio"]
        answer = await self.respond(self.prompt(messages))
        await self.memory.add(Msg("assistant", answer, "assistant"))
        return answer

    def prompt(self, messages: list[Msg]) -> list[dict[str, Any]]:
        """Put a request together: system prompt, summary, messages."""
        head: list[dict[str, Any]] = [{"role": "system", "content": SYSTEM}]
        if self.summary:
            head.append({"role": "user", "content": f"What was said before:\n{self.summary}"})
        return head + [{"role": message.role, "content": message.content} for message in messages]

    async def respond(self, request: list[dict[str, Any]]) -> str:
        """Stand in for a model."""
        size = sum(len(str(message["content"])) for message in request)
        return f"I was shown {len(request)} messages, {size} characters."


async def main() -> None:
    """Talk more than fits into the window, then look for what was said at the beginning."""
    async with ReMe(vault_dir=".reme") as reme:
        agent = MemoryEnhancedAgent(reme)
        for number, topic in enumerate(TOPICS, 1):
            await agent.chat_round(
                f"The {topic} lives in src/{topic}/main_{number}.py and is of team {topic.title()}-{100 + number}. "
                f"It takes {number * 12} milliseconds for a file of {number * 300} lines, which is too slow, so please "
                f"keep in mind that the {topic} must not be called more than {number} times in a row."
            )
            answer = await agent.chat_round(f"What is next for the {topic}?")
            print(f"{answer} The context is {agent.context_usage:.0f} % full.")
        print(f"The summary is {len(agent.summary)} characters long.")
        await reme.await_summary_tasks()
        found = await reme.memory_search("Of which team is the parser?")
        print(found.content[0]["text"])


if __name__ == "__main__":
    asyncio.run(main())
