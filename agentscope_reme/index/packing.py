"""From ranked units to excerpts: each text once, neighbours joined, within the limit and the token budget."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from ..expression import expression
from .compiled import kernels

if TYPE_CHECKING:
    from ..models import SearchHit

_WIDE = expression(r"[\u1100-\u11ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uff60\U00020000-\U0003ffff]+")
_SENTENCE_END = expression(r"(?<=[.!?;])\s+|(?<=[。！？；…\n])")
_RUN = re.compile(r"\w+")
ELLIPSIS = "…"
PAGE = 1_000  # tokens
WORTH_A_FILE = 0.3
# Of one file so many passages are worth what they are; each further one stands for odds / (1 + .05 * those above).
FREE_OF_A_FILE = 4
OF_ONE_FILE = 0.05
SMALLEST_CLIP = 25  # tokens; less than this of a excerpt says nothing
_LONG_SENTENCE = 240
_MOST = 1 << 60  # of a limit or a budget in compiled form: nobody has so much to show
# Squashed characters from which two excerpts can count as the same statement, and so many more one of them may have.
_ALIKE, _AROUND = 24, 24


def count_tokens(text: str) -> int:
    """Tokens by character class: one for a Chinese, Japanese or Korean character, a quarter for any other."""
    wide = 0 if text.isascii() else sum(map(len, _WIDE.findall(text)))
    return wide + (len(text) - wide + 3) // 4


class Excerpt(NamedTuple):
    """A unit as it may be printed: ``text`` as shown, ``first`` to ``last`` line, its ``number`` in the file.

    ``day`` is days since 1970-01-01, 0 when unknown.
    """

    path: str
    number: int
    first: int
    last: int
    text: str
    score: float
    speaker: str = ""
    day: int = 0
    journal: bool = False
    clipped: bool = False


@dataclass(slots=True, eq=False)
class Group:
    """Consecutive excerpts of a file, which make one hit; its score is that of the best of them.

    ``file`` is the file's id, ``page`` which thousand tokens of the result it was opened in.
    """

    file: int
    best: Excerpt  # the first of those with the highest score
    excerpts: list[Excerpt] = field(default_factory=list)
    page: int = 0

    @property
    def score(self) -> float:
        return self.best.score

    @property
    def path(self) -> str:
        return self.excerpts[0].path

    @property
    def first(self) -> int:
        excerpts = self.excerpts
        return excerpts[0].first if len(excerpts) == 1 else min([excerpt.first for excerpt in excerpts])

    @property
    def last(self) -> int:
        excerpts = self.excerpts
        return excerpts[0].last if len(excerpts) == 1 else max([excerpt.last for excerpt in excerpts])

    @property
    def clipped(self) -> bool:
        """Whether a part of an excerpt was cut away."""
        excerpts = self.excerpts
        return excerpts[0].clipped if len(excerpts) == 1 else True in [excerpt.clipped for excerpt in excerpts]


def best_files_first(files: Sequence[int], scores: Sequence[float], most: int) -> list[int]:
    """In which order ranked passages get a place, as indices: the best of each of the first few files, then the others.

    ``files`` and ``scores`` are those of the passages, best first. ``most`` files at most come first, and only those
    whose best is worth .3 of the very best (scores ``s`` stand for odds ``s / (1 - s)``): several notes are heard
    without letting in what only fills a place. All others come by what they add. After the first ones, a file's
    passages count a little less each from its fifth one on: what many notes hold a part of is not told by one alone.
    """
    if kernels is not None:
        found: list[int] = kernels.best_files_first(files, scores, most, WORTH_A_FILE, FREE_OF_A_FILE, OF_ONE_FILE)
        return found
    if not files:
        return []
    opens = dict(zip(reversed(files), range(len(files) - 1, -1, -1), strict=True))  # where the best of each file is
    floor = _worth(scores[0]) * WORTH_A_FILE
    first = [at for at in sorted(opens.values())[:most] if _worth(scores[at]) >= floor]
    rest = list(range(len(files)))
    for at in reversed(first):
        del rest[at]
    if len(files) - len(opens) > FREE_OF_A_FILE:  # else no file has so many
        rest = _by_what_they_add(rest, files, scores)
    return first + rest


def _worth(score: float) -> float:
    return score / (1 - score) if score < 1 else inf


def _by_what_they_add(rest: list[int], files: Sequence[int], scores: Sequence[float]) -> list[int]:
    """Some of the ranked passages, those of crowded files a little later than by their scores."""
    above: dict[int, int] = {}  # passages of each file so far
    less: dict[int, float] = {}
    for at, file in enumerate(files):
        before = above[file] = above.get(file, -1) + 1
        if before > FREE_OF_A_FILE:
            less[at] = 1 + OF_ONE_FILE * (before - FREE_OF_A_FILE)
    if not less:
        return rest
    worth = [_worth(score) / less.get(at, 1.0) for at, score in enumerate(scores)]
    return sorted(rest, key=worth.__getitem__, reverse=True)  # stable: what is worth the same stays in its order


def pack(
    places: list[tuple[int, int]],
    order: Iterable[int],
    read: Callable[[int], Excerpt | None],
    limit: int,
    budget: int,
    clip: Callable[[Excerpt, int], Excerpt | None],
    most_chars: int,
) -> list[Group]:
    """Take excerpts in an order until ``limit`` groups and ``budget`` tokens are full.

    ``places`` are the files and numbers of the ranked units, ``order`` which of them comes after which.

    An excerpt beside one that was taken joins it, but only within the same thousand tokens, so that whoever cuts the
    result short has the best of it. When all groups are open, one that lies a single unit away joins too, with the
    unit between, and others are passed over. What was said before, on the same day or in the same file, is left out: a
    card and the journal it was made from hold the same statement. ``read`` gives the excerpt at
    one of the places, or None when there is none to show; ``clip`` shortens one to a number of tokens, or gives None;
    excerpts over ``most_chars`` characters are clipped in any case.
    """
    if kernels is not None:
        limit, budget = min(limit, _MOST), min(int(budget), _MOST)
        groups: list[Group] = kernels.pack(
            places, order, read, limit, budget, clip, most_chars, Group, PAGE, SMALLEST_CLIP, _ALIKE, _AROUND
        )
        return groups
    tray = _Tray(limit, budget, clip, most_chars)
    for at in order:
        file, number = place = places[at]
        if file not in tray.files:
            if tray.is_full:
                continue
            wanted: tuple[int, ...] = (number,)
        else:
            wanted = tray.with_bridge(place)
        for one in wanted:
            if one != number and (file, one) not in places:
                break
            excerpt = read(at if one == number else places.index((file, one)))
            if excerpt is None:
                break
            if not tray.take(file, excerpt):
                return tray.groups
        if tray.is_full and tray.is_closed():
            break
    return tray.groups


class _Tray:
    """What has been taken."""

    def __init__(
        self, limit: int, budget: int, clip: Callable[[Excerpt, int], Excerpt | None], most_chars: int
    ) -> None:
        self.groups: list[Group] = []
        self._limit, self._budget, self._left = limit, budget, budget
        self._clip, self._most_chars = clip, most_chars
        self._page = 0  # the thousand tokens that are being filled
        self.files: set[int] = set()  # of all groups
        self.is_full = limit <= 0  # whether no more groups can be opened
        self._group_of: dict[tuple[int, int], Group] = {}
        self._shown: list[Excerpt] = []
        self._said: list[str] = []  # the words of each of these

    def with_bridge(self, place: tuple[int, int]) -> tuple[int, ...]:
        """The number of a unit, whose file has a group, alone; after that of one that joins it to the group; or none.

        It has none when there is no place for it.
        """
        if place in self._group_of:
            return ()
        file, number = place
        if not self.is_full or self._beside(file, number - 1) or self._beside(file, number + 1):
            return (number,)
        for step in (-1, 1):
            if self._beside(file, number + 2 * step) and (file, number + step) not in self._group_of:
                return (number + step, number)
        return ()

    def is_closed(self) -> bool:
        """Whether nothing more can be taken: all groups are open, and none in the present thousand tokens."""
        return self.is_full and self._page > 0 and self._page not in [group.page for group in self.groups]

    def take(self, file: int, excerpt: Excerpt) -> bool:
        """Print an excerpt, unless it says what was said; False when there is no more room."""
        before = after = None
        if file in self.files:
            number = excerpt.number
            before, after = self._beside(file, number - 1), self._beside(file, number + 1)
        if before is None and after is None and self.is_full:
            return True
        words = squashed(excerpt.text)
        if self._was_said(excerpt, words):
            return True
        cost = count_tokens(excerpt.text)
        if cost > self._left or len(excerpt.text) > self._most_chars:
            room = min(self._left, self._most_chars // 4)
            shorter = self._clip(excerpt, room) if self._left >= SMALLEST_CLIP else None
            if shorter is None:
                return False
            excerpt, cost = shorter, count_tokens(shorter.text)
        self._place(file, excerpt, before, after)
        self._left -= cost
        self._page = (self._budget - self._left) // PAGE
        self._shown.append(excerpt)
        self._said.append(words)
        return self._left > 0

    def _was_said(self, excerpt: Excerpt, words: str) -> bool:
        """Whether one that may tell of the same event says the same, apart from a little around it."""
        at = first_alike(words, self._said, 0, _ALIKE, _AROUND)
        while at >= 0:
            if _same_occasion(excerpt, self._shown[at]):
                return True
            at = first_alike(words, self._said, at + 1, _ALIKE, _AROUND)
        return False

    def _beside(self, file: int, number: int) -> Group | None:
        group = self._group_of.get((file, number))
        return group if group is not None and group.page == self._page else None

    def _place(self, file: int, excerpt: Excerpt, before: Group | None, after: Group | None) -> None:
        if before is not None and after is not None:
            before.excerpts.extend(after.excerpts)
            if after.best.score > before.best.score:
                before.best = after.best
            self.groups.remove(after)
            self.is_full = False
            for other in after.excerpts:
                self._group_of[file, other.number] = before
        group = before or after
        if group is None:
            group = Group(file, excerpt, page=self._page)
            self.groups.append(group)
            self.files.add(file)
            self.is_full = len(self.groups) >= self._limit
        elif excerpt.score > group.best.score:
            group.best = excerpt
        group.excerpts.append(excerpt)
        self._group_of[file, excerpt.number] = group


def squashed(text: str) -> str:
    """The words of a text, case-folded, with a space for whatever stands between them."""
    return " ".join(_RUN.findall(text.replace("_", " "))).casefold()


def first_alike(words: str, said: Sequence[str], begin: int, alike: int, around: int) -> int:
    """Which of some texts, from number ``begin`` on, says the same as another one but for a little around it; or -1.

    That is a time, a name, a list mark: at most a quarter more, or ``around`` characters, and only around what is long
    enough to be told, ``alike`` characters. All texts are :func:`squashed`.
    """
    size = len(words)
    more = size + max(around, size // 4) if size >= alike else size
    for at in range(begin, len(said)):
        other = said[at]
        length = len(other)
        if length > size:
            same = length <= more and words in other
        else:
            near = length == size or (length >= alike and size - length <= max(around, length // 4))
            same = near and other in words
        if same:
            return at
    return -1


def _same_occasion(one: Excerpt, other: Excerpt) -> bool:
    """Whether two excerpts may tell of one event: the same words on another day are a second occurrence."""
    if one.path == other.path or (one.day and one.day == other.day):
        return True
    return one.journal != other.journal and not (one.day and other.day)


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


def within_budget(
    hits: "Sequence[SearchHit]", budget: int, clip: Callable[[Excerpt, int], Excerpt | None]
) -> "tuple[SearchHit, ...]":
    """Hits, best first, with ``budget`` tokens at most: what stands between the units of a hit counts as well.

    The least hits are cut, or left out where nothing readable would remain; the best one stays in any case.
    """
    sizes = [count_tokens(hit.text) for hit in hits]
    over = sum(sizes) - budget
    kept = list(hits)
    for at in range(len(kept) - 1, -1, -1):
        if over <= 0:
            break
        hit = kept[at]
        whole = Excerpt(hit.path, 0, hit.start_line, hit.end_line, hit.text, hit.score)
        part = clip(whole, sizes[at] - over) if sizes[at] > over else None
        if part is None and at == 0:
            part = _beginning(whole, budget)
        if part is None:
            del kept[at]
            over -= sizes[at]
            continue
        metadata = {**hit.metadata, "clipped": True}
        kept[at] = replace(hit, text=part.text, start_line=part.first, end_line=part.last, metadata=metadata)
        break
    return tuple(kept)


def _beginning(excerpt: Excerpt, tokens: int) -> Excerpt:
    from ..vault.encoding import safe_cut

    chars = tokens * 4
    while True:
        text = excerpt.text[: safe_cut(excerpt.text, chars)].rstrip()
        if chars <= 1 or count_tokens(text + ELLIPSIS) <= tokens:
            break
        chars = min(chars - 1, chars * 7 // 8)
    in_lines = excerpt.last - excerpt.first == excerpt.text.count("\n")
    last = excerpt.first + text.count("\n") if in_lines else excerpt.last
    return excerpt._replace(text=text + ELLIPSIS, last=last)
