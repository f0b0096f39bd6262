"""What a user would pick instead of this index, measured by ``bench/search.py``, each in a process of its own.

    python bench/search_rivals.py NAME FOLDER

``FOLDER`` has ``chunks.jsonl`` (path and text), ``queries.json`` and the notes in ``large/``. Prints one line of JSON:
seconds, milliseconds, MB; what a system has no measure for is left out. Needs nothing of this project, so that it runs
in an environment of the system's own.
"""

import asyncio
import json
import os
import re
import resource
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

SAVES = 100
WARM = 20


def spread(values: Sequence[float]) -> list[float]:
    """Median and 95th percentile, in milliseconds."""
    ordered = sorted(values)
    return [1000 * ordered[len(ordered) // 2], 1000 * ordered[int(len(ordered) * 0.95)]]


def timed(calls: Sequence[Callable[[], Any]]) -> list[float]:
    """Seconds of each call."""
    out = []
    for call in calls:
        started = time.perf_counter()
        call()
        out.append(time.perf_counter() - started)
    return out


def memory() -> float:
    """MB resident now."""
    statm = Path("/proc/self/statm")
    if statm.exists():
        return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak / 1e3


def words(query: str) -> list[str]:
    """Words, and pairs of Chinese characters."""
    out: list[str] = []
    for run in re.findall(r"[\u4e00-\u9fff]+|[^\W\u4e00-\u9fff]+", query):
        out += [run[at : at + 2] for at in range(len(run) - 1)] if run[0] >= "\u4e00" and len(run) > 1 else [run]
    return list(dict.fromkeys(out))


def word(number: int) -> str:
    """A word that no note has."""
    return "qzx" + "".join(chr(ord("a") + int(digit)) for digit in str(number))


def read(folder: Path) -> tuple[list[tuple[str, str]], list[str]]:
    lines = (folder / "chunks.jsonl").read_text(encoding="utf-8").splitlines()
    chunks = [(one["path"], one["text"]) for one in map(json.loads, lines)]
    return chunks, json.loads((folder / "queries.json").read_text(encoding="utf-8"))


def fts5(folder: Path) -> dict[str, Any]:
    """SQLite FTS5 (unicode61, porter; Chinese as pairs of characters put in by us), durable: ``synchronous = full``."""
    chunks, queries = read(folder)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        database = sqlite3.connect(f"{scratch}/index.db")
        database.execute("pragma journal_mode = wal")
        database.execute("pragma synchronous = full")
        before = memory()
        started = time.perf_counter()
        database.execute("create virtual table f using fts5(body, tokenize='porter unicode61')")
        database.executemany("insert into f(body) values (?)", ((" ".join(every_word(text)),) for _, text in chunks))
        database.commit()
        build = time.perf_counter() - started

        def ask(query: str) -> Any:
            match = " OR ".join(f'"{word}"' for word in words(query))
            return database.execute(
                "select rowid from f where f match ? order by bm25(f) limit 20", (match,)
            ).fetchall()

        def save(number: int) -> None:
            row, text = number * 37 % len(chunks) + 1, chunks[number * 37 % len(chunks)][1]
            database.execute(
                "update f set body = ? where rowid = ?", (" ".join([*every_word(text), word(number)]), row)
            )
            database.commit()
            assert ask(word(number)) == [(row,)]

        timed([lambda one=one: ask(one) for one in queries[:WARM]])
        keyword = timed([lambda one=one: ask(one) for one in queries])
        held = memory() - before
        saves = timed([lambda n=n: save(n) for n in range(SAVES)])
        database.close()
        started = time.perf_counter()
        database = sqlite3.connect(f"{scratch}/index.db")
        ask(queries[0])
        start = time.perf_counter() - started
        return {"build": build, "keyword": spread(keyword), "saved": spread(saves), "start": start, "memory": held}


def every_word(text: str) -> list[str]:
    """All words of a text in order, Chinese as pairs."""
    out: list[str] = []
    for run in re.findall(r"[\u4e00-\u9fff]+|[^\W\u4e00-\u9fff]+", text):
        out += [run[at : at + 2] for at in range(len(run) - 1)] if run[0] >= "\u4e00" and len(run) > 1 else [run]
    return out


def tantivy(folder: Path) -> dict[str, Any]:
    """tantivy with its English stemmer, Chinese as pairs put in by us; every save committed."""
    import tantivy as engine

    chunks, queries = read(folder)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        builder = engine.SchemaBuilder()
        builder.add_text_field("body", tokenizer_name="en_stem")
        builder.add_text_field("key", tokenizer_name="raw", stored=True)
        before = memory()
        started = time.perf_counter()
        index = engine.Index(builder.build(), path=scratch)
        writer = index.writer()
        for number, (_, text) in enumerate(chunks):
            writer.add_document(engine.Document(body=" ".join(every_word(text)), key=str(number)))
        writer.commit()
        index.reload()
        build = time.perf_counter() - started

        def ask(query: str) -> Any:
            return index.searcher().search(index.parse_query(" ".join(words(query)), ["body"]), 20).hits

        def save(number: int) -> None:
            row = number * 37 % len(chunks)
            writer.delete_documents("key", str(row))
            body = " ".join([*every_word(chunks[row][1]), word(number)])
            writer.add_document(engine.Document(body=body, key=str(row)))
            writer.commit()
            index.reload()
            assert len(ask(word(number))) == 1

        timed([lambda one=one: ask(one) for one in queries[:WARM]])
        keyword = timed([lambda one=one: ask(one) for one in queries])
        held = memory() - before
        saves = timed([lambda n=n: save(n) for n in range(SAVES)])
        started = time.perf_counter()
        index = engine.Index.open(scratch)
        ask(queries[0])
        start = time.perf_counter() - started
        return {"build": build, "keyword": spread(keyword), "saved": spread(saves), "start": start, "memory": held}


def bm25s(folder: Path) -> dict[str, Any]:
    """bm25s over the same words, all scores computed anew after each change, as it has no other way."""
    import bm25s as engine

    chunks, queries = read(folder)
    before = memory()
    started = time.perf_counter()
    tokens = [every_word(text.lower()) for _, text in chunks]
    index = engine.BM25()
    index.index(tokens, show_progress=False)
    build = time.perf_counter() - started

    def ask(query: str) -> Any:
        return index.retrieve([words(query.lower())], k=20, show_progress=False)

    def save(number: int) -> None:
        nonlocal index
        tokens[number * 37 % len(chunks)].append(word(number))
        index = engine.BM25()
        index.index(tokens, show_progress=False)
        index.save(f"{scratch}/index")
        ask(word(number))

    timed([lambda one=one: ask(one) for one in queries[:WARM]])
    keyword = timed([lambda one=one: ask(one) for one in queries])
    held = memory() - before
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        saves = timed([lambda n=n: save(n) for n in range(3)])
        started = time.perf_counter()
        index = engine.BM25.load(f"{scratch}/index")
        ask(queries[0])
        start = time.perf_counter() - started
    return {"build": build, "keyword": spread(keyword), "saved": spread(saves), "start": start, "memory": held}


def reme(folder: Path) -> dict[str, Any]:
    """reme-ai's file store and Markdown chunker, chunks of 1 200 bytes, no embeddings: how it runs without a model."""
    from reme.components.file_chunker import MarkdownFileChunker
    from reme.components.file_store import LocalFileStore

    os.chdir(folder / "large")
    paths = sorted(path.as_posix() for path in Path().rglob("*.md"))
    queries = json.loads((folder / "queries.json").read_text(encoding="utf-8"))

    async def run() -> dict[str, Any]:
        chunker = MarkdownFileChunker(chunk_byte_size=1200)
        before = memory()
        store = LocalFileStore(embedding_store="")
        await store.start()
        started = time.perf_counter()
        for begin in range(0, len(paths), 200):
            await store.upsert([await chunker.chunk(path) for path in paths[begin : begin + 200]])
        build = time.perf_counter() - started
        keyword, saves, persists = [], [], []
        for query in (*queries[:WARM], *queries):
            started = time.perf_counter()
            await store.keyword_search(query, 20, {})
            keyword.append(time.perf_counter() - started)
        held = memory() - before
        for number in range(SAVES):
            path = paths[number * 37 % len(paths)]
            text = Path(path).read_text(encoding="utf-8")
            started = time.perf_counter()
            Path(path).write_text(f"{text}\n\n{word(number)}\n", encoding="utf-8")
            await store.upsert([await chunker.chunk(path)])
            found = await store.keyword_search(word(number), 5, {})
            saves.append(time.perf_counter() - started)
            assert [one.path for one in found[:1]] == [path]
            Path(path).write_text(text, encoding="utf-8")
            await store.upsert([await chunker.chunk(path)])
        for _ in range(3):
            started = time.perf_counter()
            await store.dump()
            persists.append(time.perf_counter() - started)
        chunks = len(store.file_chunks)
        again = LocalFileStore(embedding_store="")
        started = time.perf_counter()
        await again.start()
        await again.keyword_search(queries[0], 20, {})
        start = time.perf_counter() - started
        return {
            "build": build, "keyword": spread(keyword[WARM:]), "saved": spread(saves), "persist": spread(persists)[0],
            "start": start, "memory": held, "chunks": chunks,
        }  # fmt: skip

    return asyncio.run(run())


SYSTEMS = {"fts5": fts5, "tantivy": tantivy, "bm25s": bm25s, "reme": reme}

if __name__ == "__main__":
    print(json.dumps(SYSTEMS[sys.argv[1]](Path(sys.argv[2]).resolve())))
