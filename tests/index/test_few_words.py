"""Who asks with a few words wants the passage that has them all, not a note that is called like one of them."""

import asyncio
import json
from datetime import UTC, datetime

import pytest

from .few_words import CALLED_SO, IN_ONE_PASSAGE, NOTES, SECOND, TITLE_AND_PASSAGE


@pytest.fixture(scope="module")
def small_notes(tmp_path_factory):
    from agentscope_reme import ReMeConfig
    from agentscope_reme.index import Index
    from agentscope_reme.vault import Vault

    root = tmp_path_factory.mktemp("few_words")
    for path, text in NOTES.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(f"{text}\n", encoding="utf-8")
    vault = Vault(root, timezone="UTC", clock=lambda: datetime(2026, 3, 18, tzinfo=UTC))
    index = Index(vault, ReMeConfig(vault_dir=root))
    asyncio.run(index.sync())
    return index


async def paths(index, query: str, **more) -> list[str]:
    return [hit.path for hit in (await index.search(query, **more)).hits]


@pytest.mark.parametrize(("question", "right"), IN_ONE_PASSAGE + TITLE_AND_PASSAGE + CALLED_SO)
async def test_the_right_note_is_first(small_notes, question, right):
    assert (await paths(small_notes, question))[0] == right


@pytest.mark.parametrize(("question", "right"), SECOND)
async def test_where_words_cannot_tell_the_right_note_is_second(small_notes, question, right):
    assert (await paths(small_notes, question))[1] == right


async def test_notes_called_like_one_word_come_right_after_the_passage_with_all(put, open_index):
    put("Invoice.md", "Sent by mail.\n")
    put("daily/2026-03-01.md", "Paid 7781, an invoice.\n")
    put("daily/2026-03-02.md", "An invoice. Another invoice.\n")
    assert (await paths(open_index(), "invoice 7781"))[:2] == ["daily/2026-03-01.md", "Invoice.md"]


async def test_a_word_in_an_alias_is_as_good_as_one_in_the_passage(put, open_index):
    put("Invoice.md", "Sent by mail.\n")
    put("bills.md", "---\naliases: [Invoices 2026]\n---\n7780 Brandt\n\n7781 Rohm\n")
    assert (await paths(open_index(), "invoice 7781"))[0] == "bills.md"


async def test_a_passage_that_only_asks_holds_nothing_down(put, open_index):
    put("Invoice.md", "Sent by mail.\n")
    message = {"id": "m", "name": "user", "role": "user", "content": "Where is invoice 7781?"}
    put("session/dialog/s1.jsonl", json.dumps({"id": "m", "seq": 0, "msg": message, "marks": [], "tokens": 5}) + "\n")
    assert (await paths(open_index(), "invoice 7781"))[0] == "Invoice.md"


async def test_a_superseded_passage_holds_nothing_down(put, open_index):
    put("Invoice.md", "Sent by mail.\n")
    put("old.md", "---\nvalid_to: 2026-01-01\n---\nPaid 7781, an invoice.\n")
    assert (await paths(open_index(), "invoice 7781"))[0] == "Invoice.md"


async def test_words_in_neighbouring_passages_hold_nothing_down(put, open_index):
    put("Invoice.md", "Sent by mail.\n")
    put("daily/2026-03-01.md", "An invoice came.\n\nThe bus was number 7781.\n")
    assert (await paths(open_index(), "invoice 7781"))[0] == "Invoice.md"


async def test_where_many_passages_have_all_words_the_note_called_so_is_first(put, open_index):
    put("Dentist.md", "Dr. Weiss, Marktstrasse 3.\n")
    for day in range(1, 6):
        put(f"daily/2026-03-0{day}.md", "An appointment at the dentist.\n")
    assert (await paths(open_index(), "dentist appointment"))[0] == "Dentist.md"
