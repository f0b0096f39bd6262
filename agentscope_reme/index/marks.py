"""Marks on Latin and Greek letters, which one writer sets and another leaves out: ``Müller`` and ``Muller``."""

import unicodedata

# Letters that no decomposition takes apart, as people write them who lack the key.
_LETTERS = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "ħ": "h", "ı": "i", "ŧ": "t", "æ": "ae", "œ": "oe", "þ": "th"}
)
_LAST_LATIN = "\u024f"


def unmarked(word: str) -> str:
    """A case-folded word without the marks on its Latin and Greek letters; of other scripts' words the whole.

    A mark on a letter of another script makes another letter of it (``й``, ``が``) and stays.
    """
    if word.isascii():
        return word
    out: list[str] = []
    foldable = False
    for char in unicodedata.normalize("NFD", word):
        if unicodedata.combining(char):
            if not foldable:
                out.append(char)
            continue
        foldable = char <= _LAST_LATIN or "\u0370" <= char <= "\u03ff" or "\u1e00" <= char <= "\u1fff"
        out.append(char)
    return unicodedata.normalize("NFC", "".join(out)).translate(_LETTERS)
