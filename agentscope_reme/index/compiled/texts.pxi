# Scores of short texts (names of files, words around links): twins of ``KeywordIndex.scored`` and ``best``, of
# ``Anchors.answers`` and of what ``question`` and ``titles`` make of them.


# Memory for a score by text, all 0, which lasts from one question to the next. Whoever uses it takes it away: other
# threads may run whenever Python's memory is asked for something.
cdef float *_spare = NULL
cdef Py_ssize_t _spare_size = 0


cdef float *_take_room(Py_ssize_t *size) except NULL:
    """Room for at least so many scores; sets how many it has room for."""
    global _spare
    cdef float *room = _spare
    _spare = NULL
    if room != NULL and _spare_size >= size[0]:
        size[0] = _spare_size
        return room
    PyMem_Free(room)
    size[0] += (size[0] >> 3) + 64
    room = <float *>PyMem_Calloc(size[0], sizeof(float))
    if room == NULL:
        raise MemoryError()
    return room


cdef void _give_back(float *room, Py_ssize_t size) noexcept:
    """Room that is all 0 again."""
    global _spare, _spare_size
    if _spare != NULL:
        PyMem_Free(room)
    else:
        _spare, _spare_size = room, size


cdef Py_ssize_t _add_up(
    const int32_t[::1] slots,
    const int32_t[::1] tf,
    list sizes,
    const float[::1] idf,
    const double[::1] norms,
    const uint16_t[::1] lengths,
    Py_ssize_t count,
    float *scores,
    int32_t *touched,
) except -1:
    """The score of each text, as stock bm25s adds it up; how many texts have one, which are put into ``touched``.

    ``scores`` are by text, and 0 until then.
    """
    cdef Py_ssize_t i, begin = 0, term = 0, size, end, found = 0
    cdef double share, frequency, telling
    cdef int32_t slot
    for one in sizes:
        size, telling = one, idf[term]
        # Room is for as many texts as there are postings: none may be gone through twice.
        if not 0 <= size <= slots.shape[0] - begin:
            raise IndexError("there are fewer postings than were counted")
        end = begin + size
        for i in range(begin, end):
            slot, frequency = slots[i], tf[i]
            if not 0 <= slot < count:
                raise IndexError(f"{slot} is none of {count} texts")
            share = norms[lengths[slot]] + frequency
            share = frequency / share
            share = share * telling
            if scores[slot] == 0:
                touched[found] = slot
                found += 1
            scores[slot] = scores[slot] + <float>share
        begin = end
        term += 1
    if begin != slots.shape[0]:
        raise IndexError("there are more postings than were counted")
    return found


cpdef object scored(
    const int32_t[::1] slots,
    const int32_t[::1] tf,
    list sizes,
    const float[::1] idf,
    const double[::1] norms,
    const uint16_t[::1] lengths,
    Py_ssize_t count,
    Py_ssize_t k,
):
    """The texts with any of some terms, ascending, and the score of each.

    Only the ``k`` best and all that tie with the last of them, where ``k`` is positive.
    """
    cdef Py_ssize_t size = count, found = 0, i
    if not 0 <= count <= lengths.shape[0]:
        raise IndexError(f"there are lengths of {lengths.shape[0]} texts")
    cdef float *scores = _take_room(&size)
    cdef int32_t *touched = <int32_t *>PyMem_Malloc((slots.shape[0] + 1) * sizeof(int32_t))
    cdef double *values = NULL
    cdef float bound = 0.0
    cdef _Bits kept
    cdef bint clean = False
    try:
        if touched == NULL:
            raise MemoryError()
        found = _add_up(slots, tf, sizes, idf, norms, lengths, count, scores, touched)
        if 0 < k < found:
            values = <double *>PyMem_Malloc(found * sizeof(double))
            if values == NULL:
                raise MemoryError()
            for i in range(found):
                values[i] = scores[touched[i]]
            bound = <float>_kth_of_many(values, found, k)
        kept = _Bits(count)
        for i in range(found):
            if scores[touched[i]] >= bound:
                kept.add(touched[i])
        at_out = kept.listed()
        values_out = _empty(len(at_out), _FLOAT32)
        _put_scores(at_out, values_out, scores)
        for i in range(found):
            scores[touched[i]] = 0
        clean = True
    finally:
        if clean:
            _give_back(scores, size)
        else:
            PyMem_Free(scores)
        PyMem_Free(touched)
        PyMem_Free(values)
    return at_out, values_out


cdef int _put_scores(const int64_t[::1] at, float[::1] values, const float *scores) except -1:
    cdef Py_ssize_t i
    for i in range(at.shape[0]):
        values[i] = scores[at[i]]
    return 0


cdef struct _Link:
    int32_t lead
    int32_t number
    double value


cdef int _by_lead(const void *one, const void *other) noexcept nogil:
    """By where they lead, the better one first, then as they were."""
    cdef const _Link *a = <const _Link *>one
    cdef const _Link *b = <const _Link *>other
    if a.lead != b.lead:
        return (a.lead > b.lead) - (a.lead < b.lead)
    if a.value != b.value:
        return (a.value < b.value) - (a.value > b.value)
    return (a.number > b.number) - (a.number < b.number)


cdef object _unknown_targets(
    const int64_t[::1] slots, const int32_t[::1] target, const int32_t[::1] leads, int32_t unknown
):
    """The targets of some links of which nobody knows where they lead, ascending; None where all are known."""
    cdef _Bits found = None
    cdef Py_ssize_t i
    for i in range(slots.shape[0]):
        if leads[target[slots[i]]] == unknown:
            if found is None:
                found = _Bits(leads.shape[0])
            found.add(target[slots[i]])
    return found.listed() if found is not None else None


cdef object by_lead(
    const int64_t[::1] slots,
    const float[::1] scores,
    const int32_t[::1] target,
    const int32_t[::1] source,
    const int32_t[::1] leads,
    int32_t unknown,
):
    """Where some links lead, ascending, and the sum of the scores of those that lead there, from other files.

    The best counts whole, each further one half of what the one before it counts. Where nobody knows where some lead,
    these targets come instead, and None.
    """
    cdef Py_ssize_t i, count = 0, size = slots.shape[0], kinds = 0
    missing = _unknown_targets(slots, target, leads, unknown)
    if missing is not None:
        return missing, None
    cdef int32_t lead
    cdef _Link *links = <_Link *>PyMem_Malloc((size + 1) * sizeof(_Link))
    if links == NULL:
        raise MemoryError()
    try:
        for i in range(size):
            lead = leads[target[slots[i]]]
            if lead >= 0 and lead != source[slots[i]]:
                links[count].lead = lead
                links[count].number = <int32_t>i
                links[count].value = scores[i]
                count += 1
        qsort(links, count, sizeof(_Link), _by_lead)
        for i in range(count):
            kinds += i == 0 or links[i].lead != links[i - 1].lead
        leads_out, sums_out = _empty(kinds, _INT32), _empty(kinds, _FLOAT64)
        _sum_links(links, count, leads_out, sums_out)
    finally:
        PyMem_Free(links)
    return leads_out, sums_out


cdef int _sum_links(_Link *links, Py_ssize_t count, int32_t[::1] leads, double[::1] sums) except -1:
    cdef Py_ssize_t i, at = -1, place = 0
    for i in range(count):
        if i == 0 or links[i].lead != links[i - 1].lead:
            at += 1
            place = 0
            leads[at], sums[at] = links[i].lead, 0.0
        sums[at] += ldexp(links[i].value, <int>-place)
        place += 1
    return 0


def answers(
    const int32_t[::1] slots,
    const int32_t[::1] tf,
    list sizes,
    const float[::1] idf,
    const double[::1] norms,
    const uint16_t[::1] lengths,
    Py_ssize_t count,
    Py_ssize_t k,
    const int32_t[::1] target,
    const int32_t[::1] source,
    const int32_t[::1] leads,
    int32_t unknown,
):
    """:func:`by_lead` of the ``k`` best links (see :func:`scored`)."""
    best, scores = scored(slots, tf, sizes, idf, norms, lengths, count, k)
    return by_lead(best, scores, target, source, leads, unknown)


def may_stand(str text, const int64_t[::1] numbers, list ends, uint32_t unknown, uint32_t pairs):
    """Which of some files may have a name that stands in a text: one that begins and ends with two of its characters,
    and does not end before it begins.

    ``ends`` are columns by file id, of how one name of each begins and ends, as numbers below ``pairs``; ``unknown``
    says that nobody has looked.
    """
    if not 2 < pairs <= 65_536:
        raise ValueError("pairs of characters are numbers of 16 bits, of which two stand for others")
    cdef _Bits there = _Bits(pairs)
    cdef Py_ssize_t i, size = len(text)
    cdef const uint32_t[::1] column
    cdef uint32_t end
    cdef list out = []
    cdef uint8_t *may = <uint8_t *>PyMem_Calloc(numbers.shape[0] + 1, 1)
    cdef uint32_t *read = <uint32_t *>PyMem_Malloc((size + 1) * sizeof(uint32_t))
    try:
        if may == NULL or read == NULL:
            raise MemoryError()
        for i in range(size - 1):
            read[i] = 2 + (<int64_t>(<Py_UCS4>text[i]) * 8_191 + <int64_t>(<Py_UCS4>text[i + 1])) % (pairs - 2)
            there.add(read[i])
        there.add(unknown)
        for one in ends:
            column = one
            for i in range(numbers.shape[0]):
                end = column[numbers[i]]
                if there.has(end >> 16) and there.has(end & 0xFFFF) and not may[i]:
                    may[i] = end >> 16 == unknown or _begins_first(read, size - 1, end >> 16, end & 0xFFFF)
        for i in range(numbers.shape[0]):
            if may[i]:
                out.append(i)
    finally:
        PyMem_Free(may)
        PyMem_Free(read)
    return out


cdef bint _begins_first(const uint32_t *read, Py_ssize_t size, uint32_t begin, uint32_t end) noexcept:
    """Whether one number comes somewhere before another, or is it."""
    cdef Py_ssize_t first = 0, last = size - 1
    while first < size and read[first] != begin:
        first += 1
    while last >= 0 and read[last] != end:
        last -= 1
    return first <= last


def label_bonus(
    double[::1] bonus,
    const int64_t[::1] slots,
    const float[::1] scores,
    const int32_t[::1] label_file,
    double weight,
    Py_ssize_t most,
):
    """Put what names are worth to their files; the ids of these, and of the ``most`` best and all that tie with them."""
    cdef Py_ssize_t i, size = slots.shape[0], likely = 0
    cdef double bound
    cdef double *values
    files_out = _empty(size, _INT64)
    cdef int64_t[::1] files = files_out, best
    for i in range(size):
        files[i] = label_file[slots[i]]
        bonus[files[i]] = weight * scores[i]
    if size <= most or most <= 0:
        return files_out, files_out
    values = <double *>PyMem_Malloc(size * sizeof(double))
    if values == NULL:
        raise MemoryError()
    for i in range(size):
        values[i] = scores[i]
    bound = _kth_of_many(values, size, most)
    PyMem_Free(values)
    for i in range(size):
        likely += scores[i] >= bound
    best_out = _empty(likely, _INT64)
    best = best_out
    likely = 0
    for i in range(size):
        if scores[i] >= bound:
            best[likely] = files[i]
            likely += 1
    return files_out, best_out


def label_evidence(
    const int32_t[::1] slots,
    list sizes,
    const int32_t[::1] label_file,
    const double[::1] proof,
    list groups,
    const int32_t[::1] files,
    Py_ssize_t count,
):
    """What the names of some files show of the content words, each of which may be one of several terms."""
    cdef Py_ssize_t i, at, begin, end, term, kinds = 0
    cdef _Bits wanted = _Bits(count), seen
    cdef double most
    cdef list starts = [0]
    for i in range(files.shape[0]):
        wanted.add(files[i])
    kinds_out = wanted.listed()
    cdef const int64_t[::1] listed = kinds_out
    kinds = listed.shape[0]
    sums_out, out = _zeros(kinds, _FLOAT64), _empty(files.shape[0], _FLOAT64)
    cdef double[::1] sums = sums_out, shown = out
    for size in sizes:
        starts.append(starts[len(starts) - 1] + size)
    alone = set()
    for group in groups:
        if len(group) == 1:
            alone.add(group[0])
            continue
        # Once, also where several of them are found.
        seen = _Bits(kinds)
        most = max([proof[<Py_ssize_t>term] for term in group])
        for one in group:
            begin, end = starts[one], starts[one + 1]
            for i in range(begin, end):
                if wanted.has(label_file[slots[i]]):
                    seen.add(_first_from(listed, label_file[slots[i]]))
        for at in range(kinds):
            if seen.has(at):
                sums[at] += most
    for term in range(len(sizes)):
        if term in alone:
            begin, end = starts[term], starts[term + 1]
            for i in range(begin, end):
                if wanted.has(label_file[slots[i]]):
                    sums[_first_from(listed, label_file[slots[i]])] += proof[term]
    for i in range(files.shape[0]):
        shown[i] = sums[_first_from(listed, files[i])]
    return out
