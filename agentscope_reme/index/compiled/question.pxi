# What a question finds, stretch by stretch: the twin of ``Question._gather`` (its sums) and ``Question._sum_by_stretch``.


cdef struct _Sum:
    int64_t stretch
    int64_t times


cdef int _by_stretch(const void *one, const void *other) noexcept nogil:
    cdef int64_t a = (<const _Sum *>one).stretch, b = (<const _Sum *>other).stretch
    return (a > b) - (a < b)


cdef Py_ssize_t _once_each(_Sum *sums, Py_ssize_t size) noexcept:
    """Bring sums by stretch in ascending order, each stretch once; how many are left."""
    cdef Py_ssize_t i, kept = 0
    cdef bint ordered = True
    for i in range(1, size):
        if sums[i].stretch < sums[i - 1].stretch:
            ordered = False
            break
    if not ordered:
        qsort(sums, size, sizeof(_Sum), _by_stretch)
    for i in range(size):
        if kept and sums[kept - 1].stretch == sums[i].stretch:
            sums[kept - 1].times += sums[i].times
        else:
            sums[kept] = sums[i]
            kept += 1
    return kept


cdef Py_ssize_t _shared(const int32_t[::1] slots, Py_ssize_t a, Py_ssize_t m, Py_ssize_t b, Py_ssize_t n) except -1:
    """How many numbers are in both of two ascending parts."""
    cdef Py_ssize_t i = a, j = b, both = 0
    while i < a + m and j < b + n:
        if slots[i] < slots[j]:
            i += 1
        elif slots[i] > slots[j]:
            j += 1
        else:
            both += 1
            i += 1
            j += 1
    return both


def sum_by_stretch(const int32_t[::1] slots, int32_t[::1] tf, list sizes, const int32_t[::1] stretch_of):
    """Where postings lie and how often each term stands in each stretch.

    ``sizes`` are those of each term in texts, then of each in heading paths, which count once each. Returns the stretch
    of each posting; terms, stretches and counts of the sums; how many units have each term; and how many stretches.
    """
    cdef Py_ssize_t terms = len(sizes) // 2, total = slots.shape[0], term, i, j, own, above, body = 0, head = 0
    cdef Py_ssize_t texts = 0, done = 0, added = 0, kept, other
    cdef int32_t at
    cdef int64_t last, none = <int64_t>1 << 32  # which is no stretch
    cdef _Sum *sum
    stretch_out = _empty(total, _INT32)
    cdef int32_t[::1] stretch = stretch_out
    cdef _Sum *sums = <_Sum *>PyMem_Malloc((total + 1) * sizeof(_Sum))
    cdef _Sum *more = <_Sum *>PyMem_Malloc((total + 1) * sizeof(_Sum))
    cdef int32_t *of_more = <int32_t *>PyMem_Malloc((total + 1) * sizeof(int32_t))
    cdef list found = [], spread = [], counts = []
    try:
        if sums == NULL or more == NULL or of_more == NULL:
            raise MemoryError()
        # By itself, so that one look into memory need not wait for what the one before it found.
        for i in range(total):
            stretch[i] = stretch_of[slots[i]]
        for term in range(terms):
            texts += <Py_ssize_t>sizes[term]
        head = texts
        for term in range(terms):
            own, above = sizes[term], sizes[terms + term]
            # Room is for as many sums as there are postings: none may be gone through twice.
            if not (0 <= own <= texts - body and 0 <= above <= total - head):
                raise IndexError("there are fewer postings than were counted")
            found.append(own + above - (_shared(slots, body, own, head, above) if own and above else 0))
            other = done
            last, sum = none, sums + done - 1
            body += own
            for i in range(body - own, body):
                at = stretch[i]
                if at == last:
                    sum.times += tf[i]
                else:
                    sum += 1
                    sum.stretch, sum.times = at, tf[i]
                    last = at
            done = sum + 1 - sums
            done = other + _once_each(sums + other, done - other)
            kept = added
            last, sum = none, more + added - 1
            for i in range(head, head + above):
                at, tf[i] = stretch[i], 1
                if at == last:
                    sum.times += 1
                else:
                    sum += 1
                    sum.stretch, sum.times = at, 1
                    last = at
            added = sum + 1 - more
            added = kept + _once_each(more + kept, added - kept)
            # What stands in headings of stretches that have the word in a text goes to these.
            j, i = other, kept
            for own in range(kept, added):
                while j < done and sums[j].stretch < more[own].stretch:
                    j += 1
                if j < done and sums[j].stretch == more[own].stretch:
                    sums[j].times += more[own].times
                else:
                    more[i] = more[own]
                    of_more[i] = <int32_t>term
                    i += 1
            added = i
            counts.append(done - other)
            spread.append(done - other + added - kept)
            head += above
        if head != total or len(sizes) != 2 * terms:
            raise IndexError("there are more postings than were counted")
        sum_term_out = _empty(done + added, _INT32)
        sum_stretch_out = _empty(done + added, _INT64)
        sum_tf_out = _empty(done + added, _INT32)
        _put_sums(sums, done, counts, more, of_more, added, sum_term_out, sum_stretch_out, sum_tf_out)
    finally:
        PyMem_Free(sums)
        PyMem_Free(more)
        PyMem_Free(of_more)
    return stretch_out, sum_term_out, sum_stretch_out, sum_tf_out, found, spread


cdef int _put_sums(
    _Sum *sums,
    Py_ssize_t done,
    list counts,
    _Sum *more,
    int32_t *of_more,
    Py_ssize_t added,
    int32_t[::1] term,
    int64_t[::1] stretch,
    int32_t[::1] times,
) except -1:
    """Those of texts by term and stretch, then what headings alone have."""
    cdef Py_ssize_t i, at = 0, number = 0, size
    for one in counts:
        size = one
        for i in range(at, at + size):
            term[i], stretch[i], times[i] = <int32_t>number, sums[i].stretch, <int32_t>sums[i].times
        at += size
        number += 1
    for i in range(added):
        term[done + i], stretch[done + i], times[done + i] = of_more[i], more[i].stretch, <int32_t>more[i].times
    return 0
