"""What is embedded: the text of a unit with its speaker, and a question without the names of those who speak.

A text's key stays as long as its words do, wherever it moves.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterable

from ..expression import expression
from .speakers import spoken

# Characters of one text that are embedded. A unit is shorter by far; models read 512 tokens and more.
MOST_CHARS = 4_000
# A number that no key is: there is nothing to embed.
NO_TEXT = 0

_ALPHANUMERIC = expression(r"[A-Za-z0-9\u4e00-\u9fff]")
_SPACE = expression(r"\s+")
_WORD = expression(r"[^\W_]+(?:['’][^\W_]+)*")
_POSSESSIVE = expression(r"['’]s$", re.IGNORECASE)


def embedded_text(speaker: str, text: str) -> str:
    """A unit as it is embedded: ``Speaker: text`` on one line. "" when there is no letter or digit in it.

    Neither place, title nor headings belong to it, so that text which moves keeps its vector.
    """
    line = " ".join(unicodedata.normalize("NFC", spoken(speaker, text)).split())[:MOST_CHARS]
    return line if _ALPHANUMERIC.search(line) or any(char.isalnum() for char in line) else ""


def text_key(text: str) -> int:
    """The key of an embedded text: 64 bits of its BLAKE2b hash, as a signed number; ``NO_TEXT`` for ""."""
    if not text:
        return NO_TEXT
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True) or 1


def without_names(question: str, names: Iterable[str]) -> str:
    """A question as it is embedded: without the names of persons who speak somewhere in the vault.

    A name draws the vector towards everything that its bearer said; who spoke is known to the other arm (hybrid ledger,
    section 3). Any word of a name in Latin letters goes, a Chinese name goes as a whole. A question of nothing but
    names stays as it is.
    """
    words: set[str] = set()
    for name in names:
        folded = name.casefold()
        if folded.isascii():
            words.update(_WORD.findall(folded))
        elif len(folded) > 1:
            question = question.replace(name, " ")

    def kept(match: re.Match[str]) -> str:
        word = match.group().casefold()
        return " " if word in words or _POSSESSIVE.sub("", word) in words else match.group()

    left = _SPACE.sub(" ", _WORD.sub(kept, question)).strip()
    return left if any(char.isalnum() for char in left) else ""
