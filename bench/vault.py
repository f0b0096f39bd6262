"""What the vault's operations cost on a real vault, made as large as asked for; durable writes on.

    python bench/vault.py [../shared/data/vault_zh_dev.zip] [--notes 2500]

Beside ours, python-frontmatter: reading every note's front matter, and load, change, dump to the file in place (neither
durable nor atomic, and the whole block written anew). Times are wall-clock milliseconds in one process.
"""

import argparse
import hashlib
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import frontmatter

from agentscope_reme.errors import FrontMatterError
from agentscope_reme.vault import JournalRecord, Vault
from agentscope_reme.vault.layout import iter_files

DATA = Path(__file__).parents[2] / "shared" / "data" / "vault_zh_dev.zip"
HEAD = ("operation", "times", "p50 ms", "p95 ms", "max ms")


def unpack(data: Path, root: Path, count: int) -> list[str]:
    """Fill ``root`` with the notes, again under another folder until there are ``count``; returns their paths."""
    paths = []
    with zipfile.ZipFile(data) as archive:
        names = sorted(name for name in archive.namelist() if name.endswith(".md"))
        for number in range(count):
            copy, name = divmod(number, len(names))
            path = root / f"copy{copy}" / names[name]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(archive.read(names[name]))
            paths.append(path.relative_to(root).as_posix())
    return paths


def timed(what: str, calls: Iterable[Callable[[], Any]]) -> list[str]:
    """Make the calls and return a row: how often, and how long."""
    times = []
    for call in calls:
        started = time.perf_counter()
        call()
        times.append((time.perf_counter() - started) * 1000)
    times.sort()
    shown = (times[len(times) // 2], times[int(len(times) * 0.95)], times[-1])
    return [what, str(len(times)), *(f"{value:.2f}" for value in shown)]


def readable(vault: Vault, paths: list[str]) -> list[str]:
    """Notes with front matter that can be changed."""
    return [path for path in paths if (front := vault.frontmatter_read_sync(path)).data and front.error is None]


def their_update(path: Path) -> None:
    """What one writes with python-frontmatter."""
    post = frontmatter.load(str(path))
    post["reviewed"] = True
    path.write_text(frontmatter.dumps(post), encoding="utf-8")


def their_reading(root: Path) -> None:
    """Read every note's front matter; notes it cannot read are passed over."""
    for path, _ in iter_files(root, suffixes=(".md",)):
        try:
            frontmatter.load(str(root / path))
        except Exception:  # what a bench has to survive, whatever the YAML library raises
            continue


def our_reading(vault: Vault) -> None:
    """Read every note's front matter."""
    for path, _ in iter_files(vault.root, suffixes=(".md",)):
        vault.frontmatter_read_sync(path)


def messages(start: int, count: int) -> list[JournalRecord]:
    """Messages as a compaction hands them on: half of them short, every tenth with a long tool result."""
    records = []
    for number in range(start, start + count):
        text = f"message {number}: " + "words that were said " * (number % 20)
        block: dict[str, Any] = {"type": "text", "text": text}
        if number % 10 == 0:
            block = {"type": "tool_result", "id": str(number), "name": "grep", "output": f"{number} line\n" * 1000}
        records.append(JournalRecord({"id": f"m{number}", "name": "u", "role": "user", "content": [block]}))
    return records


def rows(root: Path, paths: list[str]) -> list[list[str]]:
    """Every measurement, in the order in which it is made."""
    vault = Vault(root)
    table = [timed("open the vault", (lambda: Vault(root) for _ in range(100)))]
    table.append(timed("read a note", (lambda path=path: vault.read_sync(path) for path in paths[:1000])))
    for what, call in (
        ("front matter of all notes", lambda: our_reading(vault)),
        ("python-frontmatter: the same", lambda: their_reading(root)),
    ):
        table.append(timed(what, (call for _ in range(7))))
    table.append(timed("list all files", (lambda: vault.list_sync("", recursive=True) for _ in range(7))))
    writable = readable(vault, paths)
    ours, theirs = writable[:300], writable[300:600]

    def update(path: str) -> None:
        try:
            vault.frontmatter_update_sync(path, {"reviewed": True})
        except FrontMatterError as error:
            sys.exit(f"{path}: {error}")

    table.append(timed("front-matter update", (lambda path=path: update(path) for path in ours)))
    table.append(
        timed("python-frontmatter: load, dump, write", (lambda path=path: their_update(root / path) for path in theirs))
    )
    table.append(timed("append a line", (lambda: vault.append_sync("log.md", "a line") for _ in range(200))))
    for number in range(100):
        (root / f"inbound-{number}.md").write_text(f"# {number}\n\nsee [[target-0.md]], as said\n", encoding="utf-8")
    (root / "target-0.md").write_text("# Target\n", encoding="utf-8")

    def move(number: int) -> None:
        change = vault.move_sync(f"target-{number}.md", f"target-{number + 1}.md")
        if len(change.links) != 100 or change.failed:
            sys.exit(f"the move rewrote {len(change.links)} links, and failed on {change.failed}")

    table.append(timed("move with 100 inbound links", (lambda number=number: move(number) for number in range(7))))
    table.append(timed("undo of it", (vault.undo_sync for _ in range(7))))
    journal = vault.journal("bench")
    table.append(
        timed(
            "journal 50 messages, 5 offloaded",
            (lambda start=start: journal.append(messages(start, 50)) for start in range(0, 2000, 50)),
        )
    )
    table.append(timed("the same 50 again", (lambda: journal.append(messages(1950, 50)) for _ in range(20))))
    table.append(
        timed("open a journal of 2 000 messages", (lambda: Vault(root).journal("bench").count() for _ in range(7)))
    )
    return table


def main() -> None:
    """Unpack, measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="?", default=DATA)
    parser.add_argument("--notes", type=int, default=2500)
    options = parser.parse_args()
    if not options.data.exists():
        sys.exit(f"no data: {options.data} is not there (give the path of a zip of Markdown notes)")
    checksum = hashlib.sha256(options.data.read_bytes()).hexdigest()[:16]
    with tempfile.TemporaryDirectory() as name:
        root = Path(name) / "vault"
        paths = unpack(options.data, root, options.notes)
        size = sum((root / path).stat().st_size for path in paths)
        print(f"{options.data.name} (sha256 {checksum}), {len(paths)} notes, {size / 1e6:.1f} MB")
        lines = [list(HEAD), *rows(root, paths)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEAD))]
    for line in lines:
        print(
            "  ".join(
                cell.ljust(width) if index == 0 else cell.rjust(width)
                for index, (cell, width) in enumerate(zip(line, widths, strict=True))
            )
        )


if __name__ == "__main__":
    main()
