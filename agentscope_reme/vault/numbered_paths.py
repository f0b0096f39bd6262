"""Paths by number and numbers by path, in about a third of the memory of strings in a list and a dictionary.

Folders are kept once. Of each path there is its last part as UTF-8, the number of its folder, and a place in a table
of open addresses, by which it is found and compared.
"""

from array import array
from collections.abc import Iterable, Iterator
from itertools import islice
from zlib import crc32

_MOST_NEW = 2_048  # paths that wait in a dictionary


class NumberedPaths:
    """Distinct paths, numbered from 0 on. One thread may change them while others read.

    A number whose path went still tells it, until the number is given to another one.
    """

    __slots__ = ("_many", "_size", "_state")

    def __init__(self, paths: Iterable[str] = ()) -> None:
        # What is packed; by number, paths that are not, and the numbers of these; numbers of which the path went.
        self._state: tuple[_Packed, dict[int, str], dict[str, int], set[int]] = (_Packed(), {}, {}, set())
        self._size = 0
        self._many = False
        for path in paths:
            self.add(path)
        if self._size:
            self.settle()

    @classmethod
    def packed(cls, paths: Iterable[str]) -> "NumberedPaths":
        """Distinct paths, packed as they come. Raises ValueError when one comes twice."""
        packed = _Packed()
        for path in paths:
            packed.add(path)
        packed.close(frozenset())
        out = cls()
        out._state, out._size = (packed, {}, {}, set()), len(packed)
        return out

    def copy(self) -> "NumberedPaths":
        """The same paths, to be changed apart; what is packed is there once for both."""
        out = NumberedPaths()
        packed, changed, numbers, gone = self._state
        out._state, out._size = (packed, dict(changed), dict(numbers), set(gone)), self._size
        return out

    def __len__(self) -> int:
        """How many numbers there are, those included whose path went."""
        return self._size

    @property
    def living(self) -> int:
        """How many paths there are."""
        return self._size - len(self._state[3])

    def __getitem__(self, number: int) -> str:
        packed, changed, _, _ = self._state
        if changed and (path := changed.get(number)) is not None:
            return path
        return packed[number]

    def some(self, numbers: Iterable[int]) -> list[str]:
        """The paths of some numbers."""
        packed, changed, _, _ = self._state
        if changed:
            return [self[number] for number in numbers]
        return packed.some(numbers)

    def __iter__(self) -> Iterator[str]:
        """The path of each number."""
        return map(self.__getitem__, range(self._size))

    def starting_with(self, prefixes: tuple[str, ...]) -> bytearray:
        """By number, 1 where the path begins with one of some texts, else 0; each folder is looked at once."""
        packed, changed, _, _ = self._state
        out = packed.starting_with(prefixes)
        out += bytes(self._size - len(out))
        for number, path in changed.items():
            out[number] = path.startswith(prefixes)
        return out

    def known(self, path: str) -> int | None:
        """The number of a path, None for one that is not there."""
        packed, changed, numbers, gone = self._state
        if numbers and (number := numbers.get(path)) is not None:
            return number
        number = packed.number(path)
        return None if number is None or number in gone or number in changed else number

    def lives(self, number: int) -> bool:
        """Whether the path of a number is there."""
        return number not in self._state[3]

    def numbers(self) -> Iterable[int]:
        """The numbers of all paths, ascending."""
        gone = self._state[3]
        every = range(self._size)
        return every if not gone else [number for number in every if number not in gone]

    def of(self, path: str) -> int:
        """The number of a path; one that is not there is added."""
        number = self.known(path)
        return self.add(path) if number is None else number

    def add(self, path: str, number: int | None = None) -> int:
        """Add a path that is not there, under the next number, or under one whose path went. Returns the number."""
        _, changed, numbers, gone = self._state
        if number is None:
            number = self._size
        changed[number] = path
        numbers[path] = number
        gone.discard(number)
        self._size = max(self._size, number + 1)
        self._settle_many()
        return number

    def rename(self, number: int, path: str) -> None:
        """Give a number whose path is there another one, which is not there."""
        _, changed, numbers, _ = self._state
        numbers.pop(self[number], None)
        changed[number] = path
        numbers[path] = number
        self._settle_many()

    def forget(self, path: str) -> int | None:
        """Take a path out; its number, None for one that is not there."""
        number = self.known(path)
        if number is not None:
            _, _, numbers, gone = self._state
            gone.add(number)
            numbers.pop(path, None)
        return number

    def expect(self, many: bool) -> None:
        """Say whether many paths are about to come: they wait where they are added quickly until no more do."""
        self._many = many
        self._settle_many()

    def _settle_many(self) -> None:
        packed, changed, _, _ = self._state
        if len(changed) > max(_MOST_NEW, len(packed) // 2) and not self._many:
            self.settle()

    def settle(self) -> None:
        """Have what was added lately take as little memory as the rest."""
        before, changed, _, gone = self._state
        if not changed:
            return
        packed = _Packed()
        for number in range(self._size):
            path = changed.get(number)
            if path is None:
                packed.add_parts(*before.parts(number))
            else:
                packed.add(path)
        packed.close(gone)
        self._state = (packed, {}, {}, gone)


class _Packed:
    """Paths that do not change any more, once they are closed."""

    __slots__ = ("_begins", "_folder", "_folder_numbers", "_folders", "_mask", "_names", "_table")

    def __init__(self) -> None:
        self._folders: list[str] = []  # each with its stroke at the end
        self._folder_numbers: dict[str, int] = {}
        self._folder = array("I")
        self._names: bytearray | bytes = bytearray()
        self._begins = array("Q", [0])
        self._table = array("B", [0])
        self._mask = 0

    def __len__(self) -> int:
        return len(self._folder)

    def __getitem__(self, number: int) -> str:
        begins = self._begins
        name = self._names[begins[number] : begins[number + 1]]
        return self._folders[self._folder[number]] + name.decode("utf-8", "surrogatepass")

    def some(self, numbers: Iterable[int]) -> list[str]:
        begins, names, folders, folder = self._begins, self._names, self._folders, self._folder
        return [
            folders[folder[number]] + names[begins[number] : begins[number + 1]].decode("utf-8", "surrogatepass")
            for number in numbers
        ]

    def parts(self, number: int) -> tuple[str, bytes]:
        """The folder of a path, and its last part."""
        name = self._names[self._begins[number] : self._begins[number + 1]]
        return self._folders[self._folder[number]], bytes(name)

    def number(self, path: str) -> int | None:
        begin = path.rfind("/") + 1
        folder = self._folder_numbers.get(path[:begin])
        if folder is None:
            return None
        name = path[begin:].encode("utf-8", "surrogatepass")
        mask, table, begins, names = self._mask, self._table, self._begins, self._names
        at = crc32(name, folder) & mask
        while one := table[at]:
            number = one - 1
            if names[begins[number] : begins[one]] == name and self._folder[number] == folder:
                return number
            at = at + 1 & mask
        return None

    def starting_with(self, prefixes: tuple[str, ...]) -> bytearray:
        # Of a folder within which a text goes on, the paths are compared one by one.
        by_folder = [
            1 if folder.startswith(prefixes) else 2 * any(prefix.startswith(folder) for prefix in prefixes)
            for folder in self._folders
        ]
        out = bytearray(map(by_folder.__getitem__, self._folder))
        at = out.find(2)
        while at >= 0:
            out[at] = self[at].startswith(prefixes)
            at = out.find(2, at + 1)
        return out

    def add(self, path: str) -> None:
        begin = path.rfind("/") + 1
        self.add_parts(path[:begin], path[begin:].encode("utf-8", "surrogatepass"))

    def add_parts(self, folder: str, name: bytes) -> None:
        number = self._folder_numbers.get(folder)
        if number is None:
            number = self._folder_numbers[folder] = len(self._folders)
            self._folders.append(folder)
        self._folder.append(number)
        self._names += name
        self._begins.append(len(self._names))

    def close(self, gone: "set[int] | frozenset[int]") -> None:
        """Make the table, in which those with the numbers ``gone`` are not. Raises ValueError for two equal paths."""
        size = len(self._folder)
        room = 1 << (2 * size).bit_length()
        # Copies, which have no room to grow.
        names = self._names = bytes(self._names)
        begins = self._begins = array("I" if len(names) <= 0xFFFFFFFF else "Q", self._begins)[:]
        folders = self._folder = array("H" if len(self._folders) <= 0x1_0000 else "I", self._folder)[:]
        table = array("H" if size < 0xFFFF else "I", [0]) * room
        mask = room - 1
        for number, (folder, begin, end) in enumerate(zip(folders, begins, islice(begins, 1, None), strict=False), 1):
            if gone and number - 1 in gone:
                continue
            name = names[begin:end]
            at = crc32(name, folder) & mask
            while one := table[at]:
                if folders[one - 1] == folder and names[begins[one - 1] : begins[one]] == name:
                    raise ValueError(f"numbers and paths do not belong together: {self[number - 1]} comes twice")
                at = at + 1 & mask
            table[at] = number
        self._table, self._mask = table, mask
