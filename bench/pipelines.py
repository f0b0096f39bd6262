"""What the pipelines do to retrieval: real conversations -> cards -> a dream -> long-term notes; no model, no network.

    python bench/pipelines.py locomo.json [--conversations N]

The file is in the format of LoCoMo (snap-research/locomo, CC BY-NC 4.0, evaluation only). Every session is journalled
and becomes an extractive card, then dreams run until nothing is left to read or to integrate. In the model's place
stand rules that pick statements by their words, name them after a speaker and a topic, and put each into the note of
its name: what is measured is the pipeline, not a model's judgement. Scores are those of ``bench/retrieval.py``, over
questions of categories 1 to 4: the evidence that a search brings back from the journals of the sessions, with cards
beside them, and with long-term notes as well.
"""

import argparse
import asyncio
import hashlib
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from retrieval import BUDGETS, CATEGORIES, DEPTHS, Conversation, Passages, Scores, Session, conversations

from agentscope_reme import ReMeConfig
from agentscope_reme.index import Index
from agentscope_reme.models import SearchHit
from agentscope_reme.pipelines.auto_dream import auto_dream
from agentscope_reme.pipelines.extractive_card import write_extractive_card
from agentscope_reme.pipelines.facts import kind_of, weight_of
from agentscope_reme.vault import JournalRecord, Vault

PER_NOTE = 8
LEAST_WEIGHT = 3
NOTE = re.compile(r'<note path="([^"]+)"([^>]*)>\n(.*?)\n</note>', re.DOTALL)
LINE = re.compile(r"^(\d+)\| - (?:\d{4}-\d\d-\d\d )?(?:\d\d:\d\d )?([^:\n]{1,50}): (.+)$", re.MULTILINE)
WORD = re.compile(r"[a-z]{4,}|[\u3400-\u9fff]{2}")
CARD_LINK = re.compile(r"\[\[(daily/[^\]|]+\.md)")


class Clerk:
    """Stands where a model would: it answers requests for units and decisions by rules."""

    def __init__(self) -> None:
        self.requests: Counter[str] = Counter()

    async def plan(self, schema: Any, *, system: str, user: str, language: str = "en", check: Any = None) -> Any:
        self.requests[schema.__name__] += 1
        return schema.model_validate(self.answer(user))

    def answer(self, user: str) -> dict[str, Any]:
        """The arguments of a plan for this request."""
        if "<unit " in user:
            return self.decide(user)
        return {"titles": []} if "<topics" in user else self.extract(user)

    def extract(self, user: str) -> dict[str, Any]:
        """The weightiest statements of each card, as units named after their speaker and what else is talked about."""
        notes = NOTE.findall(user)
        said = Counter(word for _, _, text in notes for word in set(WORD.findall(text.lower())))
        units = []
        for path, _, text in notes:
            lines = [(int(number), speaker, words) for number, speaker, words in LINE.findall(text)]
            lines = [line for line in lines if weight_of(line[2]) >= LEAST_WEIGHT]
            for number, speaker, words in sorted(lines, key=lambda line: -weight_of(line[2]))[:PER_NOTE]:
                topics = [word for word in WORD.findall(words.lower()) if 1 < said[word] < len(notes)]
                topic = max(topics, key=lambda word: (said[word], word), default="life")
                evidence = [{"note": path, "start_line": number, "quote": words[:60]}]
                category = "procedure" if kind_of(words) == "remember" else "personal"
                units.append(
                    {"name": f"{speaker} {topic}", "category": category, "statement": f"{speaker}: {words}"}
                    | {"evidence": evidence}
                )
        topics = [{"title": unit["name"], "evidence": unit["evidence"]} for unit in units[:3]]
        return {"units": units, "topics": topics}

    def decide(self, user: str) -> dict[str, Any]:
        """Into the note of the same name, if it was found; otherwise a new one."""
        name = re.search(r'<unit name="([^"]+)"', user)
        for path, attributes, _ in NOTE.findall(user):
            if name and f'name="{name[1]}"' in attributes:
                return {"action": "refine", "target": path}
        return {"action": "create"}


def messages_of(session: Session) -> list[dict[str, Any]]:
    """A session as AgentScope messages; both people are users."""
    return [
        {"id": turn, "role": "user", "name": speaker, "content": text, "timestamp": f"{session.day} 12:00:00"}
        for turn, speaker, text in session.turns
    ]


def write_journals(vault: Vault, talk: Conversation) -> dict[str, str]:
    """The journal of each session, as it is there when the session has ended; its session, by path."""
    journals = {}
    for session in talk.sessions:
        journal = vault.journal(session.id.replace("/", "-"))
        journal.append([JournalRecord(message) for message in messages_of(session)])
        journals[journal.path] = session.id
    return journals


async def write_cards(vault: Vault, talk: Conversation) -> dict[str, str]:
    """A card for each session; the session of each card, by path."""
    cards = {}
    for session in talk.sessions:
        done = await write_extractive_card(vault, messages_of(session), session_id=session.id.replace("/", "-"))
        if done.metadata.get("path"):
            cards[done.metadata["path"]] = session.id
    return cards


async def dream_until_done(vault: Vault, index: Index, clerk: Any, max_units: int = 50) -> dict[str, int]:
    """Dream until nothing is left; what was done, counted."""
    counts: Counter[str] = Counter()
    for _ in range(200):
        done = await auto_dream(vault, index, planner=clerk, max_units=max_units)
        if not done.success:
            raise SystemExit(done.answer)
        counts["runs"] += 1
        counts["units"] += len(done.metadata["units"])
        counts["dropped"] += len(done.metadata["warnings"])
        counts["notes made"] += len(done.metadata["created"])
        counts.update(one["action"] for one in done.metadata["integrated"])
        if not done.metadata["waiting"] and not done.metadata["left"]:
            return dict(counts)
    raise SystemExit("the dreams do not end")


async def scores(talk: Conversation, index: Index, session_of: Callable[[SearchHit], list[str]]) -> Scores:
    """Recall of the evidence. ``session_of`` gives the sessions that a hit is from."""

    async def passages(query: str, limit: int, tokens: int) -> Passages:
        found: Passages = []
        for hit in (await index.search(query, limit, token_budget=tokens)).hits:
            sessions = session_of(hit)
            found += [(name, hit.text if not at else "") for at, name in enumerate(sessions or [hit.path])]
        return found

    sums = Scores()
    for question in talk.questions:
        if question.category in CATEGORIES:
            deep = await passages(question.text, 100, 8000)
            by_budget = {chars: await passages(question.text, 200, chars // 4) for chars in BUDGETS}
            sums.add(question, by_budget, deep)
    return sums


async def measure(talk: Conversation, folder: Path) -> tuple[dict[str, Scores], dict[str, int]]:
    """One conversation: its journals, with cards, and with what the dreams made of them."""
    rows: dict[str, Scores] = {}
    vault = Vault(folder, timezone="UTC")
    index = Index(vault, ReMeConfig(vault_dir=folder))
    session_of = write_journals(vault, talk)

    def sessions(hit: SearchHit) -> list[str]:
        """Of a long-term note, the sessions of the cards that the lines found, or the line below them, cite."""
        if hit.path in session_of:
            return [session_of[hit.path]]
        lines = vault.read_bytes(hit.path).decode().split("\n")[hit.start_line - 1 : hit.end_line + 1]
        return [session_of[link] for link in CARD_LINK.findall("\n".join(lines)) if link in session_of]

    rows["journals"] = await scores(talk, index, sessions)
    session_of |= await write_cards(vault, talk)
    rows["journals, cards"] = await scores(talk, index, sessions)
    started = time.perf_counter()
    counts = await dream_until_done(vault, index, Clerk())
    counts["seconds"] = round(time.perf_counter() - started)
    rows["journals, cards, long-term notes"] = await scores(talk, index, sessions)
    await index.close()
    return rows, counts


async def run(path: Path, most: int) -> None:
    sums: dict[str, Scores] = {}
    counts: Counter[str] = Counter()
    for talk in list(conversations(path))[:most]:
        with tempfile.TemporaryDirectory() as scratch:
            rows, counted = await measure(talk, Path(scratch))
        counts.update(counted)
        for name, found in rows.items():
            into = sums.setdefault(name, Scores())
            into.count += found.count
            for total, more in ((into.session, found.session), (into.turn, found.turn)):
                for key, value in more.items():
                    total[key] += value
    heads = [f"session@{depth}" for depth in DEPTHS] + [f"turn@{budget}" for budget in BUDGETS]
    print("| searched | questions | " + " | ".join(heads) + " |\n|" + "---|" * (len(heads) + 2))
    for name, total in sums.items():
        print(total.row(name))
    print("\n" + ", ".join(f"{name} {count}" for name, count in sorted(counts.items())))


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--conversations", type=int, default=5)
    given = parser.parse_args(arguments)
    if not given.file.is_file():
        print(f"{given.file}: no such file; nothing measured", file=sys.stderr)
        return 2
    print(f"\n{given.file.name}, sha256 {hashlib.sha256(given.file.read_bytes()).hexdigest()}\n")
    asyncio.run(run(given.file, given.conversations))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
