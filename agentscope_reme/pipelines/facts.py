"""What a sentence of a user holds that is worth keeping, by rules for English and Chinese: no model, no dictionary.

Decisions, preferences, things to remember, corrections; names, paths, addresses, ids and numbers. The rules miss and
mistake some; what they choose is printed in the user's own words: a mistake is a line too many, not a wrong fact.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal

from ..index.asking import asks, is_idle, only_asks, sentences_of
from ..index.simplified import simplified

Kind = Literal["remember", "decision", "preference", "other"]

_KINDS: tuple[tuple[Kind, "re.Pattern[str]"], ...] = (
    (
        "remember",
        re.compile(
            r"\b(?:remember (?:that|this|to|my|our|it)|please remember|don'?t forget|keep in mind|for the record"
            r"|note that|write (?:this|that) down)\b|^remember\b|记住|记得|别忘|不要忘|请记|牢记|记一下|记下来|备忘",
            re.IGNORECASE,
        ),
    ),
    (
        "decision",
        re.compile(
            r"\b(?:(?:we|i|they|she|he)(?:'ve| have| had)? (?:finally |just )?(?:decided|agreed|chose|settled|picked)"
            r"|decided (?:to|on|not|against)|decision (?:is|was)|let'?s (?:go with|use|take|stick)"
            r"|(?:go|going|went) with|(?:we|i)(?:'ll| will) (?:use|go with|switch|drop|keep)"
            r"|switch(?:ed|ing)? (?:to|from)|instead of|rejected)\b"
            r"|决定|敲定|选定|定下|定了|就用|改用|采用|改成|改为|换成|不再用|放弃|约定|商定|拍板|同意",
            re.IGNORECASE,
        ),
    ),
    (
        "preference",
        re.compile(
            r"\bI(?:'d)? (?:really |always |usually |never |also |much |still |don'?t )*"
            r"(?:prefer|like|love|hate|dislike|enjoy|can'?t stand|avoid)\b"
            r"|\bmy favou?rite|\ballerg|\bplease (?:always|never)|\bfrom now on\b"
            r"|^(?:always|never)\b(?!\s+(?:had|been|seen|heard|thought|kn[eo]wn?|met|tried|went|gone|did|done|was|were|got|again"
            r"|mind|imagined|expected|visited|liked|loved|used to)\b)"
            r"|喜欢|偏好|更爱|最爱|讨厌|受不了|习惯|过敏|爱吃|爱喝|忌口|从不|总是|以后(?:都|请|别|不)|今后|不要再|别再",
            re.IGNORECASE,
        ),
    ),
)
_PERSONAL = re.compile(
    r"\bmy (?:\w+ ){1,4}(?:is|are|was|were|lives?|works?)\b|\bI(?:'m| am) (?:an?|from|called|in)\b"
    r"|\bI (?:work|live|own|have|got|moved)\b|\bmy name\b"
    r"|我叫|我是|我住|我的|我家|我们公司|生日|电话|地址|邮箱|账号|手机号",
    re.IGNORECASE,
)
_CORRECTION = re.compile(
    r"\b(?:actually|correction|no longer|not any ?more|changed?|instead)\b"
    r"|更正|其实|不再|改了|变成|不是.{1,12}(?:而是|是)",
    re.IGNORECASE,
)
_QUESTION = re.compile(r"[?？]\s*$|[吗呢么]\s*[。.]?$")
_REQUEST = re.compile(r"\b(?:can|could|will|would) you (?:please )?(?:remember|keep|note|write)\b", re.IGNORECASE)
_CLAUSE = re.compile(r"(?<=[。！？!?；;，,])\s*|(?<=\.)\s+")
_PRELUDE = (
    r"^\W*(?:(?:please|now|then|also|again|ok(?:ay)?|just|and|next|first|(?:can|could|would|will) you"
    r"|i(?:'d| would)? (?:want|like) you to|go ahead and)\b[\s,]*)*"
)
_RUNS = re.compile(
    # "run `compare_quotes`", "use compare_quotes to …", "call the weather tool", "list the files of the vault"
    rf"{_PRELUDE}(?:(?:re-?)?(?:run|call|execute|invoke|trigger|launch|start|try)\s+(?:the\s+|your\s+)?[`'\"“]?\w[\w.]*[`(_]"
    rf"|(?:(?:re-?)?(?:run|call|execute|invoke|trigger|launch|start|try)|use)\s+(?:[`'\"“]?\w+_\w+|\w+\()"
    r"|(?:(?:re-?)?(?:run|call|execute|invoke|trigger|launch|start|try)|use)\s+(?:(?:the|your|this|that|my|an?|all)\s+)?"
    r"(?:[^\s.,;]+\s+){0,3}(?:tools?|functions?|commands?|scripts?|quer(?:y|ies)|tests?|search)\b"
    r"|(?:list|show|open|read|search|check|browse)\s+(?:me\s+)?(?:[^\s.,;]+\s+){0,3}(?:vault|memory|notes?|journals?|files?"
    r"|folders?|director(?:y|ies)|web|internet)\b)",
    re.IGNORECASE,
)
_RUNS_CHINESE = re.compile(
    r"^[\s“”]*(?:请|麻烦|帮我|给我|现在|再|你|可以|先|接着|然后|，)*(?:运行|执行|调用|跑|使用|用)(?:一?下|一遍|一次)?\s*"
    r"(?:[`“「]?[A-Za-z]\w*(?:[_(`]|\s*(?:工具|函数|命令|脚本))|[^，。；]{0,8}(?:工具|函数|命令|脚本|测试))"
)
_HABIT = re.compile(
    r"\b(?:every|each|always|never|before|after|whenever|from now on|instead)\b|每次|每天|总是|以后|之前|之后",
    re.IGNORECASE,
)
_DIGIT = re.compile(r"[0-9]")

# Chinese text is written up to an address without a space.
_CJK = r"\u3000-\u303f\uff00-\uffef\u3400-\u9fff"
_URL = re.compile(rf"https?://(?:(?!\]\()[^\s<>\"'`{_CJK}])*[^\s<>\"'`.,;:!?)\]}}{_CJK}]")
_IDENTIFIER = re.compile(
    r"[A-Za-z0-9_.+-]{1,64}@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+"
    r"|(?<![\w/.])(?:~|\.{1,2})?(?:/[\w.@+-]+){2,}/?"
    # Behind a word that no space parts from it a slash often means "or": the path then begins with a Latin name.
    r"|(?<=[\u3400-\u9fff])(?:~|\.{1,2})?/[A-Za-z0-9_.@+-]+(?:/[\w.@+-]+)+/?"
    r"|(?<![A-Za-z0-9_/.-])(?:[A-Za-z0-9_.-]+/)+[A-Za-z0-9_-]+\.[A-Za-z0-9]{1,8}"
    r"|(?<![A-Za-z0-9])[A-Za-z]:\\[^\s\"'<>|，。；]+"
    r"|(?<![A-Za-z0-9_])[A-Z][A-Z0-9]*(?:[-_][A-Z0-9]+)*[-_][0-9]+(?![A-Za-z0-9_])"
    r"|(?<![A-Za-z0-9.])v?[0-9]+\.[0-9]+(?:\.[0-9]+)+(?![A-Za-z0-9])"
    r"|(?<![A-Za-z0-9])(?=[a-f]*[0-9])(?=[0-9]*[a-f])[0-9a-f]{7,40}(?![A-Za-z0-9])"
    r"|(?<![A-Za-z0-9_-])[A-Za-z_][A-Za-z0-9_-]*\.(?:py|md|js|ts|json|ya?ml|toml|csv|txt|sh|go|rs|java|cpp|html|log|conf"
    r"|ini|sql)(?![A-Za-z0-9])"
)
_NUMBER = re.compile(
    r"(?<![A-Za-z0-9_.,:/-])[$¥€£]?[0-9](?:[0-9,]*[0-9])?(?:\.[0-9]+)?%?(?![A-Za-z0-9_:/-]|[年月日号])"
)

SURNAMES = (
    "王李张刘陈杨赵黄周吴徐孙胡朱高林何郭马罗梁宋郑谢韩唐冯于董萧程曹袁邓许傅沈曾彭吕苏卢蒋蔡贾丁魏薛叶阎余潘杜戴夏钟汪田任姜"
    "范方石姚谭廖邹熊金陆郝孔白崔康毛邱秦江史顾侯邵孟龙万段雷钱汤尹黎易常武乔贺赖龚文"
    # Rarer ones, as far as they are no part of everyday words such as 颜色, 凌晨, 施工, 关于.
    "葛鲁柳岳殷庞倪滕窦褚卞邬佟冼佘聂裘翟阮闵娄刁樊霍虞柯缪嵇邢裴翁荀甄芮靳隗宓郗栾詹韶郜蔺屠胥莘逄"
    "姬冉郦濮扈晏瞿茹庾耿匡寇阙晁敖訾阚饶鞠蒯荆竺逯桓"
)
DOUBLE_SURNAMES = (
    "欧阳|司马|上官|诸葛|皇甫|尉迟|公孙|令狐|慕容|宇文|长孙|司徒|夏侯|轩辕|端木|南宫|独孤|呼延|澹台"
    "|淳于|申屠|钟离|鲜于|闾丘|赫连"
)
_TITLES = "先生|女士|老师|经理|总监|主任|医生|教授|同学|律师|师傅|博士"
_CHINESE_NAME = re.compile(
    r"(?:名叫|我叫|叫做|名字是|名字叫)([\u4e00-\u9fffA-Za-z·]{2,6}?)(?=[，。,.！!？?；;、\s了]|$)"
    rf"|([小老阿][{SURNAMES}])"
    rf"|((?:{DOUBLE_SURNAMES}|[{SURNAMES}])[\u4e00-\u9fff]{{0,2}}?(?:{_TITLES}))"
    r"|《([^》\n]{1,40})》"
)
_LATIN_WORD = r"[A-Z][A-Za-z0-9]*(?:[-'’][A-Za-z0-9]+)*"
_LATIN_NAME = re.compile(rf"(?<![A-Za-z0-9_/\\.@-]){_LATIN_WORD}(?:[ ]{_LATIN_WORD}){{0,3}}(?![A-Za-z0-9_])")
_SENTENCE_START = re.compile(r"(?:^|[.!?。！？:：\"“])\s*$")
_INTRODUCED = re.compile(r"\b(?:my name is|i'?m|i am|call me|this is|named|called)\s+$", re.IGNORECASE)
_NO_NAME = re.compile(
    r"I(?:'(?:m|ve|d|ll))?|Ok(?:ay)?|OK|Yes|No|The|An?|It(?:'s)?|He|She|We|They|You|My|Our|Your|His|Her|This|That|These"
    r"|Those|There|What|When|Where|Who|Why|How|Which|And|But|Or|So|If|Then|Also|Please|Thanks|(?:Mon|Tues|Wednes|Thurs|Fri|Satur"
    r"|Sun)day|Today|Tomorrow|Yesterday|Last|Next|Hey|Hi|Hello|Dear|Wow|Well|Oh|Yeah|Alright|January|February|March|April|May|June|July|August|September|October|November|December|AM|PM|AI|TODO"
)


@lru_cache(maxsize=4096)
def kind_of(words: str) -> Kind:
    """What a statement is; a question decides and prefers nothing."""
    words = simplified(words)
    clauses = [clause for clause in _CLAUSE.split(words) if not _QUESTION.search(clause) or _REQUEST.search(clause)]
    for kind, pattern in _KINDS:
        if any(pattern.search(clause) for clause in clauses):
            return kind
    return "other"


@lru_cache(maxsize=4096)
def weight_of(words: str) -> int:
    """How much a statement is worth keeping: its kind, and what facts it holds; 3 less for a bare question."""
    words = simplified(words)
    weight = {"remember": 6, "decision": 5, "preference": 4, "other": 0}[kind_of(words)]
    weight += 3 if _PERSONAL.search(words) else 0
    weight += 2 if _CORRECTION.search(words) else 0
    weight += 1 if _DIGIT.search(words) else 0
    weight += 2 if next(identifiers_of(words), None) else 0
    weight += 2 if next(names_of(words), None) else 0
    weight += 1 if len(words) >= 20 else 0
    return weight - (3 if only_asks(words) else 0)


@lru_cache(maxsize=4096)
def is_question(words: str) -> bool:
    """Whether a statement only asks, and holds nothing that the user decides, prefers or wants remembered."""
    return only_asks(words) and kind_of(words) == "other"


def is_request(words: str) -> bool:
    """Whether all that a statement does is to ask for a tool to be run ("Please run `compare_quotes`"), or to ask.

    A rule for how to work ("Run `make test` before each commit") is more than that.
    """
    if kind_of(words) != "other":
        return False
    told = [sentence for sentence in sentences_of(words) if not is_idle(sentence)]
    runs = [bool(_RUNS.search(one) or _RUNS_CHINESE.search(one)) and not _HABIT.search(one) for one in told]
    return any(runs) and all(run or asks(one) for run, one in zip(runs, told, strict=True))


def identifiers_of(words: str) -> Iterator[str]:
    """Addresses, paths, ids, versions, and numbers of three digits and more, in order; dates and times are none."""
    places: list[tuple[int, str]] = []
    for pattern in (_URL, _IDENTIFIER, _NUMBER):
        for found in pattern.finditer(words):
            if pattern is not _NUMBER or len(_DIGIT.findall(found.group())) >= 3:
                places.append((found.start(), found.group()))
        words = pattern.sub(lambda found: " " * len(found.group()), words)
    yield from (text for _, text in sorted(places))


def names_of(words: str) -> Iterator[str]:
    """Names of people, works and products, in order."""
    words = _URL.sub(lambda found: " " * len(found.group()), words)
    places = [(found.start(), next(filter(None, found.groups()))) for found in _CHINESE_NAME.finditer(words)]
    for found in _LATIN_NAME.finditer(words):
        tokens = found.group().split()
        first = tokens[0]
        while tokens and _NO_NAME.fullmatch(tokens[0]):
            tokens.pop(0)
        while tokens and _NO_NAME.fullmatch(tokens[-1]):
            tokens.pop()
        name = " ".join(tokens)
        if len(name) >= 2 and (tokens[0] != first or _may_be_name(words, found, name)):
            places.append((found.start(), name))
    yield from (name for _, name in sorted(places))


def _may_be_name(words: str, found: "re.Match[str]", name: str) -> bool:
    """A capital at the start of a sentence tells nothing, unless the word is a name by its shape or its neighbours."""
    before = words[: found.start()]
    if not _SENTENCE_START.search(before) or _INTRODUCED.search(before):
        return True
    shaped = " " in name or not name[1:].islower()
    return shaped or words[found.end() :].lstrip()[:1] >= "\u3400"
