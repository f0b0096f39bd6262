"""One search over a store: question -> ranking -> passages -> result with an honest status."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

from ..models import SearchHit, SearchResult, SearchStatus
from .boosts import Context, days_of
from .copies import copies_among
from .day_closeness import closeness_by_day
from .derived import DerivedTexts
from .excerpts import ExcerptReader, taken
from .filters import allowed_slots
from .linked import linked_notes
from .made import made
from .packed_file import section_in
from .packing import Excerpt, Group, best_files_first, pack, within_budget
from .ranking import Ranked, rank
from .reading import day_number, day_text
from .soft_links import SoftLinks
from .standing import Standing, standing_of
from .titles import look_at_names, names_worth

if TYPE_CHECKING:
    from ..vault.notes import Vault
    from ..weights import Weights
    from .embedding import Asked
    from .keyword_columns import Ints
    from .query_terms import QueryTerms
    from .store import Store
    from .tokenizer import Tokenizer
    from .vectors import VectorArm

LONGEST_QUERY = 2_000  # characters; what comes after is not looked at
MOST_RANKED = 2_000
FILES_FIRST = 5
MOST_LINKS = 10
_NOBODY, _NO_TERMS = frozenset[int](), frozenset[str]()
# Who speaks in a conversation with an agent is no person that a question could name.
_ROLES = frozenset(
    {"user", "assistant", "system", "agent", "tool", "bot", "ai", "human", "me", "you", "用户", "助手", "系统"}
)


@dataclass(frozen=True, slots=True)
class Request:
    """A search as asked for. ``token_budget`` in tokens of :func:`~.packing.count_tokens`, None for the default."""

    query: str
    limit: int = 5
    min_score: float | None = None
    filter: dict[str, Any] | None = None
    token_budget: int | None = None
    asked: "Asked | None" = None  # its vector, where there is a second arm


class Retriever:
    """Searches a store. Not thread-safe: the caller holds the store's lock."""

    def __init__(
        self, vault: "Vault", store: "Store", tokenizer: "Tokenizer", weights: "Weights", chunk_chars: int
    ) -> None:
        self._vault, self._store, self._tokenizer = vault, store, tokenizer
        self._weights, self._chunk_chars = weights, chunk_chars
        self._derived = DerivedTexts()
        self.vectors: VectorArm | None = None
        self._standing = Standing()
        self._links = SoftLinks(store)

    def look_ahead(self) -> None:
        """Find out what first questions ask, so that it is stored: where links lead, how files' names begin and end."""
        self._links.look_up_all()
        look_at_names(self._store.corpus)

    def search(self, request: Request, today: date) -> tuple[SearchResult, set[str]]:
        """The result, and the files that turned out to be other than indexed (then search again after a look)."""
        corpus = self._store.corpus
        text = request.query[:LONGEST_QUERY]
        query = self._tokenizer.query(text, today)
        if not query.terms and not query.dates:
            what = "is empty" if not text.strip() else "has no words in it"
            return SearchResult("none", note=f"the query {what}; ask with words", query=request.query), set()
        if not corpus.units.count:
            return SearchResult("none", note=self._why_empty(), query=request.query), set()
        limit = max(0, request.limit)
        budget = request.token_budget if request.token_budget is not None else limit * self._chunk_chars // 4
        want = min(MOST_RANKED, max(40, 8 * limit, budget // 24))
        context = self._context(query, request, today)
        ranked = rank(corpus, query, context, self._weights, want)
        if not (ranked.found or self._names_a_note(ranked, context)):
            return SearchResult("none", note=_nothing(request, query, context), query=request.query), set()
        score = self._sentence_score(query)
        reader = ExcerptReader(self._vault, corpus, self._chunk_chars, score, self._derived)
        slots, scores, files, numbers = self._shown(ranked, request)
        places = list(zip(files, numbers, strict=True))

        def read(at: int) -> Excerpt | None:
            return reader.excerpt(slots[at], scores[at])

        order = best_files_first(files, scores, min(limit, FILES_FIRST))
        groups = pack(places, order, read, limit, budget, reader.clip, max(self._chunk_chars, 400))
        groups.sort(key=lambda group: (-group.score, group.file not in context.preferred, group.path, group.first))
        hits = tuple([self._hit(group, reader, context.demoted) for group in groups])
        if not hits:
            if reader.stale:
                return SearchResult("none", query=request.query), reader.stale
            evidence = 0.0 if ranked.weak else round(ranked.evidence, 4)  # what is rejected would have been an answer
            return SearchResult("none", (), self._rejected(ranked, request), request.query, evidence), set()
        if request.token_budget is not None:
            hits = within_budget(hits, budget, reader.clip)
        status: SearchStatus = "ok"
        note = ""
        if query.groups and ranked.weak:
            status, note = "weak", "the hits share few words with the query and are probably not about it"
        return made(SearchResult, (status, hits, note, request.query, round(ranked.evidence, 4))), reader.stale

    def _why_empty(self) -> str:
        root = self._vault.root
        if self._store.corpus.revision and not root.is_dir():
            return f"the vault's folder {root} is not there any more; put it back to search its notes"
        return "there is nothing to search yet"

    def _shown(self, ranked: Ranked, request: Request) -> tuple[list[int], list[float], list[int], list[int]]:
        """Slots, scores, files and numbers of the units that may be shown, best first."""
        corpus = self._store.corpus
        slots, scores = ranked.slots, ranked.scores
        if request.min_score is not None:
            enough = scores >= request.min_score
            slots, scores = slots[enough], scores[enough]
        rows, values = slots.tolist(), scores.tolist()
        files, numbers = taken([corpus.column("file"), corpus.column("number")], rows)
        if copies := copies_among(files, corpus):
            kept = [at for at, file in enumerate(files) if file not in copies]
            rows, values = [rows[at] for at in kept], [values[at] for at in kept]
            files, numbers = [files[at] for at in kept], [numbers[at] for at in kept]
        return rows, values, files, numbers

    def files(self, request: Request, today: date) -> list[tuple[str, float]]:
        """At least ``limit`` files that answer, if there are so many, each with the score of its best unit."""
        corpus = self._store.corpus
        query = self._tokenizer.query(request.query[:LONGEST_QUERY], today)
        if not corpus.units.count or not (query.terms or query.dates):
            return []
        context = self._context(query, request, today)
        want = max(200, 8 * request.limit)
        while True:
            ranked = rank(corpus, query, context, self._weights, want)
            best: dict[str, float] = {}
            for slot, score in zip(ranked.slots.tolist(), ranked.scores.tolist(), strict=True):
                best.setdefault(corpus.path_of(slot), score)
            if len(best) >= request.limit or len(ranked.slots) < want:
                return list(best.items()) if ranked.found else []
            want *= 4  # a few long notes fill all places

    def _hit(self, group: Group, reader: ExcerptReader, demoted: frozenset[int]) -> SearchHit:
        corpus = self._store.corpus
        file = reader.file(group)
        entry, path, best = file.entry, file.path, group.best
        title, front, sections = file.shown()
        metadata: dict[str, Any] = {}
        if group.clipped:
            metadata["clipped"] = True
        if group.file in demoted:
            metadata["superseded"] = True
        if "trust" in front:
            metadata["trust"] = front["trust"]
        linked = linked_notes(self._store.graph, corpus, path, entry.packed_links, MOST_LINKS)
        section = corpus.column("section").item(entry.slot_of(best.number))
        return made(
            SearchHit,
            (
                path,
                group.first,
                group.last,
                reader.joined(group),
                best.score,
                title,
                section_in(sections, section),
                day_text(best.day),
                file.kind,
                tuple([note.path for note in linked if note.direction == "out"]) if linked else (),
                tuple([note.path for note in linked if note.direction == "in"]) if linked else (),
                metadata,
                linked,
            ),
        )

    def _names_a_note(self, ranked: Any, context: Any) -> bool:
        """Whether the question names somebody who speaks, which alone proves nothing, and of whom there is a note."""
        if not context.name_terms or not len(ranked.slots):
            return False
        files = self._store.corpus.column("file")[ranked.slots].astype("int64")
        return any(context.titles(files))

    def _rejected(self, ranked: Any, request: Request) -> str:
        corpus = self._store.corpus
        slot, score = int(ranked.slots[0]), float(ranked.scores[0])
        entry = corpus.by_id[int(corpus.column("file")[slot])]
        where = f"{entry.path}:{int(corpus.column('first')[slot])}" if entry is not None else ""
        if request.min_score is not None and score < request.min_score:
            return f"nothing reaches min_score {request.min_score:g}; the best is {where} with {score:.3f}"
        return "the limit or the token budget leaves room for nothing"

    # --- what the question and the files say ----------------------------------------------------------------------

    def _context(self, query: "QueryTerms", request: Request, today: date) -> Any:
        corpus = self._store.corpus
        standing = self._current_standing()
        named, name_terms = self._named(query, standing)
        folded = query.text.casefold()
        demoted = standing.superseded
        if standing.ends:
            now = day_number(today.isoformat())
            demoted |= {number for number, end in standing.ends.items() if end < now}
        allowed = None
        if request.filter:
            allowed = allowed_slots(corpus, request.filter, lambda text, last: _as_day(text, last, today))
        return Context(
            allowed=allowed,
            named=named,
            name_terms=name_terms,
            closeness=closeness_by_day(query.dates) if query.dates else None,
            days=self._known_days(standing) if query.dates else None,
            demoted=demoted,
            preferred=standing.preferred,
            dense=self.vectors.dense(corpus, request.asked) if self.vectors is not None else None,
            resolve=self._links.current(),
            linked=self._links.files,
            titles=lambda numbers: names_worth(corpus, numbers, folded),
        )

    def _known_days(self, standing: Standing) -> "Ints":
        if standing.days is None:
            standing.days = days_of(self._store.corpus)
        return standing.days

    def _named(self, query: "QueryTerms", standing: Standing) -> tuple[frozenset[int], frozenset[str]]:
        """Speakers that the question names, and the terms they are named by."""
        if not standing.voices:
            return _NOBODY, _NO_TERMS
        asked = set(query.terms)
        numbers: set[int] = set()
        terms: set[str] = set()
        for number in standing.voices:
            name = self._store.corpus.speakers[number]
            known = standing.spoken.get(name)
            if known is None:
                own = () if name.casefold() in _ROLES else self._tokenizer.terms(name)
                known = standing.spoken[name] = frozenset(own)
            shared = known & asked
            # A Chinese name is several pairs of characters, of which one alone is another word.
            if shared and (shared == known or name.isascii()):
                numbers.add(number)
                terms |= shared
        return frozenset(numbers), frozenset(terms)

    def persons(self) -> list[str]:
        """Names of those who speak in some file, roles apart. The caller holds the store's lock."""
        corpus = self._store.corpus
        names = (corpus.speakers[number] for number in self._current_standing().voices)
        return [name for name in names if name.casefold() not in _ROLES]

    def _current_standing(self) -> Standing:
        self._standing = standing_of(self._store.corpus, self._standing)
        return self._standing

    def _sentence_score(self, query: "QueryTerms") -> Callable[[str], float]:
        wanted: dict[str, float] = {}  # filled by the first that asks: mostly none does

        def score(text: str) -> float:
            if not wanted:
                wanted.update(zip(query.terms, query.weights, strict=True))
            return sum(wanted.get(term, 0.0) for term in set(self._tokenizer.terms(text)))

        return score


def _nothing(request: Request, query: "QueryTerms", context: Any) -> str:
    if context.allowed is not None and not context.allowed.any():
        return "the filter allows nothing: no text has all that it asks for"
    if query.stop_only:
        return "the query has nothing but function words, by which no text is found; ask with words of content"
    note = "nothing that the filter allows" if request.filter else "nothing"
    name = " other than a name" if context.name_terms else ""
    return f"{note} shares a word with the query{name}" + (", or is from the day it asks for" if query.dates else "")


def _as_day(text: str, last: bool, today: date) -> str:
    from .asked_days import first_and_last

    days = first_and_last(text, today)
    return "" if days is None else days[1 if last else 0].isoformat()
