"""What the recall hook would put before a message: is the answer in it, and does it stay silent when there is none?

    python bench/recall.py locomo.json [--share SHARE ...]

Each conversation (LoCoMo's format, evaluation only) is recorded into a vault of its own as the recording hook leaves
it: journals and extractive cards. Its questions are then asked in a new session, and so are questions of another
conversation with the names exchanged. No model, no network.
"""

import argparse
import asyncio
import random
import statistics
import tempfile
import time
from pathlib import Path

from locomo import Conversation, Question, load, squash
from replay import data_file, table

from agentscope_reme import ReMe
from agentscope_reme.adapters import recalling
from agentscope_reme.pipelines.auto_memory import write_extractive_card
from agentscope_reme.vault.dialog import JournalRecord

USAGE = "usage: python bench/recall.py locomo.json"
LIMIT, TOKENS, FOREIGN = 8, 1_500, 60


async def record(reme: ReMe, talk: Conversation) -> None:
    """Write a conversation down, a session at a time."""
    for number, session in enumerate(talk.sessions, 1):
        messages = [
            {"id": turn.id, "role": "user", "name": turn.speaker, "content": turn.text, "timestamp": session.timestamp}
            for turn in session.turns
        ]
        name = f"session-{number}"
        reme.vault.journal(name).append([JournalRecord(message) for message in messages])
        await write_extractive_card(reme.vault, messages, session_id=name)


def about(question: Question, asked: Conversation, other: Conversation) -> str:
    """A question of another conversation, asked about the people of this one."""
    text = question.text
    for name, here in zip(other.speakers, asked.speakers, strict=True):
        text = text.replace(name, here)
    return text


async def ask(reme: ReMe, text: str) -> str:
    """What is put before a message."""
    return await recalling.recall_text(reme, text, limit=LIMIT, tokens=TOKENS, timeout=30.0)


async def measure(share: float, talks: list[Conversation], stages: list[ReMe]) -> list[str]:
    """One row: evidence in what is recalled, how often something is, its tokens, and the same for foreign questions."""
    recalling.LEAST_SHARE = share
    found, answered, tokens, seconds = [], [], [], []
    strange, strange_tokens = [], []
    for place, (talk, reme) in enumerate(zip(talks, stages, strict=True)):
        for question in talk.questions:
            if question.category == 5:
                continue
            began = time.perf_counter()
            text = await ask(reme, question.text)
            seconds.append(time.perf_counter() - began)
            said = squash(text)
            found.append(statistics.mean(squash(turn.text) in said for turn in question.turns))
            answered.append(bool(text))
            if text:
                tokens.append(await reme.budget.text(text))
        other = talks[(place + 1) % len(talks)]
        for question in random.Random(place).sample(list(other.questions), min(FOREIGN, len(other.questions))):
            text = await ask(reme, about(question, talk, other))
            strange.append(bool(text))
            if text:
                strange_tokens.append(await reme.budget.text(text))
    return [
        f"{share:.2f}",
        f"{statistics.mean(found):.3f}",
        f"{statistics.mean(answered):.3f}",
        f"{statistics.mean(tokens):.0f}",
        f"{statistics.mean(strange):.3f}",
        f"{statistics.mean(strange_tokens or [0]):.0f}",
        f"{statistics.median(seconds) * 1e3:.0f}",
    ]


async def main() -> None:
    """Print one row for each share of the best score that a passage must have."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("data")
    parser.add_argument("--share", type=float, nargs="*", default=[0.0, 0.55, 0.7, 0.8])
    given = parser.parse_args()
    talks = list(load(data_file(given.data, USAGE)))
    with tempfile.TemporaryDirectory() as folder:
        stages = []
        for talk in talks:
            stages.append(ReMe(Path(folder) / talk.id))
            await record(stages[-1], talk)
        rows = [await measure(share, talks, stages) for share in given.share]
        for reme in stages:
            await reme.close()
    head = ["least share", "evidence", "recalled", "tokens", "foreign recalled", "tokens", "ms"]
    print(table(head, rows))


if __name__ == "__main__":
    asyncio.run(main())
