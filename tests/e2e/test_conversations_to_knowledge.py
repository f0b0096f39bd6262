"""Five real conversations -> cards -> a dream -> long-term notes, with rules in the model's place; offline.

The conversations are those of LoCoMo (evaluation only) and MemoryBank (MIT), which are not part of this repository.
"""

import importlib.util
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from agentscope_reme import ReMe
from agentscope_reme.pipelines.extractive_card import write_extractive_card
from agentscope_reme.vault.frontmatter import parse
from tests.pipelines.dreams import files, notes_below
from tests.support.scripted_model import ScriptedModel

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT.parent / "shared" / "data"
NAMES = ("locomo_dev.json", "memorybank_cn_dev.json")
SESSIONS = 3

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not all((DATA / name).is_file() for name in NAMES), reason="needs ../shared/data"),
]

Talk = list[tuple[str, list[dict[str, Any]]]]


def clerk() -> Any:
    """The rules that stand in the model's place in ``bench/pipelines.py``."""
    spec = importlib.util.spec_from_file_location("bench_pipelines", ROOT / "bench" / "pipelines.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["bench_pipelines"] = module
    spec.loader.exec_module(module)
    return module.Clerk()


def talks() -> list[Talk]:
    """Sessions as (id, messages): two conversations in English, three in Chinese."""
    found: list[Talk] = []
    for item in json.loads((DATA / NAMES[0]).read_text(encoding="utf-8"))[:2]:
        sessions = []
        for number in range(1, SESSIONS + 1):
            lines = item["conversation"][f"session_{number}"]
            when = item["conversation"][f"session_{number}_date_time"]
            made = [
                {"role": "user", "name": one["speaker"], "content": one["text"], "created_at": when} for one in lines
            ]
            sessions.append((f"{item['sample_id']}-{number}", made))
        found.append(sessions)
    for item in json.loads((DATA / NAMES[1]).read_text(encoding="utf-8"))[:3]:
        sessions = []
        for day, lines in list(item["history"].items())[:SESSIONS]:
            made = [{"role": "user", "name": item["user"], "content": one["query"], "created_at": day} for one in lines]
            sessions.append((f"{item['user']}-{day}", made))
        found.append(sessions)
    return found


@pytest.mark.parametrize("number", range(5))
async def test_conversations_become_knowledge_that_says_where_it_is_from(tmp_path: Path, number: int) -> None:
    talk = talks()[number]
    rules = clerk()
    model = ScriptedModel(
        default=lambda request: json.dumps(rules.answer(request.role_text("user")), ensure_ascii=False)
    )
    async with ReMe(tmp_path, chat_model=model, timezone="UTC") as reme:
        for session, messages in talk:
            assert (await write_extractive_card(reme.vault, messages, session_id=session)).success
        cards = files(tmp_path, "daily")
        assert len([name for name in cards if name.count("/") == 2]) == len(talk)
        runs = 0
        while True:
            done = await reme.auto_dream(max_units=2)
            assert done.success, done.answer
            runs += 1
            if not done.metadata["waiting"] and not done.metadata["left"]:
                break
        notes = notes_below(tmp_path)
        assert notes
        assert runs > 1, "more units than one run integrates"
        before = files(tmp_path)
        asked = len(model.requests)
        assert (await reme.auto_dream()).success
        assert (files(tmp_path), len(model.requests)) == (before, asked), "a further run finds nothing to do"
        assert {name: data for name, data in files(tmp_path, "daily").items() if name in cards} == cards
        for path, text in notes.items():
            front = parse(text).front
            assert front.error is None
            assert front.data["trust"] == "user"
            blocks = re.findall(r"^- (.*) \^d[0-9a-f]{8}\n  - (.*)$", text, re.MULTILINE)
            assert blocks, path
            for statement, facts in blocks:
                sources = re.findall(r"\[\[(daily/[^\]|]+)", facts)
                assert sources
                said = statement.split(": ", 1)[1]
                assert any(said in cards[source].decode() for source in sources), statement
        words = re.sub(r"\(.*?\)|[:：]", " ", re.findall(r"^- (.*) \^d", "\n".join(notes.values()), re.MULTILINE)[0])
        hits = (await reme.search(words[:80], filter={"path": "digest/"})).hits
        assert hits
        assert hits[0].path in notes
        whole = b"\n".join(cards.values()).decode()
        said = re.findall(r"^- (?:\d\d:\d\d )?[^:\n]+: (.{20,})$", whole, re.MULTILINE)
        systems = {request.role_text("system") for request in model.requests}
        assert said
        assert not [words for words in said if any(words in system for system in systems)]
