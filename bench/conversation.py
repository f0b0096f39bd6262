"""Long real conversations (LoCoMo) through agents with a small window: is anything lost, and is it found again?

    python bench/conversation.py FILE [--window 8000]

FILE is LoCoMo's JSON. One speaker is the user, the other is what the agent says; every session keeps its date. After
the last session the context is written to the journal, as at the end of a conversation, and the data set's questions
are searched: how often is the turn that holds the evidence inside what ``search`` returns in 1 000 and in 2 000 tokens?
Columns ``e@1000`` and ``e@2000`` are that recall over questions of categories 1 to 4; ``tokens`` are the mean tokens
returned, by the Qwen vocabulary.
"""

import argparse
import asyncio
import sys
import tempfile
from statistics import mean
from typing import Any

from agentscope.message import Msg
from locomo import Conversation, Question, Turn, load, squash
from replay import Integrity, Replay, data_file, percentile, table

from agentscope_reme import ReMe
from agentscope_reme.memory.tokens import default_counter

BUDGETS = (1_000, 2_000)
CATEGORIES = (1, 2, 3, 4)


async def play(conversation: Conversation, replay: Replay) -> None:
    """Play all sessions; the agent's turns come from its model, and take the time of their session."""
    user = conversation.speakers[0]
    for session in conversation.sessions:
        told: list[Msg] = []
        for turn in session.turns:
            if turn.speaker == user:
                told.append(Msg(user, turn.text, "user", timestamp=session.timestamp))
            else:
                await reply(replay, told, turn, session.timestamp)
                told = []
        if told:
            await replay.memory.add(told)


async def reply(replay: Replay, told: list[Msg], turn: Turn, timestamp: str) -> None:
    """Let the agent say a turn, after what it was told."""
    replay.model.lines.append([{"type": "text", "text": turn.text}])
    await replay.agent(told or None)
    replay.memory.content[-1][0].timestamp = timestamp


async def evidence(reme: ReMe, question: Question, budget: int) -> tuple[float, int, float]:
    """Return the share of evidence turns returned, the tokens returned, and the seconds it took."""
    loop = asyncio.get_running_loop()
    started = loop.time()
    result = await reme.search(question.text, limit=100, token_budget=budget)
    seconds = loop.time() - started
    text = "\n".join(hit.text for hit in result.hits)
    seen = squash(text)
    found = sum(squash(turn.text) in seen for turn in question.turns) / len(question.turns)
    return found, default_counter().count_text(text), seconds


async def one(conversation: Conversation, window: int) -> tuple[Integrity, list[str], dict[int, list[float]]]:
    """Replay a conversation and ask its questions."""
    with tempfile.TemporaryDirectory() as folder:
        async with ReMe(vault_dir=folder, max_input_length=window) as reme:
            replay = Replay(
                reme,
                conversation.id,
                conversation.id,
                agent_name=conversation.speakers[1],
                sys_prompt=f"You are {conversation.speakers[1]}, talking with a friend.",
            )
            await play(conversation, replay)
            integrity = replay.check()
            await replay.memory.clear_content()
            await reme.await_summary_tasks()
            asked = [question for question in conversation.questions if question.category in CATEGORIES]
            await reme.search(asked[0].text)
            recall: dict[int, list[float]] = {}
            cells: list[Any] = [conversation.id, len(asked)]
            times: list[float] = []
            for budget in BUDGETS:
                rows = [await evidence(reme, question, budget) for question in asked]
                recall[budget] = [found for found, _, _ in rows]
                cells += [f"{mean(recall[budget]):.3f}", f"{mean(tokens for _, tokens, _ in rows):.0f}"]
                times += [seconds * 1000 for _, _, seconds in rows]
            times.sort()
            cells += [f"{percentile(times, 50):.1f}", f"{percentile(times, 95):.1f}"]
            return integrity, [str(cell) for cell in cells], recall


async def main() -> int:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?")
    parser.add_argument("--window", type=int, default=8_000)
    options = parser.parse_args()
    path = data_file(options.file, "usage: python bench/conversation.py FILE")
    integrity, answers = [], []
    pooled: dict[int, list[float]] = {budget: [] for budget in BUDGETS}
    for conversation in load(path):
        whole, cells, recall = await one(conversation, options.window)
        integrity.append(whole)
        answers.append(cells)
        for budget in BUDGETS:
            pooled[budget] += recall[budget]
    print(table(Integrity.HEAD, [row.row() for row in integrity]))
    head = ["run", "questions", "e@1000", "tokens", "e@2000", "tokens", "search ms p50", "p95"]
    count = len(pooled[BUDGETS[0]])
    total = ["all", str(count), f"{mean(pooled[1_000]):.3f}", "", f"{mean(pooled[2_000]):.3f}", "", "", ""]
    print()
    print(table(head, [*answers, total]))
    return 0 if all(row.whole for row in integrity) else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
