"""Old conversations become dated cards, and then answers.

Runs offline: the cards hold what the user said. With a ``chat_model`` and its ``formatter``, a model writes them.
"""

import asyncio

from agentscope_reme import ReMe

CONVERSATIONS = {
    "planning": [
        {
            "role": "user",
            "content": "We go with Postgres and not Mongo, because the reports need joins.",
            "created_at": "2024-06-19T09:00",
        },
        {
            "role": "assistant",
            "content": "Noted. I migrate the two collections first.",
            "created_at": "2024-06-19T09:01",
        },
        {
            "role": "user",
            "content": "The migration has to be done by next Wednesday.",
            "created_at": "2024-06-19T09:02",
        },
    ],
    "旅行": [
        {
            "role": "user",
            "content": "记住：妈妈对花生过敏，订餐时要说。",
            "metadata": {"timeCreated": "2024-06-20T20:00:00+08:00"},
        },
    ],
}


async def main() -> None:
    """Write a card for each conversation, twice, and ask."""
    async with ReMe(vault_dir=".reme") as reme:
        for session_id, messages in CONVERSATIONS.items():
            done = await reme.auto_memory(messages, session_id)
            print(done.metadata["date"], done.answer)
            again = await reme.auto_memory(messages, session_id)
            assert not again.metadata["modified"], "the same conversation again changes nothing"
        for question in ("Why not Mongo?", "妈妈对什么过敏？"):
            found = await reme.search(question, limit=1)
            print(f"{question} -> {found.hits[0].text.strip()} [{found.hits[0].source}]")


asyncio.run(main())
