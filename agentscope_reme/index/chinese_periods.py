"""Stretches of the calendar in Chinese questions: "前几天", "上季度", "去年夏天", "月底", "3月5日到7日", "去年春节"."""

from datetime import date, timedelta

from ..expression import expression
from .feasts import CHINESE_FEASTS, CHINESE_HINT, feast_named
from .periods import (
    Days,
    Match,
    Rule,
    feast_days,
    group,
    lately,
    latest,
    month_from,
    months,
    nearest,
    part_of,
    quarter,
    season,
    spanning,
    week_of,
    years_around,
)
from .time_words import CHINESE_NUMBER, SMALL_NUMBER, chinese_number, chinese_weekday, digit_by_digit

_REL = "前年|去年|上一年|今年|本年|明年|后年"
_YEARS = {"前年": -2, "去年": -1, "上一年": -1, "今年": 0, "本年": 0, "明年": 1, "后年": 2}
_YEAR = rf"(?:(?:(?P<year>\d{{4}}|(?<!\d)\d{{2}}|[〇零一二三四五六七八九]{{4}})\s?年|(?P<rel>{_REL}))的?\s?)"
_WEEK = "(?:周|星期|礼拜)"
_DAY = "[一二三四五六日天]"
_WEEK_HINT = frozenset("周期拜")
_WEEKDAYS = "一二三四五六日"
_SHIFT = {"上上": -2, "上": -1, "这": 0, "本": 0, "": 0, "下": 1, "下下": 2}
# After these characters a weekday is none that could be meant ("每周一", "一周一次"), or one that is read elsewhere.
_BARE = r"(?:(?<=[一以之地]下)|(?<=[早晚会马]上)|(?<![上下这本个每一二两三四五六七八九十几\d的逢]))"
_AFTER_DAY = "一二三四五六日天次鸣"
_TO = r"\s?(?:到|至|-|–|—|~)\s?"


def _year(match: Match, today: date) -> int | None:
    """The year that a match names; None when it names none. One of two digits is of this century, or the last."""
    if text := group(match, "year"):
        year = digit_by_digit(text)
        if len(text) == 2:
            year += 2000 if year <= today.year % 100 + 10 else 1900
        return year
    return today.year + _YEARS[group(match, "rel")] if group(match, "rel") else None


def _quarter(match: Match, today: date) -> tuple[Days, ...]:
    number, year = chinese_number(group(match, "number")), _year(match, today)
    found = (quarter(one, number) for one in ([year] if year else years_around(today)))
    return latest(found, today)


def _quarter_near(match: Match, today: date) -> tuple[Days, ...]:
    return (quarter(today.year, (today.month + 2) // 3 + _SHIFT[group(match, "which")]),)


def _half(match: Match, today: date) -> tuple[Days, ...]:
    year, month = _year(match, today), 1 if group(match, "half") in "上前" else 7
    return latest((months(one, month, 6) for one in ([year] if year else years_around(today))), today)[:1]


_PARTS = {"初": "early", "中": "mid", "底": "late", "末": "late", "尾": "late"}


def _part_of_year(match: Match, today: date) -> tuple[Days, ...]:
    year, part = _year(match, today), _PARTS[group(match, "part")]
    if year is not None:
        return (part_of(months(year, 1, 12), part),)
    return latest((part_of(months(today.year + shift, 1, 12), part) for shift in (-1, 0)), today)[:1]


def _part_of_month(match: Match, today: date) -> tuple[Days, ...]:
    part = (
        _PARTS[group(match, "part")]
        if group(match, "part")
        else {"上": "early", "中": "mid", "下": "late"}[group(match, "ten")]
    )
    return latest((part_of(month_from(today, shift), part) for shift in (-1, 0)), today)


def _season(match: Match, today: date) -> tuple[Days, ...]:
    name, year = group(match, "season"), _year(match, today)
    if name in "寒暑":
        found = [months(one, 1 if name == "寒" else 7, 2) for one in ([year] if year else years_around(today))]
        return latest(found, today)
    if year is not None:
        return season(year, name)
    seasons = [season(one, name)[0] for one in years_around(today)]
    if group(match, "this"):
        return nearest(seasons, today)
    return latest(seasons, today, over=group(match, "last") != "")


def _feast(match: Match, today: date) -> tuple[Days, ...]:
    year = _year(match, today)
    found = feast_days(feast_named(group(match, "feast")), years_around(today) if year is None else (year,))
    return latest(found, today) if year is None else tuple(found)


def _year_and_month(match: Match, today: date) -> tuple[Days, ...]:
    year = _year(match, today)
    assert year is not None
    if not group(match, "month"):
        return (months(year, 1, 12)._replace(grain="year"),)
    month = months(year, chinese_number(group(match, "month")))
    if not group(match, "day"):
        return (month,)
    day = month.first.replace(day=chinese_number(group(match, "day")))
    return (Days("day", day, day),)


def _several_days(match: Match, today: date) -> tuple[Days, ...]:
    month, year = chinese_number(group(match, "month")), _year(match, today)
    low, high = chinese_number(group(match, "low")), chinese_number(group(match, "high"))
    found = []
    for one in [year] if year else years_around(today):
        try:
            found.append(spanning(date(one, month, low), date(one, month, high)))
        except ValueError:
            continue
    return latest((days for days in found if days.first <= days.last), today)


def _week_of_month(match: Match, today: date) -> tuple[Days, ...]:
    month, year = chinese_number(group(match, "month")), _year(match, today)
    part = f"week {'一二三四五'.index(match['number']) + 1}" if group(match, "number") else "last week"
    return latest((part_of(months(one, month), part) for one in ([year] if year else years_around(today))), today)


def _week_of_year(match: Match, today: date) -> tuple[Days, ...]:
    year = _year(match, today)
    assert year is not None
    return (week_of(date.fromisocalendar(year, int(group(match, "week")), 1)),)


def _weekdays(match: Match, today: date) -> tuple[Days, ...]:
    low, high = (chinese_weekday(match[name]) for name in ("low", "high"))
    week = week_of(today, _SHIFT[group(match, "which")])
    first, last = (week.first + timedelta(days=number) for number in (low, high))
    if not group(match, "which") and first > today:
        first, last = first - timedelta(weeks=1), last - timedelta(weeks=1)
    return (spanning(first, last),) if first <= last else ()


def _weekday(match: Match, today: date) -> tuple[Days, ...]:
    if group(match, "end"):
        saturday = today - timedelta(days=(today.weekday() - 5) % 7)
        return (spanning(saturday, saturday + timedelta(days=1)),)
    number = chinese_weekday(group(match, "day"))
    if group(match, "which"):
        day = week_of(today, _SHIFT[group(match, "which")]).first + timedelta(days=number)
    else:
        day = today - timedelta(days=(today.weekday() - number) % 7)
    return (Days("day", day, day),)


def _day_of_month(match: Match, today: date) -> tuple[Days, ...]:
    number = chinese_number(group(match, "number"))
    wholes = [month for shift in range(-2, 2) if number <= (month := month_from(today, shift)).last.day]
    days = [month.first.replace(day=number) for month in wholes]
    return latest((Days("day", day, day) for day in days), today)[:1]


def _few_ago(match: Match, today: date) -> tuple[Days, ...]:
    unit = (group(match, "unit") or "？")[0]
    near, far = {"天": (1, 7), "日": (1, 7), "周": (14, 42), "星": (14, 42), "礼": (14, 42), "月": (50, 200)}.get(
        unit, (7, 60)
    )
    return (spanning(today - timedelta(days=far), today - timedelta(days=near)),)


def _lately(match: Match, today: date) -> tuple[Days, ...]:
    unit = group(match, "unit")[:1]
    if group(match, "hours"):
        back = -(-int(group(match, "hours")) // 24)
    elif group(match, "long"):
        back = 15 if group(match, "long") == "半个月" else 183
    elif unit:
        back = {"天": 6, "日": 6, "周": 42, "星": 42, "礼": 42, "月": 150, "年": 1800}[unit]
    else:
        return lately(today)
    return (spanning(today - timedelta(days=back), today),)


def _last_units(match: Match, today: date) -> tuple[Days, ...]:
    count = chinese_number(group(match, "count"))
    size = {"天": 1, "日": 1, "周": 7, "星": 7, "礼": 7, "月": 30}[group(match, "unit")[0]]
    return (spanning(today - timedelta(days=count * size), today - timedelta(days=1)),)


def _half_ago(match: Match, today: date) -> tuple[Days, ...]:
    if group(match, "span") == "半个月":
        day = today - timedelta(days=15)
        return (spanning(day - timedelta(days=4), day + timedelta(days=4)),)
    count = group(match, "count")
    years = chinese_number(count) if count else 0
    return (month_from(today, -12 * years - 6),)


def _same_day(match: Match, today: date) -> tuple[Days, ...]:
    back = {"去年": 12, "前年": 24}.get(group(match, "whole"), 1)
    month = month_from(today, -back)
    day = month.first.replace(day=min(today.day, month.last.day))
    if group(match, "day"):
        return (Days("day", day, day),)
    return (spanning(day - timedelta(days=10), day + timedelta(days=10)),)


CHINESE_PERIODS: tuple[Rule, ...] = (
    Rule(
        frozenset("季Qq"),
        expression(
            rf"{_YEAR}?(?:第?(?P<number>[一二三四1-4])季度|(?<![A-Za-z0-9])[Qq](?P<number2>[1-4])(?![A-Za-z0-9]))"
        ),
        _quarter,
        True,
    ),
    Rule(
        frozenset("季"),
        expression(r"(?<![早晚以马])(?P<which>上上|下下|[上这本下])一?个?季度"),
        _quarter_near,
        False,
    ),
    Rule(frozenset("半"), expression(rf"{_YEAR}?(?P<half>[上下])半年(?![前后以来])"), _half, True),
    Rule(
        frozenset("初中底末尾"),
        expression(
            rf"(?:{_YEAR}年?|(?<![\d〇零一二三四五六七八九十几两半整全每个多])年)(?P<part>[初中底末尾])(?![级学二三])"
        ),
        _part_of_year,
        True,
    ),
    Rule(
        frozenset("初中底末旬"),
        expression(
            r"(?<![\d一二三四五六七八九十个上下本这两几半 ])(?:月(?P<part>[初中底末])|(?<!月)(?P<ten>[上中下])旬)"
        ),
        _part_of_month,
        True,
    ),
    Rule(
        frozenset("春夏秋冬寒暑"),
        expression(
            rf"{_YEAR}(?P<season>[春夏秋冬寒暑])(?:[天季假]|(?=\W|$))"
            r"|(?:(?P<last>上一?个)|(?P<this>这一?个?))?(?P<season2>[春夏秋冬])[天季](?!节)"
            r"|(?P<season3>[寒暑])假"
        ),
        _season,
        True,
    ),
    Rule(CHINESE_HINT, expression(rf"(?:{_YEAR}|上一?个)?(?P<feast>{CHINESE_FEASTS})"), _feast, True),
    Rule(
        frozenset("年"),
        expression(
            r"(?<![\d第约近过])(?P<year>\d\d)\s?年(?:\s?(?P<month>\d{1,2})\s?月(?:份|\s?(?P<day>\d{1,2})\s?[日号])?"
            r"|(?<=0\d年)(?![前后级内间]))"
        ),
        _year_and_month,
        True,
    ),
    Rule(
        frozenset("月"),
        expression(
            rf"{_YEAR}?(?P<month>{SMALL_NUMBER})\s?月\s?(?P<low>{SMALL_NUMBER})\s?[日号]?{_TO}(?P<high>{SMALL_NUMBER})\s?[日号]"
        ),
        _several_days,
        True,
    ),
    Rule(
        frozenset("第最"),
        expression(rf"{_YEAR}?(?P<month>{SMALL_NUMBER})\s?月份?的?(?:第(?P<number>[一二三四五])|最后一)个?{_WEEK}"),
        _week_of_month,
        True,
    ),
    Rule(
        frozenset("第"),
        expression(r"(?P<year>\d{4})\s?年的?第\s?(?P<week>\d{1,2})\s?周"),
        _week_of_year,
        True,
    ),
    Rule(
        _WEEK_HINT,
        expression(
            rf"(?:(?P<which>上上|下下|[上下这本])一?个?|{_BARE})"
            rf"{_WEEK}(?P<low>{_DAY}){_TO}{_WEEK}?(?P<high>{_DAY})(?![{_AFTER_DAY}])"
        ),
        _weekdays,
        True,
    ),
    Rule(
        _WEEK_HINT,
        expression(
            rf"(?<![早晚以马])(?P<which>上上|下下|[上下这本])一?个?{_WEEK}的{_WEEK}(?P<day>{_DAY})"
            rf"|{_BARE}{_WEEK}(?:(?P<day2>{_DAY})(?![{_AFTER_DAY}])|(?P<end>末))"
        ),
        _weekday,
        True,
    ),
    Rule(
        frozenset("日号"),
        expression(
            rf"(?<![\d月年第周期拜一二三四五六七八九十两几 ])(?P<number>{SMALL_NUMBER})(?:日|号)"
            r"(?=$|[\s，。？！?!,.;；、的那下上晚早中]|开会|做|发生)"
        ),
        _day_of_month,
        True,
    ),
    Rule(
        frozenset("几两些阵段"),
        expression(
            r"(?<![以之目提])前(?:(?:几|些)个?(?P<unit>天|日|周|星期|礼拜|月)|两(?P<unit5>天|日)|些日子|一?阵子?|一?段时间|一?段日子)"
            r"|(?:好几|几|数)个?(?P<unit2>天|日|周|星期|礼拜|月)(?:以|之)?前|上几(?:个?(?P<unit3>周|星期|礼拜)|个(?P<unit4>月))"
        ),
        _few_ago,
        False,
    ),
    Rule(
        frozenset("近来几两些阵段时半"),
        expression(
            r"(?:最近|过去|近|这)的?这?(?P<hours>\d{1,3})个?小时"
            r"|(?:最近|过去|近)的?(?P<long>半个月|半年)"
            r"|(?:最近|过去|近|这)这?(?:几|两|些)个?(?P<unit>天|日|周|星期|礼拜|月|年)|近日(?!点)"
            r"|这(?:阵子|段时间|段日子)"
            r"|(?<![离距])最近(?![一二两三四五六七八九十几\d这半]|的(?:一|地铁|车站|医院|超市|路))(?:的?一段时间|这段时间)?|近期|近来"
        ),
        _lately,
        False,
    ),
    Rule(
        frozenset("前"),
        expression(
            rf"(?<![以之目提当面生])前(?P<count>\d{{1,3}}|{CHINESE_NUMBER})\s?(?:个\s?)?(?P<unit>天|日|周|星期|礼拜|(?<=个)月)(?![前后])"
        ),
        _last_units,
        False,
    ),
    Rule(
        frozenset("半"),
        expression(
            rf"(?P<span>半个月)(?:以|之)?前|(?:(?P<count>\d{{1,2}}|{CHINESE_NUMBER})年)?半年?(?P<span2>)(?:以|之)?前"
        ),
        _half_ago,
        False,
    ),
    Rule(
        frozenset("今同这"),
        expression(r"(?P<whole>去年|前年|上个?月)的?(?:(?P<day>今天)|同期|这个?时候)"),
        _same_day,
        False,
    ),
)
