"""A real vault made as large as asked for: its notes again and again, each time with other words.

A copy is no repetition: a fixed share of its words and Chinese characters stands for others of the same vault, chosen
anew for each copy, in texts, file names and links alike, so that links still lead to notes and vocabulary grows.
"""

import hashlib
import random
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

CHANGED_WORDS, CHANGED_CHARS = 0.25, 0.1
_WORD = re.compile(r"[A-Za-z]{4,}")
_HAN = re.compile(r"[\u4e00-\u9fff]")
_LINK = re.compile(r"(?<=\[\[)[^\]|#\n]+")
_FRONT = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)


def read_notes(archive: Path) -> dict[str, str]:
    """The notes of a zip file by path."""
    with zipfile.ZipFile(archive) as opened:
        names = sorted(name for name in opened.namelist() if name.endswith(".md"))
        return {name: opened.read(name).decode("utf-8", "replace") for name in names}


def copies(notes: dict[str, str]) -> Iterator[dict[str, str]]:
    """The notes, then copy after copy of them with changed words; the same ones in every run."""
    words = sorted({word for text in notes.values() for word in _WORD.findall(text)})
    chars = sorted({char for text in notes.values() for char in _HAN.findall(text)})
    yield notes
    number = 0
    while True:
        number += 1
        chance = random.Random(number)
        for_word = {word: chance.choice(words) for word in words if chance.random() < CHANGED_WORDS}
        for_char = {ord(char): chance.choice(chars) for char in chars if chance.random() < CHANGED_CHARS}
        yield {
            _renamed(path, number, for_char): _changed(text, number, for_word, for_char) for path, text in notes.items()
        }


def fill(
    root: Path, notes: dict[str, str], enough: int | None, sizes: dict[str, int], most_notes: int | None = None
) -> list[str]:
    """Write copies below ``root`` until their ``sizes`` add up to ``enough``, or there are ``most_notes``.

    ``sizes`` gives what a note of the archive counts by its path. Returns the paths written, relative to ``root``.
    """
    written: list[str] = []
    total = 0
    for number, copy in enumerate(copies(notes)):
        for original, (path, text) in zip(notes, copy.items(), strict=True):
            target = root / f"copy{number:02d}" / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8", newline="")
            written.append(target.relative_to(root).as_posix())
            total += sizes[original]
            if (enough is not None and total >= enough) or (most_notes is not None and len(written) >= most_notes):
                return written
    raise AssertionError("copies never end")


def prose_queries(notes: dict[str, str], count: int, seed: int = 5) -> list[str]:
    """Pieces of running text as a person might ask for: 6 to 9 words, or 8 to 16 Chinese characters."""
    chance = random.Random(seed)
    lines = [line for text in notes.values() for line in _FRONT.sub("", text).split("\n")]
    lines = [
        line for line in dict.fromkeys(re.sub(r"[#>*`\[\]()|]+", " ", one).strip() for one in lines) if len(line) > 20
    ]
    out: list[str] = []
    while len(out) < count:
        line = chance.choice(lines)
        if "://" in line:
            continue
        if len(_HAN.findall(line)) > len(line) // 3:
            size = chance.randint(8, 16)
            at = chance.randint(0, max(0, len(line) - size))
            out.append(line[at : at + size])
        elif len(words := line.split()) >= 6:
            at = chance.randint(0, len(words) - 6)
            out.append(" ".join(words[at : at + chance.randint(6, 9)]))
    return out


def checksum(root: Path, paths: list[str]) -> str:
    """SHA-256 over the names and contents of some files."""
    digest = hashlib.sha256()
    for path in paths:
        digest.update(path.encode() + b"\0" + (root / path).read_bytes() + b"\0")
    return digest.hexdigest()


def _renamed(path: str, number: int, for_char: dict[int, str]) -> str:
    folder, _, name = path.rpartition("/")
    stem = name.removesuffix(".md").translate(for_char)
    return f"{folder}/{stem} {number}.md" if folder else f"{stem} {number}.md"


def _changed(text: str, number: int, for_word: dict[str, str], for_char: dict[int, str]) -> str:
    front = _FRONT.match(text)
    begin = front.end() if front else 0
    body = _WORD.sub(lambda word: for_word.get(word.group(), word.group()), text[begin:]).translate(for_char)
    head = text[:begin].translate(for_char)
    # The target as the copy's file is called: words in names stay, as they do in links.
    original = iter(_LINK.findall(text[begin:]))
    body = _LINK.sub(lambda link: _target(next(original, link.group()), number, for_char), body)
    return head + body


def _target(link: str, number: int, for_char: dict[int, str]) -> str:
    stem = link.strip().removesuffix(".md")
    return f"{stem.translate(for_char)} {number}"
