"""The exceptions a caller may see.

Every message says what happened, with which path, and what is safe to do next, because tools hand the same sentence to
a model. Nothing here is raised into an agent's reply: tool functions and hooks turn them into text or events.
"""


class ReMeError(Exception):
    """Base of everything this package raises on purpose."""


class ConfigError(ReMeError):
    """A setting cannot be used; the message names the setting and what it accepts."""


class StateError(ReMeError):
    """An object is used outside its life (after ``close()``), or a saved state has the wrong shape."""


class PathError(ReMeError):
    """A path is not acceptable inside a vault (absolute, outside, reserved, or a name some system cannot hold)."""


class FrontMatterError(ReMeError):
    """The YAML block at the top of a note cannot be read, so it is not rewritten either."""


class NoteError(ReMeError):
    """Something is wrong with one note. ``path`` is its vault-relative path."""

    def __init__(self, message: str, path: str = "") -> None:
        super().__init__(message)
        self.path = path


class NoteNotFound(NoteError):
    """There is no such note."""


class NoteExists(NoteError):
    """The note exists and the caller has not said that it may be replaced."""


class NoteChanged(NoteError):
    """The note's present bytes are not those the caller has seen."""


class EditNotUnique(NoteError):
    """The text to replace occurs not at all (``count == 0``) or more than once; ``lines`` are where, 1-based."""

    def __init__(self, message: str, path: str = "", *, count: int = 0, lines: tuple[int, ...] = ()) -> None:
        super().__init__(message, path)
        self.count = count
        self.lines = lines
