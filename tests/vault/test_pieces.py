"""Pieces of bytes read back as they were last set, whatever has settled meanwhile."""

import sys
import threading
from array import array
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentscope_reme.vault import pieces as module
from agentscope_reme.vault.pieces import FoldedPieces, Pieces

changes = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.just(0), st.binary(max_size=12)),
        st.tuples(st.just("set"), st.integers(0, 40), st.binary(max_size=12)),
        st.tuples(st.sampled_from(["settle", "copy"]), st.just(0), st.just(b"")),
    ),
    max_size=60,
)


@pytest.mark.parametrize("kind", [Pieces, FoldedPieces])
@given(st.lists(st.binary(max_size=12), max_size=30), changes, st.integers(1, 12))
def test_every_piece_is_what_it_was_last_set_to(kind, first, changes, few):
    with patch.object(module, "_FEW", few):
        pieces, plain = kind(first), list(first)
        left: list[tuple[Pieces, list[bytes]]] = []
        for what, number, piece in changes:
            if what == "append":
                pieces.append(piece)
                plain.append(piece)
            elif what == "set" and number < len(plain):
                pieces[number] = plain[number] = piece
            elif what == "settle":
                pieces.settle()
            elif what == "copy" and kind is Pieces:  # what was copied stays as it was
                left.append((pieces, list(plain)))
                pieces = pieces.copy()
            assert list(pieces) == plain
            assert len(pieces) == len(plain)
        assert [list(before) for before, _ in left] == [was for _, was in left]
        assert list(kind(pieces)) == plain
        if kind is Pieces:
            assert list(Pieces.of(*pieces.parts())) == plain


@pytest.mark.parametrize("kind", [Pieces, FoldedPieces])
def test_others_read_while_one_changes_and_settles(kind):
    pieces = kind(b"%d" % number for number in range(300))
    wrong: list[bytes] = []
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            wrong.extend(piece for number in range(300) if int(piece := pieces[number]) % 1_000 != number)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for turn in range(30):
        for number in range(0, 300, 7):
            pieces[number] = b"%d" % (1_000 * turn + number)
        pieces.append(b"")
        pieces.settle()
    done.set()
    for reader in readers:
        reader.join()
    assert wrong == []
    assert [int(pieces[number]) for number in range(0, 300, 7)] == [29_000 + number for number in range(0, 300, 7)]


def test_settled_pieces_take_little_more_than_their_bytes_and_folded_ones_less():
    said = [b'{"status": "draft", "created": "2024-05-%02d", "number": %d}' % (n % 28 + 1, n) for n in range(2_000)]
    assert taken(Pieces(said)) < 1.05 * (sum(map(len, said)) + 4 * 2_001)
    folded, new = FoldedPieces(said)._state
    assert new == {}
    assert taken(folded) < sum(map(len, said)) / 3


def taken(pieces):
    data, begins, changed = pieces._state
    assert changed == {}
    return sys.getsizeof(data) + sys.getsizeof(begins)


def test_a_copy_shares_what_is_settled_until_one_of_both_grows():
    pieces = Pieces([b"one", b"two"])
    copy = pieces.copy()
    copy[0] = b"changed"
    assert copy._state[0] is pieces._state[0]
    assert (list(copy), list(pieces)) == ([b"changed", b"two"], [b"one", b"two"])
    pieces.append(b"three")
    copy.append(b"four")
    assert (list(copy), list(pieces)) == ([b"changed", b"two", b"four"], [b"one", b"two", b"three"])


@pytest.mark.parametrize("begins", [[], [1, 3], [0, 2], [0, 3, 2, 3], [0, 4]])
def test_parts_that_do_not_belong_together_are_refused(begins):
    with pytest.raises(ValueError, match="belong together"):
        Pieces.of(b"abc", array("Q", begins))
