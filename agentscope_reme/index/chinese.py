"""Chinese, Japanese, Korean and other scripts without spaces: runs of characters and what becomes of them."""

import hashlib
import re
import threading
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import Any

from ..expression import expression
from .simplified import simplified

HAN = "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
KANA = "\u3041-\u3096\u309d\u309e\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
HANGUL = "\u1100-\u11ff\uac00-\ud7af"
THAI_LAO_BURMESE_KHMER = "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ebd\u0ec0-\u0ecd\u1000-\u103f\u1050-\u108f\u1780-\u17d3"

# Characters that build grammar. One of the first kind makes a pair say nothing about what is asked for ("的猫"); those
# of the second kind are parts of words, too ("过敏", "现在"), and say nothing only among themselves ("有多").
_PARTICLES = frozenset("的了吗呢吧啊呀么是我你您他她它们这那哪谁什怎")
FUNCTION_CHARS = _PARTICLES | frozenset("在和与或把被就都也还很有没不对从到为着过给让请些几多少一个")
_CONTENT_WORDS = frozenset(("了解", "目的", "的确", "的士", "自我", "他人"))
_ANY_HAN = re.compile(f"[{HAN}]")
_PAIRS = re.compile(r"(?=(..))", re.DOTALL)
# The same in a text with other signs, which takes one pass; "" stands for a character alone.
_PAIRS_BETWEEN = re.compile(f"[{HAN}{KANA}](?:(?<=([{HAN}{KANA}].))|(?<![{HAN}{KANA}].)(?![{HAN}{KANA}]))", re.DOTALL)
_PAIRS_AND_SINGLES = expression(f"(?=([{HAN}{KANA}]{{2}}|(?<![{HAN}{KANA}])[{HAN}{KANA}](?![{HAN}{KANA}])))")
_RUN = expression(f"[{HAN}{KANA}]+")
_MOST_RUN = 100_000


def carries_content(term: str) -> bool:
    """Whether a Chinese term, a pair of characters or a word, says what is asked for and is not mere grammar."""
    if term in _CONTENT_WORDS:
        return True
    if len(term) <= 2 and not _PARTICLES.isdisjoint(term):
        return False
    return not FUNCTION_CHARS.issuperset(term)


class Bigrams:
    """Overlapping pairs of characters; a run of one is that character."""

    fingerprint = "bigram"

    def load(self) -> None:
        """There is nothing to load."""

    def cut(self, run: str) -> list[str]:
        """Terms of a run."""
        size = len(run)
        if size < 3:
            return [run]
        return [run[:2], run[1:]] if size == 3 else _PAIRS.findall(run)

    def cut_all(self, stretch: str) -> list[str]:
        """Terms of the Chinese and Japanese runs in a text."""
        found: list[str] = _PAIRS_BETWEEN.findall(stretch)
        return _PAIRS_AND_SINGLES.findall(stretch) if "" in found else found


class JiebaWords:
    """Words of a Chinese run by jieba in search mode (long words and the short ones inside them).

    The dictionary is read from the package each time a process first needs it: jieba's own cache lies in the shared
    temporary folder, where another user may own it or plant one, and is loaded with ``marshal``.
    """

    def __init__(self, user_dict: Path | None = None) -> None:
        self._user_dict = user_dict
        self._jieba: Any = None
        self._lock = threading.Lock()

    @cached_property
    def fingerprint(self) -> str:
        """The installed version of jieba (none is a version, too) and the user dictionary's content."""
        from importlib.metadata import PackageNotFoundError, version

        try:
            installed = version("jieba")
        except PackageNotFoundError:
            installed = "absent"
        try:
            words = self._user_dict.read_bytes() if self._user_dict is not None else b""
        except OSError:
            words = b"unreadable"
        return f"jieba {installed} {hashlib.sha256(words).hexdigest()}"

    def load(self) -> None:
        """Read the dictionaries (about a second); later calls return at once."""
        with self._lock:
            if self._jieba is None:
                self._jieba = _load_jieba(self._user_dict)

    def cut(self, run: str) -> list[str]:
        """Terms of a run. Without jieba, and where there is no Chinese, these are pairs of characters."""
        if self._jieba is None:
            self.load()
        if self._jieba is False or not _ANY_HAN.search(run):
            return Bigrams().cut(run)
        words: list[str] = []
        for begin in range(0, len(run), _MOST_RUN):
            words.extend(word for word in self._jieba.cut_for_search(run[begin : begin + _MOST_RUN]) if word.strip())
        return words

    def cut_all(self, stretch: str) -> list[str]:
        """Terms of the Chinese and Japanese runs in a text."""
        return [word for run in _RUN.findall(stretch) for word in self.cut(run)]


def _load_jieba(user_dict: Path | None) -> Any:
    """A jieba tokenizer with its dictionary loaded, or False when jieba cannot be used."""
    import logging
    import warnings

    try:
        with warnings.catch_warnings():
            # jieba's source has invalid escapes and imports pkg_resources; neither is the user's concern.
            warnings.simplefilter("ignore")
            import jieba
    except ImportError:
        logging.getLogger(__name__).warning("jieba is not installed: pairs of characters instead")
        return False
    jieba.setLogLevel(logging.ERROR)
    loaded = jieba.Tokenizer()
    try:
        loaded.FREQ, loaded.total = loaded.gen_pfdict(loaded.get_dict_file())
    except (OSError, ValueError) as error:
        logging.getLogger(__name__).warning(
            "jieba's dictionary cannot be read (%s): pairs of characters instead", error
        )
        return False
    loaded.initialized = True
    if user_dict is not None:
        try:
            # Its words are compared with text whose characters are simplified.
            loaded.load_userdict(BytesIO(simplified(user_dict.read_text("utf-8")).encode()))
        except (OSError, ValueError) as error:
            logging.getLogger(__name__).warning("the user dictionary %s cannot be read: %s", user_dict, error)
    return loaded
