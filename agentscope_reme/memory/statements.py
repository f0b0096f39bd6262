"""What a sentence of a conversation is, by rules for English and Chinese: a rule, a decision, a fact worth keeping."""

import re
from collections.abc import Callable, Iterator

from .checkpoint import has_identifier

_SENTENCE = re.compile(r"[^\n。！？!?；;.]*(?:\.(?=\S)[^\n。！？!?；;.]*)*(?:[。！？!?；;.]+|\n|$)")
_RULE = re.compile(
    r"(?:^|[:,;]\s*|\b(?:please|you|we|and|but|then|so|must|should)\s+)(?:never|always|don'?t|do not)\b"
    r"|\bmust(?: not)?\s+(?!have\b|be\b)|\bonly use\b|\brules?\b|\bprefer(?:s|red|ence|ences)?\b|\bmake sure\b"
    r"|\bplease (?:use|answer|keep|write|call|stop)\b|^remember\b|\bremember (?:to|that)\b"
    r"|不要|必须|务必|总是|一律|规则|禁止|不得|不能|偏好|更喜欢|请用|请记住|记住|记得|约定",
    re.IGNORECASE,
)
# No rule is without one of these; looking for them takes a sixth of the time.
_RULE_WORDS = (
    "never", "always", "don't", "dont", "do not", "must", "only use", "rule", "prefer", "make sure", "please use",
    "please answer", "please keep", "please write", "please call", "please stop", "remember",
    "不要", "必须", "务必", "总是", "一律", "规则", "禁止", "不得", "不能", "偏好", "更喜欢", "请用", "记住", "记得",
    "约定",
)  # fmt: skip
_DECISION = re.compile(
    r"\b(decid\w+|let'?s (?:go|use|take)|we(?:'ll| will) (?:go|use|take)|go(?:ing)? with|chose|choose|instead of"
    r"|agreed|settled)\b"
    r"|决定|就用|改用|改成|选择|选了|定了|确定|敲定|同意|改为",
    re.IGNORECASE,
)
# No decision is without one of these.
_DECISION_WORDS = (
    "decid", "let's ", "lets ", "we'll ", "we will ", "go with", "going with", "chose", "choose", "instead of",
    "agreed", "settled", "决定", "就用", "改用", "改成", "选择", "选了", "定了", "确定", "敲定", "同意", "改为",
)  # fmt: skip
# Who or what something is called, is, or where it is. A Chinese predicate needs words on both sides.
_NAMED = re.compile(
    r"[A-Z][a-z]+\s+[A-Z][a-z]+|\b(?:is|are|was) (?:now )?(?:called|named)\b|\b(?:is|are) (?:now )?[A-Z][a-z]"
    r"|[\u4e00-\u9fff]{2}(?:是|叫做?|名为|位于|改到|放在|写到|归) ?[^\s，,。？?]{2}|名字|地址|电话|生日"
)
_FACT = re.compile(r"\d|\bmy\b|我的", re.IGNORECASE)
# What only moves the conversation along: requests that are dealt with in their turn, thanks, consent.
_PASSING = re.compile(
    r"\W*(?:(?:ok|okay|yes|no|sure|certainly|of course|great|thanks?|thank you|hello|hi|hey|sorry)\b(?!\s+is\b)"
    r"|i(?:'d| would) like to|i need to|i want to|(?:can|could|would) (?:you|i)\b|please go ahead"
    r"|i can (?:help|assist)|i(?:'d| would| will|'ll) be (?:happy|glad)|let me know|好的|没问题|当然|谢谢|你好|请问)",
    re.IGNORECASE,
)
# Longest sentence that is looked at for what it says.
MOST_CHARS = 2_000


def sentences_of(text: str) -> Iterator[str]:
    """Yield the sentences of a text, Chinese and English, without the empty ones."""
    for match in _SENTENCE.finditer(text):
        sentence = " ".join(match.group(0).split())
        if len(sentence) > 1:
            yield sentence


def section_of(sentence: str) -> str | None:
    """Return the section of a checkpoint to which a sentence of a user belongs; None when it says nothing to keep."""
    if _is_rule(sentence):
        return "Constraints"
    if _tells_decision(sentence):
        return "Key Decisions"
    if not sentence.endswith(("?", "？")) and (_FACT.search(sentence) or _NAMED.search(sentence)):
        return "Critical Context"
    return None


def _is_rule(sentence: str) -> bool:
    lowered = sentence.lower()
    return any(map(lowered.__contains__, _RULE_WORDS)) and _RULE.search(sentence) is not None


def is_decision(sentence: str) -> bool:
    """Say whether a sentence tells of a decision."""
    return _tells_decision(sentence) and not sentence.endswith(("?", "？"))


def _tells_decision(sentence: str) -> bool:
    lowered = sentence.lower()
    return any(map(lowered.__contains__, _DECISION_WORDS)) and _DECISION.search(sentence) is not None


def is_passing(sentence: str) -> bool:
    """Say whether a sentence only moves the conversation along."""
    return _PASSING.match(sentence) is not None


def weight_of(sentence: str) -> int:
    """Return how much a fact is worth beside others: 2 for a name, path or number, less for what is said in passing."""
    told = sentence[:MOST_CHARS]
    firm = 2 if has_identifier(told) or _NAMED.search(told) else 1
    return firm - (1 if is_passing(told) else 0)


def is_firm(sentence: str, weigh: Callable[[str], int] = weight_of) -> bool:
    """Say whether a sentence holds a name, a path, an id or a number of three digits and more, and asks nothing."""
    return weigh(sentence) > 1 and not sentence.endswith(("?", "？"))
