"""A disk that fills up anywhere in a pipeline: it says so, and once there is room again ends as if nothing had been."""

import errno
import json
import os
import re
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from agentscope_reme.models import Response
from agentscope_reme.pipelines.agent import Planner
from agentscope_reme.pipelines.auto_memory import auto_memory
from agentscope_reme.pipelines.auto_resource import auto_resource
from agentscope_reme.vault import Vault
from tests.pipelines.documents import put
from tests.pipelines.dreams import TODAY, Script, dream, files, found, place, unit, vault_at, write_card
from tests.support.scripted_model import ScriptedModel

_CALLS = ("write", "fsync", "replace", "rename", "link", "mkdir", "ftruncate")
_RUN = re.compile(rb"\d{8}T\d{6}-[0-9a-f]{8}")
KILN, CLAY = "Ann: I decided to fire the kiln at 1240 degrees.", "Ann: The clay comes from Westerwald."

Pipeline = Callable[[Vault], Awaitable[Response]]


@contextmanager
def full_from(step: int) -> Iterator[list[int]]:
    """The disk is full from the ``step``-th changing call on (from 0); the calls that were refused, by number."""
    made = 0
    refused: list[int] = []
    real = {name: getattr(os, name) for name in (*_CALLS, "open")}

    def wrapped(name: str) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            nonlocal made
            if name != "open" or args[1] & os.O_CREAT:
                made += 1
                if made > step:
                    refused.append(made)
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return real[name](*args, **kwargs)

        return call

    try:
        for name in real:
            setattr(os, name, wrapped(name))
        yield refused
    finally:
        for name, function in real.items():
            setattr(os, name, function)


def with_card(vault: Vault) -> None:
    write_card(vault, TODAY, "card", KILN, CLAY)


async def dreams(vault: Vault) -> Response:
    path = f"daily/{TODAY}/card.md"
    units = [
        unit("kiln", "Ann fires the kiln at 1240 degrees.", place(vault, path, "1240")),
        unit("clay", "Ann's clay comes from Westerwald.", place(vault, path, "Westerwald")),
    ]
    topics = [{"title": "pottery", "evidence": [place(vault, path, "1240")]}]
    return await dream(vault, Script(lambda user: found(units, topics)))


async def remembers(vault: Vault) -> Response:
    answer = {"name": "Boiler", "items": [{"kind": "fact", "text": "The boiler is blue.", "sources": [1]}]}
    said = [{"role": "user", "content": "The boiler is blue.", "created_at": f"{TODAY}T10:00:00"}]
    planner = Planner(ScriptedModel(default=json.dumps(answer)))
    return await auto_memory(vault, said, planner=planner, session_id="s")


def with_documents(vault: Vault) -> None:
    put(vault, "resource/a.txt", "The lease ends in May.")
    put(vault, "resource/b.txt", "The rent is 900 euros.")


async def reads(vault: Vault) -> Response:
    return await auto_resource(vault, ["resource/a.txt", "resource/b.txt"], planner=None)


def written(root: Path) -> dict[str, bytes]:
    """What people and later runs find, but for the names of runs."""
    return {name: _RUN.sub(b"RUN", data) for name, data in files(root, "digest", "daily", "history/pipelines").items()}


@pytest.mark.parametrize(
    "steps", [range(0, 60, 7), pytest.param(range(200), marks=pytest.mark.slow)], ids=["some", "all"]
)
@pytest.mark.parametrize(
    ("prepare", "pipeline"), [(with_card, dreams), (lambda vault: None, remembers), (with_documents, reads)],
    ids=["auto_dream", "auto_memory", "auto_resource"],
)  # fmt: skip
async def test_a_disk_that_is_full_for_a_while_costs_nothing(
    tmp_path: Path, prepare: Callable[[Vault], None], pipeline: Pipeline, steps: range
) -> None:
    undisturbed = vault_at(tmp_path / "undisturbed")
    prepare(undisturbed)
    assert (await pipeline(undisturbed)).success
    refused_once = False
    for step in steps:
        vault = vault_at(tmp_path / str(step))
        prepare(vault)
        with full_from(step) as refused:
            first = await pipeline(vault)
        if not refused:
            break
        refused_once = True
        # The index is stored last, and needs no room to be right.
        assert not first.success or written(vault.root) == written(undisturbed.root), (
            f"step {step}: it says that it did"
        )
        assert (await pipeline(vault_at(vault.root))).success, f"step {step}"
        assert written(vault.root) == written(undisturbed.root), f"step {step}"
    assert refused_once
