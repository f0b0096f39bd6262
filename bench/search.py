"""Speed and memory of search, in a vault of real notes made large, beside what a user would pick instead.

    python bench/search.py ../shared/data/vault_zh_dev.zip [--chunks 40000] [--reme-python PATH] [--keep FOLDER]

The notes of the archive are copied with changed words (``bench/large_vault.py``) until they make up that many chunks of
at most 1 200 characters. Every system runs in a process of its own, one after the other, over the same texts and the
same queries. Our bytecode is compiled before, as installers leave it. ``--reme-python`` is the interpreter of an
environment with reme-ai 0.4.2. Wall-clock times of one run: on a machine with other work they are longer.
"""

import argparse
import asyncio
import compileall
import gc
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from large_vault import checksum, fill, prose_queries, read_notes
from search_rivals import SAVES, WARM, memory, spread, word

QUERIES = 400
TOUCHED = 1_000
SMALL = 4_000
START_NOTES = 2_500
TICK = 0.001


class Ticker:
    """How long the event loop was held at most, beyond the time it was asked to wait."""

    async def __aenter__(self) -> "Ticker":
        self.longest = 0.0
        self._task = asyncio.create_task(self._run())
        return self

    async def _run(self) -> None:
        while True:
            started = time.perf_counter()
            await asyncio.sleep(TICK)
            self.longest = max(self.longest, time.perf_counter() - started - TICK)

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()


def opened(root: Path) -> Any:
    from agentscope_reme import ReMeConfig
    from agentscope_reme.index import Index
    from agentscope_reme.vault import Vault

    return Index(Vault(root), ReMeConfig(vault_dir=root, search_wait=3600))


def baseline() -> float:
    """Memory of the interpreter with numpy and bm25s imported."""
    import bm25s
    import numpy

    assert {bm25s.__name__, numpy.__name__} <= sys.modules.keys()
    return memory()


async def build(root: Path) -> dict[str, Any]:
    """From Markdown alone, then stored."""
    before = baseline()
    index = opened(root)
    async with Ticker() as ticker:
        started = time.perf_counter()
        report = await index.sync()
        seconds = time.perf_counter() - started
    out = {"build": seconds, "files": report.added, "units": index.status()["units"], "hold": ticker.longest * 1000}
    started = time.perf_counter()
    await index.persist()
    out["persist"] = 1000 * (time.perf_counter() - started)
    gc.collect()
    out["memory"] = memory() - before  # once it is stored: writing begins by itself as soon as the build is done
    await index.close()
    return out


async def use(root: Path, queries: list[str]) -> dict[str, Any]:
    """A stored index is opened, asked, written to, touched."""
    from agentscope_reme.index.largest import top
    from agentscope_reme.index.tokenizer import Tokenizer

    before = baseline()
    index = opened(root)
    await index.sync()
    units, tokenizer = index._opened().store.corpus.units, Tokenizer()
    asked = [tokenizer.query(query).terms for query in queries]
    keyword = []
    for terms in (*asked[:WARM], *asked):
        started = time.perf_counter()
        top(units.scores(terms), 20)
        keyword.append(time.perf_counter() - started)
    searches = []
    for query in (*queries[:WARM], *queries):
        started = time.perf_counter()
        await index.search(query)
        searches.append(time.perf_counter() - started)
    async with Ticker() as ticker:  # in a run of its own: whoever watches the loop takes time of its own
        for query in queries:
            await index.search(query)
    gc.collect()
    held = memory() - before
    saves = await saved(index, root)
    notes = sorted(path for path in root.rglob("*.md") if "history" not in path.parts)[:TOUCHED]
    passes = index._opened().sync.passes
    for path in notes:
        path.touch()
    started = time.perf_counter()
    report = await index.sync()
    touched = time.perf_counter() - started
    assert report.changed == 0
    await index.close()
    return {
        "keyword": spread(keyword[WARM:]), "search": spread(searches[WARM:]), "search_hold": ticker.longest * 1000,
        "memory_open": held, "saved": spread(saves), "touched": touched, "passes": index._opened().sync.passes - passes,
    }  # fmt: skip


async def saved(index: Any, root: Path) -> list[float]:
    """A note is written, durably, and found by a word that it did not have."""
    paths = sorted(path.relative_to(root).as_posix() for path in root.glob("copy*/**/*.md"))
    out = []
    for number in range(WARM // 2 + SAVES):
        path = paths[number * 37 % len(paths)]
        text = (root / path).read_text(encoding="utf-8", errors="replace")
        started = time.perf_counter()
        await index.vault.write(path, f"{text}\n\n{word(number)}\n", overwrite=True)
        found = await index.search(word(number))
        out.append(time.perf_counter() - started)
        assert path in [hit.path for hit in found.hits], f"{path} was saved and not found"
    return out[WARM // 2 :]


async def small(root: Path) -> dict[str, Any]:
    index = opened(root)
    await index.sync()
    saves = await saved(index, root)
    await index.close()
    return {"saved_small": spread(saves)}


async def start(root: Path) -> dict[str, Any]:
    """A fresh process until the first answer; what is imported counts."""
    started = time.perf_counter()
    index = opened(root)
    result = await index.search("笔记")
    seconds = time.perf_counter() - started
    assert result.hits
    assert "jieba" not in sys.modules
    assert index._opened().sync.passes == 0
    await index.close()
    return {"start": seconds}


async def stored(root: Path) -> dict[str, Any]:
    index = opened(root)
    await index.sync()
    await index.close()
    return {}


def part(name: str, folder: Path) -> dict[str, Any]:
    match name:
        case "build":
            return asyncio.run(build(folder / "large"))
        case "use":
            queries = json.loads((folder / "queries.json").read_text(encoding="utf-8"))
            return asyncio.run(use(folder / "large", queries))
        case "small":
            return asyncio.run(small(folder / "small"))
        case "store":
            return asyncio.run(stored(folder / "start"))
        case _:
            return asyncio.run(start(folder / "start"))


def prepare(archive: Path, folder: Path, chunks: int) -> str:
    """The vaults, the same chunks for the others, the queries; what they are, in a sentence."""
    from agentscope_reme.index.chunker import read_document

    notes = read_notes(archive)
    sizes = {path: len(read_document(path, text).chunks) for path, text in notes.items()}
    large = fill(folder / "large", notes, chunks, sizes)
    fill(folder / "small", notes, max(1, chunks * SMALL // 40_000), sizes)
    fill(folder / "start", notes, None, sizes, START_NOTES)
    with (folder / "chunks.jsonl").open("w", encoding="utf-8") as out:
        for path in large:
            text = (folder / "large" / path).read_text(encoding="utf-8")
            for chunk in read_document(path, text).chunks:
                out.write(json.dumps({"path": path, "text": chunk.text}, ensure_ascii=False) + "\n")
    (folder / "queries.json").write_text(
        json.dumps(prose_queries(notes, QUERIES), ensure_ascii=False), encoding="utf-8"
    )
    size = sum((folder / "large" / path).stat().st_size for path in large) / 1e6
    return f"{len(large)} notes, {chunks} chunks, {size:.1f} MB, sha256 {checksum(folder / 'large', large)[:16]}"


def compile_package() -> None:
    """Have the package's bytecode there, also where Python is told to write none (PYTHONDONTWRITEBYTECODE)."""
    import agentscope_reme

    compileall.compile_dir(Path(agentscope_reme.__file__).parent, quiet=2)


def ranking() -> str:
    """Which form ranking has here; with REME_COMPILED=0 in the environment it is the one in numpy."""
    from agentscope_reme.index.compiled import form

    return form


def run(command: list[str]) -> dict[str, Any] | None:
    """The last line a process prints, as JSON; None when it fails, and then why goes to stderr."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"{' '.join(command)}: {(done.stderr.strip().splitlines() or ['failed'])[-1]}", file=sys.stderr)
        return None
    return json.loads(done.stdout.strip().splitlines()[-1])


def pair(found: dict[str, Any] | None, key: str) -> str:
    value = (found or {}).get(key)
    return "" if value is None else f"{value[0]:.2f} / {value[1]:.2f}"


def number(found: dict[str, Any] | None, key: str, digits: int = 1) -> str:
    value = (found or {}).get(key)
    return "" if value is None else f"{value:.{digits}f}"


def table(ours: dict[str, Any], rivals: dict[str, dict[str, Any] | None]) -> list[str]:
    heads = ["", "target", "this", *rivals]
    others = list(rivals.values())
    longest = max(ours["hold"], ours["search_hold"])
    rows = [
        ["keyword scores and top 20, ms", "<= 0.2", *(pair(one, "keyword") for one in (ours, *others))],
        ["search, ms", "<= 1.5 / 6", pair(ours, "search")],
        ["full build from Markdown, s", "<= 12", *(number(one, "build") for one in (ours, *others))],
        [f"start from what is stored, {START_NOTES} notes (others: all), s", "<= 0.5",
         *(number(one, "start", 3) for one in (ours, *others))],
        ["one note saved, findable and durable, ms", "<= 5 / 20", *(pair(one, "saved") for one in (ours, *others))],
        ["  and to write the whole index, ms", "", *(number(one, "persist", 0) for one in (ours, *others))],
        ["  the same at a tenth of the chunks, ms", ">= half", pair(ours, "saved_small")],
        [f"{TOUCHED} unchanged notes touched: files read into terms", "0", str(ours["passes"])],
        ["memory above numpy and bm25s, MB: opened and asked", "<= 100",
         number(ours, "memory_open"), *(number(one, "memory") for one in others)],
        ["  after a build, and stored", "", number(ours, "memory")],
        ["longest hold of the event loop, ms", "<= 50", f"{longest:.0f}"],
    ]  # fmt: skip
    lines = [f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]
    return lines + [f"| {' | '.join([*row, *[''] * (len(heads) - len(row))])} |" for row in rows]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("archive", type=Path)
    parser.add_argument("--chunks", type=int, default=40_000)
    parser.add_argument("--reme-python", help="interpreter of an environment with reme-ai 0.4.2")
    parser.add_argument("--keep", type=Path, help="prepare here and leave it, for runs of single parts")
    parser.add_argument("--only-this", action="store_true", help="leave the other systems out")
    parser.add_argument("--part", help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    if chosen.part:
        print(json.dumps(part(chosen.part, chosen.archive)))
        return 0
    if not chosen.archive.is_file():
        print(f"{chosen.archive}: no such file; nothing measured", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as scratch:
        folder = (chosen.keep or Path(scratch)).resolve()
        print(f"{chosen.archive.name}: {prepare(chosen.archive, folder, chosen.chunks)}; p50 / p95\n", flush=True)
        compile_package()
        ours: dict[str, Any] = {}
        for name in ("build", "use", "small", "store", "start"):
            found = run([sys.executable, __file__, str(folder), "--part", name])
            if found is None:
                return 1
            ours |= found
        rivals: dict[str, dict[str, Any] | None] = {}
        names = {
            "SQLite FTS5": "fts5",
            "tantivy": "tantivy",
            "bm25s rebuilt per change": "bm25s",
            "reme-ai 0.4.2": "reme",
        }
        for shown, name in () if chosen.only_this else names.items():
            python = chosen.reme_python if name == "reme" else sys.executable
            script = str(Path(__file__).parent / "search_rivals.py")
            rivals[shown] = run([python, script, name, str(folder)]) if python else None
        print("\n".join(table(ours, rivals)))
        print(f"\n{ours['units']} units (paragraphs, turns) are scored one by one; the others score chunks.")
        print(f"Ranking is {ranking()}.")
        missing = [name for name, found in rivals.items() if found is None]
        if missing:
            print(f"Not installed, so not measured: {', '.join(missing)}.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
