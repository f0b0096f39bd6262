# Which excerpts make up a result: the twin of ``packing.pack`` and its tray.

# Where the fields of an excerpt stand.
cdef enum:
    _PATH = 0
    _NUMBER = 1
    _TEXT = 4
    _SCORE = 5
    _DAY = 7
    _JOURNAL = 8


cdef class _Group:
    """Consecutive excerpts of a file, and which of them is the best."""

    cdef object file
    cdef object best
    cdef list excerpts
    cdef Py_ssize_t page


cdef bint _same_occasion(object one, object other):
    """Whether two excerpts may tell of one event: the same words on another day are a second occurrence."""
    if one[_PATH] == other[_PATH]:
        return True
    cdef long day = one[_DAY], other_day = other[_DAY]
    if day and day == other_day:
        return True
    return one[_JOURNAL] != other[_JOURNAL] and not (day and other_day)


cdef class _Tray:
    """What has been taken."""

    cdef list groups, shown, said
    cdef Py_ssize_t limit, budget, left, most_chars, page, page_size, smallest_clip, alike, around
    cdef object clip
    cdef set files  # of all groups
    cdef bint is_full  # whether no more groups can be opened
    cdef dict group_of  # by file and number

    cdef _Group beside(self, object file, Py_ssize_t number):
        cdef _Group group = self.group_of.get((file, number))
        return group if group is not None and group.page == self.page else None

    cdef tuple with_bridge(self, tuple place):
        """The number of a unit, whose file has a group, alone; after that of one that joins it to the group; or none.

        It has none when there is no place for it.
        """
        cdef Py_ssize_t number, step
        if place in self.group_of:
            return ()
        file, number = place
        if not self.is_full or self.beside(file, number - 1) is not None or self.beside(file, number + 1) is not None:
            return (number,)
        for step in (-1, 1):
            if self.beside(file, number + 2 * step) is not None and (file, number + step) not in self.group_of:
                return (number + step, number)
        return ()

    cdef bint is_closed(self):
        """Whether nothing more can be taken: all groups are open, and none in the present thousand tokens."""
        cdef _Group group
        if not self.is_full or self.page <= 0:
            return False
        for group in self.groups:
            if group.page == self.page:
                return False
        return True

    cdef bint was_said(self, object excerpt, str words):
        """Whether one that may tell of the same event says the same, apart from a little around it."""
        cdef Py_ssize_t at = _first_alike(words, self.said, 0, self.alike, self.around)
        while at >= 0:
            if _same_occasion(excerpt, self.shown[at]):
                return True
            at = _first_alike(words, self.said, at + 1, self.alike, self.around)
        return False

    cdef bint take(self, object file, object excerpt) except -1:
        """Print an excerpt, unless it says what was said; False when there is no more room."""
        cdef _Group before = None, after = None
        cdef Py_ssize_t number, cost
        cdef str text = excerpt[_TEXT], words
        if file in self.files:
            number = excerpt[_NUMBER]
            before, after = self.beside(file, number - 1), self.beside(file, number + 1)
        if self.is_full and before is None and after is None:
            return True
        words = squashed(text)
        if self.was_said(excerpt, words):
            return True
        cost = count_tokens(text)
        if cost > self.left or len(text) > self.most_chars:
            if self.left < self.smallest_clip:
                return False
            shorter = self.clip(excerpt, min(self.left, self.most_chars // 4))
            if shorter is None:
                return False
            excerpt = shorter
            cost = count_tokens(excerpt[_TEXT])
        self.place(file, excerpt, before, after)
        self.left -= cost
        # As Python divides, whatever the signs.
        self.page = _floor(self.budget - self.left, self.page_size)
        self.shown.append(excerpt)
        self.said.append(words)
        return self.left > 0

    cdef int place(self, object file, object excerpt, _Group before, _Group after) except -1:
        cdef _Group group
        if before is not None and after is not None:
            before.excerpts.extend(after.excerpts)
            if after.best[_SCORE] > before.best[_SCORE]:
                before.best = after.best
            self.groups.remove(after)
            self.is_full = False
            for other in after.excerpts:
                self.group_of[(file, other[_NUMBER])] = before
        group = before if before is not None else after
        if group is None:
            group = _Group()
            group.file, group.best, group.excerpts, group.page = file, excerpt, [], self.page
            self.groups.append(group)
            self.files.add(file)
            self.is_full = len(self.groups) >= self.limit
        elif excerpt[_SCORE] > group.best[_SCORE]:
            group.best = excerpt
        group.excerpts.append(excerpt)
        self.group_of[(file, excerpt[_NUMBER])] = group
        return 0


cdef inline Py_ssize_t _floor(Py_ssize_t number, Py_ssize_t by) noexcept:
    return number // by if number >= 0 else -((by - 1 - number) // by)


cdef list _taken(_Tray tray, list places, order, read):
    """The groups of what was taken, in their order."""
    cdef Py_ssize_t at
    cdef tuple place, wanted
    for at in order:
        place = places[at]
        file, number = place
        if file not in tray.files:
            if tray.is_full:
                continue
            wanted = (number,)
        else:
            wanted = tray.with_bridge(place)
        for one in wanted:
            if one != number and (file, one) not in places:
                break
            excerpt = read(at if one == number else places.index((file, one)))
            if excerpt is None:
                break
            if not tray.take(file, excerpt):
                return tray.groups
        if tray.is_full and tray.is_closed():
            break
    return tray.groups


def pack(
    list places,
    order,
    read,
    Py_ssize_t limit,
    Py_ssize_t budget,
    clip,
    Py_ssize_t most_chars,
    new_group,
    Py_ssize_t page_size,
    Py_ssize_t smallest_clip,
    Py_ssize_t alike,
    Py_ssize_t around,
):
    """Take excerpts in an order until ``limit`` groups and ``budget`` tokens are full."""
    if page_size <= 0:
        raise ValueError("a page has room for a token at least")
    cdef _Tray tray = _Tray()
    cdef _Group group
    tray.groups, tray.shown, tray.said, tray.files, tray.group_of = [], [], [], set(), {}
    tray.limit, tray.budget, tray.left, tray.page = limit, budget, budget, 0
    tray.clip, tray.most_chars, tray.is_full = clip, most_chars, limit <= 0
    tray.page_size, tray.smallest_clip, tray.alike, tray.around = page_size, smallest_clip, alike, around
    cdef list taken = _taken(tray, places, order, read)
    return [new_group(group.file, group.best, group.excerpts, group.page) for group in taken]
