"""Bytes as text that may be shown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentscope_reme.vault import encoding
from agentscope_reme.vault.encoding import clean_text, decode_exact, display, shown_text


@given(st.text().map(lambda text: text.encode("utf-8", "surrogatepass")) | st.binary())
def test_bytes_are_shown_as_their_exact_text_would_be(data: bytes) -> None:
    assert shown_text(data) == display(decode_exact(data))


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        ("笔记\r\n".encode(), "笔记\r\n"),
        (b"\xef\xbb\xbfa", "\ufeffa"),
        (b"a\x00b", "a\ufffdb"),
        (b"caf\xe9\x00", "caf\ufffd\ufffd"),
        (b"\xed\xa0\xbd", "\ufffd\ufffd\ufffd"),
    ],
)
def test_what_cannot_be_shown_has_a_sign_in_its_place(data: bytes, shown: str) -> None:
    assert shown_text(data) == shown


@given(st.lists(st.sampled_from(["a", "尾", "\U0001f389", "\ud83c", "\udf89", "\ud83d", "\x00"])).map("".join))
def test_surrogates_are_mended_alike_in_one_part_and_in_many(text: str) -> None:
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoding, "_PART_CHARS", 2)
        assert clean_text(text, keep_nul=True) == whole
