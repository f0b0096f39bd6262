"""Units: what a model found in daily notes that is worth keeping, each with evidence that was checked in the files.

The model only points: at a note, at lines, at a quotation. Who said it and when is read from the note. What a unit
rests on must be there, and hold the numbers and dates of the statement; what does not pass is dropped and named.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, model_validator

from ..errors import ReMeError
from ..vault.encoding import clean_text, safe_cut
from ..vault.layout import slug
from ..vault.wikilink import parse_links, unlink
from .dream_claims import invented, normalised, shares_words
from .dream_instructions import instructs
from .dream_sources import Piece, Trust, least, read_source, trust_of
from .forms import Form

if TYPE_CHECKING:
    from ..vault import Vault

Category = Literal["personal", "procedure", "wiki"]

CATEGORIES: tuple[Category, ...] = ("personal", "procedure", "wiki")
MAX_STATEMENT = 1_200
"""Longest statement, in characters."""
MAX_NAME = 60
MOST_TOPICS = 30
"""Most topics that are taken from one request; of units, all are."""
# A line that would read as what a note says about a statement.
_LIKE_FACTS = re.compile(r"^[ \t]*[-*+][ \t]+((?:valid_from|valid_to|supersedes|source|said as)\b)", re.MULTILINE)
_CODE = re.compile(
    r"^[ \t]*(?:[-*+]|\d+[.)])?[ \t]*(```+|~~~+)[^`\n]*\n(.*?)^[ \t]*\1[ \t]*$", re.MULTILINE | re.DOTALL
)
_FENCE = re.compile(r"^[ \t]*(?:```+|~~~+)[^`\n]*$", re.MULTILINE)
_NO_NAME = re.compile(r"[\d\W_]*")
_LINES = re.compile(r"^(.*?)(?::(\d+)(?:-(\d+))?)?$")


class Claim(Form):
    """What a model says. A null is as if nothing were said, so that the default holds."""

    @model_validator(mode="before")
    @classmethod
    def _null_is_nothing(cls, value: Any) -> Any:
        if isinstance(value, Mapping):
            return {key: inner for key, inner in value.items() if inner is not None}
        return value


class EvidenceClaim(Claim):
    """Where in a note it stands."""

    note: str = Field(description="The path of the note, as its tag gives it.")
    start_line: int = Field(0, description="The number of the first line, as it stands before the line.")
    end_line: int = Field(0, description="The number of the last line; the same one when it is one line.")
    quote: str = Field("", description="A few words of these lines, copied exactly.")

    @model_validator(mode="before")
    @classmethod
    def _citation(cls, value: Any) -> Any:
        """Take ``path:5-6`` for what it is."""
        if isinstance(value, str) and (cited := _LINES.match(value.strip())):
            return {"note": cited[1], "start_line": int(cited[2] or 0), "end_line": int(cited[3] or 0)}
        return value


class UnitClaim(Claim):
    """One thing worth keeping for months."""

    name: str = Field(
        description="What a note about it would be called: its topic, in two to six words, no date, no bare name."
    )
    category: str = Field(
        description="personal: about a person, what they like, are, have, decided. procedure: how something is done. "
        "wiki: anything else that is known."
    )
    statement: str = Field(
        description="What holds, in one to three sentences that can be read alone: names instead of pronouns, dates "
        "instead of 'yesterday', numbers as they are written. For a procedure its steps, one a line."
    )
    valid_from: str = Field("", description="The day since which it holds, YYYY-MM-DD, if the notes say one.")
    evidence: list[EvidenceClaim] = Field(description="Every place that says it.")


class TopicClaim(Claim):
    """Something an agent could bring up by itself, because the user cares about it now."""

    title: str = Field(description="The topic, in at most eight words.")
    reason: str = Field("", description="Why it may interest the user now, in one sentence.")
    keywords: list[str] = Field(default_factory=list, description="Up to six words to search for.")
    evidence: list[EvidenceClaim] = Field(default_factory=list, description="Places that show the interest.")


class Extraction(Claim):
    """What is worth keeping in the notes, and what the user is interested in. Both lists may be empty."""

    units: list[UnitClaim] = Field(default_factory=list, description="The most important first.")
    topics: list[TopicClaim] = Field(default_factory=list, description="The most important first.")


@dataclass(frozen=True, slots=True)
class Evidence:
    """Lines of a note that say something. ``version`` is that of the note when it was read; ``text`` the lines."""

    path: str
    version: str
    start_line: int
    end_line: int
    date: str
    speaker: str
    text: str = ""

    @property
    def source(self) -> str:
        """The citation: ``path:start-end``."""
        return f"{self.path}:{self.start_line}-{self.end_line}"


@dataclass(frozen=True, slots=True)
class Unit:
    """A statement worth keeping. ``valid_from`` is a day (``YYYY-MM-DD``); ``trust`` the least of its sources'.

    ``id`` is the same for the same statement on the same lines, and what it is recognised by in a digest note.
    ``tries`` counts the runs in which a model was asked where it belongs and made no plan of it.
    """

    id: str
    name: str
    category: Category
    statement: str
    valid_from: str
    language: str
    trust: Trust
    evidence: tuple[Evidence, ...]
    tries: int = 0

    @property
    def paths(self) -> tuple[str, ...]:
        """The notes it rests on."""
        return tuple(dict.fromkeys(one.path for one in self.evidence))

    def plain(self) -> dict[str, Any]:
        """As JSON holds it."""
        return {**asdict(self), "paths": list(self.paths)}


@dataclass(frozen=True, slots=True)
class Topic:
    """An interest of the user, with the notes that show it."""

    title: str
    reason: str = ""
    evidence: str = ""
    keywords: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    trust: Trust = "external"


def unit_of(plain: Mapping[str, Any]) -> Unit | None:
    """A unit as JSON holds it, None when it is none."""
    try:
        fields = {key: plain[key] for key in Unit.__dataclass_fields__ if key not in ("evidence", "tries")}
        evidence = tuple(Evidence(**one) for one in plain["evidence"])
        return Unit(**fields, evidence=evidence, tries=int(plain.get("tries", 0)))
    except (KeyError, TypeError, ValueError):
        return None


def checked_units(claims: Iterable[UnitClaim], pieces: Sequence[Piece], language: str) -> tuple[list[Unit], list[str]]:
    """The units whose evidence is in the files, and a sentence for each that was dropped."""
    units: dict[str, Unit] = {}
    dropped = []
    for claim in claims:
        unit, problem = _checked(claim, pieces, language)
        if unit is not None:
            known = units.get(unit.id)
            units[unit.id] = unit if known is None else replace(known, evidence=_joined(known, unit))
        else:
            dropped.append(f"{one_line(claim.name or claim.statement, 80)!r} was dropped: {problem}")
    return list(units.values()), dropped


def checked_topics(claims: Iterable[TopicClaim], pieces: Sequence[Piece]) -> tuple[list[Topic], list[str]]:
    """The topics whose evidence is in the files, and a sentence for each that was dropped."""
    topics, dropped = [], []
    for claim in list(claims)[:MOST_TOPICS]:
        title, reason = one_line(claim.title, 120), one_line(claim.reason, 300)
        evidence = _evidence(claim.evidence, pieces)
        trust = least(_trusts(evidence, pieces))
        external = trust == "external"
        said = "\n".join((title, reason, *claim.keywords))
        if not title:
            continue
        if not evidence:
            dropped.append(f"the topic {title!r} was dropped: none of its evidence is in the notes")
        elif instructs(said, external=external):
            dropped.append(f"the topic {title!r} was dropped: it reads as an instruction to a model")
        else:
            keywords = tuple(dict.fromkeys(filter(None, (one_line(word, 40) for word in claim.keywords))))[:6]
            quote = one_line(evidence[0].text, 200)
            paths = tuple(dict.fromkeys(one.path for one in evidence))
            topics.append(Topic(title, reason, quote, keywords, paths, trust))
    return topics, dropped


def still_there(vault: "Vault", unit: Unit) -> Unit | None:
    """A unit that waited, resting on what the files still say and trusted as they are now; None when on nothing.

    Nothing is lost: a note that no longer says it has changed, and is read again.
    """
    evidence: list[Evidence] = []
    trusts: list[Trust] = []
    for one in unit.evidence:
        try:
            source = read_source(vault, one.path, one.path.split("/")[1].removesuffix(".md"))
        except ReMeError:
            continue
        if source.version == one.version or normalised(one.text) in normalised("\n".join(source.lines.values())):
            evidence.append(one)
            trusts.append(source.trust)
    if not evidence or instructs(unit.statement, external=least(trusts) == "external"):
        return None
    return replace(unit, evidence=tuple(evidence), trust=least((unit.trust, *trusts)))


def _checked(claim: UnitClaim, pieces: Sequence[Piece], language: str) -> tuple[Unit | None, str]:
    evidence = _evidence(claim.evidence, pieces)
    statement = plain_statement(claim.statement, [one.text for one in evidence])
    if not statement:
        return None, "it says nothing"
    if not evidence:
        return None, "none of its evidence is in the notes"
    trust = least(_trusts(evidence, pieces))
    external = trust == "external"
    if instructs(f"{claim.name}\n{statement}", external=external):
        return None, "it reads as an instruction to a model"
    if not shares_words(statement, [one.text for one in evidence]):
        return None, "its evidence says nothing of it"
    texts = [one.text for one in evidence] + _headers(evidence, pieces)
    days = [one.date for one in evidence] + [
        piece.source.day for piece in pieces if piece.source.path in _paths(evidence)
    ]
    if wrong := invented(statement, texts, days):
        return None, f"it says {', '.join(wrong)}, which its evidence does not"
    since = claim.valid_from.strip()
    if not _is_day(since) or invented(since, texts, days):
        since = min((one.date for one in evidence if one.date), default="")
    asked = claim.category.strip().casefold()
    category: Category = next((known for known in CATEGORIES if known == asked), "wiki")
    if external and category == "personal":
        category = "wiki"  # what a document says of a person is something that is written, not something they said
    name = one_line(claim.name, MAX_NAME)
    if slug(name) == "untitled" or _NO_NAME.fullmatch(name):
        name = one_line(statement, MAX_NAME)
    elif _says_only_who(name, evidence):
        name = one_line(_with_topic(name, statement), MAX_NAME)
    identity = "\0".join([normalised(statement), *sorted(f"{one.path}\0{normalised(one.text)}" for one in evidence)])
    key = "d" + hashlib.sha256(identity.encode("utf-8", "replace")).hexdigest()[:8]
    return Unit(key, name, category, statement, since, language, trust, evidence), ""


def _says_only_who(name: str, evidence: Iterable[Evidence]) -> bool:
    """Whether a name is that of a speaker and nothing more: every question that names them would lead to that note."""
    from ..index.english import STOP_WORDS

    words = {word for word in normalised(name).removesuffix("'s").split() if word not in STOP_WORDS}
    return bool(words) and any(words <= set(normalised(one.speaker).split()) for one in evidence)


def _with_topic(name: str, statement: str) -> str:
    """A person's name with what a statement says of them."""
    from .naming import title_of
    from .statements import Statement

    first = statement.split("\n")[0]
    if not first.casefold().startswith(name.casefold()):
        return f"{name}: {title_of([Statement(first, name)]) or first}"
    rest = first[len(name) :]
    topic = title_of([Statement(rest.lstrip(" :：,，"), name)]) or rest
    return f"{first[: len(name)]}{' ' if rest.startswith(' ') else ': '}{topic}"


def _evidence(claims: Iterable[EvidenceClaim], pieces: Sequence[Piece]) -> tuple[Evidence, ...]:
    found = [one for claim in claims if (one := _found(claim, pieces)) is not None]
    return tuple(dict.fromkeys(found))


def _found(claim: EvidenceClaim, pieces: Sequence[Piece]) -> Evidence | None:
    """The lines a claim points at, when they are there and say what it quotes; those that do where it miscounted."""
    path = claim.note.strip().strip("`").removeprefix("[[").removesuffix("]]").split("|", 1)[0].strip()
    first, last = claim.start_line, max(claim.start_line, claim.end_line)
    if cited := _LINES.match(path):
        path = cited.group(1)
    quote = normalised(claim.quote)
    if not any(piece.source.path == path for piece in pieces):
        # The end of a path, when it can only be one of them.
        meant = {
            piece.source.path
            for piece in pieces
            if f"/{piece.source.path}".removesuffix(".md").endswith(f"/{path.removesuffix('.md')}")
        }
        path = meant.pop() if len(meant) == 1 and path else path
    for piece in (piece for piece in pieces if piece.source.path == path):
        lines = {n: line for n, line in piece.source.lines.items() if piece.first <= n <= piece.last}
        external = piece.source.trust == "external"
        inside = [n for n in sorted(lines) if first <= n <= last]
        if quote and (not inside or quote not in normalised(" ".join(lines[n] for n in inside))):
            inside = [n for n in sorted(lines) if quote in normalised(lines[n])][:1]
        inside = [n for n in inside if not instructs(lines[n], external=external)]
        if inside:
            text = "\n".join(lines[n] for n in inside)
            speaker, day = piece.source.said(inside[0], inside[-1])
            return Evidence(path, piece.source.version, inside[0], inside[-1], day, speaker, text)
    return None


def _trusts(evidence: Iterable[Evidence], pieces: Sequence[Piece]) -> list[Trust]:
    known = {piece.source.path: piece.source.trust for piece in pieces}
    return [trust_of(known.get(one.path, "external")) for one in evidence]


def _headers(evidence: Iterable[Evidence], pieces: Sequence[Piece]) -> list[str]:
    """What the notes are called and about, which may hold a name or number that the lines leave out."""
    paths = _paths(evidence)
    return [f"{p.source.name}\n{p.source.description}" for p in pieces if p.source.path in paths]


def _paths(evidence: Iterable[Evidence]) -> set[str]:
    return {one.path for one in evidence}


def _joined(one: Unit, other: Unit) -> tuple[Evidence, ...]:
    return tuple(dict.fromkeys((*one.evidence, *other.evidence)))


def plain_statement(statement: str, said: Sequence[str] = ()) -> str:
    """A statement as a list item can hold it: lines without blank ones, markers and block ids taken off.

    Lines of a code block become code within the line: what stands behind the block would else be a part of it. Links
    that none of the texts ``said`` has are turned into plain text.
    """
    text = clean_text(statement).replace("\r\n", "\n")
    if "[[" in text:
        known = {link.target_path for one in said for link in parse_links(one, "")}
        text = unlink(text, lambda link: link.target_path not in known)
    text = _FENCE.sub("", _CODE.sub(_as_code, text))
    lines = [line.rstrip() for line in text.split("\n") if line.strip()]
    joined = "\n".join(lines).strip()
    joined = re.sub(r"\A[-*+]\s+", "", joined)
    joined = _LIKE_FACTS.sub(r"\1", joined)
    joined = re.sub(r"\s\^(?=[\w-]+\s*$)", " ", joined, flags=re.MULTILINE)
    if len(joined) > MAX_STATEMENT:
        joined = joined[: safe_cut(joined, MAX_STATEMENT - 1)].rstrip() + "…"
    return joined


def _as_code(block: "re.Match[str]") -> str:
    lines = [line.strip() for line in block[2].split("\n") if line.strip()]
    return "\n".join(f"`{line}`" if "`" not in line else f"`` {line} ``" for line in lines)


def one_line(text: str, most: int) -> str:
    """A text as a name or a title: one line that no link or mark-up breaks, at most ``most`` characters."""
    line = " ".join(clean_text(text).translate(str.maketrans("[]|`", "()/'")).split()).strip("#*->. ")
    return line if len(line) <= most else line[: safe_cut(line, most - 1)].rstrip() + "…"


def _is_day(text: str) -> bool:
    from datetime import date

    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False
