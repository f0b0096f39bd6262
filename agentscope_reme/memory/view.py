"""What a memory shows of its content: messages by mark, histories that arrived broken repaired for the model."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .blocks import calls_of
from .ledger import Entry, Ledger
from .pacing import Pace
from .tokens import TokenBudget
from .window import closed, repaired

if TYPE_CHECKING:
    from agentscope.message import Msg


class View:
    """The messages of one content list as they are shown. The repaired whole is made once until the content changes."""

    def __init__(self) -> None:
        self._shown: tuple[Sequence[Entry], int, bool, list[Msg]] | None = None
        # The newest message when the last reasoning step began: no call up to it is running any more.
        self._begun: Msg | None = None
        # Tokens of messages that a repair added, by id, as one counter counts them.
        self._costs: dict[tuple[Any, ...], int] = {}

    def forget(self) -> None:
        """Make the repaired whole again the next time, after messages were changed in place."""
        self._shown = None

    def begin(self, content: Sequence[Entry]) -> None:
        """Note that a reasoning step begins with this content: a call without a result will not get one."""
        newest = content[-1][0] if content else None
        if newest is not self._begun:
            self._begun = newest
            self.forget()

    def visible(
        self,
        content: list[Entry],
        ledger: Ledger,
        mark: str | None,
        hidden: "set[str | None]",
        *,
        over: bool = False,
    ) -> "list[Msg]":
        """Return the messages of ``content``.

        Args:
            content: Messages and their marks.
            ledger: The account of this content.
            mark: Only messages with this mark, as they are stored; None for all, repaired.
            hidden: Messages with one of these marks are left out.
            over: No call is running any more for who asks, also none that has come since the last step began.
        """
        over = over or self._is_over(content)
        if mark is None and not any(ledger.marks.get(one) for one in hidden if one):
            if ledger.sound and not (ledger.waits and over):
                return [message for message, _ in content]
            known = self._shown
            if known is None or known[0] is not content or known[1:3] != (len(content), over):
                shown = repaired([message for message, _ in content], over=over)
                known = self._shown = (content, len(content), over, shown)
            return list(known[3])
        chosen = [
            message
            for message, marks in content
            if (mark is None or mark in marks) and not any(one in marks for one in hidden)
        ]
        return chosen if mark is not None else repaired(chosen, over=over)

    async def added(self, content: list[Entry], ledger: Ledger, budget: TokenBudget) -> int:
        """Return the tokens of what a repair adds to the messages: the results of calls that nobody answered."""
        over = self._is_over(content)
        if ledger.sound and not (ledger.waits and over):
            return 0
        costs: dict[tuple[Any, ...], int] = {}
        pace = Pace()
        for message, calls in ledger.unanswered(over=over):
            await pace.turn()
            key = message.id, len(calls), budget.generation
            costs[key] = self._costs[key] if key in self._costs else await budget.raw_message(closed(message, calls))
        self._costs = costs
        return sum(map(budget.corrected, costs.values()))

    def _is_over(self, content: Sequence[Entry]) -> bool:
        """Whether the last call was there when the last step began."""
        for message, _ in reversed(content):
            if message is self._begun:
                return True
            if any(calls_of(message)):
                return False
        return False
