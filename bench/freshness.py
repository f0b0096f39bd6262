"""How current a search is and what that costs, with and without a watcher.

    python bench/freshness.py ARCHIVE [--notes 2500]

``ARCHIVE`` is a zip file of a vault; its notes are copied until there are enough. Rows: a search that comes at once
after another, and one after a pause (without a watcher it looks at the times of all files first); how long it takes
until what another program saves is in the index, and until a renamed folder is; a thousand notes touched; a move, which
asks the index for links or reads all notes.
"""

import argparse
import asyncio
import hashlib
import os
import shutil
import statistics
import tempfile
import time
import zipfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from agentscope_reme import ReMe

QUESTIONS = ("数据分析", "学习方法", "项目管理", "机器学习", "时间", "记忆", "笔记", "工具")
PAUSE = 3.0


def fill(root: Path, archive: Path, notes: int) -> None:
    """Unpack the notes again and again, each time into a folder of its own."""
    with zipfile.ZipFile(archive) as opened:
        names = [name for name in opened.namelist() if name.endswith(".md")]
        for number in range(notes):
            name = names[number % len(names)]
            target = root / str(number // len(names)) / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(opened.read(name))


@contextmanager
def timed(out: list[float]) -> Iterator[None]:
    """Add the milliseconds of a block."""
    began = time.perf_counter()
    yield
    out.append((time.perf_counter() - began) * 1000)


async def until(condition: Callable[[], object]) -> None:
    """Wait for something that a thread does."""
    while not condition():  # noqa: ASYNC110 (no thread tells)
        await asyncio.sleep(0.002)


def row(what: str, times: list[float], remark: str = "") -> None:
    """Print one row of the table."""
    print(f"| {what} | {statistics.median(times):.1f} | {max(times):.1f} | {remark} |")


async def searches(reme: ReMe, label: str) -> None:
    """Searches one after the other, and with pauses."""
    for question in QUESTIONS:
        await reme.search(question)
    for what, pause, rounds in (("at once", 0.0, 5), (f"after {PAUSE} s", PAUSE, 2)):
        times: list[float] = []
        for question in QUESTIONS * rounds:
            await asyncio.sleep(pause)
            with timed(times):
                await reme.search(question)
        row(f"search {what}, {label}", times)


async def repeated(rounds: int, work: Callable[[int], Awaitable[None]]) -> list[float]:
    """Milliseconds of several runs."""
    times: list[float] = []
    for number in range(rounds):
        with timed(times):
            await work(number)
    return times


async def watched_rows(root: Path) -> None:
    """What only a watcher does."""
    async with ReMe(root, link_resolution="obsidian") as reme:
        if reme.watcher.state != "events":
            print(f"(no events here: {reme.watcher.state})")
            return
        corpus = reme.index._opened().store.corpus
        await searches(reme, "with a watcher")

        async def saved(number: int) -> None:
            (root / f"bench{number}.md").write_text(f"zeppelin{number} lands\n[[bench{number + 1}]]\n")
            await until(lambda: f"bench{number}.md" in corpus.files)

        row(
            "saved by another program -> in the index",
            await repeated(10, saved),
            f"quiet window {reme.watcher.quiet} s",
        )

        async def moved(number: int) -> None:
            await reme.vault.move(f"bench{number}.md", f"moved/bench{number}.md")

        row("move, asking the index", await repeated(5, moved))
        reme.vault.inlinks = None

        async def moved_by_scan(number: int) -> None:
            await moved(number + 5)

        row("move, reading all notes", await repeated(5, moved_by_scan))
        await reme.index.sync()
        passes = reme.index._opened().sync.passes
        notes = [root / path for path in list(corpus.files)[:1000]]
        for note in notes:
            os.utime(note)
        touched: list[float] = []
        with timed(touched):
            await reme.index.sync()
        row(
            "a thousand notes touched: taken in",
            touched,
            f"{reme.index._opened().sync.passes - passes} read into terms",
        )
        await asyncio.sleep(PAUSE)  # the watcher tells of what was touched
        count = sum(path.startswith("0/") for path in corpus.files)
        renamed: list[float] = []
        with timed(renamed):
            (root / "0").rename(root / "renamed")
            await until(lambda: sum(path.startswith("renamed/") for path in list(corpus.files)) == count)
            await until(lambda: not any(path.startswith("0/") for path in list(corpus.files)))
        row(f"folder of {count} notes renamed -> in the index", renamed)


async def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("archive", type=Path)
    parser.add_argument("--notes", type=int, default=2_500)
    arguments = parser.parse_args()
    digest = hashlib.sha256(arguments.archive.read_bytes()).hexdigest()
    root = Path(tempfile.mkdtemp(prefix="reme-bench-"))
    try:
        fill(root, arguments.archive, arguments.notes)
        print(f"{arguments.archive.name} (sha256 {digest[:16]}…), {arguments.notes} notes\n")
        print("| what | median ms | longest ms | |\n|---|---|---|---|")
        async with ReMe(root, link_resolution="obsidian") as first:
            await first.index.persist()
        reme = ReMe(root, link_resolution="obsidian")
        await reme.index.sync()
        await searches(reme, "without a watcher")
        await reme.close()
        await watched_rows(root)
    finally:
        shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    asyncio.run(main())
