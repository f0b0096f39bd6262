"""Facts that an agent keeps on its own: a note of the day for each session, written by the agent and marked as such."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..vault.daily import update_card
from ..vault.edits import append_text
from ..vault.files import finish
from ..vault.frontmatter import ParsedNote
from ..vault.generated import inert
from ..vault.layout import DIALOG, session_file_name, today

if TYPE_CHECKING:
    from ..vault import Vault

_NAME_CHARS = 60


async def note_facts(vault: "Vault", session_id: str, facts: Sequence[str], *, reason: str = "") -> tuple[str, int]:
    """Add facts to the session's note of today; the note's path, and how many were not in it yet.

    The note is not the session's card: what an agent keeps is its own word (``trust: agent``), and must not stand among
    what the user said.
    """
    outcome: tuple[str, int] = await finish(_write, vault, session_id, list(facts), reason)
    return outcome


def _write(vault: "Vault", session_id: str, facts: list[str], reason: str) -> tuple[str, int]:
    now = vault.now().replace(microsecond=0)
    new = 0

    def update(present: ParsedNote | None) -> tuple[Mapping[str, Any], str]:
        nonlocal new
        body = present.body if present is not None else ""
        held = {line.removeprefix("- ").strip() for line in body.splitlines()}
        lines = list(dict.fromkeys(fact for fact in map(inert, facts) if fact not in held))
        new = len(lines)
        if not lines:
            return {}, body
        listed = "\n".join(f"- {line}" for line in lines)
        if present is not None:
            return {"updated": now}, append_text(body, listed)
        front = {
            "name": f"Noted: {lines[0][:_NAME_CHARS]}",
            "description": lines[0],
            "created": now,
            "updated": now,
            "generator": "agent",
            "trust": "agent",
            "session_id": _identity(session_id),
            "conversation": f"[[{DIALOG}/{session_file_name(session_id)}.jsonl]]",
        }
        return front, f"{listed}\n"

    change = update_card(
        vault, today(now), _identity(session_id), update, reason=f"kept by the agent: {reason}"[:200].rstrip(": ")
    )
    return change.path, new


def _identity(session_id: str) -> str:
    """What the note is found again by; no session has this id, since nothing else writes it."""
    return f"{session_id} (noted)"
