"""Work on long conversations that leaves the event loop free: in a thread when it is much, in turns when it awaits."""

import asyncio
from collections.abc import Callable
from time import perf_counter
from typing import TypeVar

# Seconds for which work that goes on in the event loop may hold it.
LONGEST_HOLD = 0.01
# Messages over which reading all of them takes longer than that; a thread costs about as much as reading fifty.
MANY = 500

Result = TypeVar("Result")


async def aside(size: int, function: Callable[..., Result], *args: object) -> Result:
    """Call a function that only reads what it is given: in a thread when ``size`` messages are many, else here."""
    return await asyncio.to_thread(function, *args) if size > MANY else function(*args)


class Pace:
    """Lets others have their turn in the event loop when work has held it for long."""

    def __init__(self) -> None:
        self._began = perf_counter()

    async def turn(self) -> bool:
        """Give others a turn when it is due; say whether it was."""
        if perf_counter() - self._began <= LONGEST_HOLD:
            return False
        await asyncio.sleep(0)
        self._began = perf_counter()
        return True
