"""How full the window is, and the conversation as text for people."""

from typing import TYPE_CHECKING, Any

from .transcript import rendered

if TYPE_CHECKING:
    from .in_memory import ReMeInMemoryMemory

PREVIEW_CHARS = 100


class TokenEstimate(dict[str, Any]):
    """Use of the window, in tokens; keys are attributes too.

    ``total_messages``; ``compressed_summary_tokens`` (in its envelope); ``messages_tokens``; ``fixed_tokens`` (system
    prompt and tool schemas at the last step, 0 before the first); ``estimated_tokens`` (all of these);
    ``max_input_length``; ``context_usage_ratio`` (percent); ``messages_detail`` (one dictionary a message).
    """

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


async def token_estimate(memory: "ReMeInMemoryMemory", max_input_length: int) -> TokenEstimate:
    """Count a memory."""
    messages = await memory.message_tokens()
    summary = await memory.summary_tokens()
    total = messages + summary + memory.fixed_tokens
    detail = [
        {
            "name": message.name,
            "role": message.role,
            "timestamp": message.timestamp,
            "marks": list(marks),
            "total_tokens": memory.ledger.cost(message),
            "preview": " ".join(rendered(message).split())[:PREVIEW_CHARS],
        }
        for message, marks in memory.content
    ]
    return TokenEstimate(
        total_messages=len(detail),
        compressed_summary_tokens=summary,
        messages_tokens=messages,
        fixed_tokens=memory.fixed_tokens,
        estimated_tokens=total,
        max_input_length=max_input_length,
        context_usage_ratio=100.0 * total / max_input_length if max_input_length > 0 else 0.0,
        messages_detail=detail,
    )


def history_text(estimate: TokenEstimate) -> str:
    """Render an estimate: a head with the totals, then one entry a message."""
    lines = [
        "**Conversation**",
        "",
        f"- messages: {estimate.total_messages}",
        f"- tokens: {estimate.estimated_tokens} of {estimate.max_input_length} ({estimate.context_usage_ratio:.1f} %)",
        f"- of these the checkpoint: {estimate.compressed_summary_tokens}",
    ]
    for number, one in enumerate(estimate.messages_detail, 1):
        marks = f" [{', '.join(one['marks'])}]" if one["marks"] else ""
        lines += [
            "",
            f"[{number}] **{one['name']}** ({one['role']}, {one['total_tokens']} tokens){marks}",
            one["preview"],
        ]
    return "\n".join(lines)
