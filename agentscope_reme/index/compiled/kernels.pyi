from collections.abc import Sequence
from typing import Any, TypeVar

_T = TypeVar("_T")

SOURCES: str  # the fingerprint of the sources the module was made of, as `sources.fingerprint` gives it
RECIPE: str  # how it was made: compiler, flags, versions of the tools, in one hash

# --- around.pxi -------------------------------------------------------------------------------------------------------

def squashed(text: str) -> str: ...
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
