"""The same parts put together by hand: memory, tools and hook, each where AgentScope has a place for it.

The window is small on purpose, so that the conversation below does not fit and the hook has something to do. Runs
offline; with OPENAI_API_KEY (and OPENAI_BASE_URL) it runs on that model, which then also writes the checkpoints.
"""

import asyncio
import os

from agentscope.agent import ReActAgent
from agentscope.formatter import OpenAIChatFormatter
from agentscope.message import Msg
from agentscope.model import ChatModelBase, OpenAIChatModel
from agentscope.tool import Toolkit

from agentscope_reme import MemoryCompactionHook, ReMe, register_memory_tools
from agentscope_reme.models import CompactionEvent
from agentscope_reme.service.offline_model import OfflineModel

ROOMS = ("kitchen", "hall", "attic", "cellar", "garage", "study", "porch", "pantry", "library", "laundry")


def language_model() -> ChatModelBase | None:
    """The model of OPENAI_API_KEY, or None."""
    key = os.environ.get("OPENAI_API_KEY")
    if not key:
        return None
    name = os.environ.get("REME_MODEL", "gpt-4.1-mini")
    address = os.environ.get("OPENAI_BASE_URL")
    return OpenAIChatModel(name, api_key=key, client_kwargs={"base_url": address} if address else {})


def show(event: CompactionEvent) -> None:
    """Print what the hook did."""
    print(f"{event.kind}: {event.tokens_before} -> {event.tokens_after} tokens, {event.messages_moved} messages moved")


async def main() -> None:
    """Talk more than fits into the window, then ask about the beginning."""
    writer, formatter = language_model(), OpenAIChatFormatter()
    model = writer or OfflineModel()

    async with ReMe(
        vault_dir=".reme", chat_model=writer, formatter=formatter, max_input_length=2400, on_event=show
    ) as reme:
        agent = ReActAgent(
            name="Remy",
            sys_prompt="You are Remy.",
            model=model,
            formatter=formatter,
            memory=reme.get_in_memory_memory(session_id="s2"),
            toolkit=register_memory_tools(Toolkit(), reme),
        )
        agent.register_instance_hook("pre_reasoning", "reme", MemoryCompactionHook(reme))

        for number, room in enumerate(ROOMS, 1):
            told = (
                f"The {room} gets lamp type L-{100 + number}, which draws {number * 7} watts and is fixed with "
                f"{number + 2} screws. The electrician comes on day {number}, after the painter has left and the floor "
                f"is dry, and brings the cable for the {room} with him. The old lamp of the {room} goes to the cellar."
            )
            await agent(Msg("user", told, "user"))
        await agent(Msg("user", "Which lamp type does the kitchen get?", "user"))


if __name__ == "__main__":
    asyncio.run(main())
