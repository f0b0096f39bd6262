"""How near the estimate of tokens is to the exact count, on real texts.

    python bench/tokens.py [FOLDER] [--exact NAME]

FOLDER holds the data sets (default: ../shared/data beside the checkout). What is exact is the Qwen vocabulary, or with
``--exact`` a Hugging Face tokenizer by name or folder. A sample is a session, a note, a result or an answer of 500
characters and more; long ones are cut at 12 000. ``±`` is the share of samples whose estimate is within 15 %.
"""

import argparse
import hashlib
import json
import re
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

from replay import table

from agentscope_reme.memory.counters import EstimateCounter, HuggingFaceCounter, QwenCounter, TextCounter

FILES = (
    "locomo_dev.json",
    "memorybank_en_dev.json",
    "memorybank_cn_dev.json",
    "vault_zh_dev.zip",
    "trajectories_dev.jsonl",
)
SHORTEST, LONGEST = 500, 12_000
_HAN = re.compile(r"[\u3400-\u9fff]")
# With or without the line numbers that a file viewer puts before each line.
_CODE = re.compile(
    r"^(?:\d+:)?\s*(?:def |class |import |from \S+ import|return |if .*:$|for .*:$|#include|function |const |let )",
    re.M,
)
_FENCE = re.compile(r"```\w*\n(.*?)```", re.S)


def samples(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield ``(kind, text)`` of everything in the data sets that is there."""
    if (path := folder / "locomo_dev.json").is_file():
        for conversation in json.loads(path.read_text(encoding="utf-8")):
            for turns in conversation["conversation"].values():
                if isinstance(turns, list):
                    yield "English", "\n".join(f"{turn['speaker']}: {turn['text']}" for turn in turns)
                    yield "JSON", json.dumps(turns, ensure_ascii=False)
    for language, kind in (("en", "English"), ("cn", "Chinese")):
        if (path := folder / f"memorybank_{language}_dev.json").is_file():
            for user in json.loads(path.read_text(encoding="utf-8")):
                days = [turns for turns in user["history"].values() if isinstance(turns, list)]
                for day in days:
                    yield kind, "\n".join(str(text) for turn in day for text in turn.values())
                yield "JSON", json.dumps(user, ensure_ascii=False)
    if (path := folder / "vault_zh_dev.zip").is_file():
        yield from _notes(path)
    if (path := folder / "trajectories_dev.jsonl").is_file():
        yield from _runs(path)


def _notes(path: Path) -> Iterator[tuple[str, str]]:
    with zipfile.ZipFile(path) as notes:
        for name in notes.namelist():
            if not name.endswith(".md"):
                continue
            text = notes.read(name).decode("utf-8", "replace")
            share = len(_HAN.findall(text)) / max(1, len(text))
            if share > 0.05:
                yield "Chinese" if share >= 0.6 else "mixed", text
            for block in _FENCE.findall(text):
                if not _HAN.search(block):
                    yield "code", block


def _runs(path: Path) -> Iterator[tuple[str, str]]:
    for line in path.read_text(encoding="utf-8").splitlines():
        for message in json.loads(line)["messages"]:
            text = message.get("content") or ""
            yield from (("JSON", call["arguments"]) for call in message.get("tool_calls") or ())
            if message["role"] != "tool":
                yield "English", text
            elif _is_json(text):
                yield "JSON", text
            else:
                yield "code" if len(_CODE.findall(text)) > 3 else "logs", text


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def report(folder: Path, exact: TextCounter) -> str:
    """Count every sample both ways and return the table."""
    estimate = EstimateCounter()
    found: dict[str, list[tuple[int, int]]] = {}
    spent = characters = 0.0
    for kind, text in samples(folder):
        if len(text) >= SHORTEST:
            cut = text[:LONGEST]
            began = perf_counter()
            guess = estimate.count_text(cut)
            spent += perf_counter() - began
            characters += len(cut)
            found.setdefault(kind, []).append((guess, exact.count_text(cut)))
    rows = []
    for kind in sorted(found):
        pairs = found[kind]
        ratios = sorted(guess / count for guess, count in pairs)
        rows.append(
            [
                kind,
                str(len(pairs)),
                f"{sum(count for _, count in pairs):,}".replace(",", " "),
                f"{sum(guess for guess, _ in pairs) / sum(count for _, count in pairs) - 1:+.1%}",
                f"{ratios[int(len(ratios) * 0.05)] - 1:+.0%} to {ratios[int(len(ratios) * 0.95)] - 1:+.0%}",
                f"{sum(abs(ratio - 1) <= 0.15 for ratio in ratios) / len(ratios):.1%}",
            ]
        )
    head = ["text", "samples", "tokens", "all together", "5th to 95th of 100", "± 15 %"]
    return f"{table(head, rows)}\n\nestimate: {characters / spent / 1e6:.1f} million characters a second"


def main() -> None:
    """Print the data, the counter and the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", default=Path(__file__).resolve().parents[2] / "shared" / "data", type=Path)
    parser.add_argument("--exact", help="name or folder of a Hugging Face tokenizer")
    given = parser.parse_args()
    present = [name for name in FILES if (given.folder / name).is_file()]
    if not present:
        sys.exit(f"{given.folder}: none of {', '.join(FILES)} is there")
    for name in present:
        print(f"data: {name}, sha256 {hashlib.sha256((given.folder / name).read_bytes()).hexdigest()[:16]}")
    exact: TextCounter = HuggingFaceCounter(given.exact) if given.exact else QwenCounter()
    print(f"exact: {exact.name}\n")
    print(report(given.folder, exact))


if __name__ == "__main__":
    main()
