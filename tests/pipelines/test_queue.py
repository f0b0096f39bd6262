"""Pending work is on the disk until it is done, is begun by one worker a vault, and never for ever."""

import json
import multiprocessing
import os
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from agentscope_reme.pipelines.queue import ATTEMPTS, DELAYS, PENDING, SET_ASIDE, Queue
from agentscope_reme.vault import Vault

from ..crash.stopped import dies_at


@pytest.fixture
def clock() -> list[datetime]:
    """The time, which a test may set."""
    return [datetime(2026, 4, 1, 2, 0, tzinfo=UTC)]


@pytest.fixture
def vault(vault_dir: Path, clock: list[datetime]) -> Vault:
    return Vault(vault_dir, clock=lambda: clock[0])


@pytest.fixture
def queue(vault: Vault) -> Queue:
    return Queue(vault)


def ids(tasks: list[Any]) -> list[str]:
    return [task.id for task in tasks]


# --- Order and durability ---------------------------------------------------------------------------------------------


def test_looking_at_an_empty_vault_makes_nothing(queue: Queue, vault_dir: Path) -> None:
    assert queue.pending() == queue.due() == queue.set_aside() == []
    assert not vault_dir.exists()


def test_tasks_are_found_by_the_next_process_in_the_order_they_came(
    queue: Queue, vault_dir: Path, clock: list[datetime]
) -> None:
    added = [queue.add("auto_memory", {"n": number}) for number in range(12)]
    clock[0] += timedelta(microseconds=1)
    added.append(queue.add("auto_resource", {"text": "茶\ud800\u2028"}))
    found = Queue(Vault(vault_dir)).pending()
    assert ids(found) == added
    assert [task.payload.get("n") for task in found[:12]] == list(range(12))
    assert found[12].payload == {"text": "茶\ufffd\u2028"}
    assert ids(queue.pending("auto_resource")) == added[12:]


def test_what_is_done_is_gone_and_may_be_done_twice(queue: Queue) -> None:
    first, second = queue.add("a", {}), queue.add("a", {})
    queue.done(first)
    queue.done(first)
    assert ids(queue.pending()) == [second]
    assert queue.begin(first) is None
    assert queue.failed(first, "late") is None


def test_a_task_is_no_note(queue: Queue, vault: Vault) -> None:
    queue.add("a", {})
    assert not vault.list_sync("", recursive=True, extensions=("json", "md")).entries


# --- Failures ---------------------------------------------------------------------------------------------------------


def test_a_failed_task_waits_longer_each_time_and_is_then_set_aside(queue: Queue, clock: list[datetime]) -> None:
    task = queue.add("a", {"x": 1})
    waited = []
    for _ in range(ATTEMPTS):
        assert queue.begin(task) is not None
        queue.failed(task, "the model is down")
        if queue.pending():
            assert queue.due() == []
            until = datetime.fromisoformat(queue.pending()[0].not_before)
            waited.append(until - clock[0])
            clock[0] = until
            assert ids(queue.due()) == [task]
    assert waited == list(DELAYS)
    assert queue.pending() == []
    (lost,) = queue.set_aside()
    assert (lost.id, lost.error, lost.attempts) == (task, "the model is down", ATTEMPTS)


def test_what_was_set_aside_can_be_brought_back_or_dropped(queue: Queue) -> None:
    once = Queue(queue._vault, attempts=1)
    first, second = once.add("a", {"x": 1}), once.add("a", {})
    for task in (first, second):
        once.begin(task)
        once.failed(task, "no")
    assert once.retry(first)
    assert not once.retry("nothing")
    (back,) = once.pending()
    assert (back.id, back.payload, back.attempts, back.error) == (first, {"x": 1}, 0, "")
    once.drop(second)
    assert once.set_aside() == []


def test_one_failing_task_holds_up_no_other(queue: Queue) -> None:
    first, second = queue.add("a", {}), queue.add("a", {})
    queue.begin(first)
    queue.failed(first, "no")
    assert ids(queue.due()) == [second]


def test_work_that_ends_its_process_is_not_begun_for_ever(queue: Queue) -> None:
    task = queue.add("a", {})
    begun = [queue.begin(task) for _ in range(ATTEMPTS + 1)]
    assert [bool(one) for one in begun] == [True] * ATTEMPTS + [False]
    (lost,) = queue.set_aside()
    assert "the process ended" in lost.error


def test_a_cancelled_attempt_does_not_count(queue: Queue) -> None:
    task = queue.add("a", {})
    for _ in range(3 * ATTEMPTS):
        assert queue.begin(task) is not None
        queue.release(task)
    assert ids(queue.due()) == [task]


def test_a_clock_that_went_back_does_not_stop_the_work(queue: Queue, clock: list[datetime]) -> None:
    task = queue.add("a", {})
    queue.begin(task)
    queue.failed(task, "no")
    clock[0] -= timedelta(days=400)
    assert ids(queue.due()) == [task]


@pytest.mark.parametrize(
    "damage", [b"", b"{", b"[]", b"\xff\xfe", b'{"id": 1}', b'{"id":"x","kind":"a","payload":[],"added":""}']
)
def test_a_file_that_is_no_task_is_set_aside_and_the_rest_goes_on(queue: Queue, vault: Vault, damage: bytes) -> None:
    good = queue.add("a", {})
    (vault.root / PENDING / "x.json").write_bytes(damage)
    assert ids(queue.pending()) == [good]
    assert (vault.root / SET_ASIDE / "x.json").read_bytes() == damage
    assert queue.set_aside() == []
    assert queue.begin("x") is None


# --- One worker a vault -----------------------------------------------------------------------------------------------


def test_there_is_one_worker_at_a_time(queue: Queue, vault_dir: Path) -> None:
    other = Queue(Vault(vault_dir))
    with queue.turn() as mine:
        assert mine
        with other.turn() as theirs:
            assert not theirs
    with other.turn() as theirs:
        assert theirs


def _hold(root: Path, ready: Any) -> None:
    with Queue(Vault(root)).turn() as mine:
        ready.send(mine)
        ready.poll(60)
        os._exit(9)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_worker_in_another_process_is_respected_until_it_dies(queue: Queue, vault_dir: Path) -> None:
    here, there = multiprocessing.Pipe()
    worker = multiprocessing.get_context("fork").Process(target=_hold, args=(vault_dir, there))
    worker.start()
    assert here.recv() is True
    with queue.turn() as mine:
        assert not mine
    here.send("die")
    worker.join()
    with queue.turn() as mine:
        assert mine


# --- Killed anywhere --------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("power", [False, True])
@pytest.mark.parametrize("operation", ["add", "begin", "failed", "give_up", "release", "done", "retry"])
@pytest.mark.slow
def test_stopped_anywhere_a_task_is_there_once_and_whole(tmp_path: Path, operation: str, power: bool) -> None:
    def prepared(root: Path) -> str:
        queue = Queue(Vault(root), attempts=2)
        task = queue.add("a", {"x": 1})
        if operation in ("failed", "give_up", "release", "retry"):
            queue.begin(task)
        if operation in ("give_up", "retry"):
            queue.failed(task, "once")
            queue.begin(task)
        if operation == "retry":
            queue.failed(task, "twice")
        return task

    def act(root: Path, task: str) -> None:
        queue = Queue(Vault(root), attempts=2)
        actions = {
            "add": lambda: queue.add("b", {"y": 2}),
            "begin": lambda: queue.begin(task),
            "failed": lambda: queue.failed(task, "no"),
            "give_up": lambda: queue.failed(task, "no"),
            "release": lambda: queue.release(task),
            "done": lambda: queue.done(task),
            "retry": lambda: queue.retry(task),
        }
        actions[operation]()

    step = 0
    while True:
        root = tmp_path / f"{step}"
        task = prepared(root)
        stopped = dies_at(step, lambda root=root, task=task: act(root, task), power=power)  # type: ignore[misc]
        after = Queue(Vault(root), attempts=2)
        here, aside = ids(after.pending()), ids(after.set_aside())
        if operation == "done":
            assert here in ([], [task])
        else:
            assert task in [*here, *aside]
            assert all(one.payload == {"x": 1} for one in [*after.pending("a"), *after.set_aside()])
        assert [*here, *aside].count(task) <= 1
        shutil.rmtree(root)
        if not stopped:
            break
        step += 1
    assert step > 2


def test_a_task_is_readable_for_people(queue: Queue, vault: Vault) -> None:
    task = queue.add("auto_memory", {"session_id": "茶"})
    fields = json.loads((vault.root / PENDING / f"{task}.json").read_text("utf-8"))
    assert fields["kind"] == "auto_memory"
    assert fields["payload"] == {"session_id": "茶"}
