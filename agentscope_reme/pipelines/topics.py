"""What the user is interested in now: ``daily/<date>/interests.yaml``, for agents that bring something up themselves.

The file is its user's as well: topics that stand there stay, and one that cannot be read is left alone. New topics are
added up to a number, and none that stood in the files of the last days.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import date as Date
from datetime import timedelta
from textwrap import dedent
from textwrap import indent as indent_lines
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from pydantic import BaseModel, Field

from ..errors import FrontMatterError, NoteError, NoteNotFound, ReMeError
from ..models import NoteChange
from ..prompts import load_prompt
from ..vault.edits import dominant_line_end
from ..vault.encoding import Kind, clean_text, decode_exact, encode_exact, kind_of
from ..vault.frontmatter import compose, set_keys, text_of
from ..vault.layout import DAILY
from ..vault.yaml_block import Block, read_block
from .agent import PlanError
from .dream_sources import trust_of
from .dream_units import Topic, Unit, one_line
from .fence import fenced
from .forms import Form

if TYPE_CHECKING:
    from ..vault import Vault

T = TypeVar("T", bound=BaseModel)

FILE_NAME = "interests.yaml"
MOST_TOPICS = 100
"""Most topics that are read from one file."""

_SAME_WORDS = 0.7
_MAX_CHARS = 300
_DOCUMENT_START = re.compile(r"(?:[ \t]*(?:#[^\n]*)?\r?\n|%[^\n]*\n)*---[ \t]*\r?\n")


class Planning(Protocol):
    """What asks a model for a plan: :class:`~agentscope_reme.pipelines.agent.Planner`."""

    async def plan(self, schema: type[T], *, system: str, user: str, language: str = "en") -> T:
        """Return the model's plan; PlanError when there is none."""
        ...


class Choice(Form):
    """Which of the topics to keep."""

    titles: list[str] = Field(description="The titles of the topics to keep, copied exactly, the best first.")


def interests_path(day: str) -> str:
    """Where the topics of a day are."""
    return f"{DAILY}/{day}/{FILE_NAME}"


def read_interests(vault: "Vault", day: str) -> tuple[list[Topic], str] | None:
    """The topics of a day and the file's text; None when there is no file.

    NoteError when it is no list of topics: the sentence says what is wrong.
    """
    path = interests_path(day)
    try:
        data = vault.read_bytes(path)
    except NoteNotFound:
        return None
    if not kind_of(data).exact:
        raise NoteError(f"{path} is not UTF-8 text", path)
    text = decode_exact(data)
    return _topics(text, path), text


async def choose_topics(
    planner: Planning | None,
    found: Sequence[Topic],
    kept: Sequence[Topic],
    past: Sequence[Topic],
    *,
    count: int,
    language: str,
) -> tuple[list[Topic], str]:
    """The topics to add to those that are kept, and a sentence when the model was of no help.

    ``past`` are those of the last days: none of them again, in whatever words rules can tell. The model chooses where
    there are too many; without its answer the first ones are taken.
    """
    room = count - len(kept)
    fresh = distinct(found, [*kept, *past])
    if room <= 0 or len(fresh) <= room or planner is None:
        return fresh[: max(0, room)], ""
    asked = load_prompt("topics_choose", language).replace("{count}", str(room))
    user = "\n\n".join(
        [fenced("topics", _listed(fresh), of="now"), fenced("topics", _listed([*kept, *past]), of="before")]
    )
    try:
        choice = await planner.plan(Choice, system=asked, user=user, language=language)
    except PlanError as error:
        return fresh[:room], f"the topics were chosen by rules, as the model gave no choice: {error}"
    by_title = {_folded(topic.title): topic for topic in fresh}
    chosen = [by_title[key] for title in choice.titles if (key := _folded(title)) in by_title]
    return distinct([*chosen, *(fresh if not chosen else [])], [])[:room], ""


def past_topics(vault: "Vault", day: str, days: int) -> list[Topic]:
    """The topics of the ``days`` days before ``day``; files that cannot be read are passed over."""
    topics: list[Topic] = []
    for back in range(1, max(0, days) + 1):
        before = (Date.fromisoformat(day) - timedelta(days=back)).isoformat()
        try:
            topics += (read_interests(vault, before) or ([], ""))[0]
        except ReMeError:
            continue
    return topics


def distinct(topics: Iterable[Topic], known: Iterable[Topic]) -> list[Topic]:
    """Each topic once, and none of ``known``: the same title, or nearly all of its words."""
    seen = [_words(topic) for topic in known]
    fresh = []
    for topic in topics:
        words = _words(topic)
        if words and not any(_alike(words, other) for other in seen):
            seen.append(words)
            fresh.append(topic)
    return fresh


def write_interests(vault: "Vault", day: str, topics: Sequence[Topic], count: int, run_id: str) -> NoteChange | None:
    """Add topics to the file of a day, up to ``count`` in all; every line that is there stays. None: nothing to add.

    NoteError when what is there cannot be read; it is then left as it is.
    """
    path = interests_path(day)

    def new_bytes(old: bytes | None, kind: Kind | None) -> bytes:
        if kind is not None and not kind.exact:
            raise NoteError(f"{path} is not UTF-8 text; nothing was changed", path)
        text = decode_exact(old) if old is not None else None
        present = _topics(text, path) if text is not None else []
        new = distinct(topics, present)[: max(0, count - len(present))]
        if not new:
            return old if old is not None else b""
        rows = [_row(topic) for topic in new]
        if text is None:
            return encode_exact(_bare(compose({"date": day, "topics": rows}, "")))
        return encode_exact(_with_rows(text, rows, path))

    if not topics:
        return None
    return vault.change(path, new_bytes, actor="pipeline", reason=f"dream {run_id}: topics", group=run_id)


def plain_topic(topic: Topic) -> dict[str, Any]:
    """A topic as JSON holds it."""
    return {**asdict(topic), "keywords": list(topic.keywords), "paths": list(topic.paths)}


def topic_of(value: Any) -> Topic | None:
    """A topic from what a file holds: a mapping with a title, or only the title. None when it is none."""
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        value = {"title": value}
    if not isinstance(value, dict) or not (title := _line(value.get("title"))):
        return None
    return Topic(
        title,
        _line(value.get("reason")),
        _line(value.get("evidence")),
        _lines(value.get("keywords")),
        _lines(value.get("paths")),
        trust_of(value.get("trust")),
    )


def topic_of_unit(unit: Unit) -> Topic:
    """A topic where no model says what the user cares about: what something worth keeping is about."""
    quote = next((one_line(one.text, 200) for one in unit.evidence if one.text), "")
    return Topic(unit.name, evidence=quote, paths=unit.paths, trust=unit.trust)


def _topics(text: str, path: str) -> list[Topic]:
    block = read_block(text)
    if block.error is not None:
        line = 1 + text.count("\n", 0, block.error_offset)
        raise NoteError(f"{path} cannot be read (line {line}: {block.error}); it was left as it is", path)
    listed = block.data.get("topics") if block.is_mapping else None
    if text.strip() and not isinstance(listed, list) and not (block.is_mapping and listed is None):
        raise NoteError(
            f"{path} is no list of topics: it has `topics:` with a list under it; it was left as it is", path
        )
    topics = [topic_of(value) for value in list(listed or [])[:MOST_TOPICS]]
    if any(topic is None for topic in topics):
        number = topics.index(None) + 1
        raise NoteError(f"{path}: topic {number} has no title; it was left as it is", path)
    return [topic for topic in topics if topic is not None]


def _row(topic: Topic) -> dict[str, Any]:
    return {key: value for key, value in plain_topic(topic).items() if value}


def _with_rows(text: str, rows: Sequence[Mapping[str, Any]], path: str) -> str:
    """The file with more topics below those that are there; NoteError when they cannot be put in."""
    mark, text = text[: text.startswith("\ufeff")], text.removeprefix("\ufeff")
    block = read_block(text)
    wanted = {**block.data, "topics": [*(block.data.get("topics") or ()), *rows]}
    for changed in (_with_items(text, block, rows), _with_key(text, wanted["topics"])):
        if changed is not None and (found := read_block(changed)).error is None and found.data == wanted:
            return mark + changed
    raise NoteError(f"{path}: no topic can be added to what stands there; it was left as it is", path)


def _with_items(text: str, block: Block, rows: Sequence[Mapping[str, Any]]) -> str | None:
    """The list with more items, every line of it as it was; None when it is no list of one item a line."""
    entry = next((one for one in reversed(block.entries) if one.key == "topics"), None)
    if entry is None or entry.kind in ("flow", "alias") or not text.startswith("-", entry.value_start):
        return None
    indent = text[text.rfind("\n", 0, entry.value_start) + 1 : entry.value_start]
    if indent.strip(" "):
        return None
    line_end = dominant_line_end(text) or "\n"
    last = len(text[: entry.value_end].rstrip())
    place = text.find("\n", last) + 1 or len(text)
    head = text[:place] if text[:place].endswith("\n") else text[:place] + line_end
    items = _bare(compose({"topics": list(rows)}, "")).removeprefix("topics:\n")
    return head + indent_lines(dedent(items), indent).replace("\n", line_end) + text[place:]


def _with_key(text: str, topics: Sequence[Any]) -> str | None:
    """The file with its list spelled anew; None when that is beyond what a front matter can hold."""
    head = found.group() if (found := _DOCUMENT_START.match(text)) else ""
    rest = text[len(head) :]
    line_end = dominant_line_end(text) or "\n"
    fence = f"---{line_end}"
    gap = "" if rest.endswith("\n") or not rest else line_end
    try:
        changed = set_keys(f"{fence}{rest}{gap}{fence}", {"topics": list(topics)})
    except FrontMatterError:
        return None
    return head + changed.removeprefix(fence).removesuffix(fence)


def _bare(fenced_text: str) -> str:
    return fenced_text.removeprefix("---\n").removesuffix("---\n")


def _listed(topics: Iterable[Topic]) -> str:
    return "\n".join(f"- {topic.title}{f': {topic.reason}' if topic.reason else ''}" for topic in topics)


def _words(topic: Topic) -> frozenset[str]:
    from .dream_claims import content_terms

    return content_terms(topic.title) or frozenset({_folded(topic.title)})


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    return bool(one & other) and len(one & other) / len(one | other) >= _SAME_WORDS


def _folded(title: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", title).casefold().split())


def _line(value: Any) -> str:
    return " ".join(clean_text(text_of(value)).split())[:_MAX_CHARS]


def _lines(value: Any) -> tuple[str, ...]:
    items = value if isinstance(value, list | tuple) else [value] if value else []
    return tuple(line for item in items[:20] if (line := _line(item)))
