"""From ranked units to excerpts: each text once, neighbours joined, within the limit and the token budget."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

_WIDE = re.compile(r"[\u1100-\u11ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uff60\U00020000-\U0003ffff]")
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；…\n])")
_NOT_WORD = re.compile(r"[\W_]+")
ELLIPSIS = "…"
SMALLEST_CLIP = 25  # tokens; less than this of a excerpt says nothing
_LONG_SENTENCE = 240
_ALIKE = 24  # squashed characters from which two excerpts can count as the same statement


def count_tokens(text: str) -> int:
    """Tokens by character class: one for a Chinese, Japanese or Korean character, a quarter for any other."""
    wide = 0 if text.isascii() else len(_WIDE.findall(text))
    return wide + (len(text) - wide + 3) // 4


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A unit as it may be printed: ``text`` as shown, ``lines`` of the file, ``number`` in the file."""

    path: str
    number: int
    first: int
    last: int
    text: str
    score: float
    speaker: str = ""
    clipped: bool = False


@dataclass(slots=True)
class Group:
    """Consecutive excerpts of a file, which make one hit; its score is that of the best of them."""

    excerpts: list[Excerpt] = field(default_factory=list)

    @property
    def score(self) -> float:
        return max(excerpt.score for excerpt in self.excerpts)

    @property
    def path(self) -> str:
        return self.excerpts[0].path

    @property
    def first(self) -> int:
        return min(excerpt.first for excerpt in self.excerpts)

    @property
    def last(self) -> int:
        return max(excerpt.last for excerpt in self.excerpts)


def pack(
    excerpts: Iterable[Excerpt | None],
    limit: int,
    budget: int,
    clip: Callable[[Excerpt, int], Excerpt | None],
    most_chars: int,
) -> list[Group]:
    """Take excerpts, best first, until ``limit`` groups and ``budget`` tokens are full; returns groups by best score.

    An excerpt beside one that was taken joins it; when all groups are open, only such excerpts are still taken. A
    excerpt whose text stands in one taken before is left out. ``clip`` shortens one to a number of tokens, or gives
    None; excerpts over ``most_chars`` characters are clipped in any case. None among the excerpts is passed over.
    """
    groups: list[Group] = []
    group_of: dict[tuple[str, int], Group] = {}
    shown: list[str] = []
    left = budget
    for excerpt in excerpts:
        if excerpt is None or (excerpt.path, excerpt.number) in group_of:
            continue
        before = group_of.get((excerpt.path, excerpt.number - 1))
        after = group_of.get((excerpt.path, excerpt.number + 1))
        if before is None and after is None and len(groups) >= limit:
            continue
        squashed = _NOT_WORD.sub(" ", excerpt.text).strip().casefold()
        if any(same_statement(squashed, other) for other in shown):
            continue
        cost = count_tokens(excerpt.text)
        if cost > left or len(excerpt.text) > most_chars:
            shorter = clip(excerpt, min(left, most_chars // 4)) if left >= SMALLEST_CLIP else None
            if shorter is None:
                break
            excerpt, cost = shorter, count_tokens(shorter.text)
        left -= cost
        shown.append(squashed)
        _place(excerpt, before, after, groups, group_of)
        if left <= 0:
            break
    return groups


def _place(
    excerpt: Excerpt,
    before: Group | None,
    after: Group | None,
    groups: list[Group],
    group_of: dict[tuple[str, int], Group],
) -> None:
    if before is not None:
        before.excerpts.append(excerpt)
        if after is not None:
            before.excerpts.extend(after.excerpts)
            groups.remove(after)
            for other in after.excerpts:
                group_of[other.path, other.number] = before
        group_of[excerpt.path, excerpt.number] = before
    elif after is not None:
        after.excerpts.insert(0, excerpt)
        group_of[excerpt.path, excerpt.number] = after
    else:
        group = Group([excerpt])
        groups.append(group)
        group_of[excerpt.path, excerpt.number] = group


def same_statement(one: str, other: str) -> bool:
    """Whether two squashed texts say the same words, apart from a little around them (a time, a name, a list mark)."""
    if len(one) > len(other):
        one, other = other, one
    if one == other:
        return True
    return len(one) >= _ALIKE and len(other) - len(one) <= max(24, len(one) // 4) and one in other


def clip_text(text: str, most_chars: int, matches: Callable[[str], float]) -> tuple[int, int]:
    """Where to cut ``text`` so that at most ``most_chars`` characters around its best sentences stay.

    ``matches`` says how well a sentence answers; with no sentence that does, the beginning stays.
    """
    from ..vault.encoding import safe_cut

    sentences = list(_sentences(text))
    values = [matches(text[begin:end]) for begin, end in sentences]
    best = max(range(len(sentences)), key=lambda at: (values[at], -at))
    low, high = best, best
    while True:
        widened = False
        for at in (high + 1, low - 1):
            if 0 <= at < len(sentences):
                begin, end = sentences[min(low, at)][0], sentences[max(high, at)][1]
                if end - begin <= most_chars:
                    low, high = min(low, at), max(high, at)
                    widened = True
        if not widened:
            break
    begin, end = sentences[low][0], sentences[high][1]
    if end - begin > most_chars:
        end = begin + most_chars
    return safe_cut(text, begin), safe_cut(text, end)


def _sentences(text: str) -> Iterable[tuple[int, int]]:
    """Sentences, and pieces of what goes on without an end."""
    at = 0
    for end in [*(match.end() for match in _SENTENCE_END.finditer(text)), len(text)]:
        while end - at > _LONG_SENTENCE:
            cut = text.rfind(" ", at + _LONG_SENTENCE // 2, at + _LONG_SENTENCE) + 1 or at + _LONG_SENTENCE
            yield at, cut
            at = cut
        if end > at:
            yield at, end
            at = end
    if not text:
        yield 0, 0
