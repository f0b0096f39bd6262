"""An agent that remembers, in three lines around an ordinary ``ReActAgent``.

Runs offline on a small program that is not a language model. With OPENAI_API_KEY (and OPENAI_BASE_URL) it runs on that
model. Run it twice: what the first run was asked to keep is still there.
"""

import asyncio
import os

from agentscope.agent import ReActAgent
from agentscope.formatter import OpenAIChatFormatter
from agentscope.message import Msg
from agentscope.model import ChatModelBase, OpenAIChatModel

from agentscope_reme import ReMe
from agentscope_reme.service.offline_model import OfflineModel


def chat_model() -> ChatModelBase:
    """The model of OPENAI_API_KEY, or the offline program."""
    key = os.environ.get("OPENAI_API_KEY")
    if not key:
        return OfflineModel()
    name = os.environ.get("REME_MODEL", "gpt-4.1-mini")
    address = os.environ.get("OPENAI_BASE_URL")
    return OpenAIChatModel(name, api_key=key, client_kwargs={"base_url": address} if address else {})


async def main() -> None:
    """Tell the agent something in one session, ask about it in the next."""
    model, formatter = chat_model(), OpenAIChatFormatter()

    async with ReMe(vault_dir=".reme", chat_model=model, formatter=formatter) as reme:  # both optional
        agent = ReActAgent(name="Remy", sys_prompt="You are Remy.", model=model, formatter=formatter)
        reme.attach(agent, session_id="s1")  # memory, tools, hook; idempotent
        await agent(Msg("user", "Remember: the spare key hangs behind the blue boiler, number 4471.", "user"))

        # A new session knows nothing of the first but what is in the vault.
        agent = ReActAgent(name="Remy", sys_prompt="You are Remy.", model=model, formatter=formatter)
        reme.attach(agent, session_id="s2")
        await agent(Msg("user", "Where is the spare key?", "user"))

        result = await reme.search("spare key")
        for hit in result.hits:
            print(f"{result.status}: {hit.source}  {hit.text.strip()}")


if __name__ == "__main__":
    asyncio.run(main())
