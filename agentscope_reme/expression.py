"""Regular expressions that are compiled when they are first used.

Compiling the long ones takes milliseconds each, and together a tenth of the time in which a stored index is opened and
answers; most questions need few of them.
"""

import re
from typing import cast


def expression(source: str, flags: "re.RegexFlag | int" = 0) -> "re.Pattern[str]":
    """What ``re.compile`` returns, but what is wrong with ``source`` is raised when it is used."""
    return cast("re.Pattern[str]", _Expression(source, flags))


class _Expression:
    __slots__ = ("_flags", "_source", "findall", "finditer", "fullmatch", "match", "search", "split", "sub", "subn")

    def __init__(self, source: str, flags: "re.RegexFlag | int") -> None:
        self._source, self._flags = source, flags

    def __getattr__(self, name: str) -> object:  # of a method that is not there yet, or of something else
        compiled = re.compile(self._source, self._flags)
        for method in self.__slots__[2:]:
            setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)
