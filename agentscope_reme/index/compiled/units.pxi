# Scores of units: twins of ``ranking._units`` and what it calls, and of how ``_best`` brings them in order.

cdef enum:
    REACH = 4
cdef double[9] _SHARES = [3.0, 4.0, 6.0, 10.0, 20.0, 10.0, 6.0, 4.0, 3.0]


cdef struct _Layout:
    # Where stretches and their units lie, by stretch; ``cells`` are the first cells of those that are scored, by rank.
    const int32_t *first
    const int32_t *size
    const int32_t *before
    const int32_t *after
    int32_t *cells


cdef inline Py_ssize_t _cell(Py_ssize_t place, Py_ssize_t at, _Layout *layout, _Bits scored) noexcept:
    """The cell of a place in a stretch or right beside it; -1 where no unit that is scored stands there."""
    if place < layout.first[at]:
        at = layout.before[at]
    elif place >= <Py_ssize_t>layout.first[at] + layout.size[at]:
        at = layout.after[at]
    if not scored.has(at):
        return -1
    place -= layout.first[at]
    return layout.cells[scored.rank(at)] + place if 0 <= place < layout.size[at] else -1


cdef inline void _spread(
    double *row, Py_ssize_t place, Py_ssize_t at, double times, _Layout *layout, _Bits scored, bint joined
) noexcept:
    """Add what an occurrence counts to its unit and, less and less, to those near it."""
    cdef Py_ssize_t j, cell, low, high
    if joined:
        for j in range(2 * REACH + 1):
            cell = _cell(place + j - REACH, at, layout, scored)
            if cell >= 0:
                row[cell] += _SHARES[j] * times
        return
    if not scored.has(at):  # near one that is, but not joined to it
        return
    place -= layout.first[at]
    low, high = REACH - place, layout.size[at] + REACH - place
    if low < 0:
        low = 0
    if high > 2 * REACH + 1:
        high = 2 * REACH + 1
    row += layout.cells[scored.rank(at)] + place - REACH
    for j in range(low, high):
        row[j] += _SHARES[j] * times


def score_units(
    const int64_t[::1] chosen,
    const int64_t[::1] stretches,
    const double[::1] wholes,
    double session,
    table,
    postings,
    pairs,
    const int32_t[::1] place_of,
    const int32_t[::1] slot_at,
    lengths,
    const uint8_t[::1] flags,
    const double[::1] worth,
    const double[::1] pair_worth,
    const double[::1] bonus,
    double norm,
    double least_norm,
    double k1,
    double unit,
    bint favoured,
    uint8_t heading,
):
    """Scores of the units in some stretches, which stand in the order of their places.

    ``wholes`` are the scores of candidates as wholes. ``table`` has the columns of stretches: first by file, then file,
    length, shortest, flags, before, after, joined, place, size. ``postings`` are slots, frequencies, stretches and how
    many each term has in texts and then in heading paths; ``pairs`` the slots, numbers and stretches of pairs of words.
    Returns slots, the scores of their own words, the same with names, fields and links, and how much of each word each
    unit has, with a column in front of theirs.
    """
    cdef const int32_t[::1] first = table[8], size = table[9]
    cdef const int32_t[::1] slots = postings[0], tf = postings[1], stretch = postings[2]
    cdef list sizes = postings[3]
    cdef const int32_t[::1] pair_slots = pairs[0], pair = pairs[1], pair_stretch = pairs[2]
    cdef const uint16_t[::1] small = None
    cdef const int32_t[::1] large = None
    cdef Py_ssize_t terms = worth.shape[0], kinds = pair_worth.shape[0], units = 0, width, i, at, cell, row, place, end
    cdef double share, more, length, told
    cdef _Table beside
    cdef _Layout layout
    cdef _Bits scored, near
    cdef double *counts = NULL
    cdef double *norms
    cdef double *totals
    cdef double *values
    _look_at(&beside, table)
    if first.shape[0] != beside.count or size.shape[0] != beside.count or len(sizes) != 2 * terms:
        raise IndexError("the columns of stretches have different lengths")
    if tf.shape[0] != slots.shape[0] or stretch.shape[0] != slots.shape[0]:
        raise IndexError("the columns of postings have different lengths")
    scored, near = _Bits(beside.count), _Bits(beside.count)
    for i in range(chosen.shape[0]):
        scored.add(chosen[i])
        _add_beside(near, chosen[i], &beside)
        at = chosen[i]
        if first[at] < 0 or size[at] < 0 or size[at] > slot_at.shape[0] - first[at]:
            raise IndexError("a stretch lies outside of all places")
        units += size[at]
    scored.count()
    if lengths.itemsize == 2:
        small = lengths
    else:
        large = lengths
    width = units + 1
    slots_out, own_out, whole_out = _empty(units, _INT32), _empty(units, _FLOAT64), _empty(chosen.shape[0], _FLOAT64)
    saturated_out = _empty((terms, width), _FLOAT64)
    cdef int32_t[::1] found = slots_out
    cdef double[::1] own = own_out, whole = whole_out
    cdef double[:, ::1] saturated = saturated_out
    try:
        # Counts of each term and pair, norms and sums: rows of the same width.
        counts = <double *>PyMem_Calloc((terms + kinds + 2) * width, sizeof(double))
        layout.cells = <int32_t *>PyMem_Malloc((chosen.shape[0] + 1) * sizeof(int32_t))
        if counts == NULL or layout.cells == NULL:
            raise MemoryError()
        norms = counts + (terms + kinds) * width
        totals = norms + width
        norms[0] = 1.0
        cell = 0
        for i in range(chosen.shape[0]):
            at = chosen[i]
            layout.cells[scored.rank(at)] = <int32_t>cell
            place = _first_from(stretches, at)
            told = wholes[place] if place < stretches.shape[0] and stretches[place] == at else 0.0
            whole[i] = session * told
            for place in range(first[at], first[at] + size[at]):
                found[cell] = slot_at[place]
                length = small[place] if small is not None else large[place]
                norms[cell + 1] = length * norm + least_norm
                own[cell] = whole[i]
                cell += 1
        if chosen.shape[0]:
            layout.first, layout.size = &first[0], &size[0]
            layout.before, layout.after = beside.before, beside.after
            i = 0
            for row in range(2 * terms):
                end = i + <Py_ssize_t>sizes[row]
                if end > slots.shape[0]:
                    raise IndexError("there are fewer postings than were counted")
                values = counts + (row if row < terms else row - terms) * width + 1
                while i < end:
                    at = stretch[i]
                    if near.has(at):
                        place = place_of[slots[i]]
                        if row >= terms:
                            # A heading path counts for its unit alone.
                            cell = _cell(place, at, &layout, scored)
                            if cell >= 0:
                                values[cell] += unit
                        elif first[at] <= place < <Py_ssize_t>first[at] + size[at]:
                            _spread(values, place, at, tf[i], &layout, scored, beside.joined[at])
                    i += 1
            for i in range(pair_slots.shape[0]):
                at = pair_stretch[i]
                if near.has(at):
                    place = place_of[pair_slots[i]]
                    if not 0 <= pair[i] < kinds:
                        raise IndexError("there are fewer pairs of words")
                    if first[at] <= place < <Py_ssize_t>first[at] + size[at]:
                        values = counts + (terms + pair[i]) * width + 1
                        _spread(values, place, at, 1.0, &layout, scored, beside.joined[at])
        for row in range(terms):
            _saturate(counts + row * width, norms, totals, &saturated[row, 0], width, k1 + 1, worth[row])
        for cell in range(units):
            if not totals[cell + 1] > 0:
                own[cell] = 0.0
                continue
            if kinds:
                more = 0.0
                for row in range(kinds):
                    more += pair_worth[row] / unit * counts[(terms + row) * width + cell + 1]
                totals[cell + 1] += more
            own[cell] = totals[cell + 1] + own[cell]
    finally:
        PyMem_Free(counts)
        PyMem_Free(layout.cells)
    if not favoured or not units:
        return slots_out, own_out, own_out, saturated_out
    score_out = own_out.copy()
    _add_bonus(chosen, whole, table[1], size, bonus, found, flags, heading, score_out)
    return slots_out, own_out, score_out, saturated_out


cdef void _saturate(
    const double *counts, const double *norms, double *totals, double *saturated, Py_ssize_t width, double k, double worth
) noexcept:
    """BM25's saturation of one term's counts, and its part of the sums."""
    cdef Py_ssize_t cell
    for cell in range(width):
        saturated[cell] = k * counts[cell] / (counts[cell] + norms[cell])
        totals[cell] += worth * saturated[cell]


cdef int _add_bonus(
    const int64_t[::1] chosen,
    const double[::1] whole,
    const int32_t[::1] file,
    const int32_t[::1] size,
    const double[::1] bonus,
    const int32_t[::1] slots,
    const uint8_t[::1] flags,
    uint8_t heading,
    double[::1] score,
) except -1:
    """The best unit of a file gets all of its bonus, the others as much as they answer themselves."""
    cdef Py_ssize_t i = 0, last, begin = 0, end, cell, bare
    cdef double peak, more, base = 0.0
    while i < chosen.shape[0]:
        last, end = i, begin
        while last < chosen.shape[0] and file[chosen[last]] == file[chosen[i]]:
            end += size[chosen[last]]
            last += 1
        more = bonus[file[chosen[i]]]
        peak = 0.0
        for cell in range(begin, end):
            if score[cell] > peak:
                peak = score[cell]
        if peak > 0:
            for cell in range(begin, end):
                score[cell] = score[cell] + more * score[cell] / peak
        elif more > 0 and end > begin:
            # Headings after texts; where there is nothing else, the first of them.
            bare = -1
            for cell in range(begin, end):
                if not flags[slots[cell]] & heading:
                    bare = cell
                    break
            if bare < 0:
                bare = begin
            cell = begin
            while bare >= cell + size[chosen[i]]:
                cell += size[chosen[i]]
                i += 1
            score[bare] = more + whole[i]
        begin, i = end, last
    return 0


def positive(
    const int32_t[::1] slots, const double[::1] score, const uint8_t[::1] flags, const double[::1] by_flags
):
    """Those slots whose score is positive, the scores times what their flags say, and the number of each, from 1 on."""
    cdef Py_ssize_t i, kept = 0
    for i in range(score.shape[0]):
        kept += score[i] > 0
    slots_out, score_out, cells_out = _empty(kept, _INT32), _empty(kept, _FLOAT64), _empty(kept, _INT64)
    cdef int32_t[::1] some = slots_out
    cdef double[::1] values = score_out
    cdef int64_t[::1] cells = cells_out
    kept = 0
    for i in range(score.shape[0]):
        if score[i] > 0:
            some[kept], cells[kept] = slots[i], i + 1
            values[kept] = score[i] * by_flags[flags[slots[i]]] if by_flags is not None else score[i]
            kept += 1
    return slots_out, score_out, cells_out


def in_order(const double[::1] raw, double ideal, Py_ssize_t want, int digits):
    """The best scores, brought to the range 0 to 1 and rounded, best first and then as they were.

    Returns where they are, the scores, and which of them are equal to one beside them.
    """
    cdef Py_ssize_t i, j, count, size = raw.shape[0]
    cdef double power = 10.0**digits
    scores_out = _empty(size, _FLOAT64)
    cdef double[::1] scores = scores_out
    for i in range(size):
        scores[i] = rint(raw[i] / (raw[i] + ideal) * power) / power
    best_out = top(scores, want)
    cdef int64_t[::1] best = best_out
    count = best.shape[0]
    values_out = _empty(count, _FLOAT64)
    cdef double[::1] values = values_out
    _sort_best(best, scores)
    cdef list tied = []
    for i in range(count):
        values[i] = scores[best[i]]
        if (i > 0 and values[i - 1] == values[i]) or (i + 1 < count and scores[best[i + 1]] == values[i]):
            tied.append(i)
    return best_out, values_out, tied


cdef struct _Place:
    double score
    int64_t at


cdef int _by_score(const void *one, const void *other) noexcept nogil:
    cdef const _Place *a = <const _Place *>one
    cdef const _Place *b = <const _Place *>other
    if a.score != b.score:
        return (a.score < b.score) - (a.score > b.score)
    return (a.at > b.at) - (a.at < b.at)


cdef int _sort_best(int64_t[::1] best, const double[::1] scores) except -1:
    cdef Py_ssize_t i, count = best.shape[0]
    cdef _Place *places = <_Place *>PyMem_Malloc((count + 1) * sizeof(_Place))
    if places == NULL:
        raise MemoryError()
    try:
        for i in range(count):
            places[i].score, places[i].at = scores[best[i]], best[i]
        qsort(places, count, sizeof(_Place), _by_score)
        for i in range(count):
            best[i] = places[i].at
    finally:
        PyMem_Free(places)
    return 0


def evidence(
    const double[:, ::1] saturated, const int64_t[::1] cells, const double[::1] proof, list groups, double[::1] shown
):
    """Add to ``shown`` how much some units hold of the content words, each of which may be one of several terms."""
    cdef Py_ssize_t i, term
    cdef double most, value, total
    for i in range(cells.shape[0]):
        total = 0.0
        for group in groups:
            most = 0.0
            for one in <list?>group:
                term = one
                value = proof[term] * saturated[term, cells[i]]
                if value > most:
                    most = value
            total += most
        shown[i] = total + shown[i]
    return None
