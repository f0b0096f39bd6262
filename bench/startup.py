"""Whole-process times: importing the package, and one search from the command line on a built index.

    python bench/startup.py [--notes 500] [--runs 7]

Every figure is the wall-clock time of a fresh process, the median and the largest of several runs; the bytecode of the
package is compiled before, as installers leave it. Beside ours: the bare interpreter, importing AgentScope, and the
same question put to an SQLite FTS5 table of the notes.
"""

import argparse
import asyncio
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from replay import table
from search import compile_package

from agentscope_reme import ReMe

TOPICS = ("kiln", "tax return", "holiday in Lisbon", "database migration", "bicycle", "garden", "会议", "合同")
FTS = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
query = "select path, snippet(f, 1, '', '', '…', 20) from f where f match ? order by bm25(f) limit 5"
for row in db.execute(query, [sys.argv[2]]):
    print(*row)
"""


def note(number: int) -> str:
    """Return a note with a few sections and sentences of its own."""
    topic = TOPICS[number % len(TOPICS)]
    parts = [f"---\nname: {topic} {number}\n---\n# {topic} {number}\n"]
    for section in range(6):
        parts.append(
            f"## Part {section}\n\nFor {topic} number {number} the invoice {number * 7 + section} came to "
            f"{number * 13 + section} euros; Person{number % 97} agreed. 第 {number} 项在第 {section} 步完成。\n"
        )
    return "\n".join(parts)


def build(folder: Path, count: int) -> None:
    """Write the notes, our index, and the FTS5 table."""
    for number in range(count):
        path = folder / "vault" / f"topic-{number % 20}" / f"note-{number}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(note(number), encoding="utf-8")

    async def index() -> None:
        async with ReMe(vault_dir=folder / "vault") as reme:
            await reme.search("invoice")

    asyncio.run(index())
    db = sqlite3.connect(folder / "notes.db")
    db.execute("create virtual table f using fts5(path, body, tokenize='porter unicode61')")
    for path in (folder / "vault").rglob("*.md"):
        db.execute("insert into f values (?, ?)", (str(path.relative_to(folder)), path.read_text(encoding="utf-8")))
    db.commit()
    db.close()


def run(command: list[str], runs: int) -> tuple[float, float]:
    """Return median and maximum of a command's wall-clock milliseconds; it has to succeed and print something."""
    times = []
    for _ in range(runs):
        started = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        times.append((time.perf_counter() - started) * 1000)
        if "search" in command and not done.stdout.strip():
            raise SystemExit(f"{command} found nothing")
    return median(times), max(times)


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--notes", type=int, default=500)
    parser.add_argument("--runs", type=int, default=7)
    options = parser.parse_args()
    compile_package()
    python = sys.executable
    question = "invoice of the kiln number 8"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        build(folder, options.notes)
        vault = str(folder / "vault")
        commands = {
            "python -c pass": [python, "-c", "pass"],
            "import agentscope_reme": [python, "-c", "import agentscope_reme"],
            "import agentscope": [python, "-c", "import agentscope"],
            f"agentscope-reme search, {options.notes} notes": [
                str(Path(python).with_name("agentscope-reme")), "search", question, "--vault", vault,
            ],
            f"SQLite FTS5 from Python, {options.notes} notes": [
                python, "-c", FTS, str(folder / "notes.db"), "invoice AND kiln AND number",
            ],
        }  # fmt: skip
        rows = [[what, *(f"{value:.0f}" for value in run(command, options.runs))] for what, command in commands.items()]
    print(table(["whole process", "ms median", "ms max"], rows))


if __name__ == "__main__":
    main()
