"""The worker does what is pending, one task at a time, in whichever loop there is, and never holds its caller."""

import asyncio
import threading
import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from agentscope_reme.errors import NoteError
from agentscope_reme.models import Response
from agentscope_reme.pipelines.queue import ATTEMPTS, Queue
from agentscope_reme.pipelines.worker import PROMPT_SECONDS, Worker
from agentscope_reme.vault import Vault


@pytest.fixture
def clock() -> list[datetime]:
    """The time, which a test may set."""
    return [datetime(2026, 4, 1, 2, 0, tzinfo=UTC)]


@pytest.fixture
def queue(vault_dir: Path, clock: list[datetime]) -> Queue:
    return Queue(Vault(vault_dir, clock=lambda: clock[0]))


class Hands:
    """A handler that keeps what it did; ``outcomes`` come first, then success."""

    def __init__(self, *outcomes: Any) -> None:
        self.outcomes = list(outcomes)
        self.done: list[Any] = []

    async def __call__(self, payload: Mapping[str, Any]) -> Response:
        await asyncio.sleep(0)
        outcome = self.outcomes.pop(0) if self.outcomes else None
        if isinstance(outcome, BaseException):
            raise outcome
        if isinstance(outcome, asyncio.Event):
            await outcome.wait()
        self.done.append(payload["n"])
        return outcome if isinstance(outcome, Response) else Response(True, f"did {payload['n']}")


def add(worker: Worker, *numbers: int, kind: str = "a") -> None:
    for number in numbers:
        worker.add(kind, lambda number=number: {"n": number})  # type: ignore[misc]


async def test_tasks_are_done_one_after_the_other_and_told_once(queue: Queue) -> None:
    hands = Hands()
    worker = Worker(queue, {"a": hands})
    add(worker, 1, 2, 3)
    assert await worker.settled() == ["did 1", "did 2", "did 3"]
    assert await worker.settled() == []
    assert hands.done == [1, 2, 3]
    assert queue.pending() == []


async def test_nothing_to_do_is_settled_at_once(queue: Queue, vault_dir: Path) -> None:
    worker = Worker(queue, {})
    assert await worker.settled() == []
    worker.wake()
    assert await worker.settled() == []
    await worker.stop()
    assert not vault_dir.exists()


async def test_a_task_is_on_the_disk_when_add_returns(
    queue: Queue, vault_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentscope_reme.pipelines.worker.PROMPT_SECONDS", 20)  # the disk may be slow here
    worker = Worker(queue, {"a": Hands(asyncio.Event())})
    add(worker, 1)
    assert [task.payload for task in Queue(Vault(vault_dir)).pending()] == [{"n": 1}]
    await worker.stop()


async def test_a_slow_disk_does_not_hold_the_loop_and_the_task_comes_all_the_same(queue: Queue) -> None:
    slow = threading.Event()

    def payload() -> dict[str, Any]:
        slow.wait(10)
        return {"n": 1}

    worker = Worker(queue, {"a": Hands()})
    add(worker, 0)
    before = time.monotonic()
    worker.add("a", payload)
    assert time.monotonic() - before < 10 * PROMPT_SECONDS
    slow.set()
    assert await worker.settled() == ["did 0", "did 1"]


async def test_what_cannot_be_queued_is_told_and_raises_nothing(queue: Queue, caplog: pytest.LogCaptureFixture) -> None:
    def payload() -> dict[str, Any]:
        raise NoteError("the disk is full")

    worker = Worker(queue, {"a": Hands()})
    worker.add("a", payload)
    assert await worker.settled() == ["failed: the disk is full"]
    assert "could not be queued" in caplog.text


async def test_tasks_of_other_kinds_are_left_alone(queue: Queue) -> None:
    worker = Worker(queue, {"a": Hands()})
    add(worker, 1, kind="of a later version")
    add(worker, 2)
    assert await worker.settled() == ["did 2"]
    assert len(queue.pending()) == 1


@pytest.mark.parametrize("outcome", [NoteError("no"), RuntimeError("no"), Response(False, "no", {"retry": True})])
async def test_a_failed_task_is_tried_again_when_its_time_has_come_and_holds_up_no_other(
    queue: Queue, clock: list[datetime], outcome: Any
) -> None:
    hands = Hands(outcome)
    worker = Worker(queue, {"a": hands})
    add(worker, 1, 2)
    failed, done = await worker.settled()
    assert failed.startswith("failed: no (tried again after 2026-04-01")
    assert done == "did 2"
    assert await worker.settled() == [], "a task that waits for its time is not waited for"
    clock[0] += timedelta(minutes=1)
    worker.wake()
    assert await worker.settled() == ["did 1"]
    await worker.stop()


async def test_a_task_that_always_fails_is_set_aside(queue: Queue, clock: list[datetime]) -> None:
    worker = Worker(queue, {"a": Hands(*[NoteError("no")] * ATTEMPTS)})
    add(worker, 1)
    for _ in range(ATTEMPTS):
        (line,) = await worker.settled()
        clock[0] += timedelta(hours=1)
        worker.wake()
    assert line == "failed: no (set aside)"
    assert await worker.settled() == []
    assert [task.error for task in queue.set_aside()] == ["no"]


async def test_a_failure_that_no_retry_can_help_ends_the_task(queue: Queue) -> None:
    worker = Worker(queue, {"a": Hands(Response(False, "no such date"))})
    add(worker, 1)
    assert await worker.settled() == ["no such date"]
    assert queue.pending() == []


async def test_waiting_has_a_limit_and_the_work_goes_on(queue: Queue) -> None:
    go = asyncio.Event()
    worker = Worker(queue, {"a": Hands(go)})
    add(worker, 1, 2)
    assert await worker.settled(0.2) == ["still running", "still running"]
    go.set()
    assert await worker.settled() == ["did 1", "did 2"]


async def test_stopping_cancels_awaits_and_leaves_the_task_pending(queue: Queue) -> None:
    worker = Worker(queue, {"a": Hands(asyncio.Event())})
    add(worker, 1)
    await worker.settled(0.2)
    await worker.stop()
    assert not [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    (task,) = queue.pending()
    assert task.attempts == 0
    with queue.turn() as mine:
        assert mine, "the turn was given up"


def test_one_loop_after_the_other_goes_on_with_the_work(queue: Queue) -> None:
    hands = Hands()
    worker = Worker(queue, {"a": hands})

    async def turn(number: int, *, wait: bool) -> None:
        add(worker, number)
        if wait:
            await worker.settled()

    asyncio.run(turn(1, wait=False))
    asyncio.run(turn(2, wait=True))
    asyncio.run(turn(3, wait=True))
    assert sorted(hands.done) == [1, 2, 3]


def test_work_may_be_added_where_no_loop_runs(queue: Queue) -> None:
    hands = Hands()
    worker = Worker(queue, {"a": hands})
    add(worker, 1)

    async def later() -> list[str]:
        worker.wake()
        return await worker.settled()

    assert asyncio.run(later()) == ["did 1"]


async def test_two_workers_of_one_vault_do_each_task_once(queue: Queue, vault_dir: Path) -> None:
    hands = Hands()
    workers = [Worker(queue, {"a": hands}), Worker(Queue(Vault(vault_dir)), {"a": hands})]
    for number in range(10):
        add(workers[number % 2], number)
    await asyncio.gather(*(worker.settled() for worker in workers))
    assert sorted(hands.done) == list(range(10))
    assert queue.pending() == []


async def test_a_worker_waits_while_another_process_has_the_turn(queue: Queue, vault_dir: Path) -> None:
    hands = Hands()
    worker = Worker(queue, {"a": hands})
    with Queue(Vault(vault_dir)).turn():
        add(worker, 1)
        assert await worker.settled(0.3) == ["still running"]
        assert hands.done == []
    assert await worker.settled() == ["did 1"]


async def test_closing_waits_for_its_own_work_and_not_for_that_of_others(queue: Queue, vault_dir: Path) -> None:
    hands = Hands()
    worker = Worker(queue, {"a": hands})
    add(worker, 1)
    await worker.stop(10)
    assert hands.done == [1]
    other = Worker(queue, {"a": hands})
    with Queue(Vault(vault_dir)).turn():
        add(other, 2)
        before = time.monotonic()
        await other.stop(60)
        assert time.monotonic() - before < 30
    assert len(queue.pending()) == 1


def test_what_an_earlier_loop_left_is_begun_by_waiting_for_it(queue: Queue) -> None:
    hands = Hands()
    worker = Worker(queue, {"a": hands})

    async def leave() -> None:
        add(worker, 1)

    asyncio.run(leave())
    asyncio.run(worker.settled())
    assert hands.done == [1]
