"""What a search reads of the vault: the files it shows, each once."""

from pathlib import Path

import pytest


@pytest.fixture
def files_read(open_index, monkeypatch):
    """An index, and the paths of the files that are read through its vault from the time of asking on."""

    async def start():
        index, read = open_index(), []
        await index.sync()
        real = index.vault.storage.read
        monkeypatch.setattr(index.vault.storage, "read", lambda path: read.append(path) or real(path))
        return index, read

    return start


async def test_a_search_reads_the_notes_it_shows_and_each_once(put, files_read):
    for number in range(30):
        put(f"digest/{number}.md", f"# Zebra {number}\n\n" + f"Zebra number {number} grazes.\n\n" * 3)
    index, read = await files_read()
    hits = (await index.search("zebra grazes", limit=5)).hits
    assert len(hits) == 5
    assert sorted(read) == sorted({hit.path for hit in hits})


async def test_lines_of_a_file_with_other_line_ends_are_shown_with_ours(put, files_read):
    put("digest/a.md", "# Zebra\r\n\r\nThe zebra grazes,\r\nand rests.\r\n")
    index, _ = await files_read()
    assert "grazes,\nand rests." in (await index.search("zebra grazes")).hits[0].text


async def test_a_file_that_changed_unseen_is_read_again_and_shown_as_it_is(put, files_read, vault_dir: Path):
    put("digest/a.md", "The zebra grazes at dawn.\n")
    index, _ = await files_read()
    put("digest/a.md", "The zebra grazes at dusk.\n")
    assert [hit.text for hit in (await index.search("zebra grazes")).hits] == ["The zebra grazes at dusk."]
