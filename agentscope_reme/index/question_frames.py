"""The words that only make a text a question: ``can you find my notes about …``, ``请问…是什么意思``.

They say nothing of what is asked about, and few notes hold them. Chinese ones, cut into pairs of characters, would be a
dozen terms, most of them rare (``么意``), beside the few that matter.
"""

import re

from ..expression import expression
from .chinese import HAN
from .english import CAPITAL_NAMES, STOP_WORDS

LONGEST_FRAMED = 120
"""Characters beyond which a text is no question but a text."""

_WHAT = "(?:什么|啥|哪些|哪几?[个种位]|谁)"
_NOTES = "(?:相关)?(?:笔记|资料|内容|记录|文章|信息|文档|材料|记忆|情况)"
_BIT = "(?:一下儿?|一遍|一点|一些)"
_WE = "(?:我们?|你|您)"
_MAY = "(?:能不能|能否|可不可以|可否|可以|能)"
_LOOK = "(?:查找|查询|查看|检索|寻找|找出|搜索|搜寻|说明|讲解|介绍|解释|描述|列出|列举|总结|概括|回忆|回顾|告诉)"
_TWICE = "(?:查一?查|找一?找|搜一?搜|看一?看|说一?说看?|讲一?讲|谈一?谈|聊一?聊)"
_BRIEFLY = f"(?:[查找搜看说讲谈聊列]|{_LOOK}){_BIT}"
_ONCE = "(?:曾经?|之前|以前|上次|过去|当时|有没有|是不是|是否)"
_WROTE = "(?:记录?|写|说|提到?|聊到?|讲到?|谈到?|出现)"
_OF = "(?:(?<![目标有])的)"  # 目的 and 标的 are words
_OPENINGS = (
    r"请问|请教|另外|对了|顺便|那么|谢谢[你您]?|多谢|麻烦(?=[你您请帮给告])|[你您]好(?=\s|$)",
    f"{_WE}?[很还]?[想要]要?(?:知道|了解|请?问|请教|看看|找|查){_BIT}?",
    f"{_WE}?还?(?:记得|知道|记不记得|知不知道)吗?",
    f"[你您]?{_MAY}?请?[你您]?(?:帮忙|[帮给为替]我们?)(?:{_TWICE}|{_BRIEFLY}|{_LOOK}|[查找搜看])?",
    f"[跟和给]我们?(?:{_TWICE}|{_BRIEFLY}|{_LOOK}|[说讲])",
    f"(?:[你您]?{_MAY}|请)[你您]?(?:{_TWICE}|{_BRIEFLY}|{_LOOK})",
    f"{_TWICE}|{_BRIEFLY}|告诉我们?",
    f"{_WE}{_ONCE}+(?:[跟和给向对]{_WE})?(?:{_WROTE}[过了])?|{_WE}{_WROTE}[过了]",
    f"有?(?:谁|哪[里儿篇条些]|哪篇笔记)(?:笔记|文章)?里?(?:有|{_WROTE})[过了]?",
    "有没有|关于|有关|对于|至于",
)
_OPENING = expression(rf"^(?:\s*(?:{'|'.join(_OPENINGS)}))+\s*")
_CLOSINGS = (
    f"(?:到底|究竟|分别|具体|主要|大概|都|又|{_OF})*(?:{_NOTES}|意思|含义)?[讲说写]?{_OF}?(?:是|有|叫|指的?是?|包括|包含|意味着|代表)"
    f"(?:{_WHAT}(?:意思|东西|样子?|人|用)?|几[种个类]|多少[种个]?)",
    "[它他她其]的?(?:名字|名称|内容)(?:是|叫)(?:什么)?",
    "(?:是|用来)?干(?:什么|嘛)用?|什么(?:意思|东西|样子?|情况)",
    "(?:到底|究竟|一般|通常|我?当时|当初)*(?:应该|应当|该|要|是)?(?:怎么|咋)(?:回事|办|样|用|做|弄|搞|来|写|说)?了?|怎样|如何|为什么|为何|为啥",
    f"[和跟与](?:{_WHAT})有关系?|{_WE}知道多少",
    f"(?:(?<![住放站坐存留藏写记])在)?(?:哪里?|哪儿|哪篇笔记里?)(?:{_WROTE}过?)?",
    "(?:是|在)?(?:哪一?[年天月日]|什么时候|何时)(?:的事情?|发生)?",
    f"[吗呢吧啊呀呗嘛]|{_OF}|(?<![什怎那这多要])么",
)
_CLOSING = expression(rf"(?:{'|'.join(_CLOSINGS)})+\s*$")
_LONGEST_CLOSING = 20
_LAST = frozenset(re.findall(f"[{HAN}]", "".join(_CLOSINGS)))  # any closing ends with one of its characters
_OF_NOTES = expression(rf"(?:的{_NOTES}|没有)\s*$")
_WITHIN = expression(
    "有?关于|(?:到底|究竟)?(?:是不是|有没有|能不能|会不会|要不要|可不可以|是否|能否|可否|为什么要?|为何要?|为啥|什么[是叫]|何[为谓]"
    f"|怎么|咋|怎样|如何|什么(?:时候|时间|地方|意思|东西)|[有是]?{_WHAT})"
)
# English: what a question may begin with beside function words; what else may, where a person is named before ("I want
# to know"; "write off debts" is a subject); and those of them that something follows.
_ASKING_WORDS = """
tell told show find search look looking list explain describe summarize summarise recall remember remind refresh forgot
mention mentioned mentions said say says talks discusses u pls please maybe kindly quickly
note notes docs documents files entries memory memories info information detail details conversation conversations
stuff everything anything something summary overview gist idea ideas thought thoughts news latest
meaning definition more again ever already still
"""
_PERSONAL_VERBS = """
give get fetch pull bring check dig send forget know knew want wanted need like wonder wondering see understand learn
hear heard help ask write wrote written noted record recorded records talk talks talked talking discuss discussed
cover covers think jot jotted save saved got deal thing things
"""
_JOINT_WORDS = "related regarding concerning mentioning"
_PERSONAL_WORDS = "i we you me us u i'm i'd i've we've we'd you've"
_JOINTS = frozenset(_JOINT_WORDS.split())
_ASKING = _JOINTS.union(_ASKING_WORDS.split())
_OF_PERSONS = frozenset(_PERSONAL_VERBS.split())
_PERSONS = frozenset(_PERSONAL_WORDS.split())
_PERSON_NEXT = expression(r"\s+(?:me|us)\b", re.IGNORECASE)
_CALLS = expression(
    r"^(?:\s*(?:hi|hello|hey|thanks?(?: you)?(?: a lot| so much)?|please|ok(?:ay)?|btw|by the way|sorry|excuse me"
    r"|(?:a )?quick question|just curious)(?![\w'’-]))+(?: there(?=\s*$))?",
    re.IGNORECASE,
)
_SPACED = expression(r"\S+")
_BARE_IMPERATIVE = expression(r"^\s*(?:explain|summari[sz]e|describe)\s+(?=\w)", re.IGNORECASE)
_ENGLISH_CLOSING = expression(
    r"(?:\s+(?:please|pls|thanks|thank you|(?:to|for) (?:me|us)|(?:is |are |was |were )?mentioned(?: anywhere)?"
    r"|anywhere))+\s*$",
    re.IGNORECASE,
)
_MEANS = expression(
    r"^(\s*(?:what|how) (?:do|does|did) .*?)\s+(?:means?|stand for|refer to|work|works)\s*$", re.IGNORECASE
)
_ALONE = expression(f"[{HAN}](?![{HAN}])")
_CLAUSES = expression(
    rf"([，,。？?！!；;：\n]+|[.:](?!\w)|(?<=[{HAN}])[.:]|“[^”]*”|\"[^\"]*\"|「[^」]*」|『[^』]*』|《[^》]*》)"
)


def without_frame(text: str) -> str:
    """A question's text, simplified and in NFKC, with a space in place of what only asks. What is quoted stays."""
    if len(text) > LONGEST_FRAMED:
        return text
    parts = _CLAUSES.split(text)
    parts[::2] = [_bare(part) if part else part for part in parts[::2]]
    return "".join(parts)


def _bare(clause: str) -> str:
    if not clause.isascii():
        clause = _bare_chinese(clause)
    return _bare_english(clause)


def _bare_english(clause: str) -> str:
    rest = _MEANS.sub(r"\1 ", _CALLS.sub(" ", clause))
    asking = person = False
    cut = 0
    for found in _SPACED.finditer(rest):
        word = found.group()
        name = word.casefold().replace("’", "'").removesuffix("'s")
        if word in CAPITAL_NAMES:
            break
        if name in _PERSONS:
            person, cut = True, found.end()
        elif name in STOP_WORDS:
            cut = found.end()
        elif name in _ASKING or (person and name in _OF_PERSONS):
            asking = True
            cut = found.end() if person or name in _JOINTS else cut
        elif not (name in _OF_PERSONS and _PERSON_NEXT.match(rest, found.end())):
            break
    rest = rest[cut:] if asking and cut else _BARE_IMPERATIVE.sub(" ", rest)
    return _ENGLISH_CLOSING.sub(" ", rest)


def _bare_chinese(clause: str) -> str:
    rest = _OPENING.sub(" ", clause)
    asked_for_notes = len(rest) < len(clause)
    ends = rest.rstrip()[-1:] in _LAST
    if ends and (closing := _CLOSING.search(rest, max(0, len(rest) - _LONGEST_CLOSING))):
        rest = rest[: closing.start()] + " "
    if asked_for_notes:
        rest = _OF_NOTES.sub(" ", rest)
    return _WITHIN.sub(_unless_beside_one, rest)


def _unless_beside_one(found: "re.Match[str]") -> str:
    """A space, but ``什么歌`` stays: no single character is left alone."""
    text, begin, stop = found.string, *found.span()
    before, after = text[max(0, begin - 2) : begin][::-1], text[stop : stop + 2]
    return found.group() if _ALONE.match(before) or _ALONE.match(after) else " "
