"""Where to cut a conversation, and how a broken history is shown to a model. Pure functions on messages (P3).

Nothing here changes a message: what is kept is passed through object for object, what a repair adds is new.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .blocks import (
    HINT,
    PINNED,
    RECALL,
    blocks_of,
    calls_of,
    has_content,
    has_results,
    is_injected,
    is_said_by_user,
    results_of,
)

if TYPE_CHECKING:
    from agentscope.message import Msg

# Messages in which people say one thing: a picture, a file, the question about them.
MOST_UNSEEN = 4
INTERRUPTED = "The tool call was interrupted; it has no result."

Entry = tuple["Msg", list[str]]


@dataclass(frozen=True)
class Cut:
    """How a conversation divides. All are indexes into it, ascending.

    ``fold`` leaves the context; ``keep`` stays, in order; ``pinned`` (a part of ``keep``) are the messages that opened
    the current turn; ``inside_turn`` says that a part of that turn itself is folded.
    """

    fold: list[int] = field(default_factory=list)
    keep: list[int] = field(default_factory=list)
    pinned: list[int] = field(default_factory=list)
    inside_turn: bool = False


def turn_opening(entries: Sequence[Entry]) -> list[int]:
    """Return the indexes of the messages that opened the current user turn: the last unbroken run of user messages."""
    last = next((i for i in range(len(entries) - 1, -1, -1) if is_said_by_user(*entries[i])), None)
    if last is None:
        return []
    run = [last]
    for i in range(last - 1, -1, -1):
        message, marks = entries[i]
        if is_said_by_user(message, marks):
            run.append(i)
        elif message.role == "assistant" or has_results(message):
            break
    return run[::-1]


def asked_by_others(entries: Sequence[Entry], own: str) -> list[int]:
    """Return the index of the newest message that another agent said after the user's last one, as a list.

    In a pipeline or a hub that is what the agent of this name is to answer. Without a name nobody is another.
    """
    for i in range(len(entries) - 1 if own else -1, -1, -1):
        message, marks = entries[i]
        if is_said_by_user(message, marks):
            break
        is_of_other = message.role == "assistant" and message.name != own and not is_injected(message, marks)
        if is_of_other and has_content(message) and not has_results(message) and not any(calls_of(message)):
            return [i]
    return []


def pairs(messages: Sequence["Msg"]) -> list[tuple[int, int]]:
    """Return ``(index of the call, index of its result)`` for every call that has one later, by the results' order."""
    waiting: dict[Any, list[int]] = defaultdict(list)
    found = []
    for i, message in enumerate(messages):
        if isinstance(message.content, str):
            continue
        for block in blocks_of(message):
            if block.get("type") == "tool_use":
                waiting[block.get("id")].append(i)
            elif block.get("type") == "tool_result" and waiting.get(block.get("id")):
                # Ids come back in long sessions; a result belongs to the latest call that waits for it.
                found.append((waiting[block.get("id")].pop(), i))
    return found


def legal_cuts(messages: Sequence["Msg"]) -> list[int]:
    """Return every index at which a tail may start without separating a call from its result, ascending."""
    crossings = [0] * (len(messages) + 2)
    for call, result in pairs(messages):
        if call < result:  # a start in call+1 .. result would part them
            crossings[call + 1] += 1
            crossings[result + 1] -= 1
    legal, open_pairs = [], 0
    for i in range(len(messages) + 1):
        open_pairs += crossings[i]
        if open_pairs == 0:
            legal.append(i)
    return legal


def cut(
    entries: Sequence[Entry],
    costs: Sequence[int],
    reserve: int,
    own: str = "",
    running: Collection[str] = (),
    unseen: int = 0,
) -> Cut:
    """Divide a conversation into what is folded and what stays.

    Kept are: the messages that opened the current user turn with what was recalled for them, what another agent asked
    since, system messages, messages marked ``hint`` or ``pinned``, calls that are still running (each with the call or
    result that belongs to them), and the longest contiguous tail of at most ``reserve`` tokens that parts no call from
    its result, starting at a turn boundary when one fits. At least the last complete group is kept, whatever its size.

    Args:
        entries: ``(message, marks)`` in order.
        costs: Tokens of each message.
        reserve: Tokens for the tail.
        own: The name of the agent whose step it is; others' messages are known by theirs.
        running: Ids of calls whose results are still to come.
        unseen: Tokens for the last few messages that opened the turn, as long as the agent has not answered them.
    """
    messages = [message for message, _ in entries]
    count = len(messages)
    if not count:
        return Cut()
    start = _tail_start(entries, costs, reserve)
    opening = turn_opening(entries)
    pinned, most = _affordable(opening, costs, reserve), reserve
    if 0 < len(pinned) < MOST_UNSEEN and not _is_answered(opening, entries, own):
        most = max(reserve, unseen)
        pinned = _affordable(opening[-MOST_UNSEEN:], costs, most)
    recalled = _recalled_for(pinned, entries, costs, most)
    pinned += asked_by_others(entries, own)
    standing = _with_partners({i for i in range(start) if _stays(*entries[i]) or _runs(messages[i], running)}, messages)
    kept = standing.union(pinned, recalled, range(start, count))
    fold = [i for i in range(count) if i not in kept]
    inside = bool(pinned) and any(i > pinned[-1] for i in fold)
    return Cut(fold, sorted(kept), pinned, inside)


def bare_cut(entries: Sequence[Entry], *, standing: bool, own: str = "", running: Collection[str] = ()) -> Cut:
    """Divide a conversation so that as little as possible stays: the request of the current turn and hints.

    The last resort, where not even the last group of calls and results can be made to fit. ``standing`` keeps standing
    instructions (system messages) and running calls as well.
    """
    pinned = turn_opening(entries)[-1:] + asked_by_others(entries, own)
    kept = {
        i
        for i, (message, marks) in enumerate(entries)
        if HINT in marks or (standing and (_stays(message, marks) or _runs(message, running)))
    }
    kept = _with_partners(kept, [message for message, _ in entries])
    fold = [i for i in range(len(entries)) if i not in kept and i not in pinned]
    return Cut(fold, sorted(kept.union(pinned)), pinned, bool(pinned) and any(i > pinned[-1] for i in fold))


def _with_partners(kept: set[int], messages: Sequence["Msg"]) -> set[int]:
    """Add to kept messages those that hold their calls or results."""
    if not any(any(calls_of(messages[i])) or has_results(messages[i]) for i in kept):
        return kept
    partners = pairs(messages)
    grown = set(kept)
    while True:
        more = {i for pair in partners if not grown.isdisjoint(pair) for i in pair} - grown
        if not more:
            return grown
        grown |= more


def _tail_start(entries: Sequence[Entry], costs: Sequence[int], reserve: int) -> int:
    messages = [message for message, _ in entries]
    count = len(messages)
    legal = legal_cuts(messages)
    total, fits = 0, count
    for i in range(count - 1, -1, -1):
        total += costs[i]
        if total > reserve:
            break
        fits = i
    # The latest legal start that leaves something a model would see, beside hints: the floor under "something recent is
    # kept".
    last = next(
        (
            i
            for i in range(count - 1, -1, -1)
            if HINT not in entries[i][1] and (has_content(entries[i][0]) or has_results(entries[i][0]))
        ),
        count - 1,
    )
    floor = legal[bisect_right(legal, last) - 1]
    if fits > floor:
        return floor
    boundaries = [i for i in legal if fits <= i <= floor and i < count and is_said_by_user(*entries[i])]
    if boundaries:
        return boundaries[0]
    return next(i for i in legal if i >= fits)


def _is_answered(opening: list[int], entries: Sequence[Entry], own: str) -> bool:
    """Whether the agent has said or called anything since the messages that opened the turn."""
    since = entries[opening[-1] + 1 :] if opening else ()
    return any(
        has_results(message) or (message.role == "assistant" and (message.name == own or not own))
        for message, _ in since
    )


def _affordable(opening: list[int], costs: Sequence[int], reserve: int) -> list[int]:
    """The last message of the opening, and those before it while they fit."""
    kept, left = opening[-1:], reserve - (costs[opening[-1]] if opening else 0)
    for i in opening[-2::-1]:
        left -= costs[i]
        if left < 0:
            break
        kept.insert(0, i)
    return kept


def _recalled_for(opening: list[int], entries: Sequence[Entry], costs: Sequence[int], reserve: int) -> list[int]:
    """What was recalled for the current turn: it stands right before its opening. Empty where it does not fit."""
    found: list[int] = []
    i = opening[0] - 1 if opening else -1
    while i >= 0 and RECALL in entries[i][1]:
        found.append(i)
        i -= 1
    return found if sum(costs[i] for i in [*opening, *found]) <= reserve else []


def _stays(message: "Msg", marks: list[str]) -> bool:
    """Standing instructions, hints and what is marked ``pinned`` are not folded; recalled text goes with the fold."""
    if HINT in marks or PINNED in marks:
        return True
    return message.role == "system" and RECALL not in marks and not has_results(message)


def _runs(message: "Msg", running: Collection[str]) -> bool:
    return bool(running) and any(str(call.get("id")) in running for call in calls_of(message))


# --- A broken history, shown whole ----------------------------------------------------------------------------------


def follow(waiting: set[Any], message: "Msg") -> bool:
    """Read one more message of a sound history; ``waiting`` holds the ids of open calls. Return whether it is sound."""
    results = [block.get("id") for block in results_of(message)]
    calls = [block.get("id") for block in calls_of(message)]
    if message.role == "assistant" and not has_content(message):
        return False
    if results:
        if calls or len(set(results)) < len(results) or not waiting.issuperset(results):
            return False
        waiting.difference_update(results)
    elif waiting or len(set(calls)) < len(calls):
        return False
    waiting.update(calls)
    return True


def is_sound(messages: Sequence["Msg"]) -> bool:
    """Say whether a provider accepts the order of calls and results as it is, a last running call aside."""
    waiting: set[Any] = set()
    return all(follow(waiting, message) for message in messages)


def repaired(messages: Sequence["Msg"], *, over: bool = False) -> list["Msg"]:
    """Return a history every provider accepts, made of the same objects wherever they can stay.

    Each call is followed by its results, in the order the results came; results without a call are left out, as are
    empty assistant turns; a call that was never answered is closed as interrupted, unless it is still running (nothing
    but results comes after it). Applying it twice changes nothing.

    Args:
        messages: The history.
        over: No call is running any more, not even the last one.
    """
    if not over and is_sound(messages):
        return list(messages)
    owner = _owners(messages)
    last_turn = max((i for i, m in enumerate(messages) if any(calls_of(m)) or not _only_results(m)), default=-1)
    shown: list[Msg] = []
    for i, message in enumerate(messages):
        calls = {block.get("id"): block for block in calls_of(message)}
        if not has_content(message) and message.role == "assistant":
            continue
        if not calls:
            rest = message if not has_results(message) else _without_results(message)
            if rest is message or blocks_of(rest):
                shown.append(rest)
            continue
        shown.append(_without_results(message))
        answered: set[Any] = set()
        for where, ids in owner.get(i, {}).items():
            answered |= ids
            shown.append(_only(messages[where], ids))
        unanswered = [block for name, block in calls.items() if name not in answered]
        if unanswered and (over or i != last_turn):
            shown.append(closed(message, unanswered))
    return shown


def _only_results(message: "Msg") -> bool:
    blocks = blocks_of(message)
    return bool(blocks) and all(block.get("type") == "tool_result" for block in blocks)


def _owners(messages: Sequence["Msg"]) -> dict[int, dict[int, set[Any]]]:
    """Map a call's message to the messages that hold its results, and the ids answered there; each result once."""
    waiting: dict[Any, list[int]] = defaultdict(list)
    orphans: dict[Any, list[int]] = defaultdict(list)
    owner: dict[int, dict[int, set[Any]]] = defaultdict(dict)
    for i, message in enumerate(messages):
        for block in blocks_of(message):
            name = block.get("id")
            if block.get("type") == "tool_use" and i not in waiting[name]:
                waiting[name].append(i)
            elif block.get("type") == "tool_result":
                if waiting[name]:
                    owner[waiting[name].pop()].setdefault(i, set()).add(name)
                else:
                    orphans[name].append(i)
    # A result that was stored before its call, when nothing later answers that call.
    for name, calls in waiting.items():
        for call in calls:
            before = [i for i in orphans[name] if i < call]
            if before:
                orphans[name].remove(before[-1])
                owner[call].setdefault(before[-1], set()).add(name)
    return {call: dict(sorted(where.items())) for call, where in owner.items()}


def _only(message: "Msg", ids: set[Any]) -> "Msg":
    """The message itself when it holds just these results, each once; else a copy that does."""
    kept, seen = [], set()
    for block in results_of(message):
        if block.get("id") in ids and block.get("id") not in seen:
            seen.add(block.get("id"))
            kept.append(block)
    return message if len(kept) == len(blocks_of(message)) else _with_content(message, kept)


def _without_results(message: "Msg") -> "Msg":
    """The message itself when it has no results and no call twice; else a copy without them."""
    blocks = blocks_of(message)
    seen: set[Any] = set()
    kept = []
    for block in blocks:
        if block.get("type") == "tool_result" or (block.get("type") == "tool_use" and block.get("id") in seen):
            continue
        if block.get("type") == "tool_use":
            seen.add(block.get("id"))
        kept.append(block)
    return message if len(kept) == len(blocks) else _with_content(message, kept)


def _with_content(message: "Msg", content: list[dict[str, Any]]) -> "Msg":
    shown = copy(message)
    shown.content = content
    return shown


def closed(message: "Msg", calls: list[dict[str, Any]]) -> "Msg":
    """One message that answers calls nobody answered; its id and time follow from the call's."""
    from agentscope.message import Msg

    results = [
        {"type": "tool_result", "id": call.get("id"), "name": str(call.get("name") or ""), "output": INTERRUPTED}
        for call in {call.get("id"): call for call in calls}.values()
    ]
    closing = Msg("system", results, "system", timestamp=message.timestamp)
    closing.id = f"{message.id}-interrupted"
    return closing
