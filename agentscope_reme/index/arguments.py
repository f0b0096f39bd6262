"""What callers hand over to a search, looked at before anything is done with it."""

from collections.abc import Collection, Mapping
from math import isnan
from numbers import Integral, Real
from typing import Any

from ..errors import ConfigError


def check_search(query: Any, limit: Any, min_score: Any, wanted: Any, token_budget: Any) -> None:
    """Raises ConfigError, with the argument's name and what it takes, for one that no search can be made of."""
    check_text("query", query)
    check_number("limit", limit)
    if token_budget is not None and not (isinstance(token_budget, float) and token_budget.is_integer()):
        check_number("token_budget", token_budget)
    if min_score is not None and (isinstance(min_score, bool) or not isinstance(min_score, Real) or isnan(min_score)):
        raise ConfigError(f"min_score: {_shown(min_score)} is no number between 0 and 1")
    if not wanted:
        return
    if not isinstance(wanted, Mapping) or not all(isinstance(key, str) for key in wanted):
        raise ConfigError(f'filter: {_shown(wanted)} is no mapping of names, such as {{"path": "daily/"}}')


def check_text(name: str, value: Any) -> None:
    """Raises ConfigError for what is no string."""
    if not isinstance(value, str):
        raise ConfigError(f"{name}: {_shown(value)} is no text")


def check_number(name: str, value: Any) -> None:
    """Raises ConfigError for what is no whole number."""
    if type(value) is not int and (isinstance(value, bool) or not isinstance(value, Integral)):
        raise ConfigError(f"{name}: {_shown(value)} is no whole number")


def check_choice(name: str, value: Any, choices: Collection[str]) -> None:
    """Raises ConfigError for what is none of the choices."""
    if not isinstance(value, str) or value not in choices:
        raise ConfigError(f"{name}: {_shown(value)} is none of {', '.join(choices)}")


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
