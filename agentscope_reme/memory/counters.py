"""Counters of tokens: the Qwen vocabulary, tokenizers of Hugging Face, and an estimate by character class.

A counter is synchronous and counts texts; what a request adds around them is :mod:`~agentscope_reme.memory.tokens`'s.
"""

import logging
import math
import re
import threading
from functools import lru_cache
from typing import Any, Protocol

from ..expression import expression

logger = logging.getLogger(__name__)

# Tokens per unit of each character class, fitted to the Qwen vocabulary on English and Chinese dialogue, notes in both,
# code, logs and JSON; bench/tokens.py prints how far the estimate is off on each.
_PIECE = expression(r"[A-Z]?[a-z]+|[A-Z]+")
_WORD = expression(r"[A-Za-z]+")
_DIGIT = expression(r"[0-9]")
_HAN = expression(r"[\u3400-\u9fff\uf900-\ufaff]+")
_KANA = expression(r"[\u3040-\u30ff]")
_HANGUL = expression(r"[\uac00-\ud7af]")
_WIDE_SIGN = expression(r"[\u3000-\u303f\uff00-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uffef]")
_ALPHABET = expression(r"[\u00c0-\u024f\u0370-\u052f]")  # Latin with accents, Greek, Cyrillic
_ASTRAL = expression(r"[\U00010000-\U0010ffff]")
_SPACE = expression(r"\s+")
_SIGNS = expression(r"[!-/:-@\[-`{-~]+")
_SIGN_OF_WORD = expression(r"(?<![!-/:-@\[-`{-~ ])[!-/:-@\[-`{-~](?=[A-Za-z])")
_BREAK_AFTER_SIGN = expression(r"[!-/:-@\[-`{-~]\n")
_INDENT = expression(r"(?:^|(?<=\n))[ \t]+|[ \t]{2,}")
_BLANK_BEFORE_DIGIT = expression(r"[ \t](?=[0-9])")
_BLANK_BEFORE_HAN = expression(r" (?=[\u3400-\u9fff])")
# Base64, hashes, keys: runs that change between cases and digits every few characters.
_UNBROKEN = expression(r"[A-Za-z0-9+/=_-]{32,}")
# The most frequent characters of modern Chinese: they stand in words that are one token.
_COMMON = expression(
    "[的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所然家"
    "种事成方多经么去法学如都同现当没动面起看定天分还进好小部其些主样理心她本前开但因只从想实日军者意无力它与长把机"
    "十民第公此已工使情明性知全三又关点正业外将两高间由问很最重并物手应战向头文体政美相见被利什二等产或新己制身果加"
    "西斯月话合回特代内信表化老给世位次度门任常先海通教儿原东声提立及比员解水名真论处走义各入几口认条平系气题活尔更"
    "别打女变四神总何电数安少报才结反受目太量再感建务做接必场件计管期市直德资命山金指克许统区保至队形社便空决治展马"
    "科司五基眼书非则听白却界达光放强即像难且权思王象完设式色路记南品住告类求据程北边死张该交规万取拉格望觉术领共确"
    "传师观清今切院让识候带导争运]"
)
_PER_WORD = 0.98
_PER_PIECE = 1.0  # a part of a word beside the first: camelCase, ABCdef
_PER_LONG_LETTER = 0.11  # each letter of a part after the eighth
_PER_COMMON_HAN = 0.4
_PER_RARE_HAN = 0.75
_PER_HAN_RUN = (0.0, 0.25, 0.8, 1.0)  # by its length, up to three
_PER_BREAK = 0.5
_PER_BREAK_AFTER_SIGN = 0.1  # one token with the sign
_PER_INDENT = 0.7  # also any other run of blanks
_PER_BLANK_BEFORE_DIGIT = 1.2
_PER_BLANK_BEFORE_HAN = 1.0
_PER_SIGN_RUN = 1.05
_PER_SIGN_OF_WORD = 0.6  # a sign between words, one token with the word after it: .name, (name
_PER_LONG_SIGN = (0.06, 0.35)  # each sign of a run after the third, where all are the same and where they are not
_PER_UNBROKEN = 0.81
_PER_OTHER = 1.0
_RARER = (  # what stands in few texts, each character
    (_DIGIT, 1.0),
    (_WIDE_SIGN, 0.6),
    (_KANA, 0.5),
    (_HANGUL, 0.75),
    (_ALPHABET, 0.4),
    (_ASTRAL, 1.7),
)


class TextCounter(Protocol):
    """Counts the tokens of a text. Synchronous; may be asked from several threads; special-token text is plain text."""

    name: str

    def count_text(self, text: str) -> int:
        """Return how many tokens ``text`` has."""
        ...


class EstimateCounter:
    """A dependency-free estimate by character class, the last resort. Linear in the text's length."""

    name = "estimate"

    def count_text(self, text: str) -> int:
        """Estimate: words and their parts, digits one each, Han characters by how frequent they are, signs by run."""
        if not text:
            return 0
        text, unbroken = _without_unbroken(text)
        words, pieces = len(_WORD.findall(text)), _PIECE.findall(text)
        total = unbroken * _PER_UNBROKEN + words * _PER_WORD + (len(pieces) - words) * _PER_PIECE
        total += sum(len(piece) - 8 for piece in pieces if len(piece) > 8) * _PER_LONG_LETTER
        signs, spaces, runs = _SIGNS.findall(text), _SPACE.findall(text), _HAN.findall(text)
        of_word, ending = len(_SIGN_OF_WORD.findall(text)), len(_BREAK_AFTER_SIGN.findall(text))
        total += (len(signs) - of_word) * _PER_SIGN_RUN + of_word * _PER_SIGN_OF_WORD
        total += sum((len(run) - 3) * _PER_LONG_SIGN[len(set(run)) > 1] for run in signs if len(run) > 3)
        total += (sum("\n" in run for run in spaces) - ending) * _PER_BREAK + ending * _PER_BREAK_AFTER_SIGN
        total += len(_INDENT.findall(text)) * _PER_INDENT
        total += len(_BLANK_BEFORE_DIGIT.findall(text)) * _PER_BLANK_BEFORE_DIGIT
        han = sum(map(len, runs))
        if han:
            common = len(_COMMON.findall(text))
            total += common * _PER_COMMON_HAN + (han - common) * _PER_RARE_HAN
            total += sum(_PER_HAN_RUN[min(3, len(run))] for run in runs)
            total += len(_BLANK_BEFORE_HAN.findall(text)) * _PER_BLANK_BEFORE_HAN
        rest = len(text) - han - sum(map(len, pieces)) - sum(map(len, signs)) - sum(map(len, spaces))
        if rest:
            for kind, price in _RARER:
                found = len(kind.findall(text))
                total += found * price
                rest -= found
            total += rest * _PER_OTHER
        return math.ceil(total)


def _without_unbroken(text: str) -> tuple[str, int]:
    """Return the text without base64, hashes and their like, and how many characters those had."""
    if _UNBROKEN.search(text) is None:
        return text, 0

    def kept(match: re.Match[str]) -> str:
        run = match[0]
        parts = len(_PIECE.findall(run)) + len(_DIGIT.findall(run))
        return "" if parts > len(run) / 3 else run

    rest = _UNBROKEN.sub(kept, text)
    return rest, len(text) - len(rest)


class QwenCounter:
    """Exact counts with the Qwen vocabulary that ships inside ``dashscope``. Construction reads it (0.4 s)."""

    name = "qwen"

    def __init__(self) -> None:
        from dashscope import get_tokenizer

        self._tokenizer = get_tokenizer("qwen-max")

    def count_text(self, text: str) -> int:
        """Count; ``<|endoftext|>`` and its like are plain text here."""
        return len(self._tokenizer.encode(text, allowed_special=set(), disallowed_special=()))


class HuggingFaceCounter:
    """Exact counts with a tokenizer of Hugging Face ``transformers`` (the extra ``huggingface``).

    No chat template is needed, and tokenizers written in Python do as well as those in Rust.

    Args:
        tokenizer: A model's name, a folder, or a tokenizer that has been loaded.
        local_only: Take a name's files from this machine and never ask the network.

    Raises:
        ImportError: ``transformers`` is not installed.
        OSError: There is no such tokenizer.
    """

    def __init__(self, tokenizer: Any, *, local_only: bool = False) -> None:
        self.name = f"huggingface {tokenizer}" if isinstance(tokenizer, str) else f"huggingface {_name_of(tokenizer)}"
        if isinstance(tokenizer, str):
            from transformers import AutoTokenizer

            tokenizer = AutoTokenizer.from_pretrained(tokenizer, local_files_only=local_only)
        self.tokenizer = tokenizer
        # Rust tokenizers refuse to be asked by two threads at once.
        self._lock = threading.Lock()

    def count_text(self, text: str) -> int:
        """Count, without the tokens that a model puts around a text; special-token text is plain text."""
        with self._lock:
            encoded = self.tokenizer(text, add_special_tokens=False, split_special_tokens=True, verbose=False)
        return len(encoded["input_ids"])


def _name_of(tokenizer: Any) -> str:
    return str(getattr(tokenizer, "name_or_path", "") or type(tokenizer).__name__)


@lru_cache(maxsize=1)
def default_counter() -> TextCounter:
    """Return the Qwen counter, or the estimate where its vocabulary cannot be loaded."""
    try:
        counter = QwenCounter()
        counter.count_text("ready")
    except Exception as error:  # a missing or damaged vocabulary must never stop a turn
        logger.warning("The Qwen vocabulary could not be loaded (%s); token counts are estimates.", error)
        return EstimateCounter()
    return counter
