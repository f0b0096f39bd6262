"""Once a day at a given time, also when the time was slept through: what the nightly dream runs on.

What was done is kept in ``history/schedule.json``, as the day whose time it was for, so that no process does it twice
and the next one catches up. No cron expressions: for those, call the operation from the system's own scheduler.
"""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from datetime import date, datetime, time, timedelta
from typing import TYPE_CHECKING

from ..models import Response
from ..vault.files import finish
from ..vault.jsonable import dumps
from ..vault.layout import HISTORY

if TYPE_CHECKING:
    from ..vault import Vault

logger = logging.getLogger(__name__)

SCHEDULE = f"{HISTORY}/schedule.json"
LOOK_SECONDS = 30.0
"""Between two looks at the clock: computers sleep, and clocks are set."""

RETRY = timedelta(hours=1)
"""After a run that failed."""


class Daily:
    """Runs something once a day.

    Args:
        vault: Whose clock and zone count, and where it is noted.
        name: Under which name it is noted.
        at: The time of day, ``HH:MM``, in the vault's zone.
        run: What is done. It is done for the day when its response has success.
    """

    def __init__(self, vault: "Vault", name: str, at: str, run: Callable[[], Awaitable[Response]]) -> None:
        self._vault = vault
        self._name = name
        self._at = time.fromisoformat(at)
        self._run = run

    async def forever(self) -> None:
        """Do it whenever it is due, until cancelled. Failures are logged, and tried again after RETRY."""
        not_before: datetime | None = None
        while True:
            now = self._vault.now()
            if not_before is None or now >= not_before or not_before - now > RETRY:
                not_before = None if await self.once() else now + RETRY
            await asyncio.sleep(LOOK_SECONDS)

    async def once(self) -> bool:
        """Do it if it is due; False when it was and failed."""
        day = self.due_day(self._vault.now())
        try:
            done = await asyncio.to_thread(self._done)
            if done is None:
                # Nobody has begun to count: the first time is the next one.
                await finish(self._note, day)
            elif done < day:
                logger.info("%s: the run of %s is due.", self._name, day)
                response = await self._run()
                if not response.success:
                    logger.warning("%s: the run of %s failed: %s", self._name, day, response.answer)
                    return False
                await finish(self._note, day)
        except Exception as error:
            logger.warning("%s: the run of %s failed: %r", self._name, day, error)
            return False
        return True

    def due_day(self, now: datetime) -> date:
        """The latest day whose time has come."""
        day = now.date()
        return day if now.time() >= self._at else day - timedelta(days=1)

    def _done(self) -> date | None:
        """The latest day it was done for; a day ahead of today is that of a clock that went wrong."""
        noted = self._read().get(self._name)
        try:
            day = date.fromisoformat(noted) if isinstance(noted, str) else None
        except ValueError:
            return None
        return None if day is not None and day > self._vault.now().date() else day

    def _note(self, day: date) -> None:
        storage = self._vault.storage
        with storage.lock():
            storage.replace(SCHEDULE, (dumps({**self._read(), self._name: day.isoformat()}) + "\n").encode())

    def _read(self) -> dict[str, object]:
        try:
            read = json.loads(self._vault.storage.read_if_any(SCHEDULE) or b"{}")
        except ValueError:
            return {}
        return read if isinstance(read, dict) else {}
