# cython: language_level=3, boundscheck=True, wraparound=False, initializedcheck=False, cdivision=True
"""Loops of ranking, compiled. Each has a form in numpy beside where it is used, with the same bits in every result.

A wrong index is an ``IndexError`` here as there: bounds are checked.
"""

cdef extern from *:
    """
    #ifndef AGENTSCOPE_REME_SOURCES
    #define AGENTSCOPE_REME_SOURCES ""
    #define AGENTSCOPE_REME_RECIPE ""
    #endif
    """
    const char *_SOURCES "AGENTSCOPE_REME_SOURCES"
    const char *_RECIPE "AGENTSCOPE_REME_RECIPE"

SOURCES = _SOURCES.decode("ascii")
RECIPE = _RECIPE.decode("ascii")

include "around.pxi"
include "reading.pxi"
