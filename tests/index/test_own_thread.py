"""Answers of an index come from one thread, whoever asks, and nobody else's answer is lost when one stops waiting."""

import asyncio
import contextvars
import gc
import os
import signal
import threading
import time
import weakref

import pytest

from agentscope_reme.errors import StateError
from agentscope_reme.index.own_thread import OwnThread

NAME = "reme-test-own"


def alive() -> int:
    return sum(thread.name.startswith(NAME) for thread in threading.enumerate())


def ends(seconds: float = 10) -> bool:
    """Whether no such thread is left, after some time at most."""
    until = time.monotonic() + seconds
    while alive() and time.monotonic() < until:
        time.sleep(0.01)
    return not alive()


@pytest.fixture
def thread():
    own = OwnThread(NAME)
    yield own
    own.close()
    assert ends()


async def test_everything_runs_on_one_thread_and_it_begins_with_the_first(thread):
    assert alive() == 0
    seen = await asyncio.gather(*(thread.run(threading.get_ident) for _ in range(20)))
    assert len(set(seen)) == 1
    assert seen[0] != threading.get_ident()
    assert alive() == 1


def test_several_event_loops_share_it(thread):
    seen: list[int] = []

    async def ask() -> None:
        seen.extend([await thread.run(threading.get_ident) for _ in range(5)])

    others = [threading.Thread(target=lambda: asyncio.run(ask())) for _ in range(4)]
    for other in others:
        other.start()
    for other in others:
        other.join()
    assert len(seen) == 20
    assert len(set(seen)) == 1


async def test_what_runs_sees_the_context_of_its_caller(thread):
    variable = contextvars.ContextVar("variable", default="")
    variable.set("mine")
    assert await thread.run(variable.get) == "mine"
    await thread.run(variable.set, "changed")
    assert variable.get() == "mine"


async def test_an_error_reaches_the_caller_and_the_next_one_is_answered(thread):
    with pytest.raises(ZeroDivisionError):
        await thread.run(divmod, 1, 0)
    assert await thread.run(divmod, 7, 2) == (3, 1)


async def test_an_error_that_would_end_an_iteration_reaches_the_caller_as_an_error(thread):
    async with asyncio.timeout(10):
        with pytest.raises(RuntimeError) as caught:
            await thread.run(next, iter(()))
    assert isinstance(caught.value.__cause__, StopIteration)


def test_what_is_running_when_its_event_loop_ends_is_followed_by_the_next(thread):
    running, go_on = threading.Event(), threading.Event()

    def hold() -> None:
        running.set()
        go_on.wait(10)

    async def leave() -> None:
        asking = asyncio.create_task(thread.run(hold))
        await asyncio.to_thread(running.wait, 10)
        asking.cancel()

    asyncio.run(leave())
    go_on.set()
    assert asyncio.run(thread.run(len, "abc")) == 3
    assert alive() == 1


async def test_an_answer_is_kept_by_nobody_but_its_caller(thread):
    class Answer:
        pass

    answer = await thread.run(Answer)
    gone = weakref.ref(answer)
    await thread.run(len, "")
    gc.disable()
    try:
        del answer
        assert gone() is None
    finally:
        gc.enable()


async def test_who_is_cancelled_leaves_at_once_and_others_are_answered(thread):
    running, go_on, begun = threading.Event(), threading.Event(), []

    def hold() -> None:
        running.set()
        go_on.wait(10)

    first = asyncio.create_task(thread.run(hold))
    await asyncio.to_thread(running.wait, 10)
    second = asyncio.create_task(thread.run(begun.append, "second"))
    third = asyncio.create_task(thread.run(lambda: "third"))
    await asyncio.sleep(0.01)
    for task in (first, second):
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert not go_on.is_set()
    go_on.set()
    assert await third == "third"
    assert not begun


async def test_who_is_heard_after_it_is_closed_is_answered_all_the_same(thread):
    assert await thread.run(len, "abc") == 3
    thread.close()
    thread.close()
    assert await asyncio.to_thread(ends)
    assert await thread.run(len, "abcd") == 4


def closes_first(own: OwnThread, close) -> list[bool]:
    """Have ``close`` run on another thread when something was heard and is about to be given to the own thread."""
    real, closed = own._executor.submit, []

    def submit(*arguments):
        other = threading.Thread(target=close)
        other.start()
        other.join()
        closed.append(own._closed)
        return real(*arguments)

    own._executor.submit = submit
    return closed


async def test_who_asks_while_another_thread_closes_it_is_answered_all_the_same(thread):
    assert await thread.run(len, "abc") == 3
    closed = closes_first(thread, thread.close)
    assert await thread.run(len, "abcd") == 4
    assert closed == [True]


async def test_a_thread_that_cannot_begin_is_told_of_when_nothing_was_closed(thread, monkeypatch):
    def refused(*arguments):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(thread._executor, "submit", refused)
    with pytest.raises(RuntimeError, match="can't start"):
        await thread.run(len, "abc")


async def test_the_thread_ends_with_the_last_reference():
    own = OwnThread(NAME)
    await own.run(len, "")
    assert alive() == 1
    del own
    gc.collect()
    assert await asyncio.to_thread(ends)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_has_a_thread_of_its_own(thread):
    assert asyncio.run(thread.run(len, "abc")) == 3
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        os._exit(0 if asyncio.run(thread.run(len, "abcd")) == 4 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert asyncio.run(thread.run(len, "ab")) == 2


async def test_searches_walks_and_nodes_of_an_index_share_a_thread(put, open_index):
    put("digest/plan.md", "# Plan\n\nThe zebra crossing is painted on Friday.\n")
    index = open_index()
    seen: list[int] = []
    index._clock = lambda now=index._clock: seen.append(threading.get_ident()) or now()
    await index.search("zebra")
    await asyncio.gather(*(index.search("zebra crossing") for _ in range(8)), index.node_search("plan"))
    assert len(seen) == 10
    assert len(set(seen)) == 1
    assert (await index.traverse("digest/plan.md")).notes == ()


async def test_a_search_that_is_cancelled_leaves_the_index_free(put, open_index):
    put("digest/plan.md", "# Plan\n\nThe zebra crossing is painted on Friday.\n")
    index = open_index()
    await index.search("zebra")
    running, go_on, real = threading.Event(), threading.Event(), index._clock

    def clock():
        running.set()
        go_on.wait(10)
        return real()

    index._clock = clock
    task = asyncio.create_task(index.search("zebra"))
    await asyncio.to_thread(running.wait, 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    go_on.set()
    assert [hit.path for hit in (await index.search("zebra")).hits] == ["digest/plan.md"]


async def test_a_search_that_meets_the_close_of_another_event_loop_is_answered(put, open_index):
    put("digest/plan.md", "# Plan\n\nThe zebra crossing is painted on Friday.\n")
    index = open_index()
    await index.search("zebra")
    closed = closes_first(index._thread, lambda: asyncio.run(index.close()))
    assert [hit.path for hit in (await index.search("zebra")).hits] == ["digest/plan.md"]
    assert closed == [True]
    with pytest.raises(StateError):
        await index.search("zebra")


async def test_waiting_for_a_turn_is_part_of_how_long_a_search_waits(put, open_index):
    put("digest/plan.md", "# Plan\n\nThe zebra crossing is painted on Friday.\n")
    index = open_index(search_wait=60)
    await index.search("zebra")
    left, go_on, real = [], threading.Event(), index._freshness.read_changed
    index._freshness.read_changed = lambda seconds: left.append(seconds) or real(seconds)
    before = asyncio.create_task(index._thread.run(go_on.wait, 10))
    asked = asyncio.create_task(index.search("zebra"))
    await asyncio.sleep(0.05)
    go_on.set()
    await before
    assert (await asked).hits
    assert 0 < left[0] <= 60 - 0.05
