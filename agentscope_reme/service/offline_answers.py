"""How the offline model decides what to say: plain rules on text, English and Chinese. No model, no state.

What it can do is small on purpose: tell a question from a statement, find the tool that is asked for by name, fill its
arguments, and pick from search results the line that shares most with the question.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..quoting import FILE, RECALLED

NOTICE = {
    "en": "I am the offline model: a small program, not a language model. I note, search, quote and run tools.",
    "zh": "我是离线模型：一个小程序，不是语言模型。我会记录、搜索、引用原文，也会运行工具。",
}
NOTHING_FOUND = {
    "en": "The memory vault has nothing that matches this question.",
    "zh": "记忆库里没有与这个问题相符的内容。",
}

_HAN = re.compile(r"[\u3400-\u9fff]")
_LATIN_WORD = re.compile(r"[A-Za-z]+")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n")
_QUESTION_WORD = re.compile(
    r"^(?:who|whose|what|when|where|which|why|how|did|do|does|is|are|was|were|can|could|has|have|will)\b", re.IGNORECASE
)
_ABOUT_ITSELF = re.compile(
    r"\b(?:who|what) are you\b|\bare you (?:an? )?(?:ai|llm|language model|bot)\b"
    r"|你是谁|你是(?:什么|语言)模型|你是机器人吗",
    re.IGNORECASE,
)
_REMEMBER = re.compile(
    r"^\s*(?:please\s+)?(?:remember(?:\s+this|\s+that)?\s*[:,]?|请?记住[：:，,]?)\s*(?P<fact>.+)",
    re.IGNORECASE | re.DOTALL,
)
_DECISION = re.compile(
    r"\b(?:decided?|decision|booked|agreed|we go with|i take|change of plan)\b|决定|定在|改到|同意", re.IGNORECASE
)
_STANDS_OUT = re.compile(
    r"\b(?:ERROR|FATAL|FAILED|WARN(?:ING)?|TOTAL|RESULT)\b|top reached|without an error|合计|错误|失败"
)
# A citation: a path with a suffix, then a line or a range of lines.
_SOURCE = re.compile(r"(?P<path>[\w.][^\s\[\]()<>\"'`“”:：]*\.[A-Za-z0-9]+):(?P<start>\d+)(?:-(?P<end>\d+))?")
_PASSAGE = re.compile(rf'<{RECALLED} source="([^"]+)"[^>]*>(.*?)</{RECALLED}>', re.DOTALL)
_FILE = re.compile(rf"<{FILE} [^>]*>\n(.*)</{FILE}>", re.DOTALL)
_STORED = re.compile(r"session/tool_result/[^\s\"'`)>\]]+")
_ANSWERS_NOTHING = re.compile(r"[?？][\"”’) ]*$|^\[\[|^[\w .-]{1,40}: \w+\(.*\)$|^[\w ]{1,40}: \[[^\]]*\]$")
_LONGEST_QUOTE = 420
# Fullest first: how much of the best line's score a second quote must reach, and a passage's rank is worth.
_SECOND_QUOTE = 0.6
_RANK_WORTH = 0.15


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a search result and the citation it stands under, ``path:start-end``."""

    source: str
    text: str


def language_of(text: str) -> str:
    """``zh`` when Chinese characters make up a good part of the text, else ``en``."""
    return "zh" if 2 * len(_HAN.findall(text)) >= len(_LATIN_WORD.findall(text)) and _HAN.search(text) else "en"


def sentences(text: str) -> list[str]:
    """The sentences of a text; a point inside a number, a name or a path ends none."""
    return [piece.strip() for piece in _SENTENCE_END.split(text) if piece.strip()]


def question_in(text: str) -> str:
    """The part of a message that asks something, or "" when nothing is asked."""
    asked = [piece for piece in sentences(text) if piece.rstrip('"”’) ').endswith(("?", "？"))]
    if asked:
        return " ".join(asked)
    return text.strip() if len(text) < 160 and _QUESTION_WORD.match(text.strip()) else ""


def asks_about_itself(text: str) -> bool:
    """Whether the user asks what is answering."""
    return bool(_ABOUT_ITSELF.search(text))


def fact_to_remember(text: str) -> str:
    """What the user wants kept for good ("Remember: …", "记住：…"), or ""."""
    found = _REMEMBER.match(text)
    return found["fact"].strip() if found and not question_in(text) else ""


def acknowledgement(text: str) -> str:
    """A short answer to a statement, in its language."""
    decision = _DECISION.search(text)
    if language_of(text) == "zh":
        return "记下了，这是一个决定。" if decision else "记下了。"
    return "Noted, as a decision." if decision else "Noted."


# --- Tools --------------------------------------------------------------------------------------------------------


def tool_asked_for(text: str, tools: Iterable[Mapping[str, Any]]) -> tuple[str, dict[str, Any]] | None:
    """The tool whose name stands in the text, with the arguments found beside it; None when there is no such tool.

    ``tools`` are function schemas as AgentScope's ``Toolkit.get_json_schemas`` returns them.
    """
    for tool in tools:
        function = tool["function"]
        name = function["name"]
        if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text):
            return name, arguments_for(function.get("parameters") or {}, text.replace(name, " "))
    return None


def arguments_for(schema: Mapping[str, Any], text: str) -> dict[str, Any]:
    """Values for a tool's parameters out of a sentence: a listed value, a number, or the word by the parameter."""
    found: dict[str, Any] = {}
    for name, about in (schema.get("properties") or {}).items():
        value = _value(name.replace("_", " "), about, text)
        if value is not None:
            found[name] = value
    return found


def _value(name: str, about: Mapping[str, Any], text: str) -> Any:
    for choice in about.get("enum") or ():
        if re.search(rf"(?<!\w){re.escape(str(choice))}(?!\w)", text, re.IGNORECASE):
            return choice
    if about.get("enum"):
        return None
    if about.get("type") in ("integer", "number"):
        number = re.search(rf"{re.escape(name)}\D{{0,12}}(-?\d+(?:\.\d+)?)", text, re.IGNORECASE)
        number = number or re.search(r"(?<![\w.])(-?\d+(?:\.\d+)?)", text)
        if number is None:
            return None
        return int(float(number[1])) if about["type"] == "integer" else float(number[1])
    if about.get("type") == "string":
        quoted = re.search(r"[`\"“'](?P<value>[^`\"”']+)[`\"”']", text.replace("` `", " "))
        beside = re.search(rf"\b{re.escape(name)}\s+(?:is\s+|of\s+)?([\w./-]+)", text, re.IGNORECASE)
        return quoted["value"] if quoted else beside[1] if beside else None
    return None


def what_stands_out(result: str, limit: int = 3) -> list[str]:
    """The lines of a tool's result that a person would look at: errors, warnings, totals; else the first one."""
    lines = [line.strip() for line in result.splitlines() if line.strip()]
    loud = [line for line in lines if _STANDS_OUT.search(line)]
    return (loud or lines[:1])[-limit:]


def stored_at(result: str) -> str:
    """Where the full text of a shortened tool result lies in the vault, or ""."""
    found = _STORED.search(result)
    return found[0].rstrip(".,;:。，；") if found else ""


def lines_of_file(result: str) -> list[str]:
    """The lines of the file that ``read`` returned, empty ones left out; none when there was no such file."""
    found = _FILE.search(result)
    return [line for line in found[1].splitlines() if line.strip()] if found else []


# --- Search results -----------------------------------------------------------------------------------------------


def passages(result: str) -> list[Passage]:
    """The passages that ``memory_search`` returned, each with its source, best first."""
    return [Passage(source, body.strip()) for source, body in _PASSAGE.findall(result)]


def citations(text: str) -> list[str]:
    """Every ``path:start-end`` (or ``path:line``) that a text cites, in order, each once."""
    return list(dict.fromkeys(mark[0] for mark in _SOURCE.finditer(text)))


def best_lines(question_terms: Sequence[str], terms_of: Any, found: Sequence[Passage], limit: int = 2) -> list[Passage]:
    """The lines of the passages that share most with the question, best first, at most one for each passage.

    A shared term counts by how few lines hold it. Questions, earlier quotations, calls of tools and lists of links are
    left out: they repeat the question's words and answer nothing. ``terms_of`` turns a line into its terms.
    """
    lines = [
        (rank, source, line, set(terms_of(line)))
        for rank, passage in enumerate(found)
        for source, line in cited_lines(passage)
        if not _SOURCE.search(line) and not _ANSWERS_NOTHING.search(line)
    ]
    frequency = Counter(term for *_, terms in lines for term in terms)
    wanted = set(question_terms)
    scored = []
    for rank, source, line, terms in lines:
        worth = sum(math.log(1 + len(lines) / frequency[term]) for term in wanted & terms)
        if worth:
            scored.append((worth + _RANK_WORTH / (1 + rank), rank, source, line))
    scored.sort(key=lambda item: -item[0])
    chosen: dict[int, Passage] = {}
    for worth, rank, source, line in scored:
        new = rank not in chosen and all(line not in other.text for other in chosen.values())
        if len(chosen) < limit and new and worth >= _SECOND_QUOTE * scored[0][0]:
            chosen[rank] = Passage(source, clipped(line, question_terms, terms_of))
    return list(chosen.values())


def cited_lines(passage: Passage) -> list[tuple[str, str]]:
    """The lines of a passage with what to cite for each: its own line of the file where that is certain, else all."""
    lines = [line.strip(" \t>*-|") for line in passage.text.splitlines() if line.strip(" \t>*-|")]
    mark = _SOURCE.fullmatch(passage.source)
    if mark is None:
        return [(passage.source, line) for line in lines]
    start, end = int(mark["start"]), int(mark["end"] or mark["start"])
    if end - start + 1 != len(lines):
        return [(passage.source, line) for line in lines]
    return [(f"{mark['path']}:{start + i}-{start + i}", line) for i, line in enumerate(lines)]


def clipped(line: str, question_terms: Sequence[str], terms_of: Any) -> str:
    """A long line reduced to its neighbouring sentences that share most with the question."""
    if len(line) <= _LONGEST_QUOTE:
        return line
    pieces = sentences(line)
    wanted = set(question_terms)
    best = max(range(len(pieces)), key=lambda i: len(wanted & set(terms_of(pieces[i]))))
    text = pieces[best][:_LONGEST_QUOTE]
    if best + 1 < len(pieces) and len(text) + len(pieces[best + 1]) < _LONGEST_QUOTE:
        text += " " + pieces[best + 1]
    return text
