"""Documents are read by themselves once a ReMe has started: put there, changed, removed, or left while it was away."""

import asyncio
import json

import pytest

from agentscope_reme import ReMe
from agentscope_reme.pipelines import resource_plan
from agentscope_reme.pipelines.queue import Queue
from agentscope_reme.service.cli import make_app
from tests.pipelines.documents import PLAN, REPORT, cards, planner_of, points, put
from tests.support.scripted_model import ScriptedModel

DAY = "2026-11-20"
PATH = f"resource/{DAY}/report.md"


def reme_at(vault_dir, model=None, **settings):
    settings.setdefault("watch_quiet", 0.05)
    settings.setdefault("watch", "poll")
    settings.setdefault("poll_seconds", 0.1)
    return ReMe(vault_dir, chat_model=model, timezone="UTC", **settings)


async def until(reme, condition, seconds=15.0):
    for _ in range(int(seconds / 0.05)):
        if condition():
            return
        await asyncio.sleep(0.05)
    raise AssertionError(f"it did not come about; the cards are {sorted(cards(reme.vault))}")


@pytest.mark.parametrize("watch", ["auto", "poll"])
async def test_a_document_that_is_put_there_changed_and_removed_is_followed(vault_dir, watch):
    async with reme_at(vault_dir, watch=watch) as reme:
        await reme.vault.write("MEMORY.md", "- a fact\n")
        put(reme.vault, PATH, REPORT)
        await until(reme, lambda: any("4,200" in text for text in cards(reme.vault).values()))
        put(reme.vault, PATH, REPORT.replace("4,200", "5,300"))
        await until(reme, lambda: any("5,300" in text for text in cards(reme.vault).values()))
        (vault_dir / PATH).unlink()
        await until(reme, lambda: not cards(reme.vault))
        await reme.await_summary_tasks()
        assert reme.queue.pending() == []


async def test_what_is_ingested_is_read_and_found(vault_dir, tmp_path):
    (tmp_path / "lease.txt").write_text("The lease of the Basel office ends in May.\n", "utf-8")
    async with reme_at(vault_dir) as reme:
        await reme.vault.ingest(tmp_path / "lease.txt", date=DAY)
        await until(reme, lambda: cards(reme.vault))
        found = await reme.search("When does the lease of the Basel office end?", filter={"path": "daily"})
        assert found.hits[0].metadata["trust"] == "external"


async def test_what_came_while_no_process_was_there_is_read_at_the_start(vault_dir):
    async with reme_at(vault_dir) as reme:
        put(reme.vault, PATH, REPORT)
    put(ReMe(vault_dir).vault, "resource/plan.txt", PLAN)
    async with reme_at(vault_dir) as reme:
        await until(reme, lambda: len(cards(reme.vault)) == 2)


async def test_it_can_be_switched_off(vault_dir):
    async with reme_at(vault_dir, read_resources=False) as reme:
        put(reme.vault, PATH, REPORT)
        await asyncio.sleep(0.5)
        assert cards(reme.vault) == {}
        response = await reme.auto_resource()
        assert response.metadata["created"] == [PATH]


async def test_many_documents_at_once_are_one_piece_of_work(vault_dir):
    async with reme_at(vault_dir) as reme:
        for i in range(30):
            put(reme.vault, f"resource/{DAY}/note-{i}.txt", f"Document number {i} is about the lease.\n")
        await until(reme, lambda: len(cards(reme.vault)) == 30)
        await reme.await_summary_tasks()
    history = [json.loads(line) for line in (vault_dir / "history/log.jsonl").read_text("utf-8").splitlines()]
    created = [entry["path"] for entry in history if entry["kind"] == "created" and entry["path"].count("/") == 2]
    assert len(created) == len(set(created)) == 30


async def test_what_a_model_could_not_read_is_tried_again_by_the_queue(vault_dir):
    model = ScriptedModel([ConnectionError("down"), points(("The lease ends on 2027-05-03.", [2]))])
    async with reme_at(vault_dir, model, read_resources=False) as reme:
        put(reme.vault, PATH, REPORT)
        response = await reme.auto_resource([PATH])
        assert not response.success
        assert response.metadata["retry"]
        (task,) = reme.queue.pending("auto_resource")
        reme.queue.hasten(task.id)
        reme.worker.wake()
        await until(reme, lambda: any("resource@1" in text for text in cards(reme.vault).values()))


async def test_a_model_that_fails_for_good_is_set_aside_visibly_and_the_others_have_their_cards(vault_dir):
    model = ScriptedModel(default=ConnectionError("down"))
    reme = reme_at(vault_dir, model)
    reme._queue = Queue(reme.vault, attempts=2, delays=())
    async with reme:
        put(reme.vault, PATH, REPORT)
        put(reme.vault, "resource/empty.txt", "")
        await until(reme, lambda: reme.queue.set_aside())
        assert "down" in reme.queue.set_aside()[0].error
        assert len(cards(reme.vault)) == 2


async def test_the_event_loop_stays_free_while_documents_are_read(vault_dir):
    """A long read is done in threads: others get their turn again and again meanwhile."""
    text = "\n\n".join(f"Paragraph {i} of Anna Huber says that 4,{i:03d} people live in Basel." for i in range(1_000))
    reme = reme_at(vault_dir, read_resources=False)
    put(reme.vault, "resource/big.txt", text)
    turns = 0

    async def others():
        nonlocal turns
        while True:
            await asyncio.sleep(0.001)
            turns += 1

    task = asyncio.create_task(others())
    assert (await reme.auto_resource()).success
    task.cancel()
    assert turns > 5
    await reme.close()


# --- prompts ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_prompt_promises_what_the_code_does(language):
    prompt = resource_plan.system_prompt(language)
    assert "{" not in prompt
    for field in (*resource_plan.ResourcePlan.model_fields, *resource_plan.PlannedPoint.model_fields):
        if field not in ("points", "text", "kind"):
            assert f"`{field}`" in prompt
    for kind in resource_plan.PlannedPoint.model_fields["kind"].annotation.__args__:
        assert f"- {kind}" in prompt
    assert str(resource_plan.MAX_TEXT // 2) in prompt


async def test_each_prompt_is_in_the_language_of_its_document(vault_dir):
    planner, model = planner_of(default=points())
    reme = reme_at(vault_dir)
    put(reme.vault, "resource/a.txt", PLAN)
    put(reme.vault, "resource/b.md", REPORT)
    from agentscope_reme.pipelines.auto_resource import auto_resource

    await auto_resource(reme.vault, ["resource/a.txt", "resource/b.md"], planner=planner)
    assert "你会读到一份" in model.requests[0].role_text("system")
    assert "You read a part" in model.requests[1].role_text("system")


# --- the command ------------------------------------------------------------------------------------------------------


def test_the_command_reads_what_is_unread_and_says_what_failed(vault_dir):
    from typer.testing import CliRunner

    vault = ReMe(vault_dir).vault
    put(vault, PATH, REPORT)
    put(vault, "resource/broken.pdf", b"%PDF-1.4 broken")
    runner = CliRunner()
    done = runner.invoke(make_app(), ["auto_resource", "--vault", str(vault_dir)])
    assert done.exit_code == 1, done.output
    assert "1 created" in done.output
    assert "resource/broken.pdf" in done.output
    again = runner.invoke(make_app(), ["auto_resource", PATH, "--vault", str(vault_dir)])
    assert again.exit_code == 0, again.output
    assert "1 unchanged" in again.output


async def test_documents_another_system_left_get_cards_when_they_change_or_are_named(vault_dir):
    for path in ("resource/old.md", "resource/asked.md", "daily/2026-01-05/talk.md", "reme_metadata/x.json"):
        (vault_dir / path).parent.mkdir(parents=True, exist_ok=True)
        (vault_dir / path).write_text("# Lease\n\nThe rent is 900 euros from May 2026.\n", encoding="utf-8")
    for _ in range(2):
        async with reme_at(vault_dir) as reme:
            await reme.worker.settled(10)
        assert not (vault_dir / "history").exists()
    (vault_dir / "resource/old.md").write_text("# Lease\n\nThe rent is 950 euros from June 2026.\n", encoding="utf-8")
    async with reme_at(vault_dir) as reme:
        done = await reme.auto_resource(["resource/asked.md"])
        assert [done.metadata["results"][0]["action"]] == ["created"]
        await reme.worker.settled(10)
        cards = [hit.path for hit in (await reme.search("rent 950 euros June")).hits]
        assert any(path.startswith("daily/") and path != "daily/2026-01-05/talk.md" for path in cards)
