"""ReMeSession: AgentScope's ``JSONSession``, saved so that a crash leaves the old file or the new one.

A file is ``<session>.json``, or ``<user>/<session>.json``: modules by name, as ``JSONSession`` has them, and whose they
are under ``_reme_session``. What ``JSONSession`` has saved is loaded, and it loads what is saved here without a user
and with a plain id.
"""

import asyncio
import copy
import json
import logging
import re
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from agentscope.module import StateModule
from agentscope.session import SessionBase

from ..errors import ReMeError, StateError
from ..vault.encoding import clean_text
from ..vault.jsonable import to_jsonable
from ..vault.layout import session_file_name
from ..vault.storage import Storage

logger = logging.getLogger(__name__)

OWNER_KEY = "_reme_session"
# Names that JSONSession can have given a file in its own folder.
_FILE_NAME = re.compile(r"[^/\\:\x00-\x1f\x7f-\x9f\ud800-\udfff]{1,250}")


class ReMeSession(SessionBase):
    """Saves agents, memories and other state modules as JSON files, each durably and in one step.

    Session and user ids may be any text: they never lead out of the folder, and no two share a file. A file that cannot
    be read is an error when it is loaded, and is kept under another name when it is saved over.

    Args:
        save_dir: The folder of the files; made on the first save. A vault is not the place: agents read there.
    """

    def __init__(self, save_dir: "str | Path" = "sessions") -> None:
        self.save_dir = Path(save_dir)
        self._storage = Storage(self.save_dir.absolute())

    async def save_session_state(
        self, session_id: str, user_id: str = "", **state_modules_mapping: StateModule
    ) -> None:
        """Save the state of modules, in one step: all of it, or the file is what it was.

        Args:
            session_id: Names the session.
            user_id: Whose it is; sessions of two users never meet.
            **state_modules_mapping: The modules, by the names under which they are loaded again.

        Raises:
            ReMeError: The file cannot be written; the message says why, and nothing was changed.
        """
        converted: list[str] = []
        states = {name: module.state_dict() for name, module in state_modules_mapping.items()}
        # A copy, made before anything is awaited: the state of AgentScope's own modules is the live objects.
        snapshot = to_jsonable({**states, OWNER_KEY: _owner(session_id, user_id)}, converted)
        if converted:
            logger.info("Session %s was saved with changed values: %s", session_id, "; ".join(converted[:20]))
        await asyncio.to_thread(self._write, _path(session_id, user_id), snapshot)

    async def load_session_state(
        self,
        session_id: str,
        user_id: str = "",
        allow_not_exist: bool = True,
        **state_modules_mapping: StateModule,
    ) -> None:
        """Load the state of modules: all that are in the file, or none.

        Args:
            session_id: Names the session.
            user_id: Whose it is.
            allow_not_exist: Do nothing where there is no such session.
            **state_modules_mapping: The modules; one that the file does not have stays as it is.

        Raises:
            StateError: The file is damaged, a module refuses its state, or there is no such session and that is not
                allowed. All modules are as they were, and so is the file.
        """
        path, states = await asyncio.to_thread(self._read, session_id, user_id)
        if states is None:
            if not allow_not_exist:
                raise StateError(f"there is no session {session_id!r} in {self.save_dir} ({path})")
            logger.info("There is no session %r in %s; nothing was loaded.", session_id, self.save_dir)
            return
        before: dict[str, Any] = {}
        for name, module in state_modules_mapping.items():
            if name not in states:
                continue
            before[name] = copy.deepcopy(module.state_dict())
            try:
                module.load_state_dict(states[name])
            except Exception as error:
                for restored, state in before.items():
                    state_modules_mapping[restored].load_state_dict(state)
                raise StateError(
                    f"{self.save_dir / path}: {name}: {_reason(error)}; nothing was loaded, the file is as it was"
                ) from error

    async def delete_session_state(self, session_id: str, user_id: str = "") -> bool:
        """Delete a session's file; return whether there was one."""
        return await asyncio.to_thread(self._delete, session_id, user_id)

    # --- files ----------------------------------------------------------------------------------------------------

    def _write(self, path: str, snapshot: Mapping[str, Any]) -> None:
        data = json.dumps(snapshot, ensure_ascii=False, allow_nan=False).encode("utf-8")
        with self._storage.lock():
            present = self._storage.read_if_any(path)
            if present is not None and isinstance(_parsed(present), str):
                self._set_aside(path)
            self._storage.replace(path, data)

    def _set_aside(self, path: str) -> None:
        stamp = datetime.now().strftime("%Y%m%d-%H%M%S")
        name = kept = f"{path}.damaged-{stamp}"
        number = 1
        while self._storage.exists(kept):
            number += 1
            kept = f"{name}-{number}"
        self._storage.rename(path, kept)
        logger.warning("%s could not be read; it is kept as %s.", self.save_dir / path, kept)

    def _read(self, session_id: str, user_id: str) -> tuple[str, dict[str, Any] | None]:
        path = _path(session_id, user_id)
        for candidate in dict.fromkeys((path, *_stock_path(session_id, user_id))):
            data = self._storage.read_if_any(candidate) if self.save_dir.is_dir() else None
            if data is None:
                continue
            states = _parsed(data)
            if isinstance(states, str):
                logger.warning("%s is damaged (%s).", self.save_dir / candidate, states)
                raise StateError(f"{self.save_dir / candidate} is damaged ({states}); nothing was loaded")
            owner = states.pop(OWNER_KEY, None)
            # A file of JSONSession may have the name of another user's and session's.
            if owner is None or owner == _owner(session_id, user_id):
                return candidate, states
        return path, None

    def _delete(self, session_id: str, user_id: str) -> bool:
        with self._storage.lock():
            path, states = self._read(session_id, user_id)
            if states is not None:
                self._storage.remove(path)
            return states is not None


def _owner(session_id: str, user_id: str) -> dict[str, str]:
    return {"session_id": clean_text(session_id, keep_nul=True), "user_id": clean_text(user_id, keep_nul=True)}


def _path(session_id: str, user_id: str) -> str:
    name = f"{session_file_name(session_id)}.json"
    return f"{session_file_name(user_id)}/{name}" if user_id else name


def _stock_path(session_id: str, user_id: str) -> tuple[str, ...]:
    """Where JSONSession puts it, if that is a file in the folder."""
    name = f"{user_id}_{session_id}.json" if user_id else f"{session_id}.json"
    return (name,) if _FILE_NAME.fullmatch(name) and not name.startswith(".") else ()


def _parsed(data: bytes) -> dict[str, Any] | str:
    """Return a file's states, or what is wrong with it."""
    try:
        # JSONSession writes lone surrogates as they are.
        states = json.loads(data.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError) as error:
        return f"{type(error).__name__}: {error}"
    return states if isinstance(states, dict) else f"an object is expected, not {type(states).__name__}"


def _reason(error: Exception) -> str:
    return str(error) if isinstance(error, ReMeError) else f"{type(error).__name__}: {error}"
