"""P9 with vectors: after any sequence of changes a search by words and vectors answers like one built from scratch."""

import asyncio
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentscope_reme import ReMeConfig
from agentscope_reme.index import Index
from agentscope_reme.vault import Vault
from tests.index import test_search_exactness as by_words
from tests.support.embedding import FakeEmbedding


def open_index(root: Path) -> Index:
    now = datetime(2026, 3, 18, 12, tzinfo=UTC)
    config = ReMeConfig(vault_dir=root, embedding_wait=30)
    model = FakeEmbedding(dimensions=32)
    return Index(Vault(root, timezone="UTC", clock=lambda: now), config, embedding_model=model)


@pytest.fixture(autouse=True, scope="module")
def with_vectors():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(by_words, "open_index", open_index)
        yield


@given(st.lists(by_words.change, min_size=4, max_size=12))
@settings(max_examples=8)
def test_any_sequence_of_changes_gives_the_hits_of_words_and_vectors_built_from_scratch(changes):
    asyncio.run(by_words.compare(changes))


@pytest.mark.slow
@given(st.lists(by_words.change, min_size=10, max_size=40))
@settings(max_examples=60)
def test_long_sequences_of_changes_too_with_vectors(changes):
    asyncio.run(by_words.compare(changes))
