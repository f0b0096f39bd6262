"""What is running, and how it is: version, health, status, the list of operations."""

import asyncio
from typing import TYPE_CHECKING, Annotated

from .._version import __version__
from ..vault.layout import METADATA
from .values import Health, HelpText, Status

if TYPE_CHECKING:
    from ..reme import ReMe


async def version(reme: "ReMe") -> str:
    """The version of agentscope-reme."""
    return __version__


async def health_check(reme: "ReMe") -> Health:
    """Say at once whether the vault is there and can be written, and what has gone wrong. Reads no file."""
    import os

    root = reme.vault.root
    exists = root.is_dir()
    home = root if exists else next(parent for parent in root.parents if parent.is_dir())
    writable = os.access(home, os.W_OK | os.X_OK)
    index = reme.index.status()
    problems = [f"{root} is not a folder"] if root.exists() and not exists else []
    if exists and not os.access(root, os.R_OK | os.X_OK):
        problems.append(f"{root} cannot be read")
    if not writable:
        problems.append(f"{home} cannot be written")
    own = root / METADATA  # where locks and the index lie: nothing is written without it
    if os.path.lexists(own) and not os.path.isdir(own):
        problems.append(f"{own} is not a folder; move it away to have locks and the index written there")
    elif writable and os.path.isdir(own) and not os.access(own, os.W_OK | os.X_OK):
        problems.append(f"{own} cannot be written")
    problems += [f"the index: {index[key]}" for key in ("damage", "error") if index[key]]
    return Health(__version__, str(root), exists, writable, tuple(problems))


async def status(reme: "ReMe") -> Status:
    """What is indexed, what is on and what has failed. Brings the index up to date first; no note is changed."""
    from ..index.compiled import form

    root = reme.vault.root
    if not root.is_dir():
        return Status(version=__version__, vault=str(root), exists=False, ranking=form)
    await reme.index.sync()
    pending, failed = await asyncio.to_thread(lambda: (reme.queue.pending(), reme.queue.set_aside()))
    return Status(
        version=__version__,
        vault=str(root),
        exists=True,
        index=dict(reme.index.status()),
        ranking=form,
        model="" if reme.chat_model is None else str(getattr(reme.chat_model, "model_name", "") or "yes"),
        pending=len(pending),
        set_aside=tuple((task.id, task.kind, task.error) for task in failed),
    )


async def help_(reme: "ReMe", operation: Annotated[str, "One operation; without it, all of them."] = "") -> HelpText:
    """What the operations do and what they take."""
    from ..errors import ReMeError
    from .registry import jobs

    known = jobs()
    if operation and operation not in known:
        raise ReMeError(f"There is no operation {operation!r}. Operations: {', '.join(known)}.")
    chosen = [known[operation]] if operation else list(known.values())
    return HelpText(tuple((job.name, job.description if operation else job.summary) for job in chosen))
