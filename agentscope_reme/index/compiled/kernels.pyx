# cython: language_level=3, boundscheck=True, wraparound=False, initializedcheck=False, cdivision=True
"""Loops of ranking, compiled. Each has a form in numpy beside where it is used, with the same bits in every result.

A wrong index is an ``IndexError`` here as there: bounds are checked. All sums are made term by term, in the order in
which numpy makes them.
"""

cimport cython
from cpython.mem cimport PyMem_Calloc, PyMem_Free, PyMem_Malloc, PyMem_Realloc
from libc.math cimport ldexp, rint
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport qsort
from libc.string cimport memcmp, memcpy, memset

from zlib import crc32

import numpy as np

_empty = np.empty
_zeros = np.zeros
_INT32 = np.dtype(np.int32)
_INT64 = np.dtype(np.int64)
_UINT16 = np.dtype(np.uint16)
_FLOAT32 = np.dtype(np.float32)
_FLOAT64 = np.dtype(np.float64)

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
include "packing.pxi"
include "bits.pxi"
include "lookup.pxi"
include "postings.pxi"
include "texts.pxi"
include "question.pxi"
include "candidates.pxi"
include "units.pxi"
