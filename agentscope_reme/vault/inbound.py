"""Which notes link to given files: asked of the index when there is one, else looked up in the files themselves."""

import logging
import unicodedata
from collections.abc import Collection, Iterable, Iterator

from ..errors import ReMeError
from ..models import FileLink
from .encoding import decode_exact, kind_of
from .files import Files
from .layout import RESOURCE, UNINDEXED, iter_files
from .wikilink import LinkIndex, front_matter_links, parse_links, resolve

log = logging.getLogger(__name__)


def links_to(files: Files, targets: set[str]) -> tuple[FileLink, ...]:
    """The links from other notes that lead to one of ``targets``, with the notes and lines where they stand."""
    index = link_index(files)
    for target in targets:
        index.add(target)  # one that is gone is still what they are meant to lead to
    found: list[FileLink] = []
    for path in notes_naming(files, targets):
        if path not in targets and (text := text_of(files, path)) is not None:
            found += links_of(files, index, path, text, targets)
    return tuple(found)


def links_of(files: Files, index: LinkIndex, path: str, text: str, targets: set[str]) -> list[FileLink]:
    """The links of a note with this text that lead to one of ``targets``."""
    from .frontmatter import parse

    note = parse(text)
    links = (*front_matter_links(note.front, path, note.raw), *parse_links(note.body, path, note.body_line))
    return [link for link in links if target_of(files, index, link) in targets]


def link_index(files: Files) -> LinkIndex:
    """All files of the vault, as link targets."""
    return LinkIndex(path for path, _ in iter_files(files.root, extra_globs=files.ignore))


def target_of(files: Files, index: LinkIndex, link: FileLink) -> str | None:
    """The file a link leads to, or None. A link to a place in its own note leads nowhere else."""
    if not link.target_path:
        return None
    found = resolve(link.target_path, index, files.link_rule, link.source_path)
    return found.path if found.kind == "found" else None


def notes_naming(files: Files, targets: Collection[str]) -> Iterator[str]:
    """Notes in which a link to one of ``targets`` may stand. None in ``resource/``, which is not changed."""
    known = files.inlinks.notes_naming(targets) if files.inlinks is not None and targets else None
    if known is not None:
        yield from sorted(known)
        return
    needles = _needles(targets)
    skip = (*UNINDEXED, RESOURCE)
    for path, _ in iter_files(files.root, suffixes=(".md",), extra_globs=files.ignore, skip=skip):
        try:
            data = files.storage.read(path)
        except ReMeError as error:
            log.warning("links in %s were not looked at: %s", path, error)
            continue
        folded = data.lower()
        if b"[[" in data and any(needle in folded for needle in needles):
            yield path


def text_of(files: Files, path: str) -> str | None:
    """A note's text when it is UTF-8 and can be written back as it was, else None."""
    try:
        data = files.storage.read(path)
    except ReMeError:
        return None
    return decode_exact(data) if kind_of(data).exact else None


def _needles(targets: Iterable[str]) -> set[bytes]:
    """Base names without ``.md``, in each Unicode form; ASCII in lower case, as bytes are compared so."""
    stems = {target.rsplit("/", 1)[-1].removesuffix(".md") for target in targets}
    forms = {unicodedata.normalize(form, stem) for stem in stems for form in ("NFC", "NFD")} | stems
    return {form.encode("utf-8", "surrogateescape").lower() for form in forms}
