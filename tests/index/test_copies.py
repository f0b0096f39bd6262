"""Copies that sync and file programs leave beside a note are found once, and what only looks like one stays."""

import pytest

TEXT = "# Plan\n\nThe zebra crossing is painted on Friday.\n"


async def paths(index, query: str, **more) -> list[str]:
    return [hit.path for hit in (await index.search(query, limit=20, **more)).hits]


@pytest.mark.parametrize(
    "copy", ["plan (1).md", "plan 2.md", "plan - Copy.md", "plan - 副本.md", "plan（1）.md", "plan_old.md"]
)
async def test_a_copy_with_the_same_bytes_is_not_shown_beside_its_note(put, open_index, copy):
    put("digest/plan.md", TEXT)
    put(f"digest/{copy}", TEXT)
    assert await paths(open_index(), "zebra crossing") == ["digest/plan.md"]


async def test_several_copies_leave_one_and_the_note_is_the_one(put, open_index):
    for name in ("plan - Copy.md", "plan - 副本.md", "plan (1).md", "plan (2).md", "plan.md"):
        put(f"digest/{name}", TEXT)
    assert await paths(open_index(), "copy of the zebra crossing plan") == ["digest/plan.md"]


async def test_a_copy_without_its_note_is_found(put, open_index):
    put("digest/plan (1).md", TEXT)
    assert await paths(open_index(), "zebra crossing") == ["digest/plan (1).md"]


async def test_a_copy_that_was_changed_is_a_note_of_its_own(put, open_index):
    put("digest/plan.md", TEXT)
    put("digest/plan 2.md", TEXT.replace("Friday", "Monday"))
    assert sorted(await paths(open_index(), "zebra crossing")) == ["digest/plan 2.md", "digest/plan.md"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("digest/plan 1.md", "digest/plan 11.md"),
        ("digest/ann.md", "digest/bob.md"),
        ("digest/a/plan.md", "digest/b/plan 2.md"),
        ("daily/2026-03-01/plan.md", "daily/2026-03-02/plan.md"),
        ("digest/plan.md", "resource/plan 2.txt"),
    ],
)
async def test_equal_bytes_under_names_of_their_own_are_two_notes(put, open_index, one, other):
    put(one, TEXT)
    put(other, TEXT)
    assert sorted(await paths(open_index(), "zebra crossing")) == sorted((one, other))


async def test_a_filter_that_names_the_copy_finds_it(put, open_index):
    put("digest/plan.md", TEXT)
    put("digest/plan (1).md", TEXT)
    assert await paths(open_index(), "zebra crossing", filter={"path": "digest/plan (1)"}) == ["digest/plan (1).md"]


async def test_empty_notes_are_found_by_their_names(put, open_index):
    put("digest/plan.md", "")
    put("digest/plan 2.md", "")
    assert sorted(await paths(open_index(), "plan")) == ["digest/plan 2.md", "digest/plan.md"]
