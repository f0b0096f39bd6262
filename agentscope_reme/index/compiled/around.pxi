# What lies around ranking: texts of passages compared and counted. Twins of functions in ``packing``.

from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.math cimport INFINITY


cdef extern from "Python.h":
    int PyUnicode_KIND(object text)
    void *PyUnicode_DATA(object text)
    unsigned int PyUnicode_READ(int kind, void *data, Py_ssize_t at) nogil
    void PyUnicode_WRITE(int kind, void *data, Py_ssize_t at, unsigned int char) nogil
    bint Py_UNICODE_ISALNUM(unsigned int char) nogil
    int PyObject_GenericSetAttr(object owner, object name, object value) except -1
    object PyUnicode_FromKindAndData(int kind, const void *data, Py_ssize_t size)


cdef inline bint _stays(unsigned int char) noexcept nogil:
    """Whether a character beyond ASCII is a letter that case folding leaves alone, in every version of Unicode."""
    return 0x4E00 <= char <= 0x9FA5 or 0xAC00 <= char <= 0xD7A3 or 0x3041 <= char <= 0x3096 or 0x30A1 <= char <= 0x30FA


def squashed(str text):
    """The words of a text, case-folded, with a space for whatever stands between them."""
    cdef Py_ssize_t size = len(text), at, out = 0
    cdef int kind = PyUnicode_KIND(text)
    cdef void *data = PyUnicode_DATA(text)
    cdef bint apart = False, plain = True
    cdef unsigned int char
    cdef void *words = PyMem_Malloc((size + 1) * kind)
    if words == NULL:
        raise MemoryError()
    try:
        for at in range(size):
            char = PyUnicode_READ(kind, data, at)
            if char < 128:
                if 65 <= char <= 90:
                    char += 32
                elif not (97 <= char <= 122 or 48 <= char <= 57):
                    apart = out > 0
                    continue
            elif not _stays(char):
                if not Py_UNICODE_ISALNUM(char):
                    apart = out > 0
                    continue
                plain = False
            if apart:
                PyUnicode_WRITE(kind, words, out, 32)
                out += 1
                apart = False
            PyUnicode_WRITE(kind, words, out, char)
            out += 1
        found = PyUnicode_FromKindAndData(kind, words, out)
    finally:
        PyMem_Free(words)
    return found if plain else found.casefold()


cdef inline bint _is_wide(unsigned int char) noexcept nogil:
    return (
        0x2E80 <= char <= 0x9FFF
        or 0x1100 <= char <= 0x11FF
        or 0xAC00 <= char <= 0xD7AF
        or 0xF900 <= char <= 0xFAFF
        or 0xFF00 <= char <= 0xFF60
        or 0x20000 <= char <= 0x3FFFF
    )


def count_tokens(str text):
    """Tokens by character class: one for a Chinese, Japanese or Korean character, a quarter for any other."""
    cdef Py_ssize_t size = len(text), at, wide = 0
    cdef int kind = PyUnicode_KIND(text)
    cdef void *data = PyUnicode_DATA(text)
    if kind > 1:
        for at in range(size):
            wide += _is_wide(PyUnicode_READ(kind, data, at))
    return wide + (size - wide + 3) // 4


def first_alike(str words, list said, Py_ssize_t begin, Py_ssize_t alike, Py_ssize_t around):
    """Which of some texts, from number ``begin`` on, says the same as another one; -1 for none."""
    cdef Py_ssize_t size = len(words), at, length
    cdef Py_ssize_t more = size + max(around, size // 4) if size >= alike else size
    cdef str other
    for at in range(begin, len(said)):
        other = said[at]
        length = len(other)
        if length > size:
            if length <= more and words in other:
                return at
        elif length == size or (length >= alike and size - length <= max(around, length // 4)):
            if other in words:
                return at
    return -1


cdef inline double _worth(double score) noexcept:
    return score / (1 - score) if score < 1 else INFINITY


def best_files_first(
    object files, object scores, Py_ssize_t most, double worth_a_file, Py_ssize_t free_of_a_file, double of_one_file
):
    """In which order ranked passages get a place, as indices: the best of the first few files, then by what they add."""
    cdef list ranked = files if type(files) is list else list(files)
    cdef list values = scores if type(scores) is list else list(scores)
    cdef Py_ssize_t at, size = len(ranked), met = 0, before
    cdef double floor
    cdef dict above = {}
    cdef list first = [], rest = [], worth
    cdef dict less = {}
    if size == 0:
        return []
    floor = _worth(values[0]) * worth_a_file
    for at in range(size):
        file = ranked[at]
        known = above.get(file)
        before = 0 if known is None else <Py_ssize_t>known + 1
        above[file] = before
        if before == 0:
            met += 1
            if met <= most and _worth(values[at]) >= floor:
                first.append(at)
                continue
        elif before > free_of_a_file:
            less[at] = 1 + of_one_file * (before - free_of_a_file)
        rest.append(at)
    if less:
        worth = [_worth(score) for score in values]
        for number, share in less.items():
            worth[number] /= share
        rest.sort(key=worth.__getitem__, reverse=True)
    return first + rest


def made(type kind, tuple values):
    """A value of a dataclass with slots and without ``__post_init__``; ``values`` are all its fields in their order."""
    cdef tuple names = kind.__slots__
    cdef Py_ssize_t at
    if len(names) != len(values):
        raise TypeError(f"{kind.__name__} has {len(names)} fields, not {len(values)}")
    out = kind.__new__(kind)
    for at in range(len(names)):
        PyObject_GenericSetAttr(out, names[at], values[at])
    return out
