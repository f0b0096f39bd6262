"""P15 for documents: neither the name nor the words of a forgotten document or of its card stay anywhere."""

from pathlib import Path

import pytest

from agentscope_reme import ReMe
from tests.pipelines.documents import put

from .test_promise_15_forgetting import SECRET, holders

PATH = f"resource/2026-03-16/{SECRET}.txt"
OTHER = "resource/2026-03-16/other.txt"


@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["document first", "card first"])
async def test_promise_15_a_document_and_its_card_are_forgotten(vault_dir: Path, order: tuple[int, int]) -> None:
    reme = ReMe(vault_dir)
    put(reme.vault, OTHER, "The okapi lives in Ituri.\n")
    put(reme.vault, PATH, f"The recipe of {SECRET} is with Anna.\n")
    await reme.auto_resource()
    put(reme.vault, PATH, f"The recipe of {SECRET} is with Bert.\n")
    done = await reme.auto_resource()
    note = done.metadata["results"][0]["note"]
    receipt = await reme.forget(PATH, dry_run=True)
    assert note in {link.source_path for link in receipt.links}
    for place in order:
        await reme.forget((PATH, note)[place])
    await reme.close()
    assert holders(vault_dir) == []
    later = ReMe(vault_dir)
    assert (await later.auto_resource()).metadata["results"] == []  # the other one is known as read still
    await later.close()


async def test_promise_15_a_forgotten_card_does_not_come_back_while_its_document_is_there(vault_dir: Path) -> None:
    reme = ReMe(vault_dir)
    put(reme.vault, "resource/a.txt", f"The recipe of {SECRET} is with Anna.\n")
    done = await reme.auto_resource()
    await reme.forget(done.metadata["results"][0]["note"])
    assert (await reme.auto_resource()).metadata["results"] == []
    assert not list((vault_dir / "daily").glob("*/*.md"))
    await reme.close()
