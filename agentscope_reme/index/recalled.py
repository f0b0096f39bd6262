"""What only repeats what stands elsewhere in the vault: recalled text in a journal, notes that were made by copying.

Each search for a question leaves in the journal the call, the result and an answer that quotes it. Were they found
again, the next search would return its own echo and not the source. Everything here is decided from one message, or one
line of a note, alone: journals are indexed as they grow, and the index must not depend on where a batch ended.
"""

import hashlib
import re
from collections.abc import Mapping
from typing import Any

from ..expression import expression

READING_TOOLS = frozenset({"memory_search", "read", "list"})
"""Tools of ours whose calls and results say nothing of their own."""

# The parameters of our tools: what tells a call of ours from one of another tool that is called "read".
_PARAMETERS = {
    "read": ("path", {"path", "start_line", "end_line", "column"}),
    "list": ("", {"path", "recursive"}),
    "write": ("content", {"path", "content", "version", "overwrite"}),
    "append": ("content", {"path", "content"}),
    "edit": ("old", {"path", "old", "new"}),
}
# A prefix may stand before the name, and AgentScope's "rename" puts five letters behind it.
_NAMED = expression(r"(?:.*[^A-Za-z])?(read|list|write|append|edit)(?:_[0-9A-Za-z]{5})?", re.DOTALL)
_SEARCH = expression(r".*memory_search(?:_[0-9A-Za-z]{5})?", re.DOTALL)
_FOLDERS = r"(?:daily|digest|resource|session|memory|dialog|tool_result|reme_session)"
_IN_VAULT = expression(
    rf"(?:\./)?(?:{_FOLDERS}(?:/.*)?|(?![/~]|[A-Za-z]:).*\.(?:md|markdown|jsonl)(?::\d+(?:-\d+)?)?)", re.DOTALL
)

_FENCE = expression(r"<(recalled-memory|vault-file)\s+(?:source|path)=\"[^>]*(?:>.*?(?:</\1\s*>|\Z)|\Z)", re.DOTALL)
_AROUND_FENCES = expression(r"^(?:Quoted from the memory vault, best first\.|More follows: \w+\().*$", re.MULTILINE)
_LISTED = expression(r"[^\n]*(?:/| \(\d+ bytes\))|and \d+ more; list a folder below|Nothing is there\.")
_CHANGED = expression(r"(?:Created|Changed|Removed|Nothing to change in) \S[^\n]* \(version [0-9a-f]*\)\.")

_CITATION = expression(
    rf"(?:{_FOLDERS}/[^\s\[\]()<>\"'`“”「」（）【】，。；|]+\.\w{{1,8}}:\d+(?:-\d+)?"
    r"|[\w./~-]*\w\.(?:md|jsonl):\d+-\d+)"
)
_MAY_CITE = expression(r"\.[A-Za-z]\w{0,7}:\d")
_QUOTED = expression(r"“[^”]*”|「[^」]*」|『[^』]*』|\"[^\"\n]*\"|^[ \t]*>[^\n]*$", re.MULTILINE)
_SENTENCE = expression(r"(?<=[。！？!?；;])\s*|(?<=\.)\s+|\n+")

_GENERATED = expression(r"^<!-- reme:begin (\w+) -->[ \t]*\n(.*?)^<!-- reme:end \1 -->", re.MULTILINE | re.DOTALL)
_STATEMENT = expression(r"- (?:\d{4}-\d\d-\d\d )?(?:\d\d:\d\d )?[^:]{1,40}: (.+)")
_SEEN = expression(r"^<!-- reme:seen ([0-9a-f ]*)-->", re.MULTILINE)
MENTIONED = {"en": "## Mentioned", "zh": "## 提到的"}
"""The heading of a card's lists of names, dates and paths, which stand in its statements as well."""


def statement_digest(words: str) -> str:
    """What a card's statement is recognised by once the user may have edited it: 32 bits of its words' SHA-256."""
    return hashlib.sha256(words.encode("utf-8", "replace")).hexdigest()[:8]


# --- Journals ---------------------------------------------------------------------------------------------------------


def without_recalled(text: str) -> str:
    """A text without the passages it copied out of a search result or a page of a file, fences included."""
    if "<recalled-memory" not in text and "<vault-file" not in text:
        return text
    return _AROUND_FENCES.sub("", _FENCE.sub(" ", text)).strip()


def tool_of_ours(name: Any, arguments: Any = None) -> str:
    """Which of our tools a call is of, "" for another's; by its name, under any prefix, and by its arguments.

    Other toolkits have a ``read``, too: ours takes a path inside the vault and no other parameters than these.
    """
    name = str(name or "")
    if _SEARCH.fullmatch(name):
        return "memory_search"
    found = _NAMED.fullmatch(name)
    if found is None:
        return ""
    required, known = _PARAMETERS[found[1]]
    if not isinstance(arguments, Mapping):
        return found[1] if found[1] == "list" and not arguments else ""
    path = arguments.get("path", "")
    fits = known.issuperset(arguments) and (not required or required in arguments)
    in_vault = isinstance(path, str) and (_IN_VAULT.fullmatch(path.strip()) or (not path and found[1] != "read"))
    return found[1] if fits and in_vault else ""


def result_of_others(name: Any, text: str) -> str:
    """A tool's result without what our own tools say: all of it, or the passages of ours inside another's result."""
    name = str(name or "")
    if _SEARCH.fullmatch(name):
        return ""
    found = _NAMED.fullmatch(name)
    rest = without_recalled(text)
    if rest != text and (found is not None or not name):
        return ""
    said = rest.strip()
    if found is not None and found[1] == "list":
        return "" if said and all(_LISTED.fullmatch(line) for line in said.split("\n")) else rest
    return "" if found is not None and _CHANGED.fullmatch(said) else rest


def quotes_vault(text: str) -> bool:
    """Whether at least half of a turn is quoted from the vault: sentences with a citation, and what stands in quotes.

    A citation is ``path:line`` or ``path:start-end`` as search results give it.
    """
    if not _MAY_CITE.search(text):
        return False
    cited = [found.start() for found in _CITATION.finditer(text)]
    if not cited:
        return False
    covered = bytearray(len(text))
    begin = 0
    for end in [*(found.start() for found in _SENTENCE.finditer(text)), len(text)]:
        if any(begin <= start < end for start in cited):
            covered[begin:end] = b"\1" * (end - begin)
        begin = end
    for quoted in _QUOTED.finditer(text):
        covered[quoted.start() : quoted.end()] = b"\1" * (quoted.end() - quoted.start())
    return 2 * sum(covered) >= len(text.strip())


# --- Notes ------------------------------------------------------------------------------------------------------------


def copied_lines(path: str, generator: str, text: str) -> frozenset[str]:
    """The lines of a note that were made by copying: they say no more than the journal or the card they come from.

    In a card made without a model (``extractive@``, or ``model@`` once a model improved it) these are the statements
    as they were said, and the lists of what they mention; on a day's page the list of its cards. A statement that the
    user has changed is the user's own.
    """
    extractive = generator.startswith(("extractive@", "model@"))
    if not extractive and not (path.startswith("daily/") and path.count("/") == 1):
        return frozenset()
    found: set[str] = set()
    for part in _GENERATED.finditer(text.replace("\r\n", "\n")):
        lines = part[2].split("\n")
        if not extractive:
            found.update(line for line in lines if line.startswith("- [["))
            continue
        if part[1] != "statements":
            continue
        seen = {digest for one in _SEEN.finditer(part[2]) for digest in one[1].split()}
        mentioned = False
        for line in lines:
            if line.startswith("#"):
                mentioned = line in MENTIONED.values()
            statement = _STATEMENT.fullmatch(line)
            if mentioned or (statement is not None and statement_digest(statement[1]) in seen):
                found.add(line)
    return frozenset(line.strip() for line in found if line.strip())


def is_copied(text: str, copied: frozenset[str]) -> bool:
    """Whether every line of a unit is among the lines that were copied."""
    return bool(copied) and copied.issuperset(line.strip() for line in text.split("\n") if line.strip())
