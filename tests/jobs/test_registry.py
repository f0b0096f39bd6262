"""The list of operations: what it says of each is what the function takes."""

import inspect
from types import SimpleNamespace
from typing import Annotated, Literal

import pytest

from agentscope_reme.jobs.registry import LONG_TEXT, Job, job_named, job_of, jobs

NAMES = [
    "version", "health_check", "status", "help", "search", "node_search", "traverse", "reindex", "doctor", "read",
    "read_image", "write", "append", "edit",
    "delete", "move", "list", "stat", "frontmatter_read", "frontmatter_update", "frontmatter_delete", "daily_create",
    "daily_list", "daily_reindex", "history", "undo", "forget", "auto_memory", "auto_resource",
    "auto_dream", "proactive", "undo_run", "ingest",
]  # fmt: skip
READING = {
    "version", "health_check", "status", "help", "search", "node_search", "traverse", "reindex", "doctor", "read",
    "read_image", "list", "stat",
    "frontmatter_read", "daily_list", "history", "proactive",
}  # fmt: skip


async def sample_(
    reme: object,
    path: Annotated[str, "Where."],
    text: Annotated[str, "What.", LONG_TEXT] = "",
    *,
    order: Annotated[Literal["a", "b"], "How."] = "a",
    bare: int = 3,
) -> "NotThere":  # type: ignore[name-defined]  # noqa: F821
    """Do it.

    And more about it.
    """
    return (reme, path, text, order, bare)


def test_a_signature_is_all_that_describes_an_operation() -> None:
    job = job_of(sample_, writes=True)
    assert (job.name, job.summary) == ("sample", "Do it.")
    assert "more about it" in job.description
    assert [(p.name, p.type, p.help, p.required, p.positional, p.long_text) for p in job.parameters] == [
        ("path", str, "Where.", True, True, False),
        ("text", str, "What.", False, True, True),
        ("order", Literal["a", "b"], "How.", False, False, False),
        ("bare", int, "", False, False, False),
    ]


async def test_a_job_runs_its_function_with_named_arguments() -> None:
    assert await job_of(sample_)("the reme", path="p", order="b") == ("the reme", "p", "", "b", 3)
    with pytest.raises(TypeError):
        await job_of(sample_)("the reme", path="p", wrong=1)


def test_the_list_has_the_operations_of_this_version_in_order() -> None:
    assert list(jobs()) == NAMES


@pytest.mark.parametrize("job", jobs().values(), ids=lambda job: job.name)
def test_every_operation_and_parameter_says_what_it_is(job: Job) -> None:
    assert job.summary.endswith(".")
    assert inspect.iscoroutinefunction(job.function)
    assert all(parameter.help.endswith(".") for parameter in job.parameters)


def test_only_operations_that_make_notes_may_make_a_vault() -> None:
    found = jobs().values()
    assert {job.name for job in found if not job.writes} == READING
    assert {job.name for job in found if not job.needs_vault and job.writes} == {
        "write",
        "append",
        "auto_memory",
        "daily_create",
        "ingest",
    }
    assert {job.name for job in found if not job.needs_vault and not job.writes} == {
        "version",
        "health_check",
        "status",
        "help",
    }


def test_only_what_takes_a_file_of_the_users_disk_is_local() -> None:
    """A server that offers such an operation would hand out the files of the machine it runs on."""
    assert [job.name for job in jobs().values() if job.local] == ["ingest"]


async def test_search_hands_its_filters_on_and_leaves_out_what_is_not_given() -> None:
    asked = {}

    async def search(query: str, limit: int, **options: object) -> str:
        asked.update(options, query=query, limit=limit)
        return "result"

    reme = SimpleNamespace(search=search)
    await jobs()["search"](reme, query="kiln")
    assert asked == {"query": "kiln", "limit": 5, "min_score": None, "filter": None, "token_budget": None}
    await jobs()["search"](reme, query="kiln", path="daily/", tag=["a"], since="2026-03-01")
    assert asked["filter"] == {"path": "daily/", "tags": ["a"], "since": "2026-03-01"}


async def test_help_lists_all_or_describes_one_and_names_the_others_when_there_is_none() -> None:
    from agentscope_reme.errors import ReMeError

    everything = await jobs()["help"](None)
    assert [name for name, _ in everything.operations] == NAMES
    one = await jobs()["help"](None, operation="search")
    assert "status" in one.operations[0][1]
    with pytest.raises(ReMeError, match="search"):
        await jobs()["help"](None, operation="serach")


def test_one_operation_is_described_as_it_is_in_the_list() -> None:
    assert [job_named(name) for name in jobs()] == list(jobs().values())
    assert job_named("demo") is None
