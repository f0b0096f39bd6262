# What no unit of a stretch can exceed: the twin of ``candidates.candidates``, and the stretches to score.


cdef struct _Table:
    # The columns of stretches that say how these lie beside each other, all of the same length.
    const int32_t *file
    const int32_t *before
    const int32_t *after
    const uint8_t *joined
    Py_ssize_t count


cdef inline int _add_beside(_Bits found, Py_ssize_t at, _Table *table) except -1:
    """Add a stretch and those right beside it."""
    found.add(at)
    if table.joined[at]:
        if table.before[at] >= 0:
            found.add(table.before[at])
        if table.after[at] >= 0:
            found.add(table.after[at])
    return 0


cdef int _look_at(_Table *table, columns) except -1:
    """Point to the columns, which the caller keeps alive."""
    cdef const int32_t[::1] file = columns[1], before = columns[5], after = columns[6]
    cdef const uint8_t[::1] joined = columns[7]
    table.count = file.shape[0]
    if before.shape[0] != table.count or after.shape[0] != table.count or joined.shape[0] != table.count:
        raise IndexError("the columns of stretches have different lengths")
    if table.count:
        table.file, table.before, table.after, table.joined = &file[0], &before[0], &after[0], &joined[0]
    return 0


cdef int _add_files(
    _Bits found,
    const int64_t[::1] files,
    const int32_t[::1] first,
    const uint8_t[::1] joined,
    const int32_t[::1] after,
) except -1:
    """The stretches of some files."""
    cdef Py_ssize_t i, last = first.shape[0] - 1
    for i in range(files.shape[0]):
        _add_all_of(found, first[files[i] if files[i] < last else last], joined, after)
    return 0


cdef int _add_all_of(_Bits found, Py_ssize_t at, const uint8_t[::1] joined, const int32_t[::1] after) except -1:
    """Add a stretch and those behind it in its file."""
    cdef Py_ssize_t left = after.shape[0]
    while at >= 0:
        found.add(at)
        at = after[at] if joined[at] else -1
        left -= 1
        if left < 0:
            raise ValueError("a file's stretches go round in a circle")
    return 0


def candidates(
    const int64_t[::1] sum_stretch,
    const int32_t[::1] sum_term,
    const int32_t[::1] sum_tf,
    const double[::1] worth,
    const int32_t[::1] pair_stretch,
    const int32_t[::1] pair,
    const double[::1] pair_worth,
    const int64_t[::1] favoured,
    const double[::1] bonus,
    table,
    const double[::1] by_flags,
    double length_norm,
    double norm,
    double unit_norm,
    double least_norm,
    double k1,
    double unit_k1,
    double unit,
    double session,
):
    """Some stretches, ascending, with their score as a whole and what no unit in them can exceed.

    ``table`` has the columns of stretches: first by file, then file, length, shortest, flags, before, after, joined.
    ``length_norm`` and ``norm`` make the norm of a stretch of its length, ``unit_norm`` and ``least_norm`` that of a unit.
    Without ``by_flags`` nothing is multiplied yet by what units are.
    """
    cdef const int32_t[::1] first = table[0], file = table[1], length = table[2], shortest = table[3]
    cdef const uint8_t[::1] flags = table[4]
    cdef const int32_t[::1] after = table[6]
    cdef const uint8_t[::1] joined = table[7]
    cdef Py_ssize_t i, j, at, count, side, to, own
    cdef _Table beside
    cdef _Bits found = _Bits(file.shape[0]), lifted = _Bits(file.shape[0])
    cdef double gain, times, value
    cdef Py_ssize_t sums = sum_stretch.shape[0], some = 0
    _look_at(&beside, table)
    for i in range(sum_stretch.shape[0]):
        _add_beside(found, sum_stretch[i], &beside)
    for i in range(pair_stretch.shape[0]):
        _add_beside(found, pair_stretch[i], &beside)
    _add_files(found, favoured, first, joined, after)
    stretches_out = found.listed()
    cdef const int64_t[::1] stretches = stretches_out
    count = stretches.shape[0]
    whole_out, ceilings_out, shortest_out = _zeros(count, _FLOAT64), _zeros(count, _FLOAT64), _empty(count, _FLOAT64)
    beside_out, lifts_out = _empty(sums, _INT64), _zeros(count, _FLOAT64)
    cdef double[::1] whole = whole_out, ceilings = ceilings_out, norms = shortest_out, lifts = lifts_out, more, paired
    cdef int64_t[::1] reaching = beside_out
    for i in range(count):
        norms[i] = shortest[stretches[i]] * unit_norm + least_norm
    for i in range(sums):
        at = sum_stretch[i]
        own = found.rank(at)
        times = sum_tf[i]
        value = length[at] * length_norm
        value = value + norm
        value = value + times
        gain = worth[sum_term[i]] * times
        whole[own] += gain * (k1 + 1) / value
        gain = gain * (unit * (unit_k1 + 1))
        ceilings[own] += gain / (unit * times + norms[own])
        if beside.joined[at]:
            reaching[some] = i
            some += 1
    # Each kind of sum by itself, and what reaches over from those before first: in the order in which numpy adds.
    more_out = _zeros(count if some else 0, _FLOAT64)
    more = more_out
    for side in range(2):
        for j in range(some):
            i = reaching[j]
            to = _on_side(sum_stretch[i], side, &beside)
            if to >= 0:
                own = found.rank(to)
                times = sum_tf[i]
                gain = worth[sum_term[i]] * times * (unit * (unit_k1 + 1))
                more[own] += gain / (unit * times + norms[own])
    paired_out = _zeros(count if pair_stretch.shape[0] else 0, _FLOAT64)
    paired = paired_out
    for i in range(pair_stretch.shape[0]):
        paired[found.rank(pair_stretch[i])] += pair_worth[pair[i]]
    for side in range(2):
        for i in range(pair_stretch.shape[0]):
            if beside.joined[pair_stretch[i]]:
                to = _on_side(pair_stretch[i], side, &beside)
                if to >= 0:
                    paired[found.rank(to)] += pair_worth[pair[i]]
    # Few files have a bonus: less than there are stretches. Each once, though it may be named twice.
    for i in range(favoured.shape[0]):
        at = first[favoured[i]] if favoured[i] < first.shape[0] - 1 else -1
        while at >= 0 and not lifted.has(at):
            lifted.add(at)
            lifts[found.rank(at)] = bonus[favoured[i]]
            at = after[at] if joined[at] else -1
    for i in range(count):
        value = session * whole[i] + ceilings[i]
        if some:
            value += more[i]
        if pair_stretch.shape[0]:
            value += paired[i]
        value += lifts[i]
        if by_flags is not None:
            value = value * by_flags[flags[stretches[i]]] * (1 + 1e-9)
        ceilings[i] = value
    return stretches_out, whole_out, ceilings_out


cdef inline Py_ssize_t _on_side(Py_ssize_t at, Py_ssize_t side, _Table *table) noexcept:
    """The stretch before one, or after it."""
    return table.before[at] if side == 0 else table.after[at]


def chosen(const int64_t[::1] best, const int64_t[::1] sure, const double[::1] bonus, table, const int32_t[::1] place):
    """The stretches to score in the order of their places: the best, those that must be, the rest of favoured files."""
    cdef const int32_t[::1] first = table[0], file = table[1]
    cdef const int32_t[::1] after = table[6]
    cdef const uint8_t[::1] joined = table[7]
    cdef _Bits found = _Bits(file.shape[0])
    cdef Py_ssize_t i
    for i in range(best.shape[0]):
        found.add(best[i])
    for i in range(sure.shape[0]):
        found.add(sure[i])
    taken_out = found.listed()
    cdef const int64_t[::1] taken = taken_out
    cdef bint more = False
    for i in range(taken.shape[0]):
        if joined[taken[i]] and bonus[file[taken[i]]] > 0:
            more = True
            break
    if more:
        for i in range(taken.shape[0]):
            if joined[taken[i]] and bonus[file[taken[i]]] > 0:
                _add_all_of(found, first[file[taken[i]]], joined, after)
        taken_out = found.listed()
        taken = taken_out
    out = _empty(taken.shape[0], _INT64)
    cdef int64_t[::1] values = out
    for i in range(taken.shape[0]):
        values[i] = <int64_t>place[taken[i]] * (<int64_t>1 << 32) | taken[i]
    if taken.shape[0]:
        _sort(&values[0], taken.shape[0])
    for i in range(taken.shape[0]):
        values[i] &= 0xFFFFFFFF
    return out


def last_place(const double[::1] raw, Py_ssize_t want):
    """The ``want``-th best of at least as many scores."""
    cdef Py_ssize_t i, size = raw.shape[0]
    cdef double *copy
    cdef double bound
    if not 0 < want <= size:
        raise IndexError(f"there are {size} scores")
    copy = <double *>PyMem_Malloc(size * sizeof(double))
    if copy == NULL:
        raise MemoryError()
    for i in range(size):
        copy[i] = raw[i]
    bound = _kth_of_many(copy, size, want)
    PyMem_Free(copy)
    return bound
