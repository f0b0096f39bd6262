"""When a failing summariser is asked again: with growing gaps, after several failures in a row only after a pause."""

from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic


@dataclass
class Breaker:
    """Counts steps and failures of one memory. ``clock`` gives seconds and is a parameter for tests."""

    clock: Callable[[], float] = monotonic
    failures: int = 0
    step: int = 0
    _retry_step: int = 0
    _retry_time: float = field(default=float("-inf"))

    def next_step(self) -> None:
        """Count one more reasoning step."""
        self.step += 1

    def allows(self) -> bool:
        """Say whether the model may be asked now."""
        return self.failures == 0 or self.step >= self._retry_step or self.clock() >= self._retry_time

    def failed(self, *, limit: int, steps: int, seconds: float) -> None:
        """Note a failure: the next try comes 1, then 2 steps later; from ``limit`` on after the pause."""
        self.failures += 1
        opened = self.failures >= limit
        self._retry_step = self.step + (steps if opened else self.failures)
        self._retry_time = self.clock() + seconds if opened else float("inf")

    def succeeded(self) -> None:
        """Note a success."""
        self.failures = 0
