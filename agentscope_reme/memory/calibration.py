"""How far a provider's own count of requests is from ours, and the correction that follows, within bounds."""

import math
from dataclasses import dataclass
from typing import Any

# Requests smaller than this say more about what a provider adds around them than about its tokenizer.
LEAST_TOKENS = 100
# A ratio outside is about something else: a cached prefix that a provider does not report, media, another request.
PLAUSIBLE = (0.6, 2.5)
# Providers that report less than they were sent (a part of it cached) must not let the window overflow.
BOUNDS = (0.8, 2.0)
# What is known of the requests before weighs this much beside each new one.
MEMORY = 0.8
# A correction that moves by less changes nothing, so that prompts and totals do not flicker.
STEP = 0.02


@dataclass
class _Account:
    """Tokens by our count and by the provider's, of one model's requests, older ones fading."""

    counted: float = 0.0
    reported: float = 0.0


class Calibration:
    """The correction of a :class:`~agentscope_reme.memory.tokens.TokenBudget`, learned from reported usage.

    ``factor`` is 1.0 until something was learned. With several models the largest counts: there is one count, and it
    must not be too small for any of them.
    """

    def __init__(self) -> None:
        self.factor = 1.0
        self._accounts: dict[str, _Account] = {}

    def learn(self, model: str, counted: int, reported: Any) -> bool:
        """Enter one request; return whether it was used.

        Args:
            model: Whose request it was.
            counted: Its tokens by the counter, uncorrected.
            reported: The provider's ``input_tokens``, whatever it is.
        """
        if isinstance(reported, bool) or not isinstance(reported, (int, float)) or not math.isfinite(reported):
            return False
        if counted < LEAST_TOKENS or not PLAUSIBLE[0] <= reported / counted <= PLAUSIBLE[1]:
            return False
        account = self._accounts.setdefault(model, _Account())
        account.counted = account.counted * MEMORY + counted
        account.reported = account.reported * MEMORY + reported
        self._update()
        return True

    def _update(self) -> None:
        ratios = [account.reported / account.counted for account in self._accounts.values()]
        factor = round(min(BOUNDS[1], max(BOUNDS[0], *ratios)), 3)
        if abs(factor - self.factor) >= STEP:
            self.factor = factor
