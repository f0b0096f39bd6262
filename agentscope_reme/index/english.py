"""English words: which carry no content, which share a base although they look different, and their stems."""

import re
import threading
from functools import cache
from typing import Any

from .spelling import one_spelling

# Function words only. Contractions stand with and without their apostrophe's right-hand part ("don't", "don").
_STOP_WORDS = """
a an the and or but if so than that this these those there here
i me my mine myself you your yours yourself he him his she her hers it its we us our ours they them their theirs
who whom whose which what when where why how
is am are was were be been being do does did doing done have has had having
will would shall should can could may might must
of in on at to from by with for about into onto as up out off over under between during through
not no nor just also too very some any all both each such
i'm i've i'd i'll you're you've you'd you'll he'd he'll she'd she'll it'd it'll we're we've we'd we'll
they're they've they'd they'll that'll who'd who'll what're
don't doesn't didn't isn't aren't wasn't weren't haven't hasn't hadn't won't wouldn't can't cannot couldn't
shouldn't ain't let's ll ve re d m s t
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())
# Written in capitals these are names and not the function words they look like.
CAPITAL_NAMES = frozenset({"US", "IT", "WHO"})

_VOWEL = re.compile("[aeiouy]")
# Forms that are everyday words of their own ("a bit", "rose", "leaves") are left out.
_IRREGULAR = """
arise arose arisen
become became
begin began begun
bite bitten
blow blew blown
break broke broken
bring brought
build built
buy bought
catch caught
choose chose chosen
come came
deal dealt
dig dug
draw drew drawn
dream dreamt
drink drank drunk
drive drove driven
eat ate eaten
fall fell fallen
feed fed
feel felt
fight fought
find found
flee fled
fly flew flown
forget forgot forgotten
forgive forgave forgiven
freeze froze frozen
get got gotten
give gave given
go went gone
grow grew grown
hang hung
hear heard
hide hid hidden
hold held
keep kept
know knew known
lay laid
lead led
learn learnt
leave left
lend lent
light lit
lose lost
make made
mean meant
meet met
pay paid
ride rode ridden
ring rang rung
rise risen
run ran
say said
see saw seen
seek sought
sell sold
send sent
shake shook shaken
shine shone
shoot shot
show shown
shrink shrank shrunk
sing sang sung
sink sank sunk
sit sat
sleep slept
speak spoke spoken
spend spent
spring sprang sprung
stand stood
steal stole stolen
stick stuck
strike struck
swear swore sworn
sweep swept
swim swam swum
take took taken
teach taught
tear tore torn
tell told
think thought
throw threw thrown
understand understood
wake woke woken
wear wore worn
win won
write wrote written
child children
foot feet
goose geese
half halves
knife knives
loaf loaves
man men
mouse mice
person people
shelf shelves
thief thieves
tooth teeth
wife wives
wolf wolves
woman women
"""


@cache
def irregular_forms() -> dict[str, str]:
    """``{form: base}`` for English forms that no stemmer joins: ``went`` is ``go``, ``children`` is ``child``."""
    forms = {}
    for line in _IRREGULAR.split("\n"):
        base, *others = line.split() or [""]
        forms.update(dict.fromkeys(others, base))
    return forms


class Stemmer:
    """Porter2 stems (Snowball's English stemmer) of one spelling, after the irregular forms.

    May be used from several threads.
    """

    def __init__(self) -> None:
        self._snowball: Any = None
        # A Snowball stemmer works in a buffer of its own and is not safe to share without a lock.
        self._lock = threading.Lock()
        self._irregular = irregular_forms()

    @staticmethod
    def version() -> str:
        """The version of the stemmer's algorithms."""
        import Stemmer as snowball

        return str(snowball.version())

    def stem(self, word: str) -> str:
        """Stem of a case-folded word; words with digits or letters beyond ASCII stay as they are."""
        # Porter2 leaves words of two letters alone.
        if len(word) < 3 or not (word.isascii() and word.isalpha()):
            return word
        word = one_spelling(word)
        base = self._irregular.get(word, word)
        if base[-1] == "s" and len(base) > 3 and base[-2] != "s" and not _VOWEL.search(base):
            # Porter2 keeps the plural of a word without vowels: llms, pdfs.
            return base[:-1]
        with self._lock:
            if self._snowball is None:
                import Stemmer as snowball

                self._snowball = snowball.Stemmer("english", 0)
            return str(self._snowball.stemWord(base))
