"""Who is speaking in a written dialogue: ``**Name**: text`` and ``Name: text``, also with a time, also in a list."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from ..expression import expression

_LEAD = r"[ \t>]*(?:[-*+][ \t]+|\d{1,4}[.)][ \t]+)?(?:\[[ xX]\][ \t]+)?"
_TIME = r"(?:[\[(（]?(?:\d{4}-\d\d-\d\d[ T])?\d{1,2}:\d\d(?::\d\d)?(?: ?[AaPp][Mm])?[\])）]?[ \t]*(?:[-–—·][ \t]*)?)"
_NAME = r"[^*_:：\n]{1,40}"
_BOLD = expression(
    rf"{_LEAD}{_TIME}?"
    rf"(?:(\*\*|__)(?P<outer>{_NAME})\1[ \t]*{_TIME}?[:：]|(\*\*|__)(?P<inner>{_NAME})[:：]\3)(?=\s*\S)"
)
_PLAIN = expression(
    rf"{_LEAD}{_TIME}?(?P<name>[^\W\d_][^\W_]*(?:[ .'’·-][^\W_]+){{0,2}})[ \t]*{_TIME}?[:：](?=[ \t]|[^\x00-\x7f])"
)
_TASK = expression(r"[ \t>]*(?:[-*+]|\d{1,4}[.)])[ \t]+\[[ xX]\][ \t]")
_ITEM, _CLOCK = re.compile(r"[ \t>]*(?:[-*+]|\d{1,4}[.)])[ \t]"), re.compile(r"\d:\d\d")
_LONGEST_PLAIN = 30
_LONGEST_CHINESE = 10

# Names of roles, which speak wherever they stand.
_ROLE_WORDS = "user assistant system human ai agent bot me 用户 助手 系统 机器人 我"
_ROLES = frozenset(_ROLE_WORDS.split())
# Labels of a line, not names.
_LABEL_WORDS = """
note notes warning tip tips todo example examples ps http https file mailto input output result results error
date time place location status summary title name tags tag created updated source links link see author
goal progress question answer step steps option cause symptom fix usage default type key value total
注 注意 注释 提示 警告 例如 比如 例 示例 问题 答案 回答 问 答 时间 日期 地点 状态 标题 标签 来源 作者
总结 结论 目标 备注 说明 步骤 参考 链接 原因
"""
_LABELS = frozenset(_LABEL_WORDS.split())


def speaker_of(paragraph: str, names: Iterable[str] = ()) -> str:
    """The speaker at the start of a paragraph, "" if there is none.

    Plain names count when they are among ``names``, and so do bold ones in a list, where most are labels ("- **Price**:
    20"), unless they come with a time.
    """
    if ":" not in paragraph and "：" not in paragraph:
        return ""
    if match := _BOLD.match(paragraph):
        name = (match["outer"] or match["inner"]).strip()
        if name.casefold() in _LABELS:
            return ""
        sure = name in names or name.casefold() in _ROLES or not _ITEM.match(paragraph) or _CLOCK.search(match.group())
        return name if sure else ""
    match = _PLAIN.match(paragraph)
    if match and (match["name"] in names or match["name"].casefold() in _ROLES):
        return match["name"]
    return ""


def speaker_names(paragraphs: Sequence[str]) -> frozenset[str]:
    """Names that open enough lines of a text to be speakers of a dialogue and not labels.

    A plain ``Name:`` is a speaker where such names open at least a third of all lines, and one comes back: twice beside
    another name, or three times alone. A bold one is one where it comes back, and where bold names do, each twice on
    average: in a list of facts each stands once.
    """
    counts: Counter[str] = Counter()
    bolds: Counter[str] = Counter()
    lines = 0
    for paragraph in paragraphs:
        if ":" not in paragraph and "：" not in paragraph:
            lines += 1
            continue
        for line in paragraph.split("\n"):
            lines += 1
            if ":" not in line and "：" not in line:
                continue
            if bold := _BOLD.match(line):
                name = (bold["outer"] or bold["inner"]).strip()
                counts[name] += 1
                bolds[name] += name.casefold() not in _LABELS
            elif (match := _PLAIN.match(line)) and _is_name(match["name"]):
                counts[match["name"]] += 1
    bolds = +bolds
    twice = bolds.total() >= 2 * len(bolds)
    bold_names = frozenset(name for name, count in bolds.items() if twice or count > 1)
    often = {name for name, count in counts.items() if count > 1}
    if not often or (len(counts) == 1 and counts.total() < 3):
        return bold_names
    # Where one name comes back, a name that stands there once belongs to the talk as well.
    names = counts.keys() if len(counts) > 1 else often
    if sum(counts[name] for name in names) * 3 < lines:
        return bold_names
    return bold_names.union(names)


def _is_name(name: str) -> bool:
    if name.casefold() in _LABELS or len(name) > _LONGEST_PLAIN:
        return False
    if name.isascii():
        return name[0].isupper() or name.casefold() in _ROLES
    return len(name) <= _LONGEST_CHINESE or name[0].isupper()


def turn_rows(rows: Sequence[str], names: Iterable[str] = ()) -> list[int]:
    """Indices of the rows of one paragraph that begin a turn, if it holds several; empty otherwise."""
    found = [index for index, row in enumerate(rows) if speaker_of(row, names)]
    return found if len(found) > 1 else []


# What may stand before a speaker's name and behind it; the first has no other character than the third.
_BEFORE_NAME = expression(r"\s*(?:[-*+>]\s+)*[\[(]?[\d:./ -]*[\])]?\s*[*_]{0,3}")
_BEHIND_NAME = expression(r"[*_]{0,3}\s*[:：][*_]{0,3}\s*")
_SIGNS = expression(r"[\s\d:./+>()\[\]*_-]*")


def spoken(speaker: str, text: str) -> str:
    """A turn as ``Speaker: text``, whatever marks stand around the name in the file."""
    if not speaker:
        return text
    signs = _SIGNS.match(text)
    last = signs.end() if signs else 0
    stop = 0
    at = text.find(speaker, 0, last + len(speaker))
    while at >= 0:
        if _BEFORE_NAME.fullmatch(text, 0, at) and (behind := _BEHIND_NAME.match(text, at + len(speaker))):
            stop = behind.end()
        at = text.find(speaker, at + 1, last + len(speaker))
    return f"{speaker}: {text[stop:]}".rstrip()


def is_task(text: str) -> bool:
    """Whether a text is an item of a list with a box, which says whether it is done: ``- [x] Ann: call Ben``."""
    return _TASK.match(text) is not None
