"""English words that are spelled in two ways, as one: ``colour`` and ``color``, ``organise`` and ``organize``."""

import re

from ..expression import expression

# What ends in -ise in either spelling: "advise", "promise", "surprise", "otherwise", "noise", "raise", "disguise".
_ISE = expression(
    r"(?!(?:ad|de|re|super|tele|impro)vis|(?:com)?promis|premis|demis|surmis|(?:sur|com|enter|re|ap)pris|despis|exercis|(?:(?:im)?pre|con|ex|in)cis|iris|cris"
    r"|franchis|merchandis|paradis|expertis|advertis|chastis|practis|treatis|mortis|anis|aris|(?:sun|moon|high)ris|tortois|porpois|turquois)"
    r"([a-z]+[bcdfghjklmnpqrstxyz])is(e[ds]?|ers?|ing|ations?|ab(?:le|ility))"
)
_OUR = expression(
    r"((?:un|dis|mis|multi|tri)?(?:arm|behavi|col|endeav|fav|flav|harb|hon|hum|lab|neighb|od|parl|rum|sav|savi|splend|tum|val|vap"
    r"|vig))our"
)
_TRE = expression(r"((?:[a-z]*met|[a-z]*lit|(?:epi)?cent|(?:amphi)?theat|lust|spect|fib|calib|meag|somb|sab))re([ds]?)")
_DOUBLED = expression(
    r"((?:un)?(?:cance|channe|counse|dia|equa|fue|initia|labe|leve|marve|mode|pane|quarre|signa|tota|trave|tunne))ll"
    r"(ed|ings?|ers?)"
)
_YSE = expression(r"((?:re)?ana|cata|para|electro|hydro|dia)lys(e[ds]?|ers?|ing)")
_PAIRS = """
ageing aging
aluminium aluminum
analogue analog
catalogue catalog catalogues catalogs catalogued cataloged
centring centering
cosy cozy
defence defense defences defenses
dialogue dialog dialogues dialogs
doughnut donut doughnuts donuts
enrol enroll enrols enrolls enrolment enrollment
fulfil fulfill fulfils fulfills fulfilment fulfillment
grey gray greys grays greyish grayish
instalment installment instalments installments
jewellery jewelry
judgement judgment judgements judgments
kerb curb
licence license licences licenses
mould mold moulds molds mouldy moldy
moustache mustache moustaches mustaches
offence offense offences offenses
omelette omelet omelettes omelets
practise practice practised practiced practising practicing practises practices
plough plow ploughs plows ploughed plowed
programme program programmes programs
pyjamas pajamas pyjama pajama
sceptical skeptical sceptic skeptic scepticism skepticism
skilful skillful
tire tyre tires tyres
woollen woolen
yoghurt yogurt yoghurts yogurts
"""
_OTHER = {
    words[at]: words[at + 1] for line in _PAIRS.split("\n") if (words := line.split()) for at in range(0, len(words), 2)
}
_MAY_DIFFER = re.compile(r"is(?:e|ing|a)|our|re[ds]?$|ll(?:ed|ing|er)|lys")


def one_spelling(word: str) -> str:
    """A case-folded ASCII word in the spelling that stands for both. It need not be one that anybody writes."""
    if word in _OTHER:
        return _OTHER[word]
    if len(word) < 5 or not _MAY_DIFFER.search(word):
        return word
    if match := _OUR.match(word):
        return f"{match[1]}or{word[match.end() :]}"
    if match := _ISE.fullmatch(word):
        return f"{match[1]}iz{match[2]}"
    if match := _DOUBLED.fullmatch(word):
        return f"{match[1]}l{match[2]}"
    if match := _YSE.fullmatch(word):
        return f"{match[1]}lyz{match[2]}"
    if match := _TRE.fullmatch(word):
        return f"{match[1]}er{match[2]}"
    return word
