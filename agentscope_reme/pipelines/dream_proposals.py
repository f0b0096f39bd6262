"""What a dream proposes for MEMORY.md, where its user has asked for proposals: a few lines between markers.

MEMORY.md is its user's. Text outside the markers stays byte for byte, nothing between them is given to an agent as core
memory, and each statement is proposed once: a line that is taken out or moved out does not come back.
"""

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ..errors import NoteError
from ..index.recalled import statement_digest
from ..models import NoteChange
from ..vault.encoding import Kind, decode_exact, encode_exact, kind_of
from ..vault.generated import generated_part, inert, with_generated_part
from ..vault.layout import MEMORY_FILE
from .dream_claims import overlap
from .dream_decisions import SAME_WORDS, Step
from .dream_digest import read_part
from .facts import kind_of as kind_of_statement
from .naming import shortened

if TYPE_CHECKING:
    from ..vault import Vault

PART = "proposed"
MOST_SEEN = 400
LINE_CHARS = 240
_SEEN = "<!-- reme:seen "
_SOURCE_DAY = re.compile(r"\[\[daily/(\d{4}-\d\d-\d\d)/")
_LINE = re.compile(r"^- (.+?) \(\[\[digest/", re.MULTILINE)
_HEAD = {
    "en": (
        "## Proposed\n\nFound by a dream. Move a line out of the markers to keep it, or delete it; "
        "it is not proposed again."
    ),
    "zh": "## 建议\n\n由 auto_dream 找到。把要保留的行移到标记之外，或者删除它；不会再次建议。",
}


def write_proposals(vault: "Vault", steps: Sequence[Step], most: int, run_id: str) -> NoteChange | None:
    """Add what a run found to the proposals, up to ``most`` lines standing; None when there is nothing to add.

    Proposed is what a user said of themselves on two days or more, or asked to have remembered, and what MEMORY.md does
    not say. NoteError when that file is not UTF-8.
    """
    found = list(_worth(vault, steps)) if most > 0 else []
    if not found:
        return None

    def new_bytes(old: bytes | None, kind: Kind | None) -> bytes:
        if kind is not None and not kind.exact:
            raise NoteError(f"{MEMORY_FILE} is not UTF-8 text; nothing was proposed", MEMORY_FILE)
        text = decode_exact(old) if old is not None else ""
        return encode_exact(_with_lines(text, found, most))

    old = vault.storage.read_if_any(MEMORY_FILE)
    if new_bytes(old, None if old is None else kind_of(old)) == (old or b""):
        return None
    return vault.change(MEMORY_FILE, new_bytes, actor="pipeline", reason=f"dream {run_id}: proposals", group=run_id)


def _worth(vault: "Vault", steps: Iterable[Step]) -> Iterable[tuple[str, str, str]]:
    """Statement, link and language of what the steps wrote and that is worth proposing."""
    for step in steps:
        unit = step.unit
        if step.action in ("none", "cite", "earlier") or unit.category != "personal" or unit.trust != "user":
            continue
        try:
            part = read_part(decode_exact(vault.read_bytes(step.path)))
        except NoteError:
            continue
        held = part.find(unit.id) or part.find(step.target)
        if held is None or not held.current:
            continue
        days = set(_SOURCE_DAY.findall("\n".join(part.lines[held.start : held.stop])))
        asked = any(kind_of_statement(one.text) == "remember" for one in unit.evidence)
        if len(days) > 1 or asked:
            yield " ".join(held.text.split()), f"[[{step.path}#^{held.id}]]", unit.language


def _with_lines(text: str, found: Sequence[tuple[str, str, str]], most: int) -> str:
    part = generated_part(text, PART) or ""
    standing = [line for line in part.split("\n") if line.strip() and not line.startswith(_SEEN)]
    seen = [digest for line in part.split("\n") if line.startswith(_SEEN) for digest in line[len(_SEEN) :].split()]
    seen = [digest for digest in seen if digest != "-->"]
    lines = [line for line in text.split("\n") if line.strip()]
    room = most - len(_LINE.findall(part))
    new: list[str] = []
    for statement, link, _ in found:
        known = statement_digest(statement) in seen or any(
            overlap(statement, line) >= SAME_WORDS for line in [*lines, *new]
        )
        if room <= 0 or known:
            continue
        new.append(f"- {shortened(inert(statement), LINE_CHARS)} ({link})")
        seen.append(statement_digest(statement))
        room -= 1
    if not new:
        return text
    shown = standing or _HEAD[found[0][2]].split("\n")
    body = "\n".join([*shown, *([] if standing else [""]), *new, "", f"{_SEEN}{' '.join(seen[-MOST_SEEN:])} -->"])
    return with_generated_part(text, PART, body, raw=True)
