"""Distinct texts and their numbers, of which a table of hashes takes a tenth of a dictionary's memory."""

from array import array
from collections.abc import Iterable, Iterator

from ..vault.pairs import SEVERAL, Pairs, hash_of
from ..vault.pieces import Pieces

_MOST_NEW = 2_048  # texts that wait in a dictionary


class PackedTexts:
    """A list of texts as one piece of bytes: short ones take a third of the memory. Each is made when asked for."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._pieces = Pieces(text.encode("utf-8", "surrogatepass") for text in texts)

    @classmethod
    def of(cls, data: "bytes | memoryview", begins: "array[int]") -> "PackedTexts":
        """The inverse of :meth:`parts`. Raises ValueError when the parts do not belong together."""
        out = cls()
        out._pieces = Pieces.of(data, begins)
        return out

    def parts(self) -> "tuple[bytes, array[int]]":
        """All texts as UTF-8, one after the other, and where each begins and the last one ends."""
        return self._pieces.parts()

    def copy(self) -> "PackedTexts":
        """The same texts, to be changed apart; those that are settled are there once for both."""
        out = PackedTexts()
        out._pieces = self._pieces.copy()
        return out

    def __len__(self) -> int:
        return len(self._pieces)

    def __getitem__(self, number: int) -> str:
        return self._pieces[number].decode("utf-8", "surrogatepass")

    def __setitem__(self, number: int, text: str) -> None:
        self._pieces[number] = text.encode("utf-8", "surrogatepass")

    def __iter__(self) -> Iterator[str]:
        return map(self.__getitem__, range(len(self)))

    def append(self, text: str) -> None:
        """Add a text at the end."""
        self._pieces.append(text.encode("utf-8", "surrogatepass"))

    def settle(self) -> None:
        """Have all take as little memory as they can."""
        self._pieces.settle()


class Texts:
    """Texts by number and numbers by text, from 0 on in the order they came in; numbers of forgotten ones come again.

    ``packed`` is for texts that nobody else keeps; :class:`PackedTexts`, which must be distinct, are kept as they are.
    Not thread-safe.
    """

    def __init__(self, texts: "Iterable[str] | PackedTexts" = (), *, packed: bool = False) -> None:
        # By number; of forgotten ones something else than the text.
        self.names: list[str] | PackedTexts
        self._new: dict[str, int] = {}
        self._many = False
        self._numbers = Pairs()
        self._free: list[int] = []
        if isinstance(texts, PackedTexts):
            self.names = texts
        else:
            self.names = PackedTexts(dict.fromkeys(texts)) if packed else list(dict.fromkeys(texts))
        self._numbers.add_all(map(hash_of, self.names))

    def copy(self) -> "Texts":
        """The same texts, to be changed apart; what is settled of packed ones is there once for both."""
        out = Texts()
        out.names = self.names.copy()
        out._new, out._free, out._numbers = dict(self._new), list(self._free), self._numbers.copy()
        return out

    def of(self, text: str) -> int:
        """The number of a text; one that is not there is added."""
        number = self.known(text)
        return self.add(text) if number is None else number

    def add(self, text: str) -> int:
        """Add a text that is not there; its number."""
        number = self._free.pop() if self._free else len(self.names)
        if number == len(self.names):
            self.names.append(text)
        else:
            self.names[number] = text
        self._new[text] = number
        if len(self._new) > _MOST_NEW and not self._many:
            self.settle()
        return number

    def numbered(self, texts: Iterable[str]) -> Iterator[tuple[int, str, bool]]:
        """The number of each text, the text, and whether it is new: those that are not there are added."""
        many, self._many = self._many, True
        try:
            for text in texts:
                number = self.known(text)
                yield (self.add(text), text, True) if number is None else (number, text, False)
        finally:
            self.expect(many)

    def expect(self, many: bool) -> None:
        """Say whether many texts are about to come: they wait where they are found quickly until no more do."""
        self._many = many
        if len(self._new) > _MOST_NEW and not many:
            self.settle()

    def settle(self) -> None:
        """Have what was added lately take as little memory as the rest."""
        for text, number in self._new.items():
            self._numbers.add(hash_of(text), number)
        self._new.clear()
        if isinstance(self.names, PackedTexts):
            self.names.settle()

    def known(self, text: str) -> int | None:
        """The number of a text, None for one that is not there."""
        number = self._new.get(text)
        if number is None and len(self.names) > len(self._new):
            key = hash_of(text)
            one = self._numbers.only(key)
            some = [one] if one >= 0 else self._numbers.of(key) if one == SEVERAL else []
            return next((one for one in some if self.names[one] == text), None)
        return number

    def forget(self, text: str) -> None:
        """Take a text out; one that is not there is no error."""
        self.forget_all((text,))

    def forget_all(self, texts: Iterable[str]) -> None:
        """The same of several different ones."""
        settled = []
        for text in texts:
            number = self.known(text)
            if number is None:
                continue
            if self._new.pop(text, None) is None:
                settled.append((hash_of(text), number))
            self.names[number] = ""
            self._free.append(number)
        self._numbers.discard_all(settled)

    def living(self) -> Iterator[tuple[int, str]]:
        """All texts with their numbers."""
        gone = set(self._free)
        return ((number, text) for number, text in enumerate(self.names) if number not in gone)
