"""What a card is called: the clause that says most about what a conversation was about, and a line more of it."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import date
from functools import lru_cache

from ..index.asking import asks, is_idle, sentences_of
from ..vault.encoding import safe_cut
from .facts import identifiers_of, is_request, names_of, weight_of
from .statements import Statement, bare_words, ranked

MAX_NAME = 60
"""Longest name, in characters."""

NAME_BYTES = 80
"""Longest name in bytes of UTF-8: what a file name keeps of it, so that it is cut here, between words."""

_BREAKS = re.compile(r"[，。；！？,;!?\n：（(—]|\.\s|\.$|:\s|\s[-–]\s")
_HAN = re.compile(r"[\u3400-\u9fff]")
_WORD = re.compile(r"[^\W_][\w'’.+-]*")
_LEAD = re.compile(
    r"^(?:(?:and|but|so|or|well|oh|ok|okay|yes|yeah|yep|no|also|then|now|please|actually|because|anyway|by the way|btw"
    r"|hi|hey|hello|wow|remember(?: that| this)?|note that|don['’]t forget(?: that| to)?|keep in mind(?: that)?"
    r"|for the record|(?:that['’]s|it['’]s) (?:true|right))\b[\s,:.!-]*)+"
    r"|^(?:(?:但是?|而且|所以|因为|不过|其实|另外|还有|然后|那么?|而|并且|同时|嗯+|哦+|对了|是的|好的|请?记住|请?记得|别忘了?"
    r"|说起来|话说回来)[，,：: ]*)+",
    re.IGNORECASE,
)
# What is said to the other one and not about anything.
_REACTION = re.compile(
    r"^(?:thanks?|thank you|that['’]s (?:\w+ )?(?:great|awesome|amazing|cool|good|nice|true|right|wonderful|so)"
    r"|sounds?\b"
    r"|(?:i(?:['’]m| am) )?(?:so |really |very )?(?:glad|happy|sorry|proud) (?:you|to hear|for you|of you|that you)"
    r"|congrat|you(?:['’]re| are| look| did| got| can| must| should)\b|your\b|good (?:luck|idea|point|to)"
    r"|great (?:job|idea|to)|i (?:totally |completely |really )?(?:agree|see|understand|know|bet|hope so|think so)\b"
    r"|no (?:problem|worries)|let me know|take care|have (?:fun|a)\b|can['’]t wait|looking forward|long time|nice to"
    r"|how (?:nice|cool|sweet|great)|what an?\b)"
    r"|^(?:非常|很|太|真的?|多)?(?:谢|感谢|高兴认识|抱歉|对不起|不好意思)|^(?:你|您)|建议|推荐给|听起来|听上去|很有道理|就决定了|记下来?了"
    r"|^(?:好|对|行|没错|明白|知道)|我会(?:试|去|尝试|考虑|注意|尽力|努力|认真)|好主意|不错$|朋友$|聊聊天|帮助$",
    re.IGNORECASE,
)
_UNANCHORED = re.compile(
    r"^(?:this|that|it|these|those|they|there|he|she|was|were|is|are|will|has|had)\b|^[这那它他她到]", re.IGNORECASE
)
# A clause that is no name without the one before it.
_HANGS = re.compile(
    r"^(?:called|named|which|who|whose|where|especially|like|such as|including)\b"
    r"|^(?:叫做?|名叫|名字|像|就是|是|并且?|以及|尤其|特别是|比如|例如|包括|来自|和|与|《)",
    re.IGNORECASE,
)
_DAY = re.compile(r" \(\d{4}-\d\d-\d\d\)$")
_ASIDE = re.compile(r"\[[^\]\n]*\]")
_ASKING = re.compile(r"不知道|是不是|有没有|能不能|要不要|应该(?:如何|怎么)|(?:有|是)什么|怎么(?:办|样)|[吗呢]$")
_BEFORE_DATE = re.compile(r"(?:\b(?:on|in|at|since|until|by|for|from)\s+|[在到从于至等])$", re.IGNORECASE)
_TALK = re.compile(r"(?:想|来)(?:要)?(?:跟|和|与|向)?你(?:聊聊?|谈谈?|谈论|分享|请教)(?:一下|关于)*", re.IGNORECASE)
# Words before and after which a Chinese clause may be cut. Single characters also stand inside words.
_PHRASE = (
    r"以及|并且|而且|但是|因为|所以|如果|或者|关于|为了|还有|可以|需要|应该|已经|正在|开始|一个|一些|这个|那个|我们|他们|你们|自己"
    r"|(?<!有)没有|不是|什么|(?<!不)怎么|然后|之后|之前|通过|根据|由于|对于|其中|包括|例如|比如"
)
_BORDERS = re.compile(
    rf"(?={_PHRASE})|(?<=[\u3400-\u9fff])(?=[A-Za-z0-9《“「])|(?<=[A-Za-z0-9》”」])(?=[\u3400-\u9fff])"
    r"|(?<=的)(?![确士地话])|(?<=[了过])(?<![为除]了)(?![解了程去敏度于])|(?<=[、，；·\s])|(?<![总暖饱温缓柔平共中])(?=和(?![平谐睦气解尚]))|(?<![以涉普危参])(?=[与及](?![其时]))"
    r"|(?<!自)(?=我)|(?<=们)|(?<!其)(?=[他她你])|(?<![现存正实所内外潜自何])(?=在(?![线场乎意]))|(?=[让给跟把])"
)


def title_of(statements: Iterable[Statement]) -> str:
    """A short name for a card: the clause that says most about its topic, at most MAX_NAME characters.

    Names, paths, numbers and words that come back in other statements speak for a clause; questions and what only
    answers the other one speak against it. Greetings and relative dates are left out. One word is no name: a clause
    that is too short is followed by the next ones, at last by the day.
    """
    kept = sorted(statements, key=ranked)
    if not kept:
        return ""
    told = Counter(term for one in kept for term in _content(bare_words(one.words)))
    best, title = None, ""
    for place, statement in enumerate(kept):
        for clause, asking in _clauses(statement.words):
            worth = (_worth(clause, told) - (5.0 if asking else 0.0), -place)
            if best is None or worth > best:
                best, title = worth, clause
    if not _tells(title):
        title = _longer(title, kept)
    return shortened(title, MAX_NAME, NAME_BYTES)


def description_of(statements: Sequence[Statement], language: str, most: int = 120) -> str:
    """What a card is about: its weightiest statements, in the order of the card, at most ``most`` characters."""
    best = set(sorted(statements, key=ranked)[:2])
    parts = [bare_words(one.words).rstrip("。.；;") for one in statements if one in best]
    return shortened(("；" if language == "zh" else "; ").join(parts), most)


def shortened(text: str, most: int, most_bytes: int = 1_000_000) -> str:
    """A text of at most ``most`` characters and ``most_bytes`` bytes, cut between words or phrases and marked ``…``."""
    if len(text) <= most and len(text.encode("utf-8", "replace")) <= most_bytes:
        return text
    room = text[: most - 1]
    while len(room.encode("utf-8", "replace")) > most_bytes - 3:
        room = room[:-1]
    limit = safe_cut(text, len(room))
    return text[: _border(text, limit)].rstrip(" ,，、;；:：-–—") + "…"


def is_telling(title: str) -> bool:
    """Whether a name says something, its day aside: three words or four Chinese characters, not a greeting."""
    title = _DAY.sub("", title)
    return _tells(title) and not is_idle(title)


def _tells(text: str) -> bool:
    # A Chinese character is about half a word.
    return len(_WORD.findall(_HAN.sub(" ", text))) + len(_HAN.findall(text)) * 0.75 >= 3


def _clauses(words: str) -> list[tuple[str, bool]]:
    """The clauses of a statement, each with whether it asks; small talk, lead-ins and relative dates are left out.

    One that hangs on the clause before it ("…, called The Voyage") comes with it.
    """
    found: list[tuple[str, bool]] = []
    for sentence in sentences_of(_undated(_ASIDE.sub(" ", bare_words(words)))):
        parts = [_LEAD.sub("", " ".join(part.split())) for part in _BREAKS.split(sentence)]
        parts = [part for part in parts if part and not is_idle(part)]
        questions = len(parts) if asks(sentence) else int(sentence.rstrip().endswith(("?", "？")))
        for place, part in enumerate(parts):
            if place and _HANGS.search(part):
                joined = f"{parts[place - 1]}{'，' if _HAN.search(part) else ', '}{part}"
                part = (
                    joined if len(joined) <= MAX_NAME and len(joined.encode("utf-8", "replace")) <= NAME_BYTES else part
                )
            found.append((part, place >= len(parts) - questions))
    return found


def _undated(words: str) -> str:
    """The words without relative dates and the prepositions before them."""
    from ..index.dates import find_dates

    for mention in reversed(find_dates(words, date(2000, 1, 1))):
        if mention.relative:
            before = _BEFORE_DATE.sub("", words[: mention.begin])
            words = before + words[mention.stop :]
    return words


@lru_cache(maxsize=1024)
def _content(words: str) -> frozenset[str]:
    """The words of a text that are about something: English words, and pairs of Chinese characters."""
    from ..index.chinese import carries_content
    from ..index.english import STOP_WORDS

    latin = {word.lower() for word in _WORD.findall(_HAN.sub(" ", words))}
    found = {word for word in latin if len(word) > 2 and word not in STOP_WORDS}
    for run in re.findall(r"[\u3400-\u9fff]+", words):
        found.update(pair for pair in map(str.__add__, run, run[1:]) if carries_content(pair))
    return frozenset(found)


def _worth(clause: str, told: "Counter[str]") -> float:
    """How much a clause says about the topic."""
    content = _content(clause)
    names = len(set(names_of(clause)))
    worth = 0.5 * weight_of(clause) + 2.0 * min(names, 3) + 1.5 * min(2, len(set(identifiers_of(clause))))
    worth += min(2.5, 0.5 * sum(1 for term in content if told[term] > 1)) + min(3.0, 0.4 * len(content))
    worth += 1.5 if _TALK.search(clause) else 0.0
    worth -= 5.0 if _ASKING.search(clause) or is_request(clause) else 0.0
    worth -= 4.0 if _REACTION.search(clause) else 0.0
    worth -= 1.0 if _UNANCHORED.search(clause) else 0.0
    worth -= 1.0 if len(clause) > MAX_NAME else 0.0
    return worth - (6.0 if not _tells(clause) else 0.0)


def _longer(title: str, statements: Sequence[Statement]) -> str:
    """A name that is too short, with what stands beside it, or the day."""
    parts = [title] if title else []
    for statement in statements:
        for clause, _ in _clauses(statement.words) or [(" ".join(bare_words(statement.words).split()), False)]:
            if _tells(", ".join(parts)):
                break
            if clause and clause not in parts:
                parts.append(clause)
    joined = ("，" if _HAN.search("".join(parts)) else ", ").join(parts)
    day = next((one.day for one in statements if one.day), "")
    return joined if _tells(joined) or not day else f"{joined} ({day})"


def _border(text: str, limit: int) -> int:
    """The last place up to ``limit`` that is between two words or phrases, if one lies in the last two thirds."""
    if text[limit : limit + 1] in ("", " ") or (text[limit - 1] == " "):
        return limit
    places = [found.start() for found in re.finditer(r"\s", text[:limit])]
    places += [found.start() for found in _BORDERS.finditer(text, 0, limit) if found.start() <= limit]
    fitting = [place for place in places if limit // 3 <= place <= limit]
    if not fitting:
        return limit
    cut = max(fitting)
    # Not inside a title or a quotation that began shortly before.
    opened = max(text.rfind(mark, 0, cut) for mark in "《“「(（")
    if opened >= limit // 3 and not any(mark in text[opened:cut] for mark in "》”」)）"):
        return opened
    return cut
