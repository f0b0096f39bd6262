"""Words of which two statements about one thing cannot both be right: opposites, units, times of day, colours, places.

Two statements may share nine words of ten, and the tenth says the contrary ("loves", "hates"; "3 hours", "3 days").
Rules know the everyday ones; what they miss is kept in its own words by whoever asks.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..index.english import Stemmer

# A line is a class, bars part its groups: words of one group mean the same here, those of two exclude each other.
_CONTRARIES = """
love like enjoy prefer adore favour favor | hate dislike loathe detest avoid
open | closed shut close
start begin | stop end finish quit
increase rise grow | decrease fall drop shrink decline
before | after
accept agree approve | reject refuse decline disapprove
pass succeed | fail
always often usually regularly frequently | rarely seldom hardly | sometimes occasionally
allow permit | forbid ban prohibit
enable activate | disable deactivate
old former previous | new
cheap | expensive
public | private
minimum least | maximum most
buy purchase | sell
win | lose
borrow | lend
arrive | leave depart
mandatory required compulsory | optional voluntary
married | divorced single unmarried widowed
"""
_KINDS = """
morning | noon lunchtime | afternoon | evening | night
left | right
inside indoors | outside outdoors
first | last
early | late
brother | sister
mother mum mom | father dad
son | daughter
wife | husband
uncle | aunt
spring | summer | autumn | winter
north northern | south southern | east eastern | west western
red | blue | green | yellow | black | white | brown | orange | purple | pink | grey gray
monday | tuesday | wednesday | thursday | friday | saturday | sunday
"""
_CONTRARIES_ZH = """
喜欢 喜爱 最爱 爱吃 爱喝 偏爱 热爱 | 讨厌 厌恶 反感 受不了
开始 | 停止 结束 终止
增加 上涨 上升 提高 增长 | 减少 下跌 下降 降低 缩减
之前 以前 | 之后 以后
同意 接受 批准 赞成 | 拒绝 反对 否决
允许 准许 | 禁止 不准 不许
启用 开启 打开 | 停用 禁用 关闭
成功 通过 | 失败 落选
经常 总是 常常 | 很少 极少 | 偶尔 有时
旧的 | 新的
便宜 | 昂贵 很贵
公开 | 私密 保密
购买 买了 买下 | 出售 卖了 卖掉
必须 必填 | 可选 选填
已婚 结婚 | 离婚 未婚 单身
"""
_KINDS_ZH = """
早上 上午 早晨 清晨 | 中午 | 下午 | 晚上 夜里 夜间 傍晚
左边 左侧 左手 | 右边 右侧 右手
室内 | 室外 户外
最早 第一 | 最晚 最后
哥哥 弟弟 兄弟 | 姐姐 妹妹 姐妹
妈妈 母亲 | 爸爸 父亲
儿子 | 女儿
妻子 太太 老婆 | 丈夫 老公
春天 春季 | 夏天 夏季 | 秋天 秋季 | 冬天 冬季
红色 | 蓝色 | 绿色 | 黄色 | 黑色 | 白色 | 棕色 | 橙色 | 紫色 | 粉色 | 灰色
周一 星期一 | 周二 星期二 | 周三 星期三 | 周四 星期四 | 周五 星期五 | 周六 星期六 | 周日 周天 星期日 星期天
"""
# No space parts a Chinese name from its neighbours; Latin ones are told by their capitals.
_CITIES = """
北京 上海 广州 深圳 天津 重庆 杭州 南京 苏州 成都 武汉 西安 长沙 郑州 青岛 济南 大连 沈阳 厦门 福州 合肥 昆明 宁波 无锡
香港 澳门 台北 东京 大阪 首尔 新加坡 纽约 伦敦 巴黎 柏林
"""
_UNITS = """
second sec s | minute min | hour hr h | day d | week | month | year | decade
millimetre millimeter mm | centimetre centimeter cm | metre meter m | kilometre kilometer km | mile | inch | foot feet
gram g | kilogram kilo kg | ton tonne | pound lb | ounce oz
millilitre milliliter ml | litre liter l | gallon
kb | mb | gb | tb
celsius | fahrenheit
秒 秒钟 | 分钟 | 小时 个小时 钟头 个钟头 | 天 日 | 周 个星期 星期 | 个月 月 | 年
毫米 | 厘米 | 米 | 公里 千米 | 英里 | 英寸 | 英尺
克 | 公斤 千克 | 斤 | 吨 | 磅 | 两
毫升 | 升
元 块 人民币 | 美元 | 欧元 | 日元 | 港币 港元 | 英镑
"""
_WORD = re.compile(r"[a-z]+(?:['’]s)?")
_MEASURE = re.compile(
    r"(?:\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|twelve|twenty|thirty|fifty|hundred)\b)[ -]?"
    r"([a-z]{1,10})\b"
    r"|(?:\d ?|[一二三四五六七八九十百两半几])(个?[\u4e00-\u9fff]{1,2})"
)


def opposed(one: str, other: str, *, contrary: bool = False) -> bool:
    """Whether two statements have words that exclude each other, and neither has both of them.

    With ``contrary`` only those count that say the contrary, and not those that may both be true at different times.
    """
    mine, theirs = _groups(one), _groups(other)
    return any(
        not groups & theirs[name]
        for name, groups in mine.items()
        if name in theirs and (not contrary or name in _contraries())
    )


@lru_cache(maxsize=4096)
def _groups(text: str) -> dict[str, frozenset[int]]:
    """By the name of a class, the groups of it that a text has words of."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    found: dict[str, set[int]] = {}
    for name, group in _places(folded):
        found.setdefault(name, set()).add(group)
    return {name: frozenset(groups) for name, groups in found.items()}


def _places(folded: str) -> Iterator[tuple[str, int]]:
    words, phrases, units = _tables()
    for word in _WORD.findall(folded):
        yield from words.get(_stem(word), ())
    if not folded.isascii():
        yield from (place for phrase, place in phrases.items() if phrase in folded)
    for match in _MEASURE.finditer(folded):
        unit = match[1] or match[2]
        spellings = (unit, unit[:-1], _stem(unit))
        yield from [units[spelt] for spelt in spellings if spelt in units][:1]


@lru_cache(maxsize=1)
def _tables() -> tuple[dict[str, list[tuple[str, int]]], dict[str, tuple[str, int]], dict[str, tuple[str, int]]]:
    """The classes a stem is in, and the class of a Chinese word and of a unit."""
    words: dict[str, list[tuple[str, int]]] = {}
    for name, group, word in _listed(_CONTRARIES + _KINDS):
        words.setdefault(_stem(word), []).append((name, group))
    cities = " | ".join(_CITIES.split())
    phrases = {word: (name, group) for name, group, word in _listed(f"{_CONTRARIES_ZH}{_KINDS_ZH}{cities}")}
    units = {word: (name, group) for name, group, word in _listed(_UNITS)}
    return words, phrases, units


@lru_cache(maxsize=1)
def _contraries() -> frozenset[str]:
    return frozenset(name for name, _, _ in _listed(_CONTRARIES + _CONTRARIES_ZH))


def _listed(table: str) -> Iterator[tuple[str, int, str]]:
    for line in filter(None, table.split("\n")):
        for group, words in enumerate(line.split("|")):
            yield from ((line, group, word) for word in words.split())


def _stem(word: str) -> str:
    return _stemmer().stem(word.removesuffix("'s").removesuffix("’s"))


@lru_cache(maxsize=1)
def _stemmer() -> "Stemmer":
    from ..index.english import Stemmer

    return Stemmer()
