"""A checkpoint without a model: sentences of the conversation itself, sorted into the sections. Deterministic.

It is used when no chat model is configured, and when the window would overflow while the model's checkpoints fail. It
says in its first line that it is extractive, so that a model redoes it later.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from .blocks import calls_of, is_said_by_user, output_text, results_of, text_of
from .checkpoint import EXTRACTIVE, NONE, SECTIONS, identifiers, parse_sections, render_sections
from .envelope import without_envelope
from .pacing import Pace
from .transcript import shortened

if TYPE_CHECKING:
    from agentscope.message import Msg

LINE_CHARS = 240
# Names without a sentence, the newest first; no cap leaves room for more.
MOST_NAMES = 500
ROUNDS = 3
# A smaller part of the cap may stay unused.
LEAST_SPARE = 0.04
# Shares of the cap. What the sections leave over goes to the facts in Critical Context, then to the others in order.
_SHARES = {
    "Goal": 0.12,
    "Constraints": 0.16,
    "Key Decisions": 0.16,
    "Next Steps": 0.08,
    "Progress": 0.22,
    "Critical Context": 0.26,
}
_SPARE_FIRST = "Critical Context"
# Of these both ends are worth most: what was asked and ruled at the start holds until it is taken back, and so does
# what was ruled last. Of the others the newest lines are.
_BOTH_ENDS = ("Goal", "Constraints")

_WORDS = {
    "en": {"go_on": "Go on from: ", "done": "Done: ", "blocked": "Blocked: "},
    "zh": {"go_on": "从这里继续：", "done": "已完成：", "blocked": "受阻："},
}

_SENTENCE = re.compile(r"[^\n。！？!?；;.]*(?:\.(?=\S)[^\n。！？!?；;.]*)*(?:[。！？!?；;.]+|\n|$)")
_RULE = re.compile(
    r"(?:^|[:,;]\s*|\b(?:please|you|we|and|but|then|so|must|should)\s+)(?:never|always|don'?t|do not)\b"
    r"|\bmust(?: not)?\s+(?!have\b|be\b)|\bonly use\b|\brules?\b|\bprefer(?:s|red|ence|ences)?\b|\bmake sure\b"
    r"|\bplease (?:use|answer|keep|write|call|stop)\b|^remember\b|\bremember (?:to|that)\b"
    r"|不要|必须|务必|总是|一律|规则|禁止|不得|不能|偏好|更喜欢|请用|请记住|记住|记得|约定",
    re.IGNORECASE,
)
_DECISION = re.compile(
    r"\b(decid\w+|let'?s (?:go|use|take)|we(?:'ll| will) (?:go|use|take)|go(?:ing)? with|chose|choose|instead of"
    r"|agreed|settled)\b"
    r"|决定|就用|改用|改成|选择|选了|定了|确定|敲定|同意|改为",
    re.IGNORECASE,
)
_FACT = re.compile(r"\d|[A-Z][a-z]+\s+[A-Z][a-z]+|\bmy\b|\bis called\b|我的|叫|名字|地址|电话|生日", re.UNICODE)
_TROUBLE = re.compile(
    r"\b(error|exception|failed|failure|traceback|denied|timed? out)\b|失败|错误|异常|超时", re.IGNORECASE
)


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
    chosen: dict[str, list[str]] = {}
    spare = 0.0
    for name, share in _SHARES.items():
        chosen[name], used = await _fitting(name, lines[name], left * share, count)
        spare += left * share - used
    for _ in range(ROUNDS):
        for name in (_SPARE_FIRST, *(name for name in _SHARES if name != _SPARE_FIRST)):
            if len(chosen[name]) < len(lines[name]):
                had = sum([await count(line) + 1 for line in chosen[name]])
                chosen[name], used = await _fitting(name, lines[name], had + spare, count)
                spare += had - used
        # The sum over lines is more than the whole; what that leaves is used as well.
        spare = float(cap - await count(_rendered(chosen)))
        if spare < cap * LEAST_SPARE:
            break
    text = _rendered(chosen)
    while await count(text) > cap:  # and with some counters it is less
        longest = max(SECTIONS, key=lambda name: sum(map(len, chosen[name])))
        if not chosen[longest]:
            break
        chosen[longest].pop(len(chosen[longest]) // 2 if longest in _BOTH_ENDS else 0)
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


def _rendered(chosen: Mapping[str, Sequence[str]]) -> str:
    return f"{EXTRACTIVE}\n{render_sections({name: chr(10).join(lines) for name, lines in chosen.items()})}"


def _sorted_lines(messages: Sequence["Msg"], previous: str, words: Mapping[str, str]) -> dict[str, list[str]]:
    """The lines of the previous checkpoint and of the messages, by section, each once."""
    before = _lines_before(without_envelope(previous))
    found: dict[str, list[str]] = {name: [] for name in SECTIONS}
    said = [message for message in messages if is_said_by_user(message)]
    for position, message in enumerate(said):
        day = str(message.timestamp or "")[:10]
        sentences = list(sentences_of(text_of(message)))
        if sentences and (position == 0 or position == len(said) - 1):
            found["Goal"].append(_line(_request(sentences), day))
        for sentence in sentences:
            name = _section_of(sentence)
            if name:
                found[name].append(_line(sentence, day, message.name))
    last = list(sentences_of(text_of(said[-1]))) if said else []
    if last:
        found["Next Steps"].append(_line(f"{words['go_on']}{_request(last)}", ""))
        # Where to go on is one place: the newest.
        before["Next Steps"] = [line for line in before.get("Next Steps", []) if not line.startswith(_GO_ON)]
    found["Progress"] = list(_progress(messages, words))
    told = "\n".join(line for found_lines in found.values() for line in found_lines)
    names = identifiers(text_of(message) for message in reversed(said))[:MOST_NAMES]
    bare = [f"- {shortened(name, LINE_CHARS)}" for name in reversed(names) if name not in told]
    found["Critical Context"] = bare + found["Critical Context"]
    return {name: _unique([*before.get(name, []), *found[name]]) for name in SECTIONS}


def _request(sentences: Sequence[str]) -> str:
    """The sentence that says most of what is wanted: of the first three the longest, which a greeting is not."""
    return max(sentences[:3], key=len)


def sentences_of(text: str) -> Iterator[str]:
    """Yield the sentences of a text, Chinese and English, without the empty ones."""
    for match in _SENTENCE.finditer(text):
        sentence = " ".join(match.group(0).split())
        if len(sentence) > 1:
            yield sentence


def _section_of(sentence: str) -> str | None:
    if _RULE.search(sentence):
        return "Constraints"
    if _DECISION.search(sentence):
        return "Key Decisions"
    if _FACT.search(sentence) and not sentence.endswith(("?", "？")):
        return "Critical Context"
    return None


def _progress(messages: Sequence["Msg"], words: Mapping[str, str]) -> Iterator[str]:
    for message in messages:
        for call in calls_of(message):
            arguments = call.get("input")
            shown = (
                ", ".join(f"{key}={value}" for key, value in arguments.items()) if isinstance(arguments, dict) else ""
            )
            # On one line: an argument may hold headings, and they are not ours.
            yield f"- {words['done']}{call.get('name')}({shortened(' '.join(shown.split()), 120)})"
        for result in results_of(message):
            trouble = _trouble(output_text(result.get("output")))
            if trouble:
                yield f"- {words['blocked']}{result.get('name')}: {shortened(' '.join(trouble.split()), LINE_CHARS)}"
        if message.role == "assistant":
            first = next(sentences_of(text_of(message)), None)
            if first and len(first) > 12:
                yield f"- {words['done']}{message.name}: {shortened(first, 160)}"


def _trouble(output: str) -> str:
    """The first line that tells of an error, or ""."""
    found = _TROUBLE.search(output)
    if found is None:
        return ""
    start = output.rfind("\n", 0, found.start()) + 1
    return output[start : (output + "\n").index("\n", found.end())]


def _line(sentence: str, day: str, speaker: str = "") -> str:
    lead = f"({day}) " if day else ""
    who = f"{' '.join(speaker.split())}: " if speaker and speaker != "user" else ""
    return f"- {lead}{who}{shortened(sentence, LINE_CHARS)}"


def _lines_before(previous: str) -> dict[str, list[str]]:
    """The lines of the checkpoint so far, by section; a text without our sections is context as a whole."""
    sections = parse_sections(previous)
    if not sections:
        return {"Critical Context": list(_old_lines(previous))}
    return {name: list(_old_lines(body)) for name, body in sections.items()}


def _old_lines(body: str) -> Iterator[str]:
    """Lines as they are; one that is longer than any of ours, sentence by sentence."""
    for line in body.split("\n"):
        plain = line.strip()
        if not plain or plain in (NONE, EXTRACTIVE):
            continue
        if len(plain) <= 2 * LINE_CHARS:
            yield line
        else:
            yield from (_line(sentence.removeprefix("- "), "") for sentence in sentences_of(plain))


_GO_ON = tuple(f"- {words['go_on']}" for words in _WORDS.values())


def _unique(lines: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(lines))


async def _fitting(
    name: str, lines: list[str], budget: float, count: Callable[[str], Awaitable[int]]
) -> tuple[list[str], float]:
    """Choose lines of a section within the budget, the worthiest first, and return them in their order."""
    chosen, used, refused = [], 0.0, 0
    for i in _by_worth(len(lines), both_ends=name in _BOTH_ENDS):
        cost = await count(lines[i]) + 1
        if used + cost > budget:
            refused += 1
            if refused >= 8:  # a few shorter lines may still fit; the rest will not
                break
            continue
        chosen.append(i)
        used += cost
    return [lines[i] for i in sorted(chosen)], used


def _by_worth(count: int, *, both_ends: bool) -> Iterator[int]:
    newest = range(count - 1, -1, -1)
    if not both_ends:
        yield from newest
        return
    for i in range((count + 1) // 2):
        yield i
        if count - 1 - i > i:
            yield count - 1 - i
