"""Marks on letters, which one writer sets and another leaves out: ``Müller`` and ``Muller``, ``ёлка`` and ``елка``."""

import re
import unicodedata

# Letters that no decomposition takes apart, as people write them who lack the key.
_LETTERS = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "ħ": "h", "ı": "i", "ŧ": "t", "æ": "ae", "œ": "oe", "þ": "th"}
)
# Letters for which two are written where the key is missing. Not all that have these two mean the one (``queue``).
_SPELLED_OUT = {"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "å": "aa"}
_SPELLED = re.compile(f"[{''.join(_SPELLED_OUT)}]")
_LAST_LATIN = "\u024f"
# Vowel points of Hebrew and Arabic, which everyday text goes without, and the stroke that only lengthens a word.
_POINTS = frozenset(map(chr, (*range(0x0591, 0x05C8), *range(0x064B, 0x0653), 0x0670, 0x0640))) - {"\u05be", "\u05c0"}
_LEFT_OUT = {"е": "\u0308", "ا": "\u0653\u0654\u0655"}  # ё, and alef with hamza or madda


def spelled_out(word: str) -> str:
    """A case-folded word with two letters for each that has an umlaut (``mueller``); "" where it has none."""
    if word.isascii():
        return ""
    spelled = _SPELLED.sub(lambda match: _SPELLED_OUT[match.group()], word)
    return unmarked(spelled) if spelled != word else ""


def unmarked(word: str) -> str:
    """A case-folded word without the marks on its Latin and Greek letters, and without those of other scripts that
    are mostly left out: the dots of ``ё``, vowel points, what stands on an alef.

    Any other mark on a letter of another script makes another letter of it (``й``, ``が``) and stays.
    """
    if word.isascii():
        return word
    out: list[str] = []
    foldable = False
    for char in unicodedata.normalize("NFD", word):
        if char in _POINTS:
            continue
        if unicodedata.combining(char):
            if not foldable and not (out and char in _LEFT_OUT.get(out[-1], "")):
                out.append(char)
            continue
        foldable = char <= _LAST_LATIN or "\u0370" <= char <= "\u03ff" or "\u1e00" <= char <= "\u1fff"
        out.append(char)
    return unicodedata.normalize("NFC", "".join(out)).translate(_LETTERS)
