from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

_T = TypeVar("_T")
_Bytes = NDArray[np.uint8]  # also for what is true or false
_Ints = NDArray[np.int32]
_Places = NDArray[np.int64]
_Singles = NDArray[np.float32]
_Doubles = NDArray[np.float64]

SOURCES: str  # the fingerprint of the sources the module was made of, as `sources.fingerprint` gives it
RECIPE: str  # how it was made: compiler, flags, versions of the tools, in one hash

# --- bits.pxi ---------------------------------------------------------------------------------------------------------

def top(values: _Doubles, k: int) -> _Places: ...

# --- lookup.pxi -------------------------------------------------------------------------------------------------------

class Finder:
    def __init__(
        self, packed: bytes, lower: Any, first: Any, number_lower: Any, number_upper: Any, begins: tuple[Any, ...]
    ) -> None: ...
    def find(self, terms: Sequence[str], known: dict[str, int]) -> list[int | None]: ...

# --- postings.pxi -----------------------------------------------------------------------------------------------------

class Reader:
    def __init__(
        self,
        ends: tuple[Any, ...],
        entries: tuple[tuple[Any, ...], ...],
        starts: tuple[Any, ...] | None = None,
        positions: tuple[Any, ...] | None = None,
    ) -> None: ...
    def read(self, numbers: list[int | None]) -> tuple[_Ints, _Ints, list[int]]: ...
    def places(self, numbers: list[int | None]) -> tuple[_Ints, list[int]]: ...

def living(slots: _Ints, tf: _Ints, sizes: list[int], alive: _Bytes) -> tuple[_Ints, _Ints, list[int]]: ...
def occurrences(
    slots: _Ints, tf: _Ints, sizes: list[int], places: _Ints, alive: _Bytes | None
) -> tuple[_Places, list[int]]: ...
def following(keys: _Places, sizes: list[int], pairs: list[tuple[int, int]]) -> tuple[_Ints, _Ints]: ...

# --- texts.pxi --------------------------------------------------------------------------------------------------------

def scored(
    slots: _Ints,
    tf: _Ints,
    sizes: list[int],
    idf: _Singles,
    norms: _Doubles,
    lengths: NDArray[np.uint16],
    count: int,
    k: int,
) -> tuple[_Places, _Singles]: ...
def answers(
    slots: _Ints,
    tf: _Ints,
    sizes: list[int],
    idf: _Singles,
    norms: _Doubles,
    lengths: NDArray[np.uint16],
    count: int,
    k: int,
    target: _Ints,
    source: _Ints,
    leads: _Ints,
    unknown: int,
) -> tuple[Any, _Doubles | None]: ...
def may_stand(text: str, numbers: _Places, ends: list[Any], unknown: int, pairs: int) -> list[int]: ...
def label_bonus(
    bonus: _Doubles, slots: _Places, scores: _Singles, label_file: _Ints, weight: float, most: int
) -> tuple[_Places, _Places]: ...
def label_evidence(
    slots: _Ints,
    sizes: list[int],
    label_file: _Ints,
    proof: _Doubles,
    groups: list[list[int]],
    files: _Ints,
    count: int,
) -> _Doubles: ...

# --- question.pxi -----------------------------------------------------------------------------------------------------

def sum_by_stretch(
    slots: _Ints, tf: _Ints, sizes: list[int], stretch_of: _Ints
) -> tuple[_Ints, _Ints, _Places, _Ints, list[int], list[int]]: ...

# --- candidates.pxi ---------------------------------------------------------------------------------------------------

def candidates(
    sum_stretch: _Places,
    sum_term: _Ints,
    sum_tf: _Ints,
    worth: _Doubles,
    pair_stretch: _Ints,
    pair: _Ints,
    pair_worth: _Doubles,
    favoured: _Places,
    bonus: _Doubles,
    table: tuple[Any, ...],
    by_flags: _Doubles | None,
    length_norm: float,
    norm: float,
    unit_norm: float,
    least_norm: float,
    k1: float,
    unit_k1: float,
    unit: float,
    session: float,
) -> tuple[_Places, _Doubles, _Doubles]: ...
def chosen(best: _Places, sure: _Places, bonus: _Doubles, table: tuple[Any, ...], place: _Ints) -> _Places: ...
def last_place(raw: _Doubles, want: int) -> float: ...

# --- units.pxi --------------------------------------------------------------------------------------------------------

def score_units(
    chosen: _Places,
    stretches: _Places,
    wholes: _Doubles,
    session: float,
    table: tuple[Any, ...],
    postings: tuple[_Ints, _Ints, _Ints, list[int]],
    pairs: tuple[_Ints, _Ints, _Ints],
    place_of: _Ints,
    slot_at: _Ints,
    lengths: NDArray[Any],
    flags: _Bytes,
    worth: _Doubles,
    pair_worth: _Doubles,
    bonus: _Doubles,
    norm: float,
    least_norm: float,
    k1: float,
    unit: float,
    favoured: bool,
    heading: int,
) -> tuple[_Ints, _Doubles, _Doubles, _Doubles]: ...
def positive(
    slots: _Ints, score: _Doubles, flags: _Bytes, by_flags: _Doubles | None
) -> tuple[_Ints, _Doubles, _Places]: ...
def in_order(raw: _Doubles, ideal: float, want: int, digits: int) -> tuple[_Places, _Doubles, list[int]]: ...
def evidence(
    saturated: _Doubles, cells: _Places, proof: _Doubles, groups: list[list[int]], shown: _Doubles
) -> None: ...

# --- around.pxi -------------------------------------------------------------------------------------------------------

def squashed(text: str) -> str: ...
def rows_of(columns: list[NDArray[Any]]) -> Callable[[int], list[int]]: ...
def taken(columns: list[NDArray[Any]], rows: list[int]) -> list[list[int]]: ...
def all_differ(digests: bytearray | bytes, numbers: list[int], size: int) -> bool: ...
def checked_text(data: bytes, begin: int, stop: int, check: int) -> str | None: ...
def count_tokens(text: str) -> int: ...
def best_files_first(
    files: Sequence[int],
    scores: Sequence[float],
    most: int,
    worth_a_file: float,
    free_of_a_file: int,
    of_one_file: float,
) -> list[int]: ...
def made(kind: type[_T], values: tuple[Any, ...]) -> _T: ...
def first_alike(words: str, said: list[str], begin: int, alike: int, around: int) -> int: ...

# --- reading.pxi ------------------------------------------------------------------------------------------------------

def read_plain(root: bytes, path: str) -> bytes | None: ...

# --- packing.pxi ------------------------------------------------------------------------------------------------------

def pack(
    places: list[tuple[int, int]],
    order: Iterable[int],
    read: Callable[[int], Any],
    limit: int,
    budget: int,
    clip: Callable[[Any, int], Any],
    most_chars: int,
    new_group: Callable[..., _T],
    page_size: int,
    smallest_clip: int,
    alike: int,
    around: int,
) -> list[_T]: ...
