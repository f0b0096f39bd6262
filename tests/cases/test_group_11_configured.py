"""A fault that users reported, C11-14: a component that is configured and never runs, in silence."""

from pathlib import Path

import pytest

from agentscope_reme import ReMe
from agentscope_reme.jobs.registry import jobs


async def test_c11_14_search_works_without_start_and_without_any_key(vault_dir: Path) -> None:
    vault_dir.mkdir()
    (vault_dir / "a.md").write_text("The ferry leaves at nine.\n")
    reme = ReMe(vault_dir)
    result = await reme.search("ferry")
    assert (result.status, [hit.path for hit in result.hits]) == ("ok", ["a.md"])
    await reme.close()


async def test_c11_14_the_status_says_what_is_on_what_is_off_and_why(vault_dir: Path) -> None:
    vault_dir.mkdir()
    (vault_dir / "a.md").write_text("The ferry leaves at nine.\n")
    (vault_dir / "bad.md").write_bytes(b"\x00\x01\x02" * 1000)
    reme = ReMe(vault_dir, watch="off")
    before = reme.index.status()
    assert (before["opened"], before["fresh"], before["watch"]) == (False, False, "not started")
    await reme.start()
    after = reme.index.status()
    assert (after["opened"], after["fresh"], after["files"]) == (True, True, 2)
    assert (after["watch"], after["watched"]) == ("off", False)
    assert [path for path, _ in after["failed"]] == ["bad.md"]
    assert "binary" in after["failed"][0][1]
    await reme.close()


async def test_c11_14_a_scan_that_fails_is_said_with_the_result_and_in_the_status(vault_dir: Path, monkeypatch) -> None:
    from agentscope_reme.index.sync import Sync

    vault_dir.mkdir()
    (vault_dir / "a.md").write_text("The ferry leaves at nine.\n")
    reme = ReMe(vault_dir)

    def fails(self, **_: object) -> None:
        raise RuntimeError("boom")

    with monkeypatch.context() as patch:
        patch.setattr(Sync, "scan", fails)
        result = await reme.search("ferry")
        assert result.status == "stale"
        assert "boom" in result.note
        assert "boom" in reme.index.status()["error"]
        health = await jobs()["health_check"](reme)
        assert any("boom" in problem for problem in health.problems)
    assert (await reme.search("ferry")).status == "ok"
    assert reme.index.status()["error"] == ""
    await reme.close()


@pytest.mark.parametrize("there", [True, False])
async def test_c11_14_health_answers_at_once_and_opens_nothing(vault_dir: Path, there: bool) -> None:
    if there:
        vault_dir.mkdir()
        (vault_dir / "a.md").write_text("The ferry leaves at nine.\n")
    reme = ReMe(vault_dir)
    health = await jobs()["health_check"](reme)
    assert (health.exists, health.well) == (there, True)
    assert not reme.index.status()["opened"]
    assert vault_dir.exists() is there
    await reme.close()
