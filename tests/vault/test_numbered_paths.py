"""Paths by number and numbers by path are those of a list and a dictionary, whatever has settled meanwhile."""

import sys
import threading
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentscope_reme.vault import numbered_paths as module
from agentscope_reme.vault.numbered_paths import NumberedPaths

PATHS = ["a.md", "x/a.md", "x/y/a.md", "/a.md", "x/", "x", "", "张三/李四.md", "\udce9.md"]
paths = st.sampled_from(PATHS)
steps = st.lists(st.tuples(st.sampled_from(["add", "again", "rename", "forget", "settle", "copy"]), paths, paths))


class Plain:
    """What a list, a dictionary and a set of free numbers say."""

    def __init__(self, paths: list[str]) -> None:
        self.by_number = list(paths)
        self.numbers = {path: number for number, path in enumerate(paths)}

    def take(self, step: str, path: str, other: str, real: NumberedPaths) -> None:
        free = [number for number in range(len(self.by_number)) if number not in self.numbers.values()]
        if step == "add" and path not in self.numbers:
            self.numbers[path] = len(self.by_number)
            self.by_number.append(path)
            assert real.add(path) == self.numbers[path]
        elif step == "again" and path not in self.numbers and free:
            self.numbers[path] = free[0]
            self.by_number[free[0]] = path
            assert real.add(path, free[0]) == free[0]
        elif step == "rename" and path in self.numbers and other not in self.numbers:
            number = self.numbers[other] = self.numbers.pop(path)
            self.by_number[number] = other
            real.rename(number, other)
        elif step == "forget":
            assert real.forget(path) == self.numbers.pop(path, None)
        elif step == "settle":
            real.settle()


def compare(real: NumberedPaths, plain: Plain) -> None:
    assert list(real) == plain.by_number
    assert [real[number] for number in range(len(real))] == plain.by_number
    assert real.living == len(plain.numbers)
    assert list(real.numbers()) == sorted(plain.numbers.values())
    assert [real.known(path) for path in PATHS] == [plain.numbers.get(path) for path in PATHS]
    for prefixes in (("x",), ("x/", "张"), ("x/y/a", "a.md"), ("",), ("zzz",)):
        assert list(real.starting_with(prefixes)) == [path.startswith(prefixes) for path in plain.by_number]
    assert [real.lives(number) for number in range(len(real))] == [
        number in plain.numbers.values() for number in range(len(real))
    ]


def test_of_a_folder_no_path_is_made_to_say_that_all_begin_with_its_name(monkeypatch):
    paths = NumberedPaths.packed([*(f"daily/{number}.md" for number in range(100)), "day.md", "x/daily/a.md"])
    made: list[int] = []
    real = module._Packed.__getitem__
    monkeypatch.setattr(module._Packed, "__getitem__", lambda self, number: made.append(number) or real(self, number))
    assert list(paths.starting_with(("daily/",))) == [1] * 100 + [0, 0]
    assert made == [100]  # the one in the folder of all


@pytest.mark.parametrize("hashes", ["as they are", "all the same"])
@given(st.sampled_from([0, 3, 2_048]), st.lists(paths, unique=True), steps, st.booleans())
def test_every_path_is_found_by_its_number_and_the_other_way_round(hashes, few, first, steps, packed):
    with mock.patch.object(module, "_MOST_NEW", few), mock.patch.object(module, "crc32", HASHES[hashes]):
        real, plain = NumberedPaths.packed(first) if packed else NumberedPaths(first), Plain(first)
        left: list[tuple[NumberedPaths, list[str], dict[str, int]]] = []
        for step, path, other in steps:
            if step == "copy":  # what was copied stays as it was
                left.append((real, list(plain.by_number), dict(plain.numbers)))
                real = real.copy()
            plain.take(step, path, other, real)
            compare(real, plain)
        for before, by_number, numbers in left:
            was = Plain([])
            was.by_number, was.numbers = by_number, numbers
            compare(before, was)


HASHES = {"as they are": module.crc32, "all the same": lambda data, start=0: 7}


def test_a_path_that_is_known_keeps_its_number_and_another_one_gets_the_next():
    numbered = NumberedPaths(["a.md", "b.md"])
    assert [numbered.of(path) for path in ("b.md", "c.md", "c.md")] == [1, 2, 2]
    with pytest.raises(ValueError, match="comes twice"):
        NumberedPaths.packed(["a.md", "b.md", "a.md"])


def test_a_copy_shares_what_is_packed_and_paths_take_about_a_third_of_what_strings_do():
    many = [f"一个文件夹/有些笔记/第 {number} 篇关于记忆的笔记.md" for number in range(20_000)]
    numbered = NumberedPaths.packed(many)
    parts = [getattr(numbered._state[0], name) for name in module._Packed.__slots__]
    plain = sum(map(sys.getsizeof, many)) + sys.getsizeof(many) + sys.getsizeof(dict.fromkeys(many, 0))
    assert sum(map(sys.getsizeof, parts)) < 0.36 * plain  # Python 3.12 has smaller strings than 3.11
    other = numbered.copy()
    other.add("new.md")
    other.rename(0, "renamed.md")
    assert other._state[0] is numbered._state[0]
    assert numbered.known("new.md") is None
    assert (numbered[0], other[0]) == (many[0], "renamed.md")


def test_while_many_come_none_is_packed_until_no_more_do():
    numbered = NumberedPaths()
    numbered.expect(True)
    with mock.patch.object(NumberedPaths, "settle", autospec=True, side_effect=NumberedPaths.settle) as settle:
        for number in range(5_000):
            numbered.add(f"{number}.md")
        assert settle.call_count == 0
        numbered.expect(False)
        assert settle.call_count == 1
    assert not numbered._state[1]
    assert numbered.known("4999.md") == 4_999


def test_others_look_up_while_one_adds_renames_and_settles():
    numbered = NumberedPaths(f"{number % 7}/{number}.md" for number in range(300))
    wrong: list[object] = []
    done = threading.Event()

    def look() -> None:
        while not done.is_set():
            for number in range(1, 300, 2):
                path = f"{number % 7}/{number}.md"
                if (numbered.known(path), numbered[number]) != (number, path):
                    wrong.append(path)

    readers = [threading.Thread(target=look) for _ in range(2)]
    for reader in readers:
        reader.start()
    for turn in range(40):
        for number in range(0, 300, 10):
            numbered.rename(number, f"{turn}/of {number}.md")
        numbered.add(f"{turn}.md")
        numbered.settle()
    done.set()
    for reader in readers:
        reader.join()
    assert wrong == []
