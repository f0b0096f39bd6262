"""What vectors add to words on long conversations: the same questions, the same scorer as ``retrieval.py``.

    python bench/vectors.py FILE [--only N] [--pooled] [--status] [--keep FOLDER]

FILE is in the format of LoCoMo (snap-research/locomo, CC BY-NC 4.0, evaluation only). The model is the one of the
``local-embedding`` extra; no key, no network. Embedding takes a while (some thirty turns a second on two cores);
``--keep`` keeps the vectors in a folder for the next run. ``--only`` takes the first N conversations, ``--pooled`` puts
all of them into one vault as well, ``--status`` asks each conversation the questions of two others. ``--speed N``
measures a question against N random vectors instead.
"""

import argparse
import asyncio
import hashlib
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from retrieval import (
    BUDGETS,
    CATEGORIES,
    DEPTHS,
    Conversation,
    Ours,
    Question,
    Scores,
    conversations,
    foreign_answered,
    merge,
)

from agentscope_reme import ReMeConfig
from agentscope_reme.index import Index
from agentscope_reme.vault import Vault

ROWS: dict[str, dict[str, Any]] = {
    "words and vectors (default)": {},
    "words and vectors, weight .2": {"vector_weight": 0.2},
    "words and vectors, weight .5": {"vector_weight": 0.5},
    "reciprocal ranks, .5 / .5": {"fusion": "rrf"},
    "preset reme-0.3 (sum, vectors .7)": {"fusion": "reme-0.3"},
    "preset reme-0.4 (ranks, vectors .7)": {"fusion": "reme-0.4"},
    "vectors alone": {"vector_weight": 1.0},
}


class Remembering:
    """The local model, which embeds a text once however many vaults hold it."""

    batch_size_limit = 16

    def __init__(self) -> None:
        from agentscope_reme.index.embedding_local import LocalModel

        self._model = LocalModel()
        self.model_name, self.dimensions = self._model.model_name, self._model.dimensions
        self._known: dict[tuple[bool, str], Any] = {}
        self.embedded = 0

    async def __call__(self, text: list[str]) -> Any:
        return await self._vectors(text, False)

    async def embed_question(self, text: list[str]) -> Any:
        return await self._vectors(text, True)

    async def _vectors(self, texts: list[str], question: bool) -> Any:
        from agentscope_reme.index.embedding_local import LocalVectors

        new = [text for text in dict.fromkeys(texts) if (question, text) not in self._known]
        if new:
            rows = await asyncio.to_thread(self._model.encode, new, question=question)
            self._known.update(zip(((question, text) for text in new), rows, strict=True))
            self.embedded += len(new)
        return LocalVectors([self._known[question, text] for text in texts])


class Hybrid(Ours):
    """A vault with one note a session, whose search may compare vectors as well."""

    def __init__(self, folder: Path, talks: Sequence[Conversation], model: Any, **settings: Any) -> None:
        super().__init__(folder, talks)
        config = ReMeConfig(vault_dir=folder, embedding_wait=60, **settings)
        self.index = Index(Vault(folder), config, embedding_model=model)


async def scores(index: Ours, questions: Sequence[Question]) -> Scores:
    out = Scores()
    for question in questions:
        if question.category in CATEGORIES:
            deep = await index.passages(question.text, 100, 8000)
            by_budget = {chars: await index.passages(question.text, 200, chars // 4) for chars in BUDGETS}
            out.add(question, by_budget, deep)
    return out


async def statuses(talks: Sequence[Conversation], folder: Path) -> None:
    """How many true questions lose their ``ok``, and how many about other people keep it."""
    model = Remembering()
    print("| system | true questions lost | foreign, names swapped | foreign, names left |\n|---|---|---|---|")
    for name, given in (("words alone", None), ("words and vectors", model)):
        indexes: list[Ours] = []
        for talk in talks:
            index = Hybrid(folder / talk.id, [talk], given) if given is not None else Ours(folder / talk.id, [talk])
            await index.index.embed()
            indexes.append(index)
        row = (await foreign_answered(talks, indexes))[-1]
        print(f"| {name} |{row.split('|', 2)[2]}")
        for index in indexes:
            await index.index.close()


async def compare(groups: Sequence[tuple[str, Sequence[Conversation]]], folder: Path, rows: dict[str, Any]) -> None:
    """Print a row for each way to search; ``groups`` are vaults by folder name."""
    model = Remembering()
    found: dict[str, Scores] = {}
    began = time.perf_counter()
    for name, talks in groups:
        questions = [question for talk in talks for question in talk.questions]
        plain = Ours(folder / name, talks)
        merge(found.setdefault("words alone", Scores()), await scores(plain, questions))
        await plain.index.close()
        for row, settings in rows.items():
            index = Hybrid(folder / name, talks, model, **settings)
            report = await index.index.embed()
            assert report is not None
            assert not report.missing, report.fault
            merge(found.setdefault(row, Scores()), await scores(index, questions))
            await index.index.close()
        print(f"{name}: {time.perf_counter() - began:.0f} s, {model.embedded} texts embedded", file=sys.stderr)
    heads = [f"session@{depth}" for depth in DEPTHS] + [f"turn@{budget}" for budget in BUDGETS]
    print("| system | questions | " + " | ".join(heads) + " |\n|" + "---|" * (len(heads) + 2))
    for row, sums in found.items():
        print(sums.row(row))


def speed(count: int) -> None:
    """What it takes to compare a question with so many vectors, in ms."""
    import numpy as np

    from agentscope_reme.index.vectors_table import VectorTable

    rng = np.random.default_rng(7)
    print("| vectors | dimensions | kept as | p50 ms | p95 ms | processor time, p50 ms | MB |\n|" + "---|" * 7)
    for dimensions in (384, 1024):
        vectors = rng.normal(size=(count, dimensions)).astype(np.float32)
        for precision in ("int8", "float32"):
            table = VectorTable(dimensions, precision)  # type: ignore[arg-type]
            table.add(list(range(1, count + 1)), vectors)
            taken, worked = [], []
            for row in range(200):
                began, at_work = time.perf_counter(), time.process_time()
                table.cosines(vectors[row])
                taken.append(1000 * (time.perf_counter() - began))
                worked.append(1000 * (time.process_time() - at_work))
            taken.sort()
            size = sum(part.nbytes for part in table.dump()) / 1_000_000
            times = (statistics.median(taken), taken[int(len(taken) * 0.95)], statistics.median(worked), size)
            cells = " | ".join(f"{one:.1f}" for one in times)
            print(f"| {count} | {dimensions} | {precision} | {cells} |")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--only", type=int, default=100)
    parser.add_argument("--pooled", action="store_true")
    parser.add_argument("--status", action="store_true")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--rows", help="JSON: settings by name of row")
    parser.add_argument("--speed", type=int)
    given = parser.parse_args(arguments)
    if given.speed:
        speed(given.speed)
        return 0
    if given.file is None or not given.file.is_file():
        print(f"{given.file}: no such file; nothing measured", file=sys.stderr)
        return 2
    try:
        Remembering()
    except Exception as error:
        print(f"{error}; nothing measured", file=sys.stderr)
        return 2
    talks = list(conversations(given.file))[: given.only]
    rows = json.loads(given.rows) if given.rows else ROWS
    print(f"\n{given.file.name}, sha256 {hashlib.sha256(given.file.read_bytes()).hexdigest()}")
    print(f"conversations: {', '.join(talk.id for talk in talks)}")
    with tempfile.TemporaryDirectory() as scratch:
        folder = given.keep or Path(scratch)
        print("\nA vault for each conversation:\n")
        asyncio.run(compare([(talk.id, [talk]) for talk in talks], folder, rows))
        if given.status and len(talks) > 2:
            print("\nThe status:\n")
            asyncio.run(statuses(talks, folder))
        if given.pooled:
            print("\nAll of them in one vault:\n")
            asyncio.run(compare([("pooled", talks)], folder, rows))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
