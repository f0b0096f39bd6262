"""Long-term notes that a dream wrote: a statement is found by its own words, on its own day."""

from pathlib import Path

from agentscope_reme import ReMeConfig
from agentscope_reme.index import Index
from agentscope_reme.models import SearchResult
from agentscope_reme.vault import Vault

NOTE = """---
name: front end
generator: dream@1
---
My own words, as of the harbour.

- source: [[daily/2026-01-01/lighthouse.md]] is mine

<!-- reme:begin dream -->
- Ann moved to Svelte. ^d1d52e362
  - valid_from: 2026-03-04; supersedes: ^de0a7e046; source: [[daily/2026-03-04/zeppelin-trip.md|2026-03-04 Ann]]
- Ann tests with Vitest. ^d1d52e363
  - valid_from: 2026-03-09; source: [[daily/2026-03-09/balloon-trip.md|2026-03-09 Ann]]

## Earlier

- Ann prefers React. ^de0a7e046
  - valid_from: 2026-03-01; valid_to: 2026-03-04; source: [[daily/2026-03-01/airship.md|2026-03-01 Ann]]
<!-- reme:end dream -->
"""


async def search(root: Path, query: str, **options) -> SearchResult:
    vault = Vault(root, timezone="UTC")
    vault.write_sync("digest/personal/front-end.md", NOTE, overwrite=True)
    index = Index(vault, ReMeConfig(vault_dir=root))
    try:
        return await index.search(query, **options)
    finally:
        await index.close()


async def test_the_words_of_a_cited_path_are_not_what_the_statement_says(vault_dir: Path) -> None:
    assert (await search(vault_dir, "zeppelin")).status == "none"
    hit = (await search(vault_dir, "who moved to Svelte")).hits[0]
    assert "Ann moved to Svelte." in hit.text
    assert "2026-03-04/zeppelin" not in hit.text
    assert "daily/2026-03-04/zeppelin-trip.md" in hit.outlinks, "the links are known all the same"


async def test_a_statement_is_of_the_day_since_which_it_holds(vault_dir: Path) -> None:
    found = await search(vault_dir, "Ann", filter={"since": "2026-03-04", "until": "2026-03-05"})
    assert "Svelte" in found.hits[0].text
    assert all("React" not in hit.text and "Vitest" not in hit.text for hit in found.hits)


async def test_what_held_before_is_found_under_its_heading(vault_dir: Path) -> None:
    (hit,) = [hit for hit in (await search(vault_dir, "React")).hits if "React" in hit.text]
    assert hit.headings == ("Earlier",)


async def test_such_a_line_outside_the_generated_part_is_a_line_like_any_other(vault_dir: Path) -> None:
    assert "lighthouse" in (await search(vault_dir, "lighthouse")).hits[0].text
