"""Properties of reading and changing front matter, over texts and values nobody thought of."""

import string
from datetime import date, datetime, timedelta, timezone

import frontmatter
from hypothesis import assume, given
from hypothesis import strategies as st

from agentscope_reme.errors import FrontMatterError
from agentscope_reme.vault.frontmatter import compose, delete_keys, parse, set_keys

# Surrogates are replaced by rule and tested apart; everything else must survive.
texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=40)
lines = st.text(st.sampled_from("abc 0129-:#[]{}|>'\"&*!%@`,?~.\\\t=<你é😀"), max_size=20)
keys = st.one_of(st.text(string.ascii_letters, min_size=1, max_size=8), texts, lines).filter(str.strip)
zones = st.integers(-12 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**40), 10**40),
    st.floats(allow_nan=False, allow_infinity=False),
    texts,
    lines,
    st.dates(date(1000, 1, 1)),
    st.datetimes(datetime(1000, 1, 1), timezones=st.none() | zones),
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3), max_leaves=6
)
own_keys = st.sampled_from(["k", "n", "键", "a b", "long-key"])


def assert_same(found: object, expected: object) -> None:
    assert found == expected
    assert type(found) is type(expected)
    if isinstance(expected, datetime):
        assert found.isoformat() == expected.isoformat()  # type: ignore[union-attr]
    if isinstance(expected, list):
        for one, other in zip(found, expected, strict=True):  # type: ignore[call-overload]
            assert_same(one, other)
    if isinstance(expected, dict):
        for key, other in expected.items():
            assert_same(found[key], other)  # type: ignore[index]


@given(st.one_of(texts, lines.map(lambda line: f"---\n{line}\n---\nb"), st.lists(lines).map("\n".join)))
def test_reading_never_raises_and_loses_no_text(text: str) -> None:
    note = parse(text)
    assert text.endswith(note.body)
    head = text[: len(text) - len(note.body)]
    assert note.body_line == 1 + head.count("\n")
    if note.raw is not None:
        assert note.raw in head
    else:
        assert head.strip("\ufeff") == ""


@given(st.dictionaries(own_keys, values, max_size=4), st.text(max_size=30))
def test_a_composed_note_reads_back(front: dict, body: str) -> None:
    note = parse(compose(front, body))
    assert note.front.error is None
    assert_same(note.front.data, front)
    assert note.body == body.lstrip("\ufeff")


@given(st.one_of(texts, lines))
def test_other_readers_get_the_same_text(text: str) -> None:
    assert frontmatter.loads(compose({"k": text, "l": [text]}, "b")).metadata == {"k": text, "l": [text]}


# A line of a block as people write them: the key, and what stands behind it.
typed = st.tuples(
    st.sampled_from(["", "# a comment\n", "\n"]),
    st.sampled_from(
        [
            "plain text",
            "plain # comment",
            '"double: quoted" # c',
            "'single'",
            "[a, b]  # flow",
            "{x: 1}",
            "|\n  literal\n   text",
            ">-\n  folded\n\n  text",
            "\n  - one\n  - 'two' # c",
            "\n- one\n- two",
            "\n  deep: 1\n  deeper:\n    - x",
            "",
            "~ # nothing",
            "2026-03-16",
            "0123",
            "[[Link]]",
            "&anchor x",
        ]
    ),
)


@given(
    st.lists(typed, min_size=1, max_size=6), st.integers(0, 7), values, st.booleans(), st.sampled_from(["", "\ufeff"])
)
def test_changing_a_key_leaves_every_other_line(
    block: list[tuple[str, str]], chosen: int, value: object, crlf: bool, mark: str
) -> None:
    end = "\r\n" if crlf else "\n"
    pieces = [f"{before}key{i}: {text}\n".replace("\n", end) for i, (before, text) in enumerate(block)]
    text = f"{mark}---{end}{''.join(pieces)}--- {end}body{end}key0: no{end}last"
    key = f"key{chosen}"
    changed = set_keys(text, {key: value})
    data = parse(changed).front.data
    assert_same(data[key], value)
    assert_same(
        {k: v for k, v in data.items() if k != key}, {k: v for k, v in parse(text).front.data.items() if k != key}
    )
    for i, piece in enumerate(pieces):
        if i != chosen:
            assert piece in changed
    assert changed.startswith(f"{mark}---{end}")
    assert changed.endswith(f"--- {end}body{end}key0: no{end}last")
    assert parse(changed).body == parse(text).body
    if chosen >= len(block):
        assert delete_keys(changed, [key]) == text


@given(st.lists(typed, min_size=1, max_size=6), st.integers(0, 5))
def test_deleting_a_key_leaves_every_other_line(block: list[tuple[str, str]], chosen: int) -> None:
    assume(chosen < len(block))
    pieces = [f"{before}key{i}: {text}\n" for i, (before, text) in enumerate(block)]
    text = f"---\n{''.join(pieces)}---\nbody"
    changed = delete_keys(text, [f"key{chosen}"])
    assert parse(changed).front.data == {k: v for k, v in parse(text).front.data.items() if k != f"key{chosen}"}
    for i, (before, _) in enumerate(block):
        assert pieces[i] in changed if i != chosen else before in changed


@given(st.lists(lines, max_size=6).map("\n".join), own_keys, values)
def test_any_block_is_changed_rightly_or_refused_untouched(block: str, key: str, value: object) -> None:
    text = f"---\n{block}\n---\nbody"
    before = parse(text)
    try:
        changed = set_keys(text, {key: value})
    except FrontMatterError:
        return
    after = parse(changed)
    assert before.front.error is None
    assert after.body == before.body
    assert_same(after.front.data, {**before.front.data, key: value})
