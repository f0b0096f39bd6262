"""Retrieval of evidence from long conversations, beside what a user would pick instead; no model, no network.

    python bench/retrieval.py FILE [FILE ...]

A ``.json`` file is in the format of LoCoMo (snap-research/locomo, CC BY-NC 4.0, evaluation only): every session becomes
a note of a vault, every question with evidence a search. Scores are recall of the evidence, averaged over questions of
categories 1 to 4: ``session@k``, evidence sessions among the first k distinct notes; ``turn@N``, evidence turns whose
text stands in the first N characters returned (4 characters count as a token). A ``.zip`` file is a vault of linked
notes: from the words around a link, its own words kept or cut, find the note it points to.
"""

import argparse
import asyncio
import hashlib
import json
import random
import re
import sqlite3
import sys
import tempfile
import zipfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from agentscope_reme import ReMeConfig
from agentscope_reme.index import Index
from agentscope_reme.vault import Vault

DEPTHS = (1, 5, 10)
BUDGETS = (4000, 8000)
CATEGORIES = (1, 2, 3, 4)
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
LINK = re.compile(r"!?\[\[([^\]|#\n]+)(?:#[^\]|\n]*)?(?:\|([^\]\n]*))?\]\]")

Passages = list[tuple[str, str]]  # (session or note, text), best first


@dataclass(frozen=True)
class Session:
    """One sitting of a conversation: ``turns`` are (id, speaker, text)."""

    id: str
    day: str
    when: str
    turns: tuple[tuple[str, str, str], ...]

    def note(self) -> str:
        name = self.id.replace("/", " ")
        head = f"---\nname: {name}\ncreated: {self.day}\ndescription: Conversation at {self.when}\n---\n"
        return head + "\n\n".join(f"**{speaker}**: {text}" for _, speaker, text in self.turns) + "\n"


@dataclass(frozen=True)
class Question:
    text: str
    category: int
    sessions: frozenset[str]
    turns: tuple[str, ...]


@dataclass(frozen=True)
class Conversation:
    id: str
    sessions: tuple[Session, ...]
    questions: tuple[Question, ...]


def conversations(path: Path) -> Iterator[Conversation]:
    """Yield the conversations of a file; questions whose evidence does not exist are left out."""
    for raw in json.loads(path.read_text(encoding="utf-8")):
        talk, name = raw["conversation"], raw["sample_id"]
        sessions, text_of, session_of = [], {}, {}
        for number in range(1, 100):
            lines = talk.get(f"session_{number}")
            if not lines:
                continue
            when = talk[f"session_{number}_date_time"]
            day, month, year = re.search(r"on (\d{1,2}) (\w+),? (\d{4})", when).groups()
            date = f"{year}-{MONTHS.index(month[:3].lower()) + 1:02d}-{int(day):02d}"
            turns = []
            for line in lines:
                caption = line.get("blip_caption")
                text = " ".join(line["text"].split()) + (f" [shares a picture: {caption}]" if caption else "")
                turns.append((line["dia_id"], line["speaker"], text))
            session = Session(f"{name}/session-{number:02d}", date, when, tuple(turns))
            sessions.append(session)
            for turn, _, text in turns:
                text_of[turn], session_of[turn] = text, session.id
        questions = []
        for item in raw["qa"]:
            named = re.findall(r"D:?(\d+):(\d+)", " ".join(map(str, item.get("evidence", []))))
            turns = sorted({f"D{int(a)}:{int(b)}" for a, b in named} & text_of.keys())
            if turns:
                where = frozenset(session_of[turn] for turn in turns)
                found = Question(item["question"], item["category"], where, tuple(text_of[turn] for turn in turns))
                questions.append(found)
        yield Conversation(name, tuple(sessions), tuple(questions))


def squashed(text: str) -> str:
    return re.sub(r"\W+", " ", text).strip().lower()


@dataclass
class Scores:
    """Sums over questions."""

    count: int = 0
    session: dict[int, float] = field(default_factory=lambda: dict.fromkeys(DEPTHS, 0.0))
    turn: dict[int, float] = field(default_factory=lambda: dict.fromkeys(BUDGETS, 0.0))

    def add(self, question: Question, by_budget: dict[int, Passages], deep: Passages) -> None:
        self.count += 1
        order = list(dict.fromkeys(name for name, _ in deep))
        for depth in DEPTHS:
            self.session[depth] += len(question.sessions & set(order[:depth])) / len(question.sessions)
        for budget, passages in by_budget.items():
            shown, left = [], budget
            for _, text in passages:
                shown.append(text[:left])
                left -= len(text)
                if left <= 0:
                    break
            seen = squashed("\n".join(shown))
            self.turn[budget] += sum(squashed(turn) in seen for turn in question.turns) / len(question.turns)

    def row(self, name: str) -> str:
        cells = [*self.session.values(), *self.turn.values()]
        return f"| {name} | {self.count} | " + " | ".join(f"{cell / max(1, self.count):.3f}" for cell in cells) + " |"


def fts5(documents: Sequence[tuple[str, str]], tokenizer: str = "porter unicode61") -> Callable[[str], Passages]:
    """SQLite's full-text search; any word may match."""
    database = sqlite3.connect(":memory:")
    database.execute(f"create virtual table f using fts5(body, tokenize='{tokenizer}')")
    database.executemany(
        "insert into f(rowid, body) values (?, ?)", [(n, text) for n, (_, text) in enumerate(documents)]
    )

    def search(query: str) -> Passages:
        words = re.findall(r"\w+", query)
        if tokenizer == "trigram":
            words = [word[at : at + 3] for word in words if len(word) > 2 for at in range(len(word) - 2)]
        match = " OR ".join(f'"{word}"' for word in dict.fromkeys(words[:120]))
        if not match:
            return []
        found = database.execute("select rowid from f where f match ? order by bm25(f) limit 200", (match,)).fetchall()
        return [documents[number] for (number,) in found]

    return search


def plain_bm25s(documents: Sequence[tuple[str, str]]) -> Callable[[str], Passages]:
    """bm25s as its README uses it: its tokenizer with English stop words and a stemmer."""
    import bm25s
    import Stemmer

    stemmer = Stemmer.Stemmer("english")
    tokens = bm25s.tokenize([text for _, text in documents], stopwords="en", stemmer=stemmer, show_progress=False)
    engine = bm25s.BM25()
    engine.index(tokens, show_progress=False)

    def search(query: str) -> Passages:
        asked = bm25s.tokenize(query, stopwords="en", stemmer=stemmer, show_progress=False, return_ids=False)
        found, scores = engine.retrieve(asked, k=min(200, len(documents)), show_progress=False)
        return [documents[int(n)] for n, score in zip(found[0], scores[0], strict=True) if score > 0]

    return search


def tantivy_rows(documents: Sequence[tuple[str, str]]) -> Callable[[str], Passages] | None:
    """tantivy with its English stemmer; None when it is not installed."""
    try:
        import tantivy
    except ImportError:
        return None
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("body", tokenizer_name="en_stem")
    builder.add_integer_field("number", stored=True)
    engine = tantivy.Index(builder.build())
    writer = engine.writer()
    for number, (_, text) in enumerate(documents):
        writer.add_document(tantivy.Document(body=text, number=number))
    writer.commit()
    engine.reload()

    def search(query: str) -> Passages:
        searcher = engine.searcher()
        parsed = engine.parse_query(" ".join(re.findall(r"\w+", query)), ["body"])
        return [documents[searcher.doc(at)["number"][0]] for _, at in searcher.search(parsed, 200).hits]

    return search


class Ours:
    """A vault with one note a session, searched through the public interface."""

    def __init__(self, folder: Path, talks: Sequence[Conversation]) -> None:
        self.sessions: dict[str, str] = {}
        for talk in talks:
            for session in talk.sessions:
                path = f"daily/{session.day}/{session.id.replace('/', '-')}.md"
                target = folder / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(session.note(), encoding="utf-8")
                self.sessions[path] = session.id
        self.index = Index(Vault(folder), ReMeConfig(vault_dir=folder))

    async def passages(self, query: str, limit: int, tokens: int | None) -> Passages:
        result = await self.index.search(query, limit=limit, token_budget=tokens)
        return [(self.sessions[hit.path], hit.text) for hit in result.hits]

    async def evidence(self, query: str) -> tuple[bool, float]:
        """Whether a search passes as ``ok``, and how much of the query it found."""
        result = await self.index.search(query)
        return result.status == "ok", result.evidence


async def ours_scores(index: Ours, questions: Sequence[Question]) -> tuple[Scores, Scores, Scores]:
    """By budget; with one deep search cut at the budgets; and category 5 by budget."""
    budgeted, deep_only, adversarial = Scores(), Scores(), Scores()
    for question in questions:
        deep = await index.passages(question.text, 100, 8000)
        by_budget = {chars: await index.passages(question.text, 200, chars // 4) for chars in BUDGETS}
        if question.category in CATEGORIES:
            budgeted.add(question, by_budget, deep)
            deep_only.add(question, dict.fromkeys(BUDGETS, deep), deep)
        else:
            adversarial.add(question, by_budget, deep)
    return budgeted, deep_only, adversarial


async def foreign_answered(talks: Sequence[Conversation], indexes: Sequence[Ours]) -> list[str]:
    """How often questions about another conversation pass, with its names and with names of this one.

    At the thresholds that lose 2 to 20 % of the true questions, and at the one that is built in.
    """
    true: list[tuple[bool, float]] = []
    foreign: dict[str, list[tuple[bool, float]]] = {"names swapped": [], "names left": []}
    for number, (talk, index) in enumerate(zip(talks, indexes, strict=True)):
        true += [await index.evidence(one.text) for one in talk.questions if one.category in CATEGORIES]
        names = sorted({speaker for session in talk.sessions for _, speaker, _ in session.turns})
        for step in (1, 2):
            other = talks[(number + step) % len(talks)]
            theirs = sorted({speaker for session in other.sessions for _, speaker, _ in session.turns})
            for text in (one.text for one in other.questions if one.category in CATEGORIES):
                swapped = text
                for mine, name in zip(names, theirs, strict=False):
                    swapped = re.sub(rf"\b{name}\b", mine, swapped)
                foreign["names left"].append(await index.evidence(text))
                foreign["names swapped"].append(await index.evidence(swapped))

    def share(found: list[tuple[bool, float]], threshold: float | None) -> float:
        passed = sum(ok if threshold is None else evidence >= threshold for ok, evidence in found)
        return passed / len(found)

    ranked = sorted(evidence for _, evidence in true)
    thresholds = [ranked[int(len(ranked) * lost)] for lost in (0.02, 0.05, 0.1, 0.2)]
    lines = ["| evidence at least | true questions lost | " + " | ".join(f"foreign, {kind}" for kind in foreign) + " |"]
    lines.append("|---|---|---|---|")
    for threshold in (*thresholds, None):
        cells = [1 - share(true, threshold), *(share(found, threshold) for found in foreign.values())]
        name = "status `ok`" if threshold is None else f"{threshold:.3f}"
        lines.append(f"| {name} | " + " | ".join(f"{cell:.3f}" for cell in cells) + " |")
    return lines


async def dialogues(path: Path) -> None:
    talks = list(conversations(path))
    rows: dict[str, Scores] = {}
    adversarial = Scores()
    with tempfile.TemporaryDirectory() as scratch:
        indexes = [Ours(Path(scratch) / talk.id, [talk]) for talk in talks]
        for talk, index in zip(talks, indexes, strict=True):
            found = await ours_scores(index, talk.questions)
            for name, scores in zip(("ours", "ours, one deep search"), found[:2], strict=True):
                merge(rows.setdefault(name, Scores()), scores)
            merge(adversarial, found[2])
        curve = await foreign_answered(talks, indexes) if len(talks) > 2 else []
        pooled = Ours(Path(scratch) / "pooled", talks)
        rows["ours, all conversations in one vault"] = (
            await ours_scores(pooled, [question for talk in talks for question in talk.questions])
        )[0]
    for talk in talks:
        turns = [(s.id, f"{speaker}: {text}") for s in talk.sessions for _, speaker, text in s.turns]
        whole = [(s.id, s.note()) for s in talk.sessions]
        others = {
            "SQLite FTS5, a document per turn": fts5(turns),
            "SQLite FTS5, a document per session": fts5(whole),
            "bm25s, a document per turn": plain_bm25s(turns),
            "bm25s, a document per session": plain_bm25s(whole),
            "tantivy, a document per turn": tantivy_rows(turns),
        }
        for name, search in others.items():
            for question in talk.questions if search is not None else ():
                if question.category in CATEGORIES:
                    found = search(question.text)
                    rows.setdefault(name, Scores()).add(question, dict.fromkeys(BUDGETS, found), found)
    heads = [f"session@{depth}" for depth in DEPTHS] + [f"turn@{budget}" for budget in BUDGETS]
    print("| system | questions | " + " | ".join(heads) + " |\n|" + "---|" * (len(heads) + 2))
    for name, scores in rows.items():
        print(scores.row(name))
    print(adversarial.row("ours, category 5"))
    print("\n" + "\n".join(curve))


def merge(into: Scores, other: Scores) -> None:
    into.count += other.count
    for sums, more in ((into.session, other.session), (into.turn, other.turn)):
        for key, value in more.items():
            sums[key] += value


def link_cases(notes: dict[str, str], keep: bool, most: int = 600, seed: int = 7) -> list[tuple[str, str, str]]:
    """(words around a link, the note that holds it, the note it points to), for links that name one note."""
    by_name = defaultdict(list)
    for path in notes:
        by_name[PurePosixPath(path).stem].append(path)
    out = set()
    for path, text in notes.items():
        for line in text.splitlines():
            for link in LINK.finditer(line):
                targets = by_name.get(PurePosixPath(link.group(1).strip().removesuffix(".md")).name, [])
                words = (link.group(2) or PurePosixPath(link.group(1)).name) if keep else " "
                rest = LINK.sub(" ", line[: link.start()]) + words + LINK.sub(" ", line[link.end() :])
                rest = " ".join(re.sub(r"[#>*`\-|\[\]()]+", " ", rest).split())
                if len(targets) == 1 and targets[0] != path and len(rest) >= 12:
                    out.add((rest[:300], path, targets[0]))
    cases = sorted(out)
    random.Random(seed).shuffle(cases)
    return cases[:most]


async def links(path: Path) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder, aside = Path(scratch) / "vault", Path(scratch) / "aside"
        zipfile.ZipFile(path).extractall(folder)
        notes = {
            file.relative_to(folder).as_posix(): file.read_text(encoding="utf-8", errors="replace")
            for file in sorted(folder.rglob("*.md"))
        }
        index = Index(Vault(folder), ReMeConfig(vault_dir=folder))
        await index.sync()

        async def ours(query: str, holder: str) -> list[str]:
            # The note that holds the link leaves the vault meanwhile: its own words must not lead to the target.
            (folder / holder).rename(aside)
            await index.sync()
            found = await index.search(query, limit=60, token_budget=20_000)
            aside.rename(folder / holder)
            return [hit.path for hit in found.hits]

        trigram = fts5([(name, f"{name}\n{text}") for name, text in notes.items()], "trigram")

        async def theirs(query: str, holder: str) -> list[str]:
            return [name for name, _ in trigram(query)]

        print("| system | link's words | cases | R@1 | R@5 | R@10 |\n|---|---|---|---|---|---|")
        for name, search in (("ours", ours), ("SQLite FTS5, trigrams", theirs)):
            for keep in (True, False):
                cases = link_cases(notes, keep)
                hits = dict.fromkeys(DEPTHS, 0)
                for query, holder, target in cases:
                    order = [found for found in dict.fromkeys(await search(query, holder)) if found != holder]
                    for depth in DEPTHS:
                        hits[depth] += target in order[:depth]
                cells = " | ".join(f"{hits[depth] / len(cases):.3f}" for depth in DEPTHS)
                print(f"| {name} | {'kept' if keep else 'cut'} | {len(cases)} | {cells} |")
        await index.close()


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("files", nargs="+", type=Path)
    for path in parser.parse_args(arguments).files:
        if not path.is_file():
            print(f"{path}: no such file; nothing measured", file=sys.stderr)
            return 2
        print(f"\n{path.name}, sha256 {hashlib.sha256(path.read_bytes()).hexdigest()}\n")
        work: Any = links if path.suffix == ".zip" else dialogues
        asyncio.run(work(path))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
