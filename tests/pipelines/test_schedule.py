"""Once a day at its time, also after downtime, and by one process only."""

import asyncio
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from agentscope_reme import ReMe
from agentscope_reme.errors import ConfigError
from agentscope_reme.models import Response
from agentscope_reme.pipelines.schedule import SCHEDULE, Daily
from agentscope_reme.vault import Vault
from tests.support.scripted_model import ScriptedModel

ZONE = ZoneInfo("Europe/Berlin")


@pytest.fixture
def clock() -> list[datetime]:
    """The time, which a test may set."""
    return [datetime(2026, 3, 27, 12, 0, tzinfo=ZONE)]


@pytest.fixture
def runs() -> list[datetime]:
    """When it was run."""
    return []


def daily(vault_dir: Path, clock: list[datetime], runs: list[datetime], *, success: bool = True) -> Daily:
    async def run() -> Response:
        runs.append(clock[0])
        return Response(success, "no")

    vault = Vault(vault_dir, timezone="Europe/Berlin", clock=lambda: clock[0])
    return Daily(vault, "auto_dream", "02:30", run)


async def test_it_runs_once_a_day_from_the_next_time_on(
    vault_dir: Path, clock: list[datetime], runs: list[datetime]
) -> None:
    nightly = daily(vault_dir, clock, runs)
    end = clock[0] + timedelta(days=4)
    while clock[0] < end:
        assert await nightly.once()
        clock[0] += timedelta(minutes=10)
    assert [f"{run:%d %H:%M}" for run in runs] == ["28 02:30", "29 02:30", "30 02:30", "31 02:30"]


async def test_a_time_that_a_day_does_not_have_is_the_next_one_it_has(
    vault_dir: Path, clock: list[datetime], runs: list[datetime]
) -> None:
    # On March 29 the clock goes from 2:00 to 3:00.
    nightly = daily(vault_dir, clock, runs)
    clock[0] = datetime(2026, 3, 28, 23, 55, tzinfo=UTC)
    for _ in range(12):
        await nightly.once()
        clock[0] += timedelta(minutes=10)
    assert [f"{run.astimezone(ZONE):%d %H:%M}" for run in runs] == ["29 03:05"]


async def test_what_was_missed_is_made_up_for_once_by_the_next_process(
    vault_dir: Path, clock: list[datetime], runs: list[datetime]
) -> None:
    await daily(vault_dir, clock, runs).once()
    clock[0] += timedelta(days=5, hours=3)
    for _ in range(3):
        await daily(vault_dir, clock, runs).once()
    assert len(runs) == 1


async def test_a_failed_run_is_still_due(vault_dir: Path, clock: list[datetime], runs: list[datetime]) -> None:
    await daily(vault_dir, clock, runs).once()
    clock[0] += timedelta(days=1)
    assert not await daily(vault_dir, clock, runs, success=False).once()
    assert await daily(vault_dir, clock, runs).once()
    assert len(runs) == 2


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"auto_dream": 5}', b'{"auto_dream": "soon"}'])
async def test_a_damaged_note_of_it_begins_anew(
    vault_dir: Path, clock: list[datetime], runs: list[datetime], damage: bytes
) -> None:
    (vault_dir / "history").mkdir(parents=True)
    (vault_dir / SCHEDULE).write_bytes(damage)
    assert await daily(vault_dir, clock, runs).once()
    clock[0] += timedelta(days=1)
    assert await daily(vault_dir, clock, runs).once()
    assert len(runs) == 1


def test_the_day_that_is_due(vault_dir: Path, clock: list[datetime]) -> None:
    nightly = daily(vault_dir, clock, [])
    assert nightly.due_day(datetime(2026, 3, 1, 2, 29, tzinfo=ZONE)) == date(2026, 2, 28)
    assert nightly.due_day(datetime(2026, 3, 1, 2, 30, tzinfo=ZONE)) == date(2026, 3, 1)


async def test_a_started_reme_dreams_when_it_is_due_and_stops_with_it(
    vault_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dreamt = asyncio.Event()

    async def dream(self: ReMe) -> Response:
        dreamt.set()
        return Response(True)

    monkeypatch.setattr(ReMe, "auto_dream", dream)
    (vault_dir / "history").mkdir(parents=True)
    (vault_dir / SCHEDULE).write_text('{"auto_dream": "2020-01-01"}')
    async with ReMe(vault_dir, chat_model=ScriptedModel(), dream_at="00:00"):
        await asyncio.wait_for(dreamt.wait(), 10)
    assert not [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]


async def test_without_a_model_a_night_is_not_begun_and_it_says_so(
    vault_dir: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with ReMe(vault_dir, dream_at="03:00"):
        assert "no chat model" in caplog.text
    assert not vault_dir.exists()


@pytest.mark.parametrize("wrong", ["3:00", "24:00", "03:60", "noon", "0 3 * * *", ""])
def test_what_is_no_time_of_day_is_refused(wrong: str) -> None:
    with pytest.raises(ConfigError, match=r"dream_at: .*give HH:MM such as 03:00"):
        ReMe(dream_at=wrong)
