"""The list of operations, and what their signatures say about their parameters.

Rules of a signature: the first parameter is the ReMe; what stands before ``*`` is given by position where a surface has
positions, what stands after it by name; ``Annotated[type, "help"]`` carries the help text; a default makes a parameter
optional. The docstring's first line is the summary.
"""

import inspect
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType, SimpleNamespace
from typing import Annotated, Any, get_args, get_origin, get_type_hints

NO_DEFAULT = inspect.Parameter.empty
# Stands in ``Annotated`` beside the help of a parameter that takes whole texts: a command line then reads ``-`` from
# standard input.
LONG_TEXT = object()
# Stands there for a parameter that is a JSON value: a command line then takes the name of a file, ``-``, or JSON.
JSON_VALUE = object()


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of an operation. ``default`` is ``NO_DEFAULT`` when it must be given."""

    name: str
    type: Any
    help: str
    default: Any
    positional: bool
    long_text: bool = False
    json_value: bool = False

    @property
    def required(self) -> bool:
        """Whether a caller must give it."""
        return self.default is NO_DEFAULT


@dataclass(frozen=True, slots=True)
class Job:
    """An operation.

    ``writes`` says whether it changes files of the vault, ``needs_vault`` whether the vault must be there already.
    ``local`` operations take a path of the caller's own disk: only a surface that runs as the user may offer them, as
    the command line does; a server never. ``bar`` is what a surface may show while it goes through the files of the
    vault ("" where it does not); ``reme.index.progress`` says how far it is.
    """

    name: str
    function: Callable[..., Awaitable[Any]]
    parameters: tuple[Parameter, ...]
    summary: str
    description: str
    writes: bool
    needs_vault: bool
    local: bool = False
    bar: str = ""

    async def __call__(self, reme: Any, /, **arguments: Any) -> Any:
        """Run the operation on a ReMe. Unknown or missing arguments are a TypeError, as in any call."""
        return await self.function(reme, **arguments)


@lru_cache(maxsize=1)
def jobs() -> Mapping[str, Job]:
    """Every operation by name, in the order in which a surface lists them."""
    return MappingProxyType({job.name: job for job in _all_jobs()})


def job_named(name: str) -> Job | None:
    """One operation, without describing those that stand behind it in the list; None when there is none."""
    return next((job for job in _all_jobs() if job.name == name), None)


def _all_jobs() -> Iterator[Job]:
    from . import changes, conversations, daily, dream, front_matter, ingestion, notes, resources, search, system

    yield job_of(system.version, needs_vault=False)
    yield job_of(system.health_check, needs_vault=False)
    yield job_of(system.status, needs_vault=False, bar="Indexing")
    yield job_of(system.help_, needs_vault=False)
    yield job_of(search.search, bar="Indexing")
    yield job_of(search.node_search, bar="Indexing")
    yield job_of(search.traverse, bar="Indexing")
    yield job_of(search.reindex, bar="Indexing")
    yield job_of(search.doctor, bar="Comparing")
    yield job_of(notes.read)
    yield job_of(notes.read_image)
    yield job_of(notes.write, writes=True, needs_vault=False)
    yield job_of(notes.append, writes=True, needs_vault=False)
    yield job_of(notes.edit, writes=True)
    yield job_of(notes.delete, writes=True)
    yield job_of(notes.move, writes=True)
    yield job_of(notes.list_)
    yield job_of(notes.stat)
    yield job_of(front_matter.frontmatter_read)
    yield job_of(front_matter.frontmatter_update, writes=True)
    yield job_of(front_matter.frontmatter_delete, writes=True)
    yield job_of(daily.daily_create, writes=True, needs_vault=False)
    yield job_of(daily.daily_list)
    yield job_of(daily.daily_reindex, writes=True)
    yield job_of(changes.history)
    yield job_of(changes.undo, writes=True)
    yield job_of(changes.forget, writes=True)
    yield job_of(conversations.auto_memory, writes=True, needs_vault=False)
    yield job_of(resources.auto_resource, writes=True)
    yield job_of(dream.auto_dream, writes=True)
    yield job_of(dream.proactive)
    yield job_of(dream.undo_run, writes=True)
    yield job_of(ingestion.ingest, writes=True, needs_vault=False, local=True)


def job_of(
    function: Callable[..., Awaitable[Any]],
    *,
    writes: bool = False,
    needs_vault: bool = True,
    local: bool = False,
    bar: str = "",
) -> Job:
    """Describe a function as an operation; a trailing underscore of its name (``list_``) is not part of the job's."""
    # Only the parameters' own annotations: those of the ReMe and of results are names that exist for type checkers.
    own = {name: hint for name, hint in function.__annotations__.items() if name not in ("reme", "return")}
    hints = get_type_hints(SimpleNamespace(__annotations__=own), function.__globals__, include_extras=True)
    parameters = []
    for parameter in list(inspect.signature(function).parameters.values())[1:]:
        hint = hints[parameter.name]
        notes = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
        parameters.append(
            Parameter(
                name=parameter.name,
                type=get_args(hint)[0] if notes else hint,
                help=next((note for note in notes if isinstance(note, str)), ""),
                default=parameter.default,
                positional=parameter.kind is not inspect.Parameter.KEYWORD_ONLY,
                long_text=LONG_TEXT in notes,
                json_value=JSON_VALUE in notes,
            )
        )
    description = inspect.getdoc(function) or ""
    summary = description.split("\n", 1)[0]
    name = function.__name__.rstrip("_")
    return Job(name, function, tuple(parameters), summary, description, writes, needs_vault, local, bar)
