# Reading postings: twins of ``Paired.parts``, ``Narrow.parts``, ``KeywordIndex.occurrences`` and ``question.following``.


cdef Py_ssize_t _first_from(const int64_t[::1] at, int64_t value) noexcept:
    """The place of the first of some ascending numbers that is no less than a value."""
    cdef Py_ssize_t low = 0, high = at.shape[0], middle
    while low < high:
        middle = (low + high) >> 1
        if at[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@cython.final
cdef class _Paired:
    """The slots and frequencies of a :class:`~..paired.Paired`."""

    cdef const uint8_t[::1] data
    cdef int width, bits
    cdef Py_ssize_t size
    cdef const int64_t[::1] places
    cdef const int32_t[::1] larger

    def __init__(self, data, int width, int bits, at, larger):
        if width not in (3, 4) or not 0 < bits < 8 * width:
            raise ValueError("postings have three or four bytes")
        self.data, self.width, self.bits, self.places, self.larger = data, width, bits, at, larger
        self.size = self.data.shape[0] // width

    def __len__(self):
        return self.size

    cdef int read(self, Py_ssize_t begin, Py_ssize_t end, int32_t *slots, int32_t *tf) except -1:
        """Put those from ``begin`` to before ``end``, which are in order and in range."""
        cdef uint32_t word, mask = (<uint32_t>1 << self.bits) - 1, most = (<uint32_t>1 << (8 * self.width - self.bits)) - 1
        cdef const uint8_t *source
        cdef Py_ssize_t i, first
        if begin == end:
            return 0
        if not 0 <= begin <= end <= self.size:
            raise IndexError("there are fewer postings")
        source = &self.data[begin * self.width]
        for i in range(end - begin):
            word = source[0] | <uint32_t>source[1] << 8 | <uint32_t>source[2] << 16
            if self.width == 4:
                word |= <uint32_t>source[3] << 24
            source += self.width
            slots[i] = word & mask
            tf[i] = (word >> self.bits) & most
        if self.places.shape[0]:
            first = _first_from(self.places, begin)
            while first < self.places.shape[0] and self.places[first] < end:
                if self.places[first] < begin:
                    raise IndexError("the places of larger frequencies do not ascend")
                tf[self.places[first] - begin] = self.larger[first]
                first += 1
        return 0


@cython.final
cdef class _Narrow:
    """The values of a :class:`~..narrow.Narrow`."""

    cdef const uint8_t[::1] data, small
    cdef int width, planes
    cdef Py_ssize_t size
    cdef const uint16_t[::1] places, medium
    cdef const int32_t[::1] near, large

    def __init__(self, data, int width, int planes, Py_ssize_t size, places, near, larger):
        self.data, self.width, self.planes, self.places, self.near = data, width, planes, places, near
        if not (0 <= width <= 4 and 0 <= planes <= (15 if width == 2 else 0) and 0 <= size <= _MOST_NUMBERS):
            raise ValueError("a narrow array has at most four bytes a value, and more bits beside two of them")
        if self.data.shape[0] < width * size + planes * ((size + 7) >> 3):
            raise ValueError("the parts of a narrow array do not belong together")
        self.size = size
        self.small, self.medium, self.large = None, None, None
        if larger.itemsize == 1:
            self.small = larger
        elif larger.itemsize == 2:
            self.medium = larger
        else:
            self.large = larger

    def __len__(self):
        return self.size

    cdef inline int32_t value_beside(self, Py_ssize_t at) except? -1:
        if self.small is not None:
            return self.small[at]
        return self.medium[at] if self.medium is not None else self.large[at]

    cdef int read(self, Py_ssize_t begin, Py_ssize_t end, int32_t *to) except -1:
        """Put those from ``begin`` to before ``end``, which are in order and in range."""
        cdef Py_ssize_t i, at, first, last, middle, block, plane, row = (self.size + 7) >> 3
        cdef int32_t value
        cdef const uint8_t *source
        if begin == end:
            return 0
        if not 0 <= begin <= end <= self.size:
            raise IndexError("there are fewer values")
        source = &self.data[begin * self.width] if self.width else NULL
        if self.width == 0:
            for i in range(end - begin):
                to[i] = 1
        elif self.width == 1:
            for i in range(end - begin):
                to[i] = source[i]
        elif self.width == 2 and not self.planes:
            for i in range(end - begin):
                to[i] = source[2 * i] | <int32_t>source[2 * i + 1] << 8
        else:
            for i in range(end - begin):
                value = source[0] | <int32_t>source[1] << 8
                if self.width > 2:
                    value |= <int32_t>source[2] << 16
                if self.width > 3:
                    value |= <int32_t>(<uint32_t>source[3] << 24)
                source += self.width
                for plane in range(self.planes):
                    at = self.width * self.size + plane * row + ((begin + i) >> 3)
                    value |= <int32_t>((self.data[at] >> (7 - ((begin + i) & 7))) & 1) << (16 + plane)
                to[i] = value
        if not self.places.shape[0]:
            return 0
        # The first larger value at or behind the beginning, then one by one; blocks say the places' higher bits.
        block = begin >> 12
        first, last = self.near[block], self.near[block + 1]
        while first < last:
            middle = (first + last) >> 1
            if self.places[middle] < (begin & 0xFFFF):
                first = middle + 1
            else:
                last = middle
        while first < self.places.shape[0]:
            while block << 12 < end and self.near[block + 1] <= first:
                block += 1
            at = (block >> 4 << 16) + self.places[first]
            if block << 12 >= end or at >= end:
                break
            if at < begin:
                raise IndexError("the places of larger values do not ascend")
            to[at - begin] = self.value_beside(first)
            first += 1
        return 0


@cython.final
cdef class Reader:
    """The postings of a :class:`~..postings.Postings`; with positions or without."""

    cdef _Ends ends, starts
    cdef _Paired paired
    cdef _Narrow slots, tf, positions

    def __init__(self, ends, entries, starts=None, positions=None):
        self.ends = _Ends(*ends)
        if len(entries) == 1:
            self.paired = _Paired(*entries[0])
        else:
            self.slots, self.tf = _Narrow(*entries[0]), _Narrow(*entries[1])
        if starts is not None:
            self.starts, self.positions = _Ends(*starts), _Narrow(*positions)

    def read(self, list numbers):
        """Slots and frequencies of some terms, one after the other, and how many each has."""
        cdef list sizes = []
        cdef Py_ssize_t i, size, done = 0, total, last
        cdef int64_t *begins = <int64_t *>PyMem_Malloc((len(numbers) + 1) * sizeof(int64_t))
        cdef int32_t[::1] slots, tf
        if begins == NULL:
            raise MemoryError()
        try:
            last = len(self.paired) if self.paired is not None else min(len(self.slots), len(self.tf))
            total = self.ends.spans(numbers, last, sizes, begins)
            slots_out, tf_out = _empty(total, _INT32), _empty(total, _INT32)
            slots, tf = slots_out, tf_out
            for i in range(len(numbers)):
                size = sizes[i]
                if not size:
                    continue
                if self.paired is not None:
                    self.paired.read(begins[i], begins[i] + size, &slots[done], &tf[done])
                else:
                    self.slots.read(begins[i], begins[i] + size, &slots[done])
                    self.tf.read(begins[i], begins[i] + size, &tf[done])
                done += size
        finally:
            PyMem_Free(begins)
        return slots_out, tf_out, sizes

    def places(self, list numbers):
        """The places of all occurrences of some terms, one term after the other, and how many each has."""
        cdef list sizes = []
        cdef Py_ssize_t i, done = 0, total
        cdef int64_t *begins = <int64_t *>PyMem_Malloc((len(numbers) + 1) * sizeof(int64_t))
        cdef int32_t[::1] places
        if begins == NULL:
            raise MemoryError()
        if self.starts is None:
            PyMem_Free(begins)
            raise ValueError("these postings have no positions")
        try:
            total = self.starts.spans(numbers, len(self.positions), sizes, begins)
            out = _empty(total, _INT32)
            places = out
            for i in range(len(numbers)):
                if <Py_ssize_t>sizes[i]:
                    self.positions.read(begins[i], begins[i] + <Py_ssize_t>sizes[i], &places[done])
                    done += <Py_ssize_t>sizes[i]
        finally:
            PyMem_Free(begins)
        return out, sizes


def living(const int32_t[::1] slots, const int32_t[::1] tf, list sizes, const uint8_t[::1] alive):
    """Of postings of several terms those whose texts are there, and how many each term has of them."""
    cdef Py_ssize_t i, begin = 0, done = 0, before, total = 0
    for i in range(slots.shape[0]):
        total += alive[slots[i]] != 0
    slots_out, tf_out = _empty(total, _INT32), _empty(total, _INT32)
    cdef int32_t[::1] kept = slots_out, times = tf_out
    cdef list counts = []
    cdef Py_ssize_t size
    for one in sizes:
        size, before = one, done
        for i in range(begin, begin + size):
            if alive[slots[i]]:
                kept[done], times[done] = slots[i], tf[i]
                done += 1
        begin += size
        counts.append(done - before)
    if done != total:
        raise IndexError("there are more postings than were counted")
    return slots_out, tf_out, counts


def occurrences(
    const int32_t[::1] slots, const int32_t[::1] tf, list sizes, const int32_t[::1] places, const uint8_t[::1] alive
):
    """``slot << 16 | place`` of each occurrence of several terms, and how many each has; ``alive`` where some are not.

    ``places`` are those of all postings, removed texts' included.
    """
    cdef Py_ssize_t i, j, begin = 0, read = 0, done = 0, before, size
    out = _empty(places.shape[0], _INT64)
    cdef int64_t[::1] keys = out
    cdef list counts = []
    for one in sizes:
        size, before = one, done
        for i in range(begin, begin + size):
            if alive is not None and not alive[slots[i]]:
                read += tf[i]
                continue
            for j in range(tf[i]):
                keys[done] = <int64_t>slots[i] * 65_536 | places[read]
                done += 1
                read += 1
        begin += size
        counts.append(done - before)
    return (out if done == len(out) else out[:done]), counts


def following(const int64_t[::1] keys, list sizes, list pairs):
    """Slots in which the second word of a pair stands one or two places after the first, and which pair it is."""
    cdef Py_ssize_t i, j, one, two, a, b, m, n, number = 0, done = 0, most = 0, before
    cdef int64_t begin, gap, slot
    cdef list starts = [0]
    for size in sizes:
        if size < 0:
            raise IndexError("a word has less than no occurrence")
        starts.append(starts[len(starts) - 1] + size)
    if starts[len(starts) - 1] > keys.shape[0]:
        raise IndexError("there are fewer occurrences than were counted")
    for first, second in pairs:
        most += min(<Py_ssize_t>sizes[first], <Py_ssize_t>sizes[second])
    slots_out, pair_out = _empty(most, _INT32), _empty(most, _INT32)
    cdef int32_t[::1] slots = slots_out, pair = pair_out
    for first, second in pairs:
        a, b, m, n = starts[first], starts[second], sizes[first], sizes[second]
        before = done
        if m <= n:
            # The next one after each.
            j = 0
            for i in range(m):
                begin = keys[a + i]
                while j < n and keys[b + j] <= begin:
                    j += 1
                if j < n and keys[b + j] - begin <= 2:
                    slot = begin >> 16
                    if done == before or slots[done - 1] != slot:
                        slots[done], pair[done] = <int32_t>slot, <int32_t>number
                        done += 1
        else:
            # The last one before each.
            j = 0
            for i in range(n):
                gap = keys[b + i]
                while j < m and keys[a + j] < gap:
                    j += 1
                if j > 0 and gap - keys[a + j - 1] <= 2:
                    slot = gap >> 16
                    if done == before or slots[done - 1] != slot:
                        slots[done], pair[done] = <int32_t>slot, <int32_t>number
                        done += 1
        number += 1
    return (slots_out[:done], pair_out[:done]) if done < most else (slots_out, pair_out)
