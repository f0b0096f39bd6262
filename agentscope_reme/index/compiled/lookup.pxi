# Numbers of terms, and where their columns begin and end: twins of ``Vocabulary.find`` and ``Ends``.

cdef enum:
    _TOO_FAR = 0xFFFF  # of :class:`~..ends.Ends`: such a number stands beside


@cython.final
cdef class _Ends:
    """The numbers of an :class:`~..ends.Ends`."""

    cdef const uint32_t[::1] near
    cdef const int64_t[::1] wide
    cdef const uint16_t[::1] more
    cdef dict far
    cdef Py_ssize_t size

    def __init__(self, firsts, more, dict far):
        self.near, self.wide = None, None
        if firsts.typecode == "I":
            self.near = firsts
        else:
            self.wide = firsts
        self.more, self.far, self.size = more, far, len(more)

    cdef inline int64_t at(self, Py_ssize_t number) except? -1:
        if self.more[number] == _TOO_FAR:
            return self.far[number]
        if self.near is not None:
            return <int64_t>self.near[number >> 4] + self.more[number]
        return self.wide[number >> 4] + self.more[number]

    cdef Py_ssize_t spans(self, list numbers, Py_ssize_t last, list sizes, int64_t *begins) except -1:
        """From where on each column reaches, and how long each is, 0 for what is none; how long all are together."""
        cdef Py_ssize_t i, number, total = 0
        cdef int64_t end
        for i in range(len(numbers)):
            begins[i] = end = 0
            number = -1 if numbers[i] is None else numbers[i]
            if 0 <= number < self.size - 1:
                begins[i], end = self.at(number), self.at(number + 1)
                if not 0 <= begins[i] <= end <= last:
                    raise IndexError("a term's postings lie outside of all postings")
            sizes.append(end - begins[i])
            total += end - begins[i]
        return total


@cython.final
cdef class Finder:
    """The settled terms of a :class:`~..vocabulary.Vocabulary`."""

    cdef bytes packed
    cdef const uint16_t[::1] lower, number_lower, upper_large
    cdef const uint8_t[::1] upper_small
    cdef const uint32_t[::1] first
    cdef _Ends begins

    def __init__(self, bytes packed, lower, first, number_lower, number_upper, begins):
        self.packed, self.lower, self.first, self.number_lower = packed, lower, first, number_lower
        self.upper_small, self.upper_large = None, None
        if number_upper.typecode == "B":
            self.upper_small = number_upper
        else:
            self.upper_large = number_upper
        self.begins = _Ends(*begins)

    def find(self, terms, dict known):
        """The number of each of some terms, None for those that are not there; ``known`` are looked up first."""
        cdef bytes packed = self.packed  # stays while other threads run
        cdef const uint8_t *text = <const uint8_t *>packed
        cdef Py_ssize_t size = len(packed), length, low, high, middle, end
        cdef uint32_t wanted
        cdef uint16_t half
        cdef int64_t begin
        cdef int32_t one
        cdef bytes data
        cdef list out = []
        for term in terms:
            number = known.get(term) if known else None
            if number is None:
                data = (<str?>term).encode("utf-8", "surrogatepass")
                length = len(data)
                wanted = crc32(data)
                half = wanted & 0xFFFF
                low, end = self.first[wanted >> 16], self.first[(wanted >> 16) + 1]
                high = end
                while low < high:
                    middle = (low + high) >> 1
                    if self.lower[middle] < half:
                        low = middle + 1
                    else:
                        high = middle
                while low < end and self.lower[low] == half:
                    one = self.upper_small[low] if self.upper_small is not None else self.upper_large[low]
                    one = self.number_lower[low] | one << 16
                    begin = self.begins.at(one)
                    if (
                        0 <= begin
                        and begin < size - length  # a sum might be too large for its type
                        and text[begin + length] == 10
                        and memcmp(text + begin, <const char *>data, length) == 0
                    ):
                        number = one
                        break
                    low += 1
            out.append(number)
        return out
