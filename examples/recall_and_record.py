"""An agent that is told what the vault knows about each message, and whose turns are kept, without calling a tool.

Runs offline on a small program that is not a language model; what matters is what the model is sent.
"""

import asyncio

from agentscope.agent import ReActAgent
from agentscope.formatter import OpenAIChatFormatter
from agentscope.message import Msg

from agentscope_reme import ReMe
from agentscope_reme.service.offline_model import OfflineModel


def agent_of(model: OfflineModel) -> ReActAgent:
    """An ordinary agent."""
    return ReActAgent(name="Remy", sys_prompt="You are Remy.", model=model, formatter=OpenAIChatFormatter())


async def main() -> None:
    """Tell the agent something in one session, and look at what it is given in the next."""
    async with ReMe(vault_dir=".reme") as reme:
        agent = agent_of(OfflineModel())
        reme.attach(agent, session_id="monday", tools=(), recall=True, record=True)
        await agent(Msg("user", "My dentist is Dr. Huber in Kepler street; I prefer to go before nine.", "user"))
        await agent(Msg("user", "The budget of the kitchen is 4,200 euros.", "user"))
    # Closing has made a card of both turns.

    async with ReMe(vault_dir=".reme") as reme:
        await reme.vault.write("MEMORY.md", "- The user is called Lin.\n", overwrite=True)
        agent = agent_of(OfflineModel())
        reme.attach(agent, session_id="tuesday", tools=(), recall=True, record=True)
        for question in ("When does my dentist Dr. Huber have to see me?", "thanks"):
            await agent(Msg("user", question, "user"))
            recalled = await agent.memory.get_memory(mark="recall", prepend_summary=False)
            print(f"\n=== Recalled for {question!r}: {len(recalled)} message(s)")
            for message in recalled:
                print(message.get_text_content())


if __name__ == "__main__":
    asyncio.run(main())
