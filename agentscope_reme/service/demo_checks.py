"""What the demo checks before it says that something is so: citations against the files, and what the vault holds."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ReMeError
from .demo_screen import Leaf, kilobytes
from .offline_answers import citations

if TYPE_CHECKING:
    from ..vault.notes import Vault

# Files of one folder that the tree names; more are counted.
_MOST_NAMED = 6
_QUOTED = re.compile(r"“([^”]+)”")


async def citation_checks(answer: str, vault: "Vault") -> tuple[tuple[str, bool], ...]:
    """Whether an answer cites, whether the cited lines exist, and whether what it quotes in “…” stands in them."""
    cited = citations(answer)
    if not cited:
        return (("the answer cites no lines of the vault", False),)
    pages = [(source, await _cited_lines(source, vault)) for source in cited]
    checks = [(f"{source} is not in the vault", False) for source, lines in pages if not lines]
    quotes = [" ".join(quote.split()) for quote in _QUOTED.findall(answer)]
    if not quotes:
        checks += [(f"{source} is there", True) for source, lines in pages if lines]
    for quote in quotes:
        found = [
            f"{source.rpartition(':')[0]} line {n}" for source, lines in pages for n, line in lines if _in(quote, line)
        ]
        said = f"quoted word for word from {found[0]}" if found else f"not in the cited lines: {quote[:40]}…"
        checks.append((said, bool(found)))
    return tuple(checks)


async def _cited_lines(source: str, vault: "Vault") -> list[tuple[int, str]]:
    """The cited lines with their numbers; a line of a journal as the text of its message. None when there are none."""
    path, _, lines = source.rpartition(":")
    start, _, end = lines.partition("-")
    try:
        page = await vault.read(path, int(start), int(end or start), max_bytes=1_000_000)
    except ReMeError:
        return []
    found = list(enumerate(page.text.split("\n"), page.start_line)) if page.text else []
    if path.endswith(".jsonl"):
        found = [(number, "\n".join(_strings(json.loads(line)))) for number, line in found if line]
    return found


def _in(quote: str, line: str) -> bool:
    # A quotation of a turn names the speaker, whom a journal keeps apart from the words.
    said = quote.partition(": ")[2] or quote
    return any(_bare(text) in _bare(line) for text in (quote, said))


def _strings(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _strings(item)
    elif isinstance(value, Sequence):
        for item in value:
            yield from _strings(item)


def _bare(text: str) -> str:
    """Without the marks of Markdown and the speaker, which a quotation of a line may lack or have."""
    return re.sub(r"[\s*_`>]+", "", text)


def unpaired_calls(messages: Iterable[Mapping[str, Any]]) -> int:
    """How many tool calls of a formatted request have no result, and results no call."""
    calls = {call["id"] for message in messages for call in message.get("tool_calls") or ()}
    results = {message["tool_call_id"] for message in messages if message.get("role") == "tool"}
    return len(calls ^ results)


def vault_leaves(root: Path) -> list[Leaf]:
    """The files of a vault as a tree, each with what it is for; what is derived or kept for undo is one line."""
    leaves: list[Leaf] = []
    if root.is_dir():
        _walk(root, root, 0, leaves)
    return leaves


def _walk(root: Path, folder: Path, depth: int, leaves: list[Leaf]) -> None:
    entries = sorted(folder.iterdir(), key=lambda entry: (entry.is_dir(), entry.name))
    files = [entry for entry in entries if entry.is_file() and not entry.name.startswith(".")]
    named = files if len(files) <= _MOST_NAMED else files[: _MOST_NAMED - 1]
    leaves.extend(Leaf(depth, entry.name, _about(entry.relative_to(root).as_posix(), entry)) for entry in named)
    if len(named) < len(files):
        rest = files[len(named) :]
        leaves.append(Leaf(depth, f"{len(rest)} more", kilobytes(sum(entry.stat().st_size for entry in rest))))
    for entry in entries:
        if not entry.is_dir() or entry.name.startswith("."):
            continue
        path = entry.relative_to(root).as_posix()
        summary = {
            "metadata": "the index and locks: derived, rebuilt when it is gone",
            "history": "what was changed, by whom, and what stood there before",
        }.get(path)
        leaves.append(Leaf(depth, entry.name + "/", summary or ""))
        if summary is None:
            _walk(root, entry, depth + 1, leaves)


def _about(path: str, file: Path) -> str:
    size = kilobytes(file.stat().st_size)
    if path == "MEMORY.md":
        return "what the user asked to keep for good"
    if path.startswith("session/dialog/"):
        with file.open("rb") as lines:
            return f"{sum(1 for _ in lines)} messages that left the context, {size}"
    if path.startswith("session/tool_result/"):
        return f"a tool result in full, {size}"
    if re.fullmatch(r"daily/\d{4}-\d\d-\d\d\.md", path):
        return "the day's page"
    return f"a note, {size}"
