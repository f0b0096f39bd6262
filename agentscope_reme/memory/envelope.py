"""The fixed wrapping in which a checkpoint reaches the model, and how language is chosen for it.

The envelope is one user-role message before the kept messages. It says that what it holds is background and already
handled (models otherwise do old requests again) and where the full text lies. Its bytes and id depend on nothing but
the checkpoint, so that prompt caches stay valid until the checkpoint changes.
"""

import hashlib
import re
from typing import TYPE_CHECKING

from .blocks import is_said_by_user, text_of
from .vault_tools import VaultTools

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentscope.message import Msg

OPEN, CLOSE = "<conversation-checkpoint>", "</conversation-checkpoint>"
_FENCE_NAME = re.compile("conversation-checkpoint", re.IGNORECASE)
_FENCE = re.compile(r"<(\s*/?\s*)(conversation-checkpoint)", re.IGNORECASE)
_HAN = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]")
# Characters of all texts, and of each, by which their language is told.
_MOST_LOOKED_AT, _LEAST_LOOKED_AT = 100_000, 500
_LATIN_RUN = re.compile(r"[A-Za-z0-9_./\\@:=+-]+")

_HEAD = {
    "en": (
        "Background from earlier in this conversation, not a new request: what is asked in it has been handled, "
        "except what Next Steps lists. Do not start over."
    ),
    "zh": "这是本次对话较早部分的背景，不是新的请求：其中的请求都已处理，除非列在 Next Steps 中。不要从头开始。",
}
_INSIDE = {
    "en": "Part of the work on the latest request below is done and recorded here; go on from there.",
    "zh": "下面最新请求的部分工作已经完成并记录在此，请从那里继续。",
}
# Which tools the agent has decides how the text is said to be found.
_SOURCE = {"en": "Full text: `{path}`{how}.", "zh": "全文：`{path}`{how}。"}
_HOW = {
    "en": {"both": " ({search} finds, {read} opens)", "search": " ({search} finds it)", "read": " ({read} opens it)"},
    "zh": {
        "both": "（用 {search} 查找，用 {read} 打开）",
        "search": "（用 {search} 查找）",
        "read": "（用 {read} 打开）",
    },
}


def envelope_text(
    checkpoint: str, *, path: str, language: str, inside_turn: bool, tools: VaultTools | None = None
) -> str:
    """Wrap a checkpoint. Fence tokens inside it are defused, so that it cannot close its own wrapping."""
    head = [_HEAD[language]]
    if inside_turn:
        head.append(_INSIDE[language])
    if path:
        head.append(_SOURCE[language].format(path=path, how=_how(language, tools or VaultTools())))
    body = _FENCE.sub(r"‹\1\2", checkpoint.strip())
    return "\n".join([OPEN, " ".join(head), "", body, CLOSE])


def _how(language: str, tools: VaultTools) -> str:
    kind = "both" if tools.search and tools.read else "search" if tools.search else "read" if tools.read else ""
    return _HOW[language][kind].format(search=tools.search, read=tools.read) if kind else ""


def envelope_id(text: str) -> str:
    """Return the id of the envelope's message: it changes exactly when its text does."""
    return "checkpoint-" + hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:20]


# What an envelope adds, and nothing else that a checkpoint may say.
_COPIED = re.compile(
    "|".join(
        [
            *(re.escape(text) for texts in (_HEAD, _INSIDE) for text in texts.values()),
            r"Full text: `[^`\n]*`(?: \([^)\n]*\))?\.",
            r"全文：`[^`\n]*`(?:（[^）\n]*）)?。",
            r"[<‹]\s*/?\s*conversation-checkpoint\s*>?",
        ]
    ),
    re.IGNORECASE,
)


# Texts that become an envelope when others are taken out of them, one inside the other, are given up after so many.
_NESTED = 5


def without_envelope(text: str) -> str:
    """Return a checkpoint without any envelope a model may have copied into it. Applied twice it changes nothing."""
    for _ in range(_NESTED):
        text, found = _COPIED.subn("", text)
        if not found:
            return text.strip()
    return _FENCE_NAME.sub("_", text).strip()


def language_of(texts: "Iterable[str]", default: str = "en") -> str:
    """Return ``zh`` or ``en`` by the majority of characters; a Han character weighs as much as two letters.

    Letters are those of words: paths, addresses and names of code are written alike in every language. Of long texts
    beginning and end are looked at, about 100 000 characters in all: it is done in the event loop.
    """
    listed = list(texts)
    share = max(_LEAST_LOOKED_AT, _MOST_LOOKED_AT // max(1, len(listed)))
    han = letters = 0
    for text in listed:
        if len(text) > share:
            text = f"{text[: share // 2]}\n{text[-share // 2 :]}"
        han += len(_HAN.findall(text))
        runs = (run.strip("./:=+-") for run in _LATIN_RUN.findall(text))
        letters += sum(len(run) for run in runs if run.isalpha())
    if not han and not letters:
        return default
    return "zh" if han * 2 >= letters else "en"


def user_language(messages: "Iterable[Msg]", default: str = "en") -> str:
    """Return the language of what the user said."""
    return language_of((text_of(message) for message in messages if is_said_by_user(message)), default)
