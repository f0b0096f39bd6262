"""A checkpoint without a model: sentences of the conversation itself, sorted into the sections. Deterministic.

It is used when no chat model is configured, and when the window would overflow while the model's checkpoints fail. It
says in its first line that it is extractive, so that a model redoes it later. A day stands before the first line of a
section that was said on it; the lines below are of the same day.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import tee
from typing import TYPE_CHECKING

from .blocks import blocks_of, is_said_by_user, output_text, results_of, shown, text_of
from .checkpoint import EXTRACTIVE, NONE, SECTIONS, identifiers, parse_sections, render_sections
from .envelope import without_envelope
from .pacing import Pace
from .statements import is_decision, is_firm, is_passing, section_of, sentences_of, weight_of
from .transcript import shortened

if TYPE_CHECKING:
    from agentscope.message import Msg

LINE_CHARS = 240
# Names without a sentence, the newest first; no cap leaves room for more.
MOST_NAMES = 500
# Sentences of one message of the agent that may be facts.
MOST_OF_AGENT = 6
ROUNDS = 3
# A smaller part of the cap may stay unused.
LEAST_SPARE = 0.04
# Shares of the cap. What the sections leave over goes to the facts in Critical Context, then to the others in order.
_SHARES = {
    "Goal": 0.12,
    "Constraints": 0.16,
    "Key Decisions": 0.16,
    "Next Steps": 0.08,
    "Progress": 0.16,
    "Critical Context": 0.32,
}
_SPARE_FIRST = "Critical Context"
# Of these both ends are worth most: what was asked and ruled at the start holds until it is taken back, and so does
# what was ruled last. Of these facts the firm ones are; and of all others the newest.
_BOTH_ENDS = ("Goal", "Constraints")
_BY_WEIGHT = ("Key Decisions", "Critical Context")

_WORDS = {
    "en": {"go_on": "Go on from: ", "done": "Done: ", "blocked": "Blocked: "},
    "zh": {"go_on": "从这里继续：", "done": "已完成：", "blocked": "受阻："},
}
_DATED = re.compile(r"- \((\d{4}-\d\d-\d\d)\) (.*)", re.DOTALL)
_OF_AGENT = " (agent): "
_TROUBLE = re.compile(
    r"\b(error|exception|failed|failure|traceback|denied|timed? out)\b|失败|错误|异常|超时", re.IGNORECASE
)

# No trouble is without one of these.
_TROUBLE_WORDS = (
    "error", "exception", "fail", "traceback", "denied", "time out", "timed out", "失败", "错误", "异常", "超时",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a section, without the day on which it was said; where facts compete, how much it is worth."""

    text: str
    day: str = ""
    weight: int = 0


async def extractive_checkpoint(
    messages: Sequence["Msg"],
    previous: str,
    *,
    cap: int,
    count: Callable[[str], Awaitable[int]],
    language: str = "en",
) -> str:
    """Return a checkpoint of at most ``cap`` tokens made of the conversation's own sentences.

    Args:
        messages: What is folded, in order.
        previous: The checkpoint so far; its lines are kept while they fit.
        cap: Most tokens of the result.
        count: Counts tokens of a text.
        language: ``en`` or ``zh``, for the few words that are not the conversation's.
    """
    lines = await asyncio.to_thread(_sorted_lines, messages, previous, _WORDS[language if language == "zh" else "en"])
    count = _once(count)
    left = float(cap - await count(render_sections({})) - await count(EXTRACTIVE) - 8)
    chosen: dict[str, list[Line]] = {}
    spare = 0.0
    for name, share in _SHARES.items():
        if name == _SPARE_FIRST:  # the last of them
            asked = {line.text for line in chosen["Goal"]}
            lines[name] = [line for line in lines[name] if line.text not in asked]
        chosen[name], used = await _fitting(name, lines[name], left * share, count)
        spare += left * share - used
    for _ in range(ROUNDS):
        for name in (_SPARE_FIRST, *(name for name in _SHARES if name != _SPARE_FIRST)):
            if len(chosen[name]) < len(lines[name]):
                had = sum([await count(line.text) + 1 for line in chosen[name]])
                chosen[name], used = await _fitting(name, lines[name], had + spare, count)
                spare += had - used
        # The sum over lines is more than the whole; what that leaves is used as well.
        spare = float(cap - await count(_rendered(chosen)))
        if spare < cap * LEAST_SPARE:
            break
    text = _rendered(chosen)
    while await count(text) > cap:  # and with some counters, and with days, it is less
        longest = max(SECTIONS, key=lambda name: sum(len(line.text) for line in chosen[name]))
        if not chosen[longest]:
            break
        kept = chosen[longest]
        kept.pop(list(_by_worth(longest, kept))[-1])
        text = _rendered(chosen)
    return text


def _once(count: Callable[[str], Awaitable[int]]) -> Callable[[str], Awaitable[int]]:
    """Count each line once, and let others have their turn meanwhile."""
    known: dict[str, int] = {}
    pace = Pace()

    async def counted(text: str) -> int:
        if text not in known:
            known[text] = await count(text)
            await pace.turn()
        return known[text]

    return counted


def _rendered(chosen: Mapping[str, Sequence[Line]]) -> str:
    return f"{EXTRACTIVE}\n{render_sections({name: chr(10).join(_dated(lines)) for name, lines in chosen.items()})}"


def _dated(lines: Sequence[Line]) -> Iterator[str]:
    """The lines with their days, each day once."""
    day = ""
    for line in lines:
        if line.day and line.day != day:
            yield f"- ({line.day}) {line.text.removeprefix('- ')}"
        else:
            yield line.text
        day = line.day or day


def _sorted_lines(messages: Sequence["Msg"], previous: str, words: Mapping[str, str]) -> dict[str, list[Line]]:
    """The lines of the previous checkpoint and of the messages, by section, each once."""
    before = _lines_before(without_envelope(previous))
    found: dict[str, list[Line]] = {name: [] for name in SECTIONS}
    said = [message for message in messages if is_said_by_user(message)]
    own: dict[int, list[str]] = {id(message): [] for message in said}  # the lines made of each
    first, newest = (said[0], said[-1]) if said else (None, None)
    weights = _Weights()
    for message in messages:
        sentences: Iterable[str] = ()
        if message.role == "assistant":
            told, sentences = tee(sentences_of(text_of(message)))
            for name, line in _told_by_agent(message, told, weights):
                found[name].append(line)
        elif id(message) in own:
            asked = list(sentences_of(text_of(message)))
            if asked and (message is first or message is newest):
                found["Goal"].append(_line(_request(asked), message))
            for sentence in asked:
                section = section_of(sentence)
                if section:
                    found[section].append(_line(sentence, message, message.name))
                    own[id(message)].append(found[section][-1].text)
        found["Progress"] += [Line(text) for text in _progress(message, sentences, words)]
    last = list(sentences_of(text_of(newest))) if newest is not None else []
    if last:
        found["Next Steps"].append(Line(f"- {words['go_on']}{shortened(_request(last), LINE_CHARS)}"))
        # Where to go on is one place: the newest.
        before["Next Steps"] = [line for line in before.get("Next Steps", []) if not line.text.startswith(_GO_ON)]
    found["Critical Context"] = _bare_names(said, found, own) + found["Critical Context"]
    lines = {name: _unique([*before.get(name, []), *found[name]]) for name in SECTIONS}
    for name in _BY_WEIGHT:
        lines[name] = [Line(line.text, line.day, _weight(line.text, weights)) for line in lines[name]]
    return lines


class _Weights(dict[str, int]):
    """What :func:`~agentscope_reme.memory.statements.weight_of` says of sentences that are asked for more than once."""

    def __missing__(self, sentence: str) -> int:
        self[sentence] = weight_of(sentence)
        return self[sentence]


def _bare_names(
    said: Sequence["Msg"], found: Mapping[str, Sequence[Line]], own: Mapping[int, Sequence[str]]
) -> list[Line]:
    """Names that users said in sentences of which no line is made, in order; of too many the newest."""
    told = "\n".join(line.text for lines in found.values() for line in lines)
    days: dict[str, str] = {}
    shown: set[str] = set()
    for message in reversed(said):
        # Nearly every name stands in a line made of its own message; only the others are looked for in all of them.
        lines = "\n".join(own[id(message)])
        for name in identifiers([text_of(message)]):
            days.setdefault(name, _day(message))
            if name in lines:
                shown.add(name)
        if len(days) >= MOST_NAMES:
            break
    bare = [(name, day) for name, day in days.items() if name not in shown and name not in told]
    return [Line(f"- {shortened(name, LINE_CHARS)}", day) for name, day in reversed(bare)]


def _told_by_agent(message: "Msg", sentences: Iterable[str], weights: _Weights) -> Iterator[tuple[str, Line]]:
    """The few firm sentences of an agent's message: what it found out, and what it decided."""
    kept = 0
    for sentence in sentences:
        firm = not (decided := is_decision(sentence)) and is_firm(sentence, weights.__getitem__)
        section = "Key Decisions" if decided else "Critical Context" if firm else None
        if section and not is_passing(sentence):
            yield (
                section,
                Line(f"- {_one_line(message.name)}{_OF_AGENT}{shortened(sentence, LINE_CHARS)}", _day(message)),
            )
            kept += 1
        if kept >= MOST_OF_AGENT:
            return


def _request(sentences: Sequence[str]) -> str:
    """The sentence that says most of what is wanted: of the first three the longest, which a greeting is not."""
    return max(sentences[:3], key=len)


def _progress(message: "Msg", sentences: Iterable[str], words: Mapping[str, str]) -> Iterator[str]:
    """What was done and what went wrong in one message; ``sentences`` are those of an agent's."""
    for block in blocks_of(message):
        if block.get("type") == "tool_use":
            arguments = block.get("input")
            given = (
                ", ".join(f"{key}={shown(value)}" for key, value in arguments.items())
                if isinstance(arguments, dict)
                else ""
            )
            # On one line: an argument may hold headings, and they are not ours.
            yield f"- {words['done']}{block.get('name')}({shortened(_one_line(given), 120)})"
    for result in results_of(message):
        trouble = _trouble(output_text(result.get("output")))
        if trouble:
            yield f"- {words['blocked']}{result.get('name')}: {shortened(_one_line(trouble), LINE_CHARS)}"
    first = next((one for one in sentences if len(one) > 12 and not is_passing(one)), None)
    if first:
        yield f"- {words['done']}{message.name}: {shortened(first, 160)}"


def _trouble(output: str) -> str:
    """The first line that tells of an error, or ""."""
    lowered = output.lower()
    found = _TROUBLE.search(output) if any(map(lowered.__contains__, _TROUBLE_WORDS)) else None
    if found is None:
        return ""
    start = output.rfind("\n", 0, found.start()) + 1
    return output[start : (output + "\n").index("\n", found.end())]


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _day(message: "Msg") -> str:
    return str(message.timestamp or "")[:10]


def _line(sentence: str, message: "Msg", speaker: str = "") -> Line:
    who = f"{_one_line(speaker)}: " if speaker and speaker != "user" else ""
    return Line(f"- {who}{shortened(sentence, LINE_CHARS)}", _day(message))


def _lines_before(previous: str) -> dict[str, list[Line]]:
    """The lines of the checkpoint so far, by section; a text without our sections is context as a whole."""
    sections = parse_sections(previous)
    if not sections:
        return {"Critical Context": list(_old_lines(previous))}
    return {name: list(_old_lines(body)) for name, body in sections.items()}


def _old_lines(body: str) -> Iterator[Line]:
    """Lines as they are; one that is longer than any of ours, sentence by sentence."""
    day = ""
    for line in body.split("\n"):
        plain = line.strip()
        if not plain or plain in (NONE, EXTRACTIVE):
            continue
        if dated := _DATED.fullmatch(plain):
            day, line = dated[1], f"- {dated[2]}"
        if len(plain) <= 2 * LINE_CHARS:
            yield Line(line, day)
        else:
            for sentence in sentences_of(line.strip()):
                yield Line(f"- {shortened(sentence.removeprefix('- '), LINE_CHARS)}", day)


_GO_ON = tuple(f"- {words['go_on']}" for words in _WORDS.values())


def _unique(lines: Iterable[Line]) -> list[Line]:
    return list({line.text: line for line in reversed(list(lines))}.values())[::-1]


async def _fitting(
    name: str, lines: list[Line], budget: float, count: Callable[[str], Awaitable[int]]
) -> tuple[list[Line], float]:
    """Choose lines of a section within the budget, the worthiest first, and return them in their order."""
    chosen, used, refused = [], 0.0, 0
    for i in _by_worth(name, lines):
        cost = await count(lines[i].text) + 1
        if used + cost > budget:
            refused += 1
            if refused >= 8:  # a few shorter lines may still fit; the rest will not
                break
            continue
        chosen.append(i)
        used += cost
    return [lines[i] for i in sorted(chosen)], used


def _by_worth(name: str, lines: Sequence[Line]) -> Iterable[int]:
    newest = range(len(lines) - 1, -1, -1)
    if name in _BOTH_ENDS:
        return [i for pair in zip(range(len(lines)), newest, strict=True) for i in dict.fromkeys(pair)][: len(lines)]
    if name in _BY_WEIGHT:
        return sorted(newest, key=lambda i: -lines[i].weight)  # equal ones stay in order, the newest first
    return newest


def _weight(text: str, weights: _Weights) -> int:
    """What people said weighs more than what the agent did."""
    _, of_agent, told = text.partition(_OF_AGENT)
    return weights[told] - 1 if of_agent else weights[text.removeprefix("- ")]
