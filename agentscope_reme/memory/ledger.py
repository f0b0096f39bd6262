"""The running account of a memory's content: ids, token costs, open calls, results not yet aged.

Everything a reasoning step asks is kept up to date as messages come, so that a step costs what is new and not what is
old. Costs belong to message objects; when the content is changed from outside, the account is made again from it,
keeping every cost it can.
"""

import math
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .blocks import blocks_of, calls_of, is_said_by_user, output_blocks, results_of, shown
from .pacing import Pace
from .tokens import TokenBudget
from .window import follow

if TYPE_CHECKING:
    from agentscope.message import Msg

Entry = tuple["Msg", list[str]]


class Ledger:
    """The account of one content list."""

    def __init__(self, factor: float = 1.0, counter: int = 0) -> None:
        self.ids: Counter[str] = Counter()
        self.marks: Counter[str] = Counter()
        self.total = 0
        self.sound = True
        # The id of the newest message that begins a reply or ends one: a user's, or an agent's that calls nothing.
        self.turn = ""
        # Messages with tool results that are still bounded as recent, oldest first, with the arguments of their calls.
        self.fresh_results: deque[tuple[Msg, Mapping[str, Any]]] = deque()
        self._open: set[Any] = set()
        # By id: the messages whose call of it waits for a result, and where results stand that came without a call.
        self._unanswered: dict[Any, list[tuple[int, Msg]]] = {}
        self._orphans: dict[Any, list[int]] = {}
        self._last_turn: Msg | None = None
        self._inputs: dict[str, Any] = {}
        # By object: weight, tokens by the counter, and the message itself, so that its address stays its own.
        self._costs: dict[int, tuple[int, int, Msg]] = {}
        self._uncounted: list[Msg] = []
        # What the counter's answers are multiplied by, and which counter it was.
        self._factor, self._counter = factor, counter
        self._count = 0
        self._last: Msg | None = None
        self._next_look = 0

    def follows(self, content: Sequence[Entry]) -> bool:
        """Say whether the content is the one this account is about, by length and last message."""
        return len(content) == self._count and (not content or content[-1][0] is self._last)

    @property
    def waits(self) -> bool:
        """Whether the last call of a sound history has no result yet."""
        return bool(self._open)

    def append(self, message: "Msg", marks: Sequence[str]) -> None:
        """Enter one more message."""
        self._count += 1
        self._last = message
        self.ids[message.id] += 1
        self.marks.update(marks)
        calls = list(calls_of(message))
        if is_said_by_user(message, tuple(marks)) or (message.role == "assistant" and not calls):
            self.turn = message.id
        self._uncounted.append(message)
        self.sound = self.sound and follow(self._open, message)
        for call in calls:
            self._inputs[str(call.get("id"))] = call.get("input")
        self._pair(message)
        results = [str(result.get("id")) for result in results_of(message)]
        if results:
            self.fresh_results.append((message, {name: self._inputs.pop(name, None) for name in results}))

    def _pair(self, message: "Msg") -> None:
        """Follow calls and results as :func:`~agentscope_reme.memory.window.repaired` pairs them."""
        only_results = True
        for block in [] if isinstance(message.content, str) else blocks_of(message):
            name, kind = block.get("id"), block.get("type")
            if kind == "tool_result":
                waiting = self._unanswered.get(name)
                if waiting:
                    waiting.pop()
                    if not waiting:
                        del self._unanswered[name]
                else:
                    self._orphans.setdefault(name, []).append(self._count)
                continue
            only_results = False
            if kind == "tool_use":
                waiting = self._unanswered.setdefault(name, [])
                if not waiting or waiting[-1][1] is not message:
                    waiting.append((self._count, message))
        if not only_results or isinstance(message.content, str) or not blocks_of(message):
            self._last_turn = message

    def unanswered(self, *, over: bool) -> "list[tuple[Msg, list[dict[str, Any]]]]":
        """Return the calls that a repair closes, by the message that holds them; ``over`` is that of the repair."""
        found: dict[int, tuple[int, Msg, set[Any]]] = {}
        for name, waiting in self._unanswered.items():
            orphans = list(self._orphans.get(name, ()))
            for place, message in waiting:
                before = [orphan for orphan in orphans if orphan < place]
                if before:
                    orphans.remove(before[-1])
                elif over or message is not self._last_turn:
                    found.setdefault(id(message), (place, message, set()))[2].add(name)
        ordered = sorted(found.values(), key=lambda one: one[0])
        return [
            (message, [call for call in calls_of(message) if call.get("id") in names]) for _, message, names in ordered
        ]

    def drop_last(self, content: list[Entry]) -> bool:
        """Take the last message off the content and out of the account, when it is no call and no result.

        False, and nothing is changed, when the account would have to be made again.
        """
        message, marks = content[-1]
        if not self.sound or any(True for _ in calls_of(message)) or any(True for _ in results_of(message)):
            return False
        content.pop()
        self._count -= 1
        self._last = content[-1][0] if content else None
        _forget(self.ids, message.id)
        for mark in marks:
            _forget(self.marks, mark)
        _, tokens, _ = self._costs.pop(id(message), (0, 0, message))
        self.total -= self._corrected(tokens)
        self._uncounted = [waiting for waiting in self._uncounted if waiting is not message]
        return True

    def rebuild(self, content: Sequence[Entry]) -> None:
        """Make the account again; costs of messages that are still there, or as equals, are kept."""
        known = self._costs
        equals: dict[str, tuple[int, int, Msg]] | None = None
        self.__init__(self._factor, self._counter)  # type: ignore[misc]
        for message, marks in content:
            self.append(message, marks)
        self._uncounted = []
        for message, _ in content:
            entry = known.get(id(message))
            if entry is None and known:  # a memory that makes its messages anew each time it is asked
                equals = {held[2].id: held for held in known.values()} if equals is None else equals
                held = equals.get(message.id)
                if held is not None and _same(held[2], message):
                    entry = (held[0], held[1], message)
            if entry is not None and entry[0] == weight(message):
                self._costs[id(message)] = entry
                self.total += self._corrected(entry[1])
            else:
                self._uncounted.append(message)

    async def settle(self, budget: TokenBudget) -> int:
        """Count what is new and return the tokens of all messages. Others get their turn while it is much."""
        self._follow(budget)
        pace = Pace()
        while self._uncounted:
            if await pace.turn():
                continue
            message = self._uncounted[-1]
            tokens = await budget.raw_message(message)
            # Others may have run meanwhile; only what is still waiting is entered.
            for i in range(len(self._uncounted) - 1, -1, -1):
                if self._uncounted[i] is message:
                    del self._uncounted[i]
                    self._enter(message, tokens)
                    break
        return self.total

    def _enter(self, message: "Msg", tokens: int) -> None:
        old = self._costs.get(id(message))
        self.total += self._corrected(tokens) - (self._corrected(old[1]) if old else 0)
        self._costs[id(message)] = (weight(message), tokens, message)

    def _corrected(self, tokens: int) -> int:
        return tokens if self._factor == 1.0 else math.ceil(tokens * self._factor)

    def _follow(self, budget: TokenBudget) -> None:
        """Take over a correction that was learned; count everything again when another counter has taken over."""
        if budget.generation != self._counter:
            self._counter = budget.generation
            waiting = {id(message) for message in self._uncounted}
            self._uncounted += [message for _, _, message in self._costs.values() if id(message) not in waiting]
        if budget.correction != self._factor:
            self._factor = budget.correction
            self.total = sum(self._corrected(tokens) for _, tokens, _ in self._costs.values())

    def cost(self, message: "Msg") -> int:
        """Return the tokens of a message that has been counted; 0 before."""
        entry = self._costs.get(id(message))
        if entry is None:
            return 0
        return entry[1] if self._factor == 1.0 else self._corrected(entry[1])

    def costs(self, entries: Sequence[Entry]) -> list[int]:
        """Return the tokens of each message; 0 for what has not been counted."""
        return [self.cost(message) for message, _ in entries]

    def changed(self, message: "Msg") -> None:
        """Note that a message's content was changed in place, so that it is counted again."""
        if not any(waiting is message for waiting in self._uncounted):
            self._uncounted.append(message)

    async def find_changes(self, content: Sequence[Entry], most: int | None = None) -> None:
        """Look for messages that were changed or replaced from outside, by the length of what they hold.

        With ``most``, only that many, others at every call, so that a call costs the same in a long conversation.
        """
        entries = list(content)
        if most is not None and len(entries) > most:
            first = self._next_look % len(entries)
            self._next_look = first + most
            entries = entries[first : first + most]
        pace, costs = Pace(), self._costs
        for number, (message, _) in enumerate(entries):
            if number % 20 == 0:
                await pace.turn()
            if self._costs is not costs:  # made again by someone else meanwhile, and compared in doing so
                return
            entry = costs.get(id(message))
            if entry is None and not any(waiting is message for waiting in self._uncounted):
                if any(one is message for one, _ in content):
                    self.rebuild(content)
                    return
                continue
            if entry is not None and entry[0] != weight(message):
                self.changed(message)


def _forget(counter: Counter[str], name: str) -> None:
    counter[name] -= 1
    if counter[name] <= 0:
        del counter[name]


def _same(one: "Msg", other: "Msg") -> bool:
    return one.content == other.content and one.name == other.name and one.role == other.role


def weight(message: "Msg") -> int:
    """Return the characters a message holds: a cheap sign that it was changed in place."""
    return sum([_block_weight(block) for block in blocks_of(message)])


def _block_weight(block: Mapping[str, Any]) -> int:
    kind = block.get("type")
    if kind == "tool_result":
        return 1 + sum([_block_weight(part) for part in output_blocks(block.get("output"))])
    if kind == "tool_use":
        arguments = block.get("input")
        return 1 + (sum([len(shown(value)) for value in arguments.values()]) if isinstance(arguments, dict) else 0)
    return 1 + len(shown(block.get("text") or block.get("thinking") or ""))
