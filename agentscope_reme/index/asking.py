"""Turns that state nothing: questions and small talk, told from statements by rules for English and Chinese.

After a question has been asked once, nothing in the vault shares more words with it than itself. Whoever ranks or
keeps what was said must know which turns only ask. The rules lean to the safe side: what may be a statement is one.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

from ..expression import expression
from .simplified import simplified

LONGEST_QUESTION = 600
"""Characters beyond which a text is more than a question, however it ends."""

# Where a sentence ends; its mark belongs to it.
_SENTENCE_END = expression(r"[。！？!?；;]\s*|[.…]\s+|\n+")
_ALPHANUMERIC = expression(r"[^\W_]")
_CLAUSE = expression(r"[，,;；：:—–]|\s-\s")
_MARK = expression(r"[?？][\"'”’」』)）\]*_~\s!！]*(?:[\U0001f000-\U0001faff\u2600-\u27bf\ufe0f\s]*)$")
_BREAKS = expression(r"[\s，。！？、；：,.!?;:~～…\-—]+")

SMALL_TALK = expression(
    r"(?:hi|hello|hey|hiya|yo|good (?:morning|afternoon|evening|night|day)|morning|thanks?(?: you)?(?: so much| a lot"
    r"| very much| again)?|ok(?:ay)?|yes|yeah|yep|no|nope|sure|great|nice|cool|perfect|good|awesome|wow|bye|goodbye"
    r"|see you|take care|go on|continue|please|right|done|noted|got it|understood|you(?:'|’| a)re welcome|no problem"
    r"|你好[啊呀]?|您好|大家好|嗨|哈喽|在吗|早上好|上午好|中午好|下午好|晚上好|晚安|早安|早|记下了|记住了|谢谢你?|多谢|感谢|好的?|好吧|嗯+|哦+|行|可以|对的?|是的?|没事|没关系|再见|拜拜|收到|明白了?|知道了|继续|哈+"
    r"|不客气|辛苦了?|太好了|没问题)",
    re.IGNORECASE,
)
# A greeting may name whom it greets: "Good morning, Remy!", "你好，小李".
_GREETING = expression(
    r"(?:(?i:hi|hello|hey|hiya|dear|good (?:morning|afternoon|evening|night)|thanks?(?: you)?(?: so much| a lot)?|bye"
    r"|goodbye|see you)(?:[ ,]+(?:there|again|all|everyone|everybody|soon|later|tomorrow|(?!I\b)[A-Z][\w'’-]*)){0,3}"
    r"|(?:你好[啊呀]?|您好|嗨|哈喽|早上好|上午好|中午好|下午好|晚上好|晚安|早安|谢谢|再见|拜拜)[，, ]*"
    r"(?:朋友|大家|各位|老师|AI伴侣|[小老阿][\u4e00-\u9fff]|[A-Z][\w'’-]*){0,2}[啊呀]?)[\s。！!.~～…]*"
)
_COMMAND = expression(r"/(?:compact|new|clear|history|help|exit|quit)\b", re.IGNORECASE)

_WH = r"(?:who|whom|whose|what|where|when|why|which|how)"
_BE = r"(?:is|are|was|were|am|do|does|did|can|could|will|would|should|shall|may|might|must|has|have|had)(?:n['’]t)?"
_WHOM = r"(?:i|you|we|they|he|she|it|there|this|that|these|those|any(?:one|body|thing)?|some(?:one|body)|every\w+)"
_WHOSE = r"(?:the|my|our|your|his|her|its|their|an?)"
_LEAD = (
    r"(?:(?:so|and|but|or|well|ok(?:ay)?|now|then|also|hey|hi|hello|yes|yeah|wow|please|btw|by the way|actually|again"
    r"|sorry|excuse me|quick question|just curious)[\s,!:.-]+)*"
)
_OPENS_QUESTION = expression(
    # "what did Lin order", "who takes the shift", "how many ovens"; not "when I lived there", "what a day".
    rf"{_LEAD}(?:{_WH}(?:['’]s|['’]re|['’]d)?\s+(?:\S+\s+){{0,4}}?{_BE}\b|who(?:['’]s|se|m)?\s+\w+|(?:how|what)\s+about\b"
    rf"|how\s+(?:many|much|long|often|far|old|big|come|to)\b|what(?:['’]s|['’]re)\b|where(?:['’]s|['’]re)\b|which\s+\w+\s+\w+"
    rf"|{_BE}\s+{_WHOM}\b|(?:is|are|was|were|does|did|can|could|would|should|will|has)\s+(?:{_WHOSE}\s+\S|(?-i:[A-Z])\w)"
    r"|any\s+(?:idea|thoughts|news|suggestions?|tips)\b"
    # What is asked in the imperative.
    r"|(?:tell|remind|show)\s+(?:me|us)\b(?!\s+to\b)(?:\s+again)?|let\s+me\s+know\b|(?:search|look)\s+(?:for|up|in|through)\b"
    rf"|find\s+out\b|(?:explain|remember|recall|guess|check)\s+{_WH}\b|do\s+(?:you|we|i|they)\b)",
    re.IGNORECASE,
)
# "When I lived in Oslo", "what I want is", "which is why": the word opens a clause, not a question.
_NO_QUESTION = expression(
    rf"{_LEAD}(?:(?:when|where|what|why|how|whatever|whenever)\s+(?:i|you|we|they|he|she|it|there|{_WHOSE})\b"
    rf"|which\s+(?:is|was|means|makes)\b|(?:what|how)\s+an?\b|how\s+(?!many|much|long|often|far|old|big|come|to|about)"
    rf"(?:\w+ly|nice|kind|sweet|lovely|cool|great|awful|sad|funny)\b|have\s+(?:an?|the|fun|it)\b|who\s+knows\b|do\s+{_WHOSE}\b)",
    re.IGNORECASE,
)
# Asking for something to be done: who says "can you book the table for May 3" has stated a wish, not asked for a fact.
_WISH = expression(
    rf"{_LEAD}(?:can|could|would|will)\s+you\s+(?:please\s+|kindly\s+|also\s+|maybe\s+)*"
    r"(?!tell|show|say|find|search|look|check|explain|list|give|help|recall|repeat|remind\s+(?:me|us)\s+(?!to\b)"
    r"|remember\s+(?:when|what|who|where|how|why|which)|see|hear|read|describe|summari[sz]e|run|call|use|execute|think|believe"
    r"|recommend|suggest|imagine|please)\w+(?:\s+\S+){3}",
    re.IGNORECASE,
)
# A clause that says something by itself.
_STATES = expression(
    r"^\W*(?:and |but |so |well |because |also |actually |yes |yeah |no )*"
    r"(?:(?:i|we|he|she|they)(?:['’](?:m|ve|d|ll|s|re))?\s+(?!wonder|guess|mean\b|was wondering|am wondering)\w+"
    r"|(?:i['’]m|i['’]ve|i['’]d|i['’]ll|we['’]re|we['’]ve|it['’]s|that['’]s|there['’]s|there (?:is|are|was))\s+\S"
    r"|(?:it|that|this)\s+(?:is|was|will|has|had|can|took|went|broke|works?|makes?|sounds?|looks?)\b"
    r"|(?:the|my|our|his|her|their)\s+(?:\S+\s+){1,6}\S)",
    re.IGNORECASE,
)
_ASKS_WITHIN = expression(
    rf"\b{_WH}\b|\b{_BE}\s+{_WHOM}\b|^\W*(?:if|whether|as for|about|for|in|on|at|of)\b", re.IGNORECASE
)

_HAN = expression(r"[\u3400-\u9fff]")
_CHINESE_ASKS = expression(
    r"什么|谁|哪|怎么|怎样|如何|为什么|为何|何时|几[点个年月号天岁次位]|多少|多[大久长远高]|是不是|有没有|能不能|会不会|要不要|可不可以|能否|可否|是否"
    r"|吗|呢$|么$"
)
_CHINESE_OPENS = expression(
    r"(?:那么?|所以|另外|还有|对了|顺便问一下|请|麻烦|你|您|帮我|给我|再|我想(?:知道|问)|想问)*[，,]?"
    r"(?:请问|问一下|谁|什么|哪|怎么|怎样|如何|为什么|为何|何时|几[点个年月号天岁次位]|多少|是不是|有没有|能不能|会不会|能否|可否|是否"
    r"|告诉我|说说|讲讲|查一?查|查一?下|查询|搜一?下|搜索|找一?下|列出|想知道|知道)"
)
_CHINESE_ENDS = expression(
    r"(?:[吗呢么]|怎么办|怎么样|为什么|如何|(?:是|在|有|叫|要|去|到|做|说|选|用|住|来自)(?:了|过)?"
    r"(?:什么|谁|哪[里儿天个家年位]?|几[点个年月号天岁次位]|多少\S{0,2}|什么\S{1,3}))[\s。.…]*$"
)
_CHINESE_DENIES = expression(r"不知道|不清楚|不记得|忘了|忘记|无论|不管|没什么|随便")
_CHINESE_STATES = expression(r"[我他她它咱].{3}|了|过|决定|打算|准备|已经|[是有在].{2}")
_CHINESE_TOPIC = expression(r"^(?:关于|对于|至于|请问|如果|假如|要是|除了)|的话$|[时后前]$|^(?:那|这样)")


def sentences_of(text: str) -> list[str]:
    """The sentences of a text, without white space around them."""
    return list(_sentences(text))


def _sentences(text: str) -> Iterator[str]:
    begin = 0
    for end in _SENTENCE_END.finditer(text):
        if sentence := text[begin : end.start() + 1].strip():
            yield sentence
        begin = end.end()
    if sentence := text[begin:].strip():
        yield sentence


@lru_cache(maxsize=4096)
def is_idle(text: str) -> bool:
    """Whether a text is a greeting or other small talk, a slash command, or has no word in it."""
    text = simplified(text)
    if _COMMAND.match(text) or not _ALPHANUMERIC.search(text):
        return True
    parts = [part for part in _BREAKS.split(text) if part]
    if all(SMALL_TALK.fullmatch(part) for part in parts) or SMALL_TALK.fullmatch(" ".join(parts)):
        return True
    return _GREETING.fullmatch(text.strip()) is not None


def asks(sentence: str) -> bool:
    """Whether one sentence asks and states nothing beside.

    It ends with a question mark or is built like a question. A clause before the question that says something ("I do
    not eat coriander, what do you suggest?") makes it a statement, and so does a wish ("Can you book the table for
    May 3?"). "When I lived in Oslo, …" is none.
    """
    sentence = sentence.strip()
    if _HAN.search(sentence):
        return _asks_in_chinese(simplified(sentence))
    if not _MARK.search(sentence):
        return _OPENS_QUESTION.match(sentence) is not None and not _NO_QUESTION.match(sentence) and len(sentence) <= 160
    if _WISH.match(sentence):
        return False
    clauses = [clause for clause in _CLAUSE.split(sentence) if clause.strip()]
    return not any(_STATES.search(clause) and not _ASKS_WITHIN.search(clause) for clause in clauses[:-1])


def states_nothing(text: str) -> bool:
    """Whether every sentence of a text asks or is small talk. False for long texts."""
    return len(text) <= LONGEST_QUESTION and all(is_idle(one) or asks(one) for one in _sentences(text))


def only_asks(text: str) -> bool:
    """Whether a text asks and states nothing beside, greetings aside. False for small talk alone and for long texts."""
    return states_nothing(text) and not all(is_idle(one) for one in sentences_of(text))


def _asks_in_chinese(sentence: str) -> bool:
    if not _MARK.search(sentence):
        if _CHINESE_DENIES.search(sentence):
            return False
        built = _CHINESE_OPENS.match(sentence) or _CHINESE_ENDS.search(sentence)
        return built is not None and len(sentence) <= 60 and not _states_before_asking(sentence)
    return not _states_before_asking(sentence)


def _states_before_asking(sentence: str) -> bool:
    clauses = [clause.strip() for clause in _CLAUSE.split(sentence) if clause.strip()]
    return any(
        _CHINESE_STATES.search(clause)
        and not _CHINESE_ASKS.search(clause)
        and not _CHINESE_TOPIC.search(clause)
        and not is_idle(clause)
        for clause in clauses[:-1]
    )
