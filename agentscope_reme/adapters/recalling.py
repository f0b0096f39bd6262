"""What the vault holds about a message, bounded and quoted: for the recall hook and for long-term memory."""

import asyncio
import logging
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..errors import NoteNotFound, ReMeError
from ..memory.blocks import HINT, INJECTED_NAMES, INJECTED_STARTS, RECALL, text_of
from ..memory.envelope import OPEN, language_of
from ..pipelines.evidence import without_injected
from ..prompts import load_prompt
from ..quoting import RECALLED, page_text, passage_text, unwrapped
from ..vault.layout import DAILY, DIALOG, MEMORY_FILE, session_file_name

if TYPE_CHECKING:
    from agentscope.message import Msg

    from ..models import NotePage, SearchHit
    from ..reme import ReMe

logger = logging.getLogger(__name__)

RECALL_NAME = "recalled_memory"
"""Who a message of recalled text is from."""

LEAST_SHARE = 0.7
"""Share of the best score that a recalled passage must have (docs/ledger.md)."""

# What is looked up of a long message: a paste says little about what is asked.
_QUESTION_CHARS = 600
_FRAME_TOKENS = 40  # what the fence of one passage costs, about
_LEAST_TOKENS = 60
_SENTENCE = re.compile(r"[^.!?。！？\n]+[.!?。！？]*")
_NOT_WORD = re.compile(r"[\W_]+")
# How a card or a journal begins a statement: time and speaker.
_SPOKEN = re.compile(r"^(?:[-*] )?(?:\d{4}-\d\d-\d\d )?(?:\d\d:\d\d )?[^:\n]{1,40}: ")
_GENERATED = re.compile(r"^<!-- reme:begin (\w+) -->.*?(?:^<!-- reme:end \1 -->[^\n]*\n?|\Z)", re.MULTILINE | re.DOTALL)
_LINKED = re.compile(r"\[\[([^\]|#\n]+)")
_SHORTEST = 8  # squashed characters of a line that says something


@dataclass(frozen=True, slots=True)
class Shown:
    """What a conversation holds already, so that it is not recalled once more. ``text`` is squashed."""

    session_id: str = ""
    text: str = ""
    whole: bool = True  # nothing has left the context

    @classmethod
    def of(cls, session_id: str, messages: "Iterable[Msg]", *, whole: bool) -> "Shown":
        """Of a conversation's messages."""
        return cls(session_id, squashed("\n".join(map(text_of, messages))), whole)


def squashed(text: str) -> str:
    """The letters and digits of a text, case folded."""
    return _NOT_WORD.sub("", text).casefold()


def is_injected(message: "Msg", marks: Sequence[str] = ()) -> bool:
    """Whether nobody said this: recall, hints, what a long-term memory or a checkpoint put in.

    A user's message that opens with such a block and goes on is the user's: people paste what they were shown.
    """
    if message.name in INJECTED_NAMES or message.name == RECALL_NAME or RECALL in marks or HINT in marks:
        return True
    text = text_of(message)
    if message.role != "user" or not text.lstrip()[:60].startswith((OPEN, f"<{RECALLED} ", *INJECTED_STARTS)):
        return False
    return not without_injected(text)


def question_of(messages: "Sequence[Msg]") -> str:
    """What to look up for some messages: their text; of a long one the questions in it, else its two ends."""
    said = (without_injected(text_of(message)) for message in messages if not is_injected(message))
    text = "\n".join(said).strip()
    if len(text) <= _QUESTION_CHARS:
        return text
    asked = [one.group().strip() for one in _SENTENCE.finditer(text) if one.group().rstrip().endswith(("?", "？"))]
    questions = " ".join(asked[-3:])
    if questions and len(questions) <= _QUESTION_CHARS:
        return questions
    half = _QUESTION_CHARS // 2
    return f"{text[:half]}\n{text[-half:]}"


async def recall_hits(
    reme: "ReMe",
    query: str,
    *,
    limit: int,
    tokens: int,
    timeout: float | None,  # noqa: ASYNC109 (a bound on the user's waiting, not on one call)
    shown: Shown | None = None,
    min_evidence: float | None = None,
) -> "list[SearchHit]":
    """Return the passages that are about ``query``, best first; none when nothing is, or nothing is found in time.

    Args:
        reme: Whose vault is searched.
        query: What is asked.
        limit: Most passages.
        tokens: Most tokens of their texts together.
        timeout: Seconds; None waits as long as a search does.
        shown: What the conversation holds already.
        min_evidence: Share of the query's content words that the best passages must hold, 0 to 1; None takes the
            measured rule by which a search is called weak.
    """
    if not query.strip():
        return []
    try:
        async with asyncio.timeout(timeout):
            result = await reme.search(query, limit=limit + 3, token_budget=tokens)
            if not result.hits or result.status == "none":
                return []
            if min_evidence is not None:
                about = result.evidence >= min_evidence
            elif result.status in ("ok", "weak"):
                about = result.status == "ok"
            else:  # stale or degraded: the rule of "weak" by hand
                from ..index.ranking import WEAK

                about = result.evidence >= WEAK
            if not about:
                return []
            hits = _near(result.hits)
            if shown is not None:
                hits = await asyncio.to_thread(_fresh, reme, hits, shown)
            return hits[:limit]
    except TimeoutError:
        logger.info("Nothing was recalled within %s s.", timeout)
        return []


def _near(hits: "Sequence[SearchHit]") -> "list[SearchHit]":
    """The hits that are about as good as the best one; nobody asked for the others.

    The line of a day's page that only names a card is left out beside a passage of that card.
    """
    cited = {hit.path for hit in hits}
    kept = []
    for hit in hits:
        if hit.score < LEAST_SHARE * hits[0].score:
            continue
        names_cards = hit.path.startswith(f"{DAILY}/") and hit.path.count("/") == 1
        if names_cards and (linked := _LINKED.findall(hit.text)) and cited.issuperset(linked):
            continue
        kept.append(hit)
    return kept


def _fresh(reme: "ReMe", hits: "Sequence[SearchHit]", shown: Shown) -> "list[SearchHit]":
    """The hits that say something the conversation does not show."""
    journal = f"{DIALOG}/{session_file_name(shown.session_id)}.jsonl" if shown.session_id else ""
    kept = []
    for hit in hits:
        if shown.whole and journal and (hit.path == journal or _is_of(reme, hit, shown.session_id)):
            continue
        lines = [squashed(_SPOKEN.sub("", line)) for line in hit.text.split("\n")]
        said = [line for line in lines if len(line) >= _SHORTEST]
        if said and all(line in shown.text for line in said):
            continue
        kept.append(hit)
    return kept


def _is_of(reme: "ReMe", hit: "SearchHit", session_id: str) -> bool:
    """Whether a passage is of the session's card of a day, or is the line about that card on the day's page."""
    if not hit.path.startswith(f"{DAILY}/"):
        return False
    paths = [hit.path] if hit.path.count("/") == 2 else _LINKED.findall(hit.text)
    return bool(paths) and all(_session_of(reme, path) == session_id for path in paths)


def _session_of(reme: "ReMe", path: str) -> str:
    try:
        return str(reme.vault.frontmatter_read_sync(path).data.get("session_id") or "")
    except (ReMeError, OSError):
        return ""


async def passages_text(
    hits: "Sequence[SearchHit]", tokens: int, count: "Callable[[str], Any]", *, head: str = ""
) -> str:
    """Render passages within a number of tokens, fences and head included: what does not fit is left out whole.

    "" when not even a part of the first one fits. ``count`` is the asynchronous counter.
    """
    shown: list[str] = []
    left = tokens - (await count(head) if head else 0)
    for hit in hits:
        text = passage_text(hit, brief=True)
        cost = await count(text)
        if cost > left and not shown:
            text = passage_text(_clipped(hit, max(0, left - _FRAME_TOKENS), cost), brief=True)
            cost = await count(text)
        if cost > left:
            break
        shown.append(text)
        left -= cost
    return "\n".join([head, *shown] if head else shown) if shown else ""


def _clipped(hit: "SearchHit", tokens: int, cost: int) -> "SearchHit":
    from ..vault.encoding import safe_cut

    characters = len(hit.text) * tokens // max(cost, 1)
    kept = hit.text[: safe_cut(hit.text, max(0, characters - 4))]
    return replace(hit, text=f"{kept} […]")


async def recall_text(
    reme: "ReMe",
    query: str,
    *,
    limit: int,
    tokens: int,
    timeout: float | None,  # noqa: ASYNC109
    shown: Shown | None = None,
) -> str:
    """Return what the vault holds about ``query`` as one text: a sentence that says what it is, then the passages.

    "" when nothing is relevant. At most ``tokens`` tokens by the configured counter.
    """
    if tokens < _LEAST_TOKENS:
        return ""
    hits = await recall_hits(reme, query, limit=limit, tokens=tokens, timeout=timeout, shown=shown)
    if not hits:
        return ""
    head = load_prompt("recall_head", _language(reme, query))
    return await passages_text(hits, tokens, reme.budget.text, head=head)


async def core_text(reme: "ReMe", tokens: int, language: str = "en") -> str:
    """Return the start of MEMORY.md, at most ``tokens`` tokens of it, quoted; "" when there is none.

    What a pipeline proposes in it, between markers, is left out: the user has not agreed to it.
    """
    try:
        page: NotePage = await reme.vault.read(MEMORY_FILE, max_bytes=max(600, tokens * 12))
    except NoteNotFound:
        return ""
    text = _GENERATED.sub("", page.text)
    if not text.strip() or page.encoding == "binary":
        return ""
    kept = await _start_of(text, tokens, reme.budget.text)
    if kept != text:
        lines = kept.count("\n") + (0 if kept.endswith("\n") else 1)
        last = page.start_line + lines - 1
        page = replace(page, end_line=last, next_line=last + 1, cut_column=None)
    shown = unwrapped(page_text(replace(page, text=kept.rstrip("\n"))))
    return f"{load_prompt('core_head', language)}\n{shown}"


async def _start_of(text: str, tokens: int, count: "Callable[[str], Any]") -> str:
    """The longest start of a text, in whole lines, within a number of tokens; a part of the first line at least."""
    from ..vault.encoding import safe_cut

    if await count(text) <= tokens:
        return text
    lines = [f"{line}\n" for line in text.split("\n")]
    low, high = 0, len(lines)
    while low < high:
        middle = (low + high + 1) // 2
        if await count("".join(lines[:middle])) <= tokens:
            low = middle
        else:
            high = middle - 1
    if low:
        return "".join(lines[:low])
    first = lines[0]
    while first and await count(first) > tokens:
        first = first[: safe_cut(first, len(first) * 3 // 4)]
    return first


def _language(reme: "ReMe", text: str) -> str:
    configured = reme.config.language
    return configured if configured in ("en", "zh") else language_of([text])
