# What lies around ranking: texts of passages compared and counted. Twins of functions in ``packing``.

from cpython.buffer cimport PyBUF_FORMAT, PyBUF_ND, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.math cimport INFINITY
from libc.stdint cimport uint8_t, uint64_t
from libc.stdlib cimport qsort
from libc.string cimport memchr, memcpy
from zlib import crc32 as _crc32


cdef extern from "Python.h":
    int PyUnicode_KIND(object text)
    void *PyUnicode_DATA(object text)
    unsigned int PyUnicode_READ(int kind, void *data, Py_ssize_t at) nogil
    void PyUnicode_WRITE(int kind, void *data, Py_ssize_t at, unsigned int char) nogil
    bint Py_UNICODE_ISALNUM(unsigned int char) nogil
    object PyUnicode_DecodeUTF8(const char *data, Py_ssize_t size, const char *errors)
    int PyObject_GenericSetAttr(object owner, object name, object value) except -1
    object PyUnicode_FromKindAndData(int kind, const void *data, Py_ssize_t size)


cdef inline bint _stays(unsigned int char) noexcept nogil:
    """Whether a character beyond ASCII is a letter that case folding leaves alone, in every version of Unicode."""
    return 0x4E00 <= char <= 0x9FA5 or 0xAC00 <= char <= 0xD7A3 or 0x3041 <= char <= 0x3096 or 0x30A1 <= char <= 0x30FA


cpdef str squashed(str text):
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


cpdef Py_ssize_t count_tokens(str text):
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
    return _first_alike(words, said, begin, alike, around)


cdef Py_ssize_t _first_alike(str words, list said, Py_ssize_t begin, Py_ssize_t alike, Py_ssize_t around) except? -2:
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


cdef enum:
    _MOST_COLUMNS = 16


cdef class _Rows:
    """Columns of whole numbers, read row by row. They must not change meanwhile, as their lengths are kept."""

    cdef Py_buffer columns[_MOST_COLUMNS]
    cdef Py_ssize_t count

    def __cinit__(self, list columns):
        self.count = 0
        if len(columns) > _MOST_COLUMNS:
            raise ValueError(f"{len(columns)} columns, but at most {_MOST_COLUMNS} are read together")
        for column in columns:
            PyObject_GetBuffer(column, &self.columns[self.count], PyBUF_ND | PyBUF_FORMAT)
            self.count += 1
            if self.columns[self.count - 1].ndim != 1:
                raise ValueError("a column has one dimension")

    def __dealloc__(self):
        cdef Py_ssize_t at
        for at in range(self.count):
            PyBuffer_Release(&self.columns[at])

    def at(self, Py_ssize_t row):
        """The numbers of a row, one of each column."""
        cdef Py_ssize_t at
        cdef list out = []
        for at in range(self.count):
            out.append(_number(&self.columns[at], row))
        return out


def rows_of(list columns):
    """What reads a row of some columns of whole numbers, which must not change meanwhile."""
    return _Rows(columns).at


cdef object _number(Py_buffer *column, Py_ssize_t row):
    cdef char kind = column.format[0] if column.format != NULL and column.format[1] == 0 else 0
    if not 0 <= row < column.shape[0]:
        raise IndexError(f"there is no row {row} of {column.shape[0]}")
    if kind == b"i":
        return (<int *>column.buf)[row]
    if kind == b"I":
        return (<unsigned int *>column.buf)[row]
    if kind == b"b":
        return (<signed char *>column.buf)[row]
    if kind == b"B":
        return (<unsigned char *>column.buf)[row]
    if kind == b"h":
        return (<short *>column.buf)[row]
    if kind == b"H":
        return (<unsigned short *>column.buf)[row]
    if kind == b"l":
        return (<long *>column.buf)[row]
    if kind == b"q":
        return (<long long *>column.buf)[row]
    name = column.format.decode() if column.format != NULL else "unknown"
    raise ValueError(f"a column of kind {name} has no whole numbers that are read here")


def taken(list columns not None, list rows not None):
    """Of each column of whole numbers those in some rows."""
    cdef _Rows read = _Rows(columns)
    cdef Py_ssize_t at
    return [[_number(&read.columns[at], row) for row in rows] for at in range(read.count)]


cdef int _by_word(const void *one, const void *other) noexcept nogil:
    cdef const uint64_t *a = <const uint64_t *>one
    cdef const uint64_t *b = <const uint64_t *>other
    if a[0] != b[0]:
        return (a[0] > b[0]) - (a[0] < b[0])
    return (a[1] > b[1]) - (a[1] < b[1])


def all_differ(const uint8_t[::1] digests not None, list numbers not None, Py_ssize_t size):
    """Whether the first 64 bits of different ones of some digests, each of ``size`` bytes, differ."""
    cdef Py_ssize_t count = len(numbers), at, number
    cdef bint differ = True
    cdef uint64_t *words = <uint64_t *>PyMem_Malloc((count + 1) * 2 * sizeof(uint64_t))
    if words == NULL:
        raise MemoryError()
    try:
        for at in range(count):
            number = numbers[at]
            if size < 8 or not 0 <= number < digests.shape[0] // size:
                raise IndexError(f"there is no digest {number}")
            memcpy(&words[2 * at], &digests[number * size], 8)
            words[2 * at + 1] = number
        qsort(words, count, 2 * sizeof(uint64_t), _by_word)
        for at in range(1, count):
            if words[2 * at] == words[2 * at - 2] and words[2 * at + 1] != words[2 * at - 1]:
                differ = False
                break
    finally:
        PyMem_Free(words)
    return differ


def checked_text(bytes data not None, Py_ssize_t begin, Py_ssize_t stop, check):
    """Some bytes of a file as they may be shown, None when their CRC-32 is another one.

    Raises UnicodeDecodeError for what is no UTF-8.
    """
    cdef Py_ssize_t size = PyBytes_GET_SIZE(data)
    stop = max(0, min(stop, size))
    begin = max(0, min(begin, stop))
    cdef const char *piece = PyBytes_AS_STRING(data) + begin
    size = stop - begin
    if _crc32(data if size == PyBytes_GET_SIZE(data) else PyBytes_FromStringAndSize(piece, size)) != check:
        return None
    cdef str text = PyUnicode_DecodeUTF8(piece, size, NULL)
    if size and memchr(piece, 0, size) != NULL:
        text = text.replace("\x00", "\ufffd")
    if size and memchr(piece, 13, size) != NULL:
        text = text.replace("\r\n", "\n")
    return text
