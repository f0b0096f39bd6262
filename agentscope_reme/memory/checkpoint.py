"""The checkpoint: what stands for the folded part of a conversation. Its sections, its checks, its identifiers.

Pure functions on text. A checkpoint has six sections in a fixed order; a text a model wrote becomes one, or a reason
why it does not.
"""

import re
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass

from .envelope import without_envelope

SECTIONS = ("Goal", "Constraints", "Progress", "Key Decisions", "Next Steps", "Critical Context")
# The last section is among them because a text that was cut off does not reach it.
REQUIRED = ("Goal", "Progress", "Next Steps", "Critical Context")
NONE = "(none)"
EXTRACTIVE = "<!-- extractive -->"

_ALIASES = {
    "goal": "Goal", "goals": "Goal", "目标": "Goal", "任务目标": "Goal",
    "constraints": "Constraints", "constraints & preferences": "Constraints",
    "constraints and preferences": "Constraints",
    "约束": "Constraints", "约束条件": "Constraints", "限制": "Constraints", "约束与偏好": "Constraints",
    "progress": "Progress", "进展": "Progress", "进度": "Progress",
    "key decisions": "Key Decisions", "decisions": "Key Decisions",
    "关键决策": "Key Decisions", "决策": "Key Decisions",
    "关键决定": "Key Decisions", "决定": "Key Decisions",
    "next steps": "Next Steps", "next step": "Next Steps", "下一步": "Next Steps", "后续步骤": "Next Steps",
    "critical context": "Critical Context", "context": "Critical Context", "关键上下文": "Critical Context",
    "关键背景": "Critical Context", "关键信息": "Critical Context",
    # The sections of AgentScope's own compression, which a session may bring along.
    "task overview": "Goal", "current state": "Progress",
    "important discoveries": "Critical Context", "context to preserve": "Critical Context",
}  # fmt: skip
_HEADING = re.compile(r"^\s{0,3}(?:#{1,4}\s+(.+?)\s*#*|\*\*(.+?)\*\*:?)\s*$")
_NUMBER = re.compile(r"^[(（]?(?:\d{1,2}|[一二三四五六])[)）.、:]\s*")
_FENCED = re.compile(r"\A\s*```[a-zA-Z]*\n(.*)\n```\s*\Z", re.DOTALL)
_THINK_TAG = re.compile(r"<(/?)think(?:ing)?>", re.IGNORECASE)

# What must survive a summary word for word: URLs, mail addresses, paths, identifiers with digits or underscores,
# numbers of three digits and more (dates and versions among them), quoted error lines. Each alternative begins only
# where its run of characters begins and takes the run at once: a pasted blob of any size is read in linear time.
_IDENTIFIER = re.compile(
    r"https?://[^\s<>\"'`，。；、）)\]]+"
    r"|(?<![\w.+-])[\w.+-]++@[\w-]+\.[\w.-]*\w"
    r"|(?<![\w.@+/\\~-])(?:[A-Za-z]:\\|~?/|\.{1,2}/)?(?:[\w.@+-]++[/\\])++[\w.@+-]*"
    r"|\b[vV]\d+(?:\.\d+)+(?:-[\w.]*\w)?"
    r"|\b[A-Za-z_][\w]*_[\w]+\b"
    r"|(?<![\w-])(?=[A-Za-z-]{1,40}\d)[A-Za-z][\w]*(?:-[\w]+)*\b"
    r"|\b\d+(?:[.,:/-]\d+)+\b"
    r"|\d{3,}",
    re.ASCII,
)
# The parts between blanks that may hold one: each alternative needs one of these characters, and none has a blank.
_PART = re.compile(r"(?<!\S)[^\s@/\\_0-9]*+[@/\\_0-9]\S*+", re.ASCII)
_ERROR_WORD = re.compile(r"\b\w{0,60}(?:Error|Exception)\b|\b(?:ERROR|FATAL|Traceback)\b")
_ERROR_WORDS = ("Error", "Exception", "ERROR", "FATAL", "Traceback")
# A longer run of characters is data, not a name.
LONGEST_IDENTIFIER = 300


@dataclass(frozen=True)
class Accepted:
    """A text that became a checkpoint."""

    text: str


@dataclass(frozen=True)
class Rejected:
    """A text that did not; ``reason`` is one of ``empty``, ``no_sections``, ``oversized``, ``not_shorter``."""

    reason: str


def parse_sections(text: str) -> dict[str, str]:
    """Return the known sections of a text, in order of :data:`SECTIONS`; text before the first heading is dropped."""
    found: dict[str, list[str]] = {}
    current: list[str] | None = None
    for line in text.split("\n"):
        name = _section_name(line)
        if name:
            current = found.setdefault(name, [])
        elif current is not None:
            current.append(line)
    return {name: "\n".join(found[name]).strip("\n") for name in SECTIONS if name in found}


def _section_name(line: str) -> str | None:
    match = _HEADING.match(line) if len(line) <= 120 else None
    if match is None:
        return None
    title = (match.group(1) or match.group(2)).strip(" :：*")
    return _ALIASES.get(_NUMBER.sub("", title).casefold())


def without_thinking(text: str) -> str:
    """Return a text without what a model thought in it, also where one of the two tags is missing."""
    kept: list[str] = []
    start, inside = 0, False
    for tag in _THINK_TAG.finditer(text):
        if tag.group(1):
            # Some endpoints leave out the opening tag: all before the closing one was thought.
            kept = kept if inside else []
            start, inside = tag.end(), False
        elif not inside:
            kept.append(text[start : tag.start()])
            inside = True
    return "".join([*kept, "" if inside else text[start:]])


def render_sections(sections: dict[str, str]) -> str:
    """Return a checkpoint with all six sections, empty ones marked."""
    return "\n\n".join(f"## {name}\n{sections.get(name, '').strip() or NONE}" for name in SECTIONS)


def identifiers(texts: Iterable[str], most: int | None = None) -> list[str]:
    """Return paths, URLs, addresses, ids, numbers of three digits and more, and error lines, each once, in order.

    With ``most``, reading ends when there are so many.
    """
    seen: dict[str, None] = {}
    for text in texts:
        if most is not None and len(seen) >= most:
            break
        if any(map(text.__contains__, _ERROR_WORDS)):
            for line in text.split("\n"):
                if _ERROR_WORD.search(line, 0, LONGEST_IDENTIFIER):
                    seen.setdefault(line.strip()[:LONGEST_IDENTIFIER])
        for name in _names_in(text):
            seen.setdefault(name)
    return [name for name in seen if len(name) >= 3]


def _names_in(text: str) -> Iterator[str]:
    for part in _PART.findall(text):
        for match in _IDENTIFIER.finditer(part):
            if len(match.group(0)) <= LONGEST_IDENTIFIER:
                yield match.group(0).rstrip(".,:;-/")


def has_identifier(text: str) -> bool:
    """Say whether :func:`identifiers` would find a name in a text."""
    return any(len(name) >= 3 for name in _names_in(text))


async def accept(
    text: str,
    *,
    must_keep: Iterable[str],
    replaced_tokens: int,
    cap: int,
    count: Callable[[str], Awaitable[int]],
) -> Accepted | Rejected:
    """Check a summary and complete it.

    Args:
        text: What the model wrote.
        must_keep: Identifiers; those missing are appended under Critical Context while the cap allows.
        replaced_tokens: Tokens of the messages and the old checkpoint it stands for; it has to be shorter.
        cap: Most tokens a checkpoint may have.
        count: Counts tokens of a text.
    """
    plain = without_envelope(without_thinking(text))
    if not plain.strip():
        return Rejected("empty")
    sections = _sections_of(plain)
    if not _complete(sections) and "<think" not in text.casefold():
        sections = _sections_of(without_envelope(text))  # a closing tag that is only talked about
    if not _complete(sections):
        return Rejected("no_sections")
    if all(is_empty(body) for body in sections.values()):
        return Rejected("empty")
    checkpoint = render_sections(sections)
    size = await count(checkpoint)
    if size > cap:
        return Rejected("oversized")
    if size >= replaced_tokens:
        return Rejected("not_shorter")
    room = min(cap, replaced_tokens - 1)
    missing = [name for name in must_keep if name not in checkpoint]
    while missing:
        extended = with_identifiers(sections, missing)
        if await count(extended) <= room:
            return Accepted(extended)
        missing = missing[: len(missing) * 2 // 3]
    return Accepted(checkpoint)


def _sections_of(text: str) -> dict[str, str]:
    fenced = _FENCED.match(text)
    return parse_sections(fenced.group(1) if fenced else text)


def _complete(sections: dict[str, str]) -> bool:
    return all(name in sections for name in REQUIRED)


def is_empty(body: str) -> bool:
    """Say whether the body of a section says nothing."""
    return body.strip(" \n.。-*()（）").casefold() in ("", "none", "n/a", "无", "暂无")


def with_identifiers(sections: dict[str, str], names: Iterable[str]) -> str:
    """Return the checkpoint with ``names`` listed at the end of Critical Context."""
    body = sections.get("Critical Context", "").strip()
    body = "" if body == NONE else body
    lines = "\n".join(f"- {name}" for name in names)
    return render_sections({**sections, "Critical Context": f"{body}\n{lines}".strip()})
