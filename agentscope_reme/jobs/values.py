"""What operations return that no lower layer has a value for."""

from dataclasses import dataclass, field
from typing import Any

from ..models import LooseLink


@dataclass(frozen=True, slots=True)
class Status:
    """How the vault and its index are. ``index`` holds what the index says of itself; empty when there is no vault.

    ``ranking`` is ``compiled``, or ``in numpy`` and why. ``model`` is the chat model's name, "" without one.
    ``pending`` is how much background work waits, ``set_aside`` what failed too often: id, kind and the last error.
    """

    version: str
    vault: str
    exists: bool
    index: dict[str, Any] = field(default_factory=dict)
    ranking: str = ""
    model: str = ""
    pending: int = 0
    set_aside: tuple[tuple[str, str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Health:
    """Whether the vault can be used. ``problems`` are sentences; none means that all is well."""

    version: str
    vault: str
    exists: bool
    writable: bool
    problems: tuple[str, ...] = ()

    @property
    def well(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What ``doctor`` found. ``differences``: where the index is not what the files give, a sentence each.

    No fault of the index are: ``failed``, files that are not, or not wholly, in it, with the reason; ``loose``, links
    that lead to no note; ``conflicts``, copies that sync programs have set aside. ``ranking`` says whether its loops
    are ``compiled`` or run ``in numpy``, and why; results are the same.
    """

    files: int
    differences: tuple[str, ...] = ()
    failed: tuple[tuple[str, str], ...] = ()
    loose: tuple[LooseLink, ...] = ()
    conflicts: tuple[str, ...] = ()
    ranking: str = ""

    @property
    def sound(self) -> bool:
        """Whether the index is what the files give."""
        return not self.differences


@dataclass(frozen=True, slots=True)
class HelpText:
    """Operations, each with what it does."""

    operations: tuple[tuple[str, str], ...]
