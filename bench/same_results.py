"""Whether search gives the same in both forms, compiled and in numpy: every hit, score and status of many searches.

    python bench/same_results.py FILE [FILE ...] [--chunks 40000] [--against PATH]

A ``.json`` file is in the format of LoCoMo: each question is asked of its conversation, of another one, and of all in
one vault. A ``.zip`` file is a vault of notes: searches from the words around a link while the note that holds it is
away, and, in its notes copied with changed words until they make up that many chunks, pieces of prose with and without
filters, odd questions, and that again between notes that are changed, moved and removed. Each form asks in a process of
its own. What differs is printed, the first of each. ``--against`` is a checkout of an earlier version, which is asked,
too. Ends with 1 where a result differs. Times are of the processor, of all that a process does.
"""

import argparse
import asyncio
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TextIO

sys.path.insert(0, str(Path(__file__).parent))

from large_vault import fill, prose_queries, read_notes
from retrieval import Ours, conversations, link_cases

from agentscope_reme import ReMeConfig
from agentscope_reme.index import Index
from agentscope_reme.vault import Vault

WRITTEN = 1_650_000_000  # when every note was, in seconds: hits say so, and so do days
CASES, QUERIES, EDITS = 300, 400, 60
FILTERS: tuple[dict[str, Any], ...] = (
    {"path": "copy01"}, {"since": "2022-01-01"}, {"since": "2021-01-01", "until": "2022-06-01"}, {"tags": ["none"]},
)  # fmt: skip
ODD = (
    *("的", "我", "the", "?", "a b c", "x" * 500, "笔记 " * 200),
    *("昨天做了什么", "去年", "2022年12月", "2022-12-11", "last week", "12:30"),
)


class Asked:
    """Searches whose results are written down, a line each."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    async def __call__(self, index: Index, query: str, **arguments: Any) -> None:
        result = await index.search(query, **arguments)
        said = repr(result).replace("\n", " ")
        self._out.write(f"{query[:80]!r} {arguments}\t{said}\n")


def opened(root: Path) -> Index:
    """An index of a vault whose files were all written at one time."""
    for path in root.rglob("*.md"):
        os.utime(path, (WRITTEN, WRITTEN))
    return Index(Vault(root), ReMeConfig(vault_dir=root, search_wait=3600))


async def talks(file: Path, folder: Path, ask: Asked) -> None:
    """Questions, also those of another conversation, in short and in deep searches."""
    found = list(conversations(file))
    for number, group in enumerate([*([talk] for talk in found), found]):
        ours = Ours(folder / str(number), group)
        await ours.index.close()
        index = opened(folder / str(number))
        foreign = found[(number + 1) % len(found)].questions
        for question in [*(one for talk in group for one in talk.questions), *foreign[:CASES]]:
            await ask(index, question.text)
            await ask(index, question.text, limit=100, token_budget=8000)
        await index.close()


async def links(file: Path, folder: Path, ask: Asked) -> None:
    """From the words around a link, those of the link kept or cut, while the note that holds it is away."""
    notes = read_notes(file)
    for path, text in notes.items():
        target = folder / "vault" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8", newline="")
    index = opened(folder / "vault")
    for keep in (True, False):
        for query, holder, _ in link_cases(notes, keep)[:CASES]:
            (folder / "vault" / holder).rename(folder / "away")
            await index.sync()
            await ask(index, query, limit=60, token_budget=20_000)
            (folder / "away").rename(folder / "vault" / holder)
    await index.close()


async def large(file: Path, folder: Path, ask: Asked, chunks: int) -> None:
    """Prose, pieces of any length, filters and odd questions, and again amid changes."""
    from agentscope_reme.index.chunker import read_document

    notes = read_notes(file)
    sizes = {path: len(read_document(path, text).chunks) for path, text in notes.items()}
    paths = fill(folder, notes, chunks, sizes)
    index = opened(folder)
    queries = prose_queries(notes, QUERIES)
    chance = random.Random(5)
    for query in queries:
        await ask(index, query)
        await ask(index, query, limit=20)
    for _ in range(QUERIES // 2):
        text = chance.choice(list(notes.values())) or "x"
        begin = chance.randrange(len(text))
        await ask(index, " ".join(text[begin : begin + chance.choice((2, 3, 6, 12, 40))].split()))
    for query in ODD:
        await ask(index, query, limit=20)
    for query in queries[: QUERIES // 6]:
        for wanted in FILTERS:
            await ask(index, query, filter=wanted)
    for number, path in enumerate(chance.sample(paths, EDITS)):
        _change(folder / path, number, chance.choice(queries))
        if number % 6 == 5:
            await index.sync()
            for query in [f"wordling{number - 3}", *chance.sample(queries, 12)]:
                await ask(index, query)
    await index.close()


def _change(path: Path, number: int, words: str) -> None:
    """Every third file gets a paragraph, another name, or is removed."""
    if number % 3 == 0:
        path.unlink()
    elif number % 3 == 1:
        path.rename(path.with_name(f"moved {number}.md"))
    else:
        path.write_text(f"{path.read_text(encoding='utf-8')}\n\nwordling{number} {words}\n", encoding="utf-8")
        os.utime(path, (WRITTEN + number, WRITTEN + number))


def parts(file: Path, chunks: int) -> dict[str, Callable[[Path, Asked], Any]]:
    """What is asked of a file, by name."""
    if file.suffix == ".json":
        return {"conversations": lambda folder, ask: talks(file, folder, ask)}
    return {
        "links": lambda folder, ask: links(file, folder, ask),
        f"{chunks} chunks": lambda folder, ask: large(file, folder, ask, chunks),
    }


def asked_in_this_process(file: Path, part: str, chunks: int, lines: Path) -> None:
    with tempfile.TemporaryDirectory() as scratch, lines.open("w", encoding="utf-8") as out:
        asyncio.run(parts(file, chunks)[part](Path(scratch), Asked(out)))
    print(time.process_time())


def compared(file: Path, part: str, chunks: int, against: Path | None, folder: Path) -> bool:
    """Ask in each form, print a row; whether all said the same."""
    here = {"compiled": {"REME_COMPILED": ""}, "in numpy": {"REME_COMPILED": "0"}}
    forms = here | ({"before": {"PYTHONPATH": str(against.resolve())}} if against else {})
    seconds, results = {}, {}
    for form, environment in forms.items():
        lines = folder / form
        command = [sys.executable, __file__, str(file), "--part", part, "--chunks", str(chunks), "--lines", str(lines)]
        done = subprocess.run(command, env=os.environ | environment, stdout=subprocess.PIPE, text=True, check=True)
        seconds[form] = float(done.stdout.split()[-1])
        results[form] = lines.read_text(encoding="utf-8").split("\n")
    first = results.pop("compiled")
    same = {form: sum(a == b for a, b in zip(first, other, strict=True)) - 1 for form, other in results.items()}
    times = ", ".join(f"{form} {took:.1f} s" for form, took in seconds.items())
    print(f"| {part} | {len(first) - 1} | {', '.join(map(str, same.values()))} | {times} |", flush=True)
    for form, other in results.items():
        for a, b in zip(first, other, strict=True):
            if a != b:
                print(f"\ncompiled: {a}\n{form}: {b}\n")
                break
    return all(count == len(first) - 1 for count in same.values())


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--chunks", type=int, default=40_000)
    parser.add_argument("--against", type=Path, help="a checkout of an earlier version")
    parser.add_argument("--part", help=argparse.SUPPRESS)
    parser.add_argument("--lines", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    if chosen.part:
        asked_in_this_process(chosen.files[0], chosen.part, chosen.chunks, chosen.lines)
        return 0
    from agentscope_reme.index.compiled import form, kernels

    missing = [str(file) for file in chosen.files if not file.is_file()]
    if missing or kernels is None:
        print(f"no such file: {', '.join(missing)}" if missing else f"ranking is {form}", file=sys.stderr)
        return 2
    others = "in numpy, before" if chosen.against else "in numpy"
    print(f"| asked | searches | the same {others} | processor |\n|---|---|---|---|")
    same = True
    with tempfile.TemporaryDirectory() as scratch:
        for file in chosen.files:
            for part in parts(file, chosen.chunks):
                same &= compared(file, part, chosen.chunks, chosen.against, Path(scratch))
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
