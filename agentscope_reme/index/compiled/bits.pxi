# Sets of small numbers as bits, and the k-th best of some values.

cdef enum:
    _MOST_NUMBERS = 0x7FFFFFFF
    _MOST_IN_A_SET = 1 << 27  # of texts, stretches or files


@cython.final
cdef class _Bits:
    """A set of numbers below ``size``, which lists them in ascending order."""

    cdef uint64_t *words
    cdef int32_t *before  # how many lie before each word, once they are counted
    cdef Py_ssize_t size, blocks

    def __cinit__(self, Py_ssize_t size):
        if size > _MOST_IN_A_SET:
            raise ValueError(f"{size} numbers are more than any index has")
        self.size = size if size > 0 else 0
        self.blocks = (self.size + 63) >> 6
        self.words = <uint64_t *>PyMem_Calloc(self.blocks + 1, sizeof(uint64_t))
        if self.words == NULL:
            raise MemoryError()

    def __dealloc__(self):
        PyMem_Free(self.words)
        PyMem_Free(self.before)

    cdef inline int add(self, Py_ssize_t at) except -1:
        if at < 0 or at >= self.size:
            raise IndexError(f"{at} is none of {self.size} numbers")
        self.words[at >> 6] |= <uint64_t>1 << (at & 63)
        return 0

    cdef inline bint has(self, Py_ssize_t at) noexcept:
        return 0 <= at < self.size and (self.words[at >> 6] >> (at & 63)) & 1

    cdef Py_ssize_t count(self) except -1:
        """How many there are; from then on :meth:`rank` may be asked."""
        cdef Py_ssize_t block, found = 0
        if self.before == NULL:
            self.before = <int32_t *>PyMem_Malloc((self.blocks + 1) * sizeof(int32_t))
            if self.before == NULL:
                raise MemoryError()
        for block in range(self.blocks):
            self.before[block] = <int32_t>found
            found += _bits_in(self.words[block])
        return found

    cdef inline Py_ssize_t rank(self, Py_ssize_t at) noexcept:
        """How many of its numbers are smaller than one of them."""
        return self.before[at >> 6] + _bits_in(self.words[at >> 6] & ((<uint64_t>1 << (at & 63)) - 1))

    cdef object listed(self):
        """Its numbers as an array."""
        out = _empty(self.count(), _INT64)
        cdef int64_t[::1] values = out
        cdef Py_ssize_t block, done = 0
        cdef uint64_t word, lowest
        for block in range(self.blocks):
            word = self.words[block]
            while word:
                lowest = word & (~word + 1)
                values[done] = (block << 6) + _place_of(lowest)
                done += 1
                word ^= lowest
        return out


cdef inline Py_ssize_t _bits_in(uint64_t word) noexcept:
    """How many bits of a word are set."""
    word = word - ((word >> 1) & <uint64_t>0x5555555555555555)
    word = (word & <uint64_t>0x3333333333333333) + ((word >> 2) & <uint64_t>0x3333333333333333)
    word = (word + (word >> 4)) & <uint64_t>0x0F0F0F0F0F0F0F0F
    return <Py_ssize_t>((word * <uint64_t>0x0101010101010101) >> 56)


cdef inline Py_ssize_t _place_of(uint64_t bit) noexcept:
    """The place of a number's only bit."""
    return _bits_in(bit - 1)


cdef double _kth(double *values, Py_ssize_t size, Py_ssize_t k) noexcept:
    """The ``k``-th largest of some values, none of which is NaN; they are put in another order."""
    cdef Py_ssize_t low = 0, high = size - 1, i, j, middle
    cdef double pivot, other
    while low < high:
        middle = (low + high) >> 1
        # The middle one of three, so that what is sorted takes no longer.
        pivot = values[middle]
        if (values[low] > pivot) == (pivot > values[high]):
            pass
        elif (pivot > values[low]) == (values[low] > values[high]):
            pivot = values[low]
        else:
            pivot = values[high]
        i, j = low, high
        while i <= j:
            while values[i] > pivot:
                i += 1
            while values[j] < pivot:
                j -= 1
            if i <= j:
                other = values[i]
                values[i] = values[j]
                values[j] = other
                i += 1
                j -= 1
        if k - 1 <= j:
            high = j
        elif k - 1 >= i:
            low = i
        else:
            break
    return values[k - 1]


cdef enum:
    _CLASSES = 1024


cdef double _kth_of_many(double *values, Py_ssize_t size, Py_ssize_t k) noexcept:
    """The ``k``-th largest of at least ``k`` positive values; they are put in another order.

    Positive numbers are in the order of their bits. They are counted by the first of those bits in which they differ,
    and only those are looked at one by one that are in one class with the wanted one.
    """
    cdef Py_ssize_t i, kept = 0, found = 0
    cdef int32_t[_CLASSES] counts
    cdef const uint64_t *bits = <const uint64_t *>values
    cdef uint64_t low, high, wanted
    cdef int shift = 0
    if size < 128:
        return _kth(values, size, k)
    low = high = bits[0]
    for i in range(1, size):
        low = bits[i] if bits[i] < low else low
        high = bits[i] if bits[i] > high else high
    if high >> 63:  # not for negative ones
        return _kth(values, size, k)
    while (high - low) >> shift >= _CLASSES:
        shift += 1
    memset(counts, 0, sizeof(counts))
    for i in range(size):
        counts[(bits[i] - low) >> shift] += 1
    wanted = _CLASSES - 1
    while found + counts[wanted] < k:
        found += counts[wanted]
        wanted -= 1
    for i in range(size):
        if (bits[i] - low) >> shift == wanted:
            values[kept] = values[i]
            kept += 1
    return _kth(values, kept, k - found)


cdef double _bound(const double[::1] values, Py_ssize_t k) except? -1.0:
    """The ``k``-th best positive value, 0 when there are no more than ``k`` positive ones; NaN is none."""
    cdef Py_ssize_t i, found = 0, size = values.shape[0]
    cdef double *copy = <double *>PyMem_Malloc((size + 1) * sizeof(double))
    cdef double bound = 0.0
    if copy == NULL:
        raise MemoryError()
    for i in range(size):
        if values[i] > 0:
            copy[found] = values[i]
            found += 1
    if found > k:
        bound = _kth_of_many(copy, found, k)
    PyMem_Free(copy)
    return bound


def top(const double[::1] values, Py_ssize_t k):
    """Where the ``k`` best positive values are, ascending, with all that tie with the last of them."""
    cdef Py_ssize_t i, found = 0
    cdef double bound
    if k <= 0:
        return _empty(0, _INT64)
    bound = _bound(values, k)
    for i in range(values.shape[0]):
        found += values[i] > 0 and values[i] >= bound
    out = _empty(found, _INT64)
    cdef int64_t[::1] at = out
    found = 0
    for i in range(values.shape[0]):
        if values[i] > 0 and values[i] >= bound:
            at[found] = i
            found += 1
    return out


cdef int _by_value(const void *one, const void *other) noexcept nogil:
    cdef int64_t a = (<const int64_t *>one)[0], b = (<const int64_t *>other)[0]
    return (a > b) - (a < b)


cdef void _sort(int64_t *values, Py_ssize_t size) noexcept:
    """Bring numbers in ascending order, quickest when they nearly are."""
    cdef Py_ssize_t i, j
    cdef int64_t value
    if size > 64:
        for i in range(1, size):
            if values[i] < values[i - 1]:
                qsort(values, size, sizeof(int64_t), _by_value)
                return
        return
    for i in range(1, size):
        value = values[i]
        j = i - 1
        while j >= 0 and values[j] > value:
            values[j + 1] = values[j]
            j -= 1
        values[j + 1] = value
