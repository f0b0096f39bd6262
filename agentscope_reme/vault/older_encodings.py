"""Which encoding of the time before UTF-8 some bytes are in, told by how common the characters are that they give.

Nearly any bytes decode as something: German as rare Chinese characters, Korean as common ones. In a text that
people wrote half of all characters are among the few hundred commonest of its language; in one that was decoded wrongly
hardly any are.
"""

import codecs
import re
from collections.abc import Callable

# The commonest characters of Chinese prose (two thirds of it), then those that traditional script writes otherwise.
_CHINESE = frozenset(
    "的一是不有了人我和在个用这中以大为时要可上来会你到能自文就他地国作也如生方过成下后出行多对们记于年学件法发分理动天得本好都工说而面等开定实么其之些子道同笔"
    "现家进看去数前主里间经部或很力高种己所体还全使心者没事最长小重内那但然当性业着与常机想点通感新知关化比果更日式度建量将意只系公务入起手接相合问做解信代目产从"
    "无需名外应提市题情表加程统门明身民制区今正并思平样什电容因书考原各此被论网三类少次结西已政图何回直据任字持东管向见及设月流标让习安给非第场期它两服器又义写北"
    "完打位把口活物水单先识由头别议几军效特资美读计路山具真立总选话决利息品试基教步变命处视源索导员放运觉至二格快功花级念引指南复再备模反展强片达十技组置保战语元"
    "候城清认每即听则该软形带太老社权价科影她受金海万值搜交存便像且世收布气求注号取规才言线改助传链支插术院调儿白库户风队张司率领治录整联难转必质始条武石包确省配"
    "构双参职案灵找划首推速王费段走创维项增例称空江历专微女示随精近"
    "這個們來時說國會對過學還後樣麼為開長種動頭業應無經與當將兩問進關點現實體發電話書見場車東聽讀寫產設計題數據機網頁結統總給讓從員團圖門間單號處視買賣錢歲氣"
    "聲義論議認識記語詞請調談變邊達選遠運連週預準備術標極樂權歡歷歸殘際險階隊陽階難雖雙離電靜響項須領類願顯風飛飯館馬驗驚體魚麗點黨齊討決將軍區醫務勞勢單廣應張"
)
_KANA = re.compile(r"[\u3041-\u3096\u30a1-\u30fc]")
# The commonest syllables of Korean prose: half of it.
_KOREAN = frozenset(
    "이다는에의을가고하지로은한사도를기서어인자나들시리으라그대만해아수일보게정있스것와과제았장주전했부상었요동오때여니문면조안무원거없공유경우생내학구국교성중관세위"
    "개적회비소방영연신분말화모물저까된런식여야습할려업입합람더러금산선재되두"
)
_SIGNS = "\u00a0€‚„…‘’“”•–—™§©®°·«»¿¡£¥²³ªº¼½¾×÷´`¨µ†‡"
# Letters with marks that stand side by side in Western European words, beside the same one twice ("päätös", "créé").
_SIDE_BY_SIDE = frozenset(("çã", "çõ", "öß", "üß", "äß", "çà", "èé", "éà", "ÇÃ", "ÇÕ"))
# Two letters with marks inside a Latin word.
_INSIDE_A_WORD = re.compile(r"[A-Za-z][\u3400-\u9fff][A-Za-z]")
_WORD = re.compile(r"[^\W\d_]+")

# Icelandic has acute letters beside these; Turkish, which has them for others, none.
_ICELANDIC, _TURKISH, _ACUTE = frozenset("ðþýÐÞÝ"), frozenset("çüöÇÜÖ"), frozenset("áéíóúæÁÉÍÓÚÆ")

PLAUSIBLE = 0.25
_RIVAL = 0.6  # of the best one's share, from which a second encoding leaves it open


def older_encoding(sample: bytes, *, whole: bool = True) -> str:
    """The codec of a text that is not UTF-8; "" when none is plausible, or two are.

    Knows Chinese, simplified and traditional, Japanese, Korean and the languages of Western Europe. ``whole`` is False
    when more bytes follow.
    """
    found: dict[str, float] = {}
    texts: dict[str, str] = {}
    for codec, share in _ENCODINGS.items():
        try:
            text = codecs.getincrementaldecoder(codec)("strict").decode(sample, final=whole)
        except UnicodeDecodeError:
            continue
        texts[codec], found[codec] = text, share(text)
    best = max(found, key=lambda codec: found[codec], default="")
    if best and found[best] >= PLAUSIBLE:
        rivals = (share for codec, share in found.items() if codec != best)
        return best if max(rivals, default=0.0) < _RIVAL * found[best] else ""
    # A name or two, too short for any count: what every Chinese system wrote, in the half of it that is in daily use.
    return "gb18030" if "gb18030" in texts and _is_in_daily_use(texts["gb18030"]) else ""


def _wide(text: str) -> list[str]:
    return [character for character in text if character > "\x7f"]


def _is_ideograph(character: str) -> bool:
    return "\u3400" <= character <= "\u9fff"


def _is_east_asian(character: str) -> bool:
    """Whether a character belongs into Chinese text, as writing or as punctuation."""
    return (
        _is_ideograph(character)
        or "\u3000" <= character <= "\u303f"
        or "\uff00" <= character <= "\uff60"
        or character in "“”‘’—…·"
    )


def _chinese(text: str) -> float:
    wide = _wide(text)
    ideographs = [character for character in wide if _is_ideograph(character)]
    if not ideographs or sum(map(_is_east_asian, wide)) * 10 < len(wide) * 8:
        return 0.0
    return sum(character in _CHINESE for character in ideographs) / len(ideographs)


def _is_in_daily_use(text: str) -> bool:
    wide = _wide(text)
    if not wide or sum(map(_is_east_asian, wide)) * 10 < len(wide) * 8 or _INSIDE_A_WORD.search(text):
        return False
    ideographs = [character for character in wide if _is_ideograph(character)]
    # Level one of GB 2312, the 3 755 characters in daily use, ordered by sound; rarer ones come after it.
    usual = sum(b"\xb0\xa1" <= character.encode("gb18030") <= b"\xd7\xf9" for character in ideographs)
    return usual * 10 >= len(ideographs) * 7


def _japanese(text: str) -> float:
    wide = _wide(text)
    kana = len(_KANA.findall(text))
    ideographs = sum(map(_is_ideograph, wide))
    if kana * 5 < kana + ideographs or (kana + ideographs) * 10 < len(wide) * 7:
        return 0.0
    return kana / (kana + ideographs) if kana else 0.0


def _korean(text: str) -> float:
    wide = _wide(text)
    syllables = [character for character in wide if "\uac00" <= character <= "\ud7a3"]
    if not syllables or len(syllables) * 10 < len(wide) * 8:
        return 0.0
    return sum(character in _KOREAN for character in syllables) / len(syllables)


def _western(text: str) -> float:
    """The share of letters with marks that stand in a word as such letters do."""
    wide = _wide(text)
    letters = [character for character in wide if character.isalpha() and character not in _SIGNS]
    if any(not character.isalpha() and character not in _SIGNS for character in wide):
        return 0.0
    # Czech, Slovak and their neighbours, and Turkish, whose letters these bytes are in other tables.
    if sum(character in "šžŠŽ" for character in letters) * 10 > len(letters):
        return 0.0
    if not _ICELANDIC.isdisjoint(letters) and not _TURKISH.isdisjoint(letters) and _ACUTE.isdisjoint(letters):
        return 0.0
    fit = sum(_fitting(match.group()) for match in _WORD.finditer(text))
    signs = len(re.findall(rf"(?<=[^\W\d_])[{re.escape(_SIGNS.replace('’', '').replace('·', ''))}](?=[^\W\d_])", text))
    share = (fit - signs) / len(letters) if letters else 0.0
    return share if share >= 0.8 else 0.0


def _fitting(word: str) -> int:
    """How many letters with marks of a word are where such a word may have one."""
    if word.isascii():
        return 0
    if len(word) == 1:
        return 1
    if not any(character.isascii() for character in word):
        return 0
    fit = 0
    for before, character, after in zip(f" {word}", word, f"{word} "[1:], strict=False):
        if character.isascii() or (before.islower() and character.isupper()):
            continue
        beside = [
            pair for pair in (before + character, character + after) if not (pair[0].isascii() or pair[1].isascii())
        ]
        fit += all(pair[0] == pair[1] or pair in _SIDE_BY_SIDE for pair in beside)
    return fit


_ENCODINGS: dict[str, Callable[[str], float]] = {
    "gb18030": _chinese,
    "cp950": _chinese,
    "cp932": _japanese,
    "euc_jp": _japanese,
    "cp949": _korean,
    "cp1252": _western,
}
