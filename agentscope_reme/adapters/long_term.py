"""ReMeLongTermMemory: the vault behind AgentScope's ``LongTermMemoryBase``, for agents that take one.

No ``from __future__ import annotations`` here: AgentScope builds the tools' schemas from live annotations.
"""

import asyncio
import logging
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from agentscope.memory import LongTermMemoryBase
from agentscope.message import Msg, TextBlock
from agentscope.tool import ToolResponse

from ..quoting import defused, search_text
from .noting import note_facts
from .recalling import question_of, recall_hits, recall_text

if TYPE_CHECKING:
    from ..reme import ReMe

logger = logging.getLogger(__name__)

MOST_RESULTS = 20
_MOST_KEYWORDS = 8


class ReMeLongTermMemory(LongTermMemoryBase):
    """Long-term memory over a vault: ``ReActAgent(..., long_term_memory=ReMeLongTermMemory(reme, session_id))``.

    Works in every ``long_term_memory_mode``: ``static_control`` looks up each message before the reply and records
    after it; ``agent_control`` gives the agent the tools ``record_to_memory`` and ``retrieve_from_memory``; ``both``
    does both. Nothing here raises: what fails is logged, and an agent is told in a sentence. With :meth:`ReMe.attach`
    the hooks of ``recall=True, record=True`` do the same and take recalled text out again; use one or the other.

    Args:
        reme: Whose vault it is.
        session_id: Names the conversation's journal; a new random one by default. It is part of the agent's state.
    """

    def __init__(self, reme: "ReMe", session_id: str | None = None) -> None:
        super().__init__()
        self._reme = reme
        self.session_id = session_id or uuid4().hex
        self.register_state("session_id")

    def __deepcopy__(self, memo: dict[int, Any]) -> "ReMeLongTermMemory":
        return type(self)(self._reme, self.session_id)

    @property
    def reme(self) -> "ReMe":
        """The memory that this belongs to."""
        return self._reme

    def load_state_dict(self, state_dict: dict[str, Any], strict: bool = True) -> None:
        """Take the session from a saved state; one without it leaves it as it is."""
        found = state_dict.get("session_id") if isinstance(state_dict, dict) else None
        if isinstance(found, str) and found:
            self.session_id = found

    # --- for the agent's own course -------------------------------------------------------------------------------

    async def record(self, msgs: "list[Msg | None]", **kwargs: Any) -> None:
        """Keep what is new in a conversation: journalled now, written into cards in the background.

        AgentScope gives the whole conversation each time. Messages are known by their ids; what was retrieved for the
        agent, hints and summaries are not taken for something that was said.
        """
        try:
            given = msgs if isinstance(msgs, (list, tuple)) else [msgs]
            await self._reme.recorder.record(self.session_id, [one for one in given if isinstance(one, Msg)])
        except asyncio.CancelledError:
            raise
        except Exception:
            logger.exception("A turn could not be recorded; it is tried again after the next one.")

    async def retrieve(self, msg: "Msg | list[Msg] | None", limit: int = 5, **kwargs: Any) -> str:
        """Return what the vault holds about a message, quoted with its sources; "" when nothing is relevant."""
        try:
            given = msg if isinstance(msg, (list, tuple)) else [msg]
            config = self._reme.config
            return await recall_text(
                self._reme,
                question_of([one for one in given if isinstance(one, Msg)]),
                limit=_as_limit(limit),
                tokens=min(config.recall_tokens, config.max_input_length // 8),
                timeout=config.recall_timeout,
            )
        except asyncio.CancelledError:
            raise
        except Exception:
            logger.exception("Nothing could be retrieved; the reply goes on without it.")
            return ""

    # --- tools ----------------------------------------------------------------------------------------------------

    async def record_to_memory(self, thinking: str, content: list[str], **kwargs: Any) -> ToolResponse:
        """Keep facts in long-term memory, for later conversations.

        Use it for what will still matter then: preferences, decisions with their reasons, names, dates, results. Write
        each fact as one sentence that can be understood without this conversation: who, what, when, why.

        Args:
            thinking (str): Why these facts are worth keeping.
            content (list[str]): The facts, one sentence each.
        """
        try:
            facts = _as_texts(content)
            if not facts:
                return _said("Error: content must be a list of sentences; nothing was kept.")
            path, new = await note_facts(self._reme.vault, self.session_id, facts, reason=str(thinking or ""))
            known = len(facts) - new
            told = f"Kept {new} {'fact' if new == 1 else 'facts'} in {path}." if new else f"Nothing new: {path} has it."
            return _said(f"{told} {known} of them stood there already." if new and known > 0 else told)
        except asyncio.CancelledError:
            raise
        except Exception as error:
            logger.exception("What the agent wanted to keep could not be written.")
            return _said(f"Error: {defused(str(error)) or type(error).__name__}. Nothing was kept.")

    async def retrieve_from_memory(self, keywords: list[str], limit: int = 5, **kwargs: Any) -> ToolResponse:
        """Look something up in long-term memory: notes, cards, and what earlier conversations said.

        Use it before you answer anything about earlier work, decisions, dates, people or preferences. Results are
        quoted with their source as path:lines.

        Args:
            keywords (list[str]): What to look for; each is looked up by itself, a name, a thing or a question.
            limit (int): How many passages to return for each, 1 to 20.
        """
        from ..models import SearchResult

        try:
            asked = _as_texts(keywords)[:_MOST_KEYWORDS]
            if not asked:
                return _said("Error: keywords must be a list of words to look for.")
            tokens = max(200, min(2_000, self._reme.config.max_input_length // 6)) // len(asked)
            found: dict[str, Any] = {}
            for keyword in asked:
                for hit in await recall_hits(
                    self._reme, keyword, limit=_as_limit(limit), tokens=tokens, timeout=None, min_evidence=0.0
                ):
                    found.setdefault(hit.source, hit)
            hits = tuple(sorted(found.values(), key=lambda hit: -hit.score))
            return _said(search_text(SearchResult("ok" if hits else "none", hits)))
        except asyncio.CancelledError:
            raise
        except Exception as error:
            logger.exception("Long-term memory could not be searched.")
            return _said(f"Error: {defused(str(error)) or type(error).__name__}.")


def _said(text: str) -> ToolResponse:
    return ToolResponse(content=[TextBlock(type="text", text=text)])


def _as_texts(value: Any) -> list[str]:
    """A list of texts, whatever a model sent for it."""
    listed = value if isinstance(value, (list, tuple)) else [value]
    texts = (" ".join(one.split()) for one in listed if isinstance(one, str))
    return [text for text in texts if text]


def _as_limit(value: Any) -> int:
    try:
        return max(1, min(MOST_RESULTS, int(value)))
    except (TypeError, ValueError, OverflowError):
        return 5
