"""Numbers in groups with spaces between: telephones, cards, accounts, thousands. Others write them in one piece."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from ..expression import expression

# Two digits apart: no number in groups is without them.
_MAY_BE = re.compile(r"[0-9]\)? (?:\(0\) ?)?\(?[0-9]{2}")
# A country's code, "(0)" that is left out with it, then groups; no group of a list, a date or a decimal number.
_GROUPS = expression(
    r"(?<![0-9A-Za-z_.,/-])(?P<country>\+|00(?=[1-9]\d?[ ]))?\(?[0-9]{1,5}\)?"
    r"(?:[ ./-]{1,3}(?:\(0\)[ ]?)?\(?[0-9]{2,12}\)?){1,8}(?![0-9A-Za-z_]|[.,][0-9])"
)
_THOUSANDS = re.compile(r"[1-9][0-9]{0,2}(?: [0-9]{3})+")
# IBAN, ISO 13616: country, two digits, then groups of four.
_ACCOUNT = expression(r"(?<![0-9A-Za-z])[A-Z]{2}[0-9]{2}(?: [0-9A-Z]{4}){2,7}(?: [0-9A-Z]{1,3})?(?![0-9A-Za-z])")
_LEFT_OUT = re.compile(r"\(0\)|[^0-9]")
_TELEPHONE, _CARD, _LONGEST = 7, 10, 19  # digits; E.164 has at most 15, a card's number 19
_LONGEST_GROUP = 12
_FEWEST_GROUPS = 3  # of a number that neither a sign nor a zero tells to be one


class SpacedNumber(NamedTuple):
    """A number in groups, at characters ``begin`` to ``stop``; ``joined`` are the same in one piece, as index terms.

    A telephone number also without its country's code, or without the zero that stands in its place.
    """

    begin: int
    stop: int
    joined: tuple[str, ...]


def spaced_numbers(text: str) -> Sequence[SpacedNumber]:
    """The numbers in groups of a text in NFKC, accounts after others."""
    first = _MAY_BE.search(text)
    if first is None:
        return ()
    begin = max(0, first.start() - _LONGEST_GROUP)
    found = [
        SpacedNumber(match.start(), match.end(), joined)
        for match in _GROUPS.finditer(text, begin)
        if (joined := _joined(match))
    ]
    for match in _ACCOUNT.finditer(text):
        found.append(SpacedNumber(match.start(), match.end(), (match.group().replace(" ", "").casefold(),)))
    return found


def without_prefix(number: str) -> str:
    """A telephone number of digits without what stands before it inland or abroad (``0``, ``00``); "" for another."""
    if number[:1] != "0" or not _TELEPHONE + 2 <= len(number) <= _LONGEST or number[1:].startswith("00"):
        return ""
    return number[2:] if number[1] == "0" else number[1:]


def _joined(match: re.Match[str]) -> tuple[str, ...]:
    written = match.group()
    if _THOUSANDS.fullmatch(written):
        return (written.replace(" ", ""),)
    digits = _LEFT_OUT.sub("", written)
    if not _TELEPHONE <= len(digits) <= _LONGEST:
        return ()
    groups = re.findall("[0-9]+", written)
    if match["country"]:
        abroad = digits.removeprefix("00")
        code = groups[0].removeprefix("00")
        return abroad, abroad.removeprefix(code)
    if digits[0] == "0":
        return (digits, without_prefix(digits)) if without_prefix(digits) else (digits,)
    if "(" in written or (len(groups) >= _FEWEST_GROUPS and len(digits) >= _CARD):
        return (digits,)
    return ()
