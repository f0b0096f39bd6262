"""What a pipeline remembers between its runs, below ``history/``: what it has read, what waits, and what each run did.

The state of a pipeline is one JSON file that is replaced as a whole, so that a crash leaves the old one or the new one.
The log of a run is a Markdown file with one line for each thing done, so that forgetting a note can take out the lines
that name it. Canonical, because it says what has not been processed yet.
"""

import json
import logging
import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from .encoding import clean_text
from .jsonable import dumps
from .layout import HISTORY, iter_files
from .storage import ANY, Storage

log = logging.getLogger(__name__)

STATES = f"{HISTORY}/pipelines"
RUNS = f"{HISTORY}/runs"
KEEP_LOGS = 400
"""Most logs of runs that are kept; a nightly run has one a day."""

SOURCES, WAITING, PLAN = "notes", "waiting", "plan"
"""Keys of a state: versions read by path; units that wait, each with ``paths``; what a run is about to write."""


def state_path(name: str) -> str:
    """Where the state of the pipeline ``name`` is."""
    return f"{STATES}/{name}.json"


def log_path(run_id: str) -> str:
    """Where the log of a run is."""
    return f"{RUNS}/{run_id}.md"


def load_state(storage: Storage, name: str) -> dict[str, Any]:
    """The state of a pipeline; empty when there is none. One that cannot be read is set aside and counts as none."""
    path = state_path(name)
    data = storage.read_if_any(path)
    if data is None:
        return {}
    try:
        state = json.loads(data)
    except (ValueError, RecursionError):
        state = None
    if isinstance(state, dict):
        return state
    log.warning("%s cannot be read; it is kept as %s.damaged, and all notes are looked at again", path, path)
    storage.replace(f"{path}.damaged", data, expect=ANY)
    return {}


def save_state(storage: Storage, name: str, state: Mapping[str, Any]) -> None:
    """Replace the state, durably; not when it is as it was."""
    path, data = state_path(name), dumps(dict(state)).encode("utf-8") + b"\n"
    if storage.read_if_any(path) != data:
        storage.replace(path, data, expect=ANY)


def write_log(storage: Storage, run_id: str, lines: Iterable[str]) -> str:
    """Write the log of a run and let go of the oldest ones; its path. Each of ``lines`` is one line of Markdown."""
    path = log_path(run_id)
    text = "\n".join(" ".join(clean_text(line).splitlines()) for line in lines) + "\n"
    storage.replace(path, text.encode("utf-8"), expect=ANY)
    logs = sorted(name for name, _ in iter_files(storage.root, RUNS, suffixes=(".md",), skip=()))
    for old in logs[:-KEEP_LOGS]:
        storage.remove(old)
    return path


def forget_in_records(storage: Storage, names: Collection[str]) -> list[str]:
    """Take out of all states and logs what names one of these notes; the files that were changed.

    What waits and rests on a forgotten note goes; the other notes it rests on are read again by the next run.
    """
    changed = []
    for path, _ in iter_files(storage.root, STATES, suffixes=(".json", ".damaged"), skip=()):
        if path.endswith(".damaged"):
            if _names_one(storage.read(path).decode("utf-8", "replace"), names):
                storage.remove(path)
                changed.append(path)
            continue
        name = path.rpartition("/")[2].removesuffix(".json")
        state = load_state(storage, name)
        if _names_one(dumps(state), names):
            save_state(storage, name, _without(state, names))
            changed.append(path)
    for path, _ in iter_files(storage.root, RUNS, suffixes=(".md",), skip=()):
        text = storage.read(path).decode("utf-8", "replace")
        if _names_one(text, names):
            kept = [line for line in text.split("\n") if not _names_one(line, names)]
            storage.replace(path, "\n".join(kept).encode("utf-8"), expect=ANY)
            changed.append(path)
    return changed


def _names_one(text: str, names: Collection[str]) -> bool:
    """Whether a text names one of these notes or folders, or a note in one of the folders."""
    spellings = {spelt for name in names for spelt in (name, json.dumps(name, ensure_ascii=False)[1:-1])}
    found = (re.search(rf"(?<![\w/.-]){re.escape(name)}(?=$|[/\"\\\]|#,:;)\s])", text) for name in spellings)
    return any(found)


def _without(state: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    left: dict[str, Any] = dict(state)
    # What a run is about to write, but has not yet, is worked out again from the notes that are left.
    if PLAN in left and _names_one(dumps(left[PLAN]), names):
        del left[PLAN]
    waiting = list(left.get(WAITING) or [])
    going = [unit for unit in waiting if _names_one(dumps(unit), names)]
    left[WAITING] = [unit for unit in waiting if unit not in going]
    again = {path for unit in going if isinstance(unit, Mapping) for path in unit.get("paths") or ()}
    sources = left.get(SOURCES)
    if isinstance(sources, Mapping):
        left[SOURCES] = {
            path: seen for path, seen in sources.items() if not _names_one(path, names) and path not in again
        }
    return {
        key: value for key, value in left.items() if key in (SOURCES, WAITING) or not _names_one(dumps(value), names)
    }
