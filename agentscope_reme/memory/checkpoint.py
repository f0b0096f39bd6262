"""The checkpoint: what stands for the folded part of a conversation. Its sections, its checks, its identifiers.

Pure functions on text. A checkpoint has six sections in a fixed order; a text a model wrote becomes one, or a reason
why it does not.
"""

import re
from collections.abc import Awaitable, Callable, Iterable
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
}  # fmt: skip
_HEADING = re.compile(r"^\s{0,3}(?:#{1,4}\s+(.+?)\s*#*|\*\*(.+?)\*\*:?)\s*$")
_FENCED = re.compile(r"\A\s*```[a-zA-Z]*\n(.*)\n```\s*\Z", re.DOTALL)
_THINK = re.compile(r"<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL | re.IGNORECASE)

# What must survive a summary word for word: URLs, mail addresses, paths, identifiers with digits or underscores,
# numbers of three digits and more (dates and versions among them), quoted error lines.
_IDENTIFIER = re.compile(
    r"https?://[^\s<>\"'`，。；、）)\]]+"
    r"|[\w.+-]+@[\w-]+\.[\w.-]*\w"
    r"|(?:[A-Za-z]:\\|~?/|\.{1,2}/)?(?:[\w.@+-]+[/\\])+[\w.@+-]+"
    r"|\b[A-Za-z_][\w]*_[\w]+\b"
    r"|\b(?=[A-Za-z-]*\d)[A-Za-z][\w]*(?:-[\w]+)*\b"
    r"|\b\d+(?:[.,:/-]\d+)+\b"
    r"|\d{3,}",
    re.ASCII,
)
_ERROR_LINE = re.compile(r"^.*\b(?:\w*Error|\w*Exception|ERROR|FATAL|Traceback)\b.*$", re.MULTILINE)


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
        match = _HEADING.match(line)
        name = _ALIASES.get((match.group(1) or match.group(2)).strip(" :：*").casefold()) if match else None
        if name:
            current = found.setdefault(name, [])
        elif current is not None:
            current.append(line)
    return {name: "\n".join(found[name]).strip("\n") for name in SECTIONS if name in found}


def render_sections(sections: dict[str, str]) -> str:
    """Return a checkpoint with all six sections, empty ones marked."""
    return "\n\n".join(f"## {name}\n{sections.get(name, '').strip() or NONE}" for name in SECTIONS)


def identifiers(texts: Iterable[str]) -> list[str]:
    """Return paths, URLs, addresses, ids, numbers of three digits and more, and error lines, each once, in order."""
    seen: dict[str, None] = {}
    for text in texts:
        for match in _ERROR_LINE.finditer(text):
            seen.setdefault(match.group(0).strip()[:300])
        for match in _IDENTIFIER.finditer(text):
            seen.setdefault(match.group(0).rstrip(".,:;-/"))
    return [name for name in seen if len(name) >= 3]


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
    text = without_envelope(_THINK.sub("", text))
    fenced = _FENCED.match(text)
    sections = parse_sections(fenced.group(1) if fenced else text)
    if not text.strip():
        return Rejected("empty")
    if any(name not in sections for name in REQUIRED) or not any(body.strip() for body in sections.values()):
        return Rejected("no_sections")
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


def with_identifiers(sections: dict[str, str], names: Iterable[str]) -> str:
    """Return the checkpoint with ``names`` listed at the end of Critical Context."""
    body = sections.get("Critical Context", "").strip()
    body = "" if body == NONE else body
    lines = "\n".join(f"- {name}" for name in names)
    return render_sections({**sections, "Critical Context": f"{body}\n{lines}".strip()})
