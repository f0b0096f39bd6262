"""The vault as AgentScope's own long-term memory, for an agent that takes one.

Runs offline on a small program that is not a language model.
"""

import asyncio

from agentscope.agent import ReActAgent
from agentscope.formatter import OpenAIChatFormatter
from agentscope.message import Msg

from agentscope_reme import ReMe, ReMeLongTermMemory
from agentscope_reme.service.offline_model import OfflineModel


def agent_of(reme: ReMe, session_id: str) -> ReActAgent:
    """An agent whose long-term memory is the vault; it looks up each message, records after it, and has two tools."""
    return ReActAgent(
        name="Remy",
        sys_prompt="You are Remy.",
        model=OfflineModel(),
        formatter=OpenAIChatFormatter(),
        long_term_memory=ReMeLongTermMemory(reme, session_id),
        long_term_memory_mode="both",
    )


async def main() -> None:
    """Say something in one session, have it retrieved in the next."""
    async with ReMe(vault_dir=".reme") as reme:
        await agent_of(reme, "first")(Msg("user", "I prefer the night train to Vienna; please always book it.", "user"))

    async with ReMe(vault_dir=".reme") as reme:
        agent = agent_of(reme, "second")
        await agent(Msg("user", "Which train to Vienna do I prefer?", "user"))
        for message in await agent.memory.get_memory():
            if message.name == "long_term_memory":
                print(message.get_text_content())
        kept = await agent.long_term_memory.record_to_memory("it comes up again", ["The user takes night trains."])
        print(kept.content[0]["text"])


if __name__ == "__main__":
    asyncio.run(main())
