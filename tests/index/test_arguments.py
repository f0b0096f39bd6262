"""What cannot be searched with is refused by name, before the index is touched."""

import pytest

from agentscope_reme.errors import ConfigError


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"query": None}, "query"),
        ({"query": 5}, "query"),
        ({"query": b"otters"}, "query"),
        ({"limit": "5"}, "limit"),
        ({"limit": None}, "limit"),
        ({"limit": True}, "limit"),
        ({"limit": 2.5}, "limit"),
        ({"min_score": "high"}, "min_score"),
        ({"min_score": float("nan")}, "min_score"),
        ({"token_budget": "many"}, "token_budget"),
        ({"token_budget": 10.5}, "token_budget"),
        ({"filter": "daily/"}, "filter"),
        ({"filter": {5: 6}}, "filter"),
    ],
)
async def test_an_argument_of_the_wrong_kind_is_refused(put, open_index, given, name):
    put("a.md", "Otters at the lake.\n")
    with pytest.raises(ConfigError, match=f"^{name}: "):
        await open_index().search(**{"query": "otters"} | given)


@pytest.mark.parametrize(
    ("given", "name"),
    [({"direction": "sideways"}, "direction"), ({"direction": None}, "direction"), ({"path": 5}, "path"),
     ({"depth": "2"}, "depth"), ({"limit": None}, "limit")],
)  # fmt: skip
async def test_a_walk_that_cannot_be_made_is_refused(put, open_index, given, name):
    put("a.md", "[[b]]\n")
    with pytest.raises(ConfigError, match=f"^{name}: "):
        await open_index().traverse(**{"path": "a.md"} | given)


async def test_whole_numbers_of_other_kinds_are_taken(put, open_index):
    import numpy as np

    put("a.md", "Otters at the lake.\n")
    result = await open_index().search("otters", limit=np.int64(3), token_budget=1000.0, min_score=np.float32(0))
    assert [hit.path for hit in result.hits] == ["a.md"]


@pytest.mark.parametrize("limit", [0, -3])
async def test_no_room_is_an_answer_and_no_error(put, open_index, limit):
    put("a.md", "Otters at the lake.\n")
    result = await open_index().search("otters", limit=limit)
    assert (result.status, result.hits) == ("none", ())
    assert await open_index().node_search("otters", limit) == []
