"""A short message to the user when a conversation was folded, for agents that are to say it. Off by default."""

from typing import TYPE_CHECKING, Any

from ..models import Compacted, CompactionOutcome

if TYPE_CHECKING:
    from ..config import ReMeConfig
    from ..memory.in_memory import ReMeInMemoryMemory

_TEXTS = {
    "en": "(memory: {moved} earlier messages were condensed, {before} -> {after} tokens; in full in `{path}`)",
    "zh": "（记忆：较早的 {moved} 条消息已压缩，{before} -> {after} tokens；全文在 `{path}`）",
}


async def announce(
    agent: Any, outcome: CompactionOutcome | None, config: "ReMeConfig", memory: "ReMeInMemoryMemory"
) -> None:
    """Have the agent print one message about a compaction; it becomes no part of the conversation."""
    if not config.announce_compaction or not isinstance(outcome, Compacted) or not outcome.moved:
        return
    from agentscope.message import Msg

    language = config.language if config.language in _TEXTS else memory.summary_note.language
    text = _TEXTS["zh" if language == "zh" else "en"].format(
        moved=outcome.moved, before=outcome.tokens_before, after=outcome.tokens_after, path=outcome.journal_path
    )
    await agent.print(Msg(agent.name, text, "assistant"), True)
