"""Bytes as text that may be shown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentscope_reme.vault.encoding import decode_exact, display, shown_text


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
