"""A class of one's own that inherits everything of ``ReMe``: names, defaults and additions of an application.

Runs offline.
"""

import asyncio
from pathlib import Path
from typing import Any

from agentscope.message import Msg

from agentscope_reme import ReMe


class MemoryManager(ReMe):
    """The memory of an application: one folder for each of its users, a log of compactions, a smaller window."""

    def __init__(self, user: str, **settings: Any) -> None:
        super().__init__(Path("users") / user, max_input_length=1_500, on_event=self.note, **settings)
        self.log: list[str] = []

    def note(self, event: Any) -> None:
        """Keep a line about each compaction."""
        self.log.append(f"{event.kind}: {event.messages_moved} messages")

    async def remember(self, fact: str) -> None:
        """Write a core fact, which ranks first in every search."""
        await self.vault.append("MEMORY.md", f"- {fact}\n")


async def main() -> None:
    """Use what is inherited and what was added."""
    async with MemoryManager("ada") as manager:
        await manager.remember("Ada prefers tables to prose.")
        memory = manager.get_in_memory_memory("monday")
        for number in range(20):
            await memory.add(Msg("user", f"Measurement {number}: the pump ran at {900 + number} rpm. " * 5, "user"))
            await manager.compaction.keep_within_window(memory)
        print(manager.log[0])
        print((await manager.memory_search("What does Ada prefer?")).content[0]["text"])


if __name__ == "__main__":
    asyncio.run(main())
