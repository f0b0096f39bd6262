"""Daily cards, and a stand-in for the planner that answers as a test says and keeps what it was asked."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from agentscope_reme import ReMeConfig
from agentscope_reme.index import Index
from agentscope_reme.models import Response
from agentscope_reme.pipelines.agent import PlanError
from agentscope_reme.pipelines.auto_dream import auto_dream
from agentscope_reme.vault import Vault

NOW = datetime(2026, 3, 10, 22, 0, tzinfo=UTC)
TODAY = "2026-03-10"

Answer = Mapping[str, Any] | BaseException
Say = Callable[[str], Answer]


@dataclass
class Asked:
    """One request: the name of its schema, and what it held."""

    schema: str
    system: str
    user: str
    language: str


@dataclass
class Script:
    """Answers a request for an extraction, a decision or a choice by a function of its user message."""

    extract: Say = field(default=lambda user: {})
    decide: Say = field(default=lambda user: {"action": "create"})
    choose: Say = field(default=lambda user: {"titles": []})
    asked: list[Asked] = field(default_factory=list)

    async def plan(self, schema: Any, *, system: str, user: str, language: str = "en", check: Any = None) -> Any:
        self.asked.append(Asked(schema.__name__, system, user, language))
        answer = {"Extraction": self.extract, "Decision": self.decide, "Choice": self.choose}[schema.__name__](user)
        if isinstance(answer, BaseException):
            raise answer
        return schema.model_validate(answer)

    def of(self, schema: str) -> list[Asked]:
        """The requests for one kind of plan."""
        return [one for one in self.asked if one.schema == schema]


def vault_at(root: Path) -> Vault:
    """A vault in which it is the evening of ``TODAY``."""
    return Vault(root, timezone="UTC", clock=lambda: NOW)


def index_of(vault: Vault) -> Index:
    return Index(vault, ReMeConfig(vault_dir=vault.root))


async def dream(vault: Vault, script: Any, **options: Any) -> Response:
    """A dream in this vault, with an index of its own."""
    index = index_of(vault)
    try:
        return await auto_dream(vault, index, planner=script, **options)
    finally:
        await index.close()


def write_card(
    vault: Vault, day: str, name: str, *lines: str, trust: str = "user", generator: str = "extractive@1"
) -> str:
    """A card as auto_memory leaves it; the path."""
    path = f"daily/{day}/{name}.md"
    keys = [f"name: {name}", f"generator: {generator}", *([f"trust: {trust}"] if trust else [])]
    body = "\n".join(f"- 10:0{number} {line}" if ": " in line else line for number, line in enumerate(lines))
    text = "---\n" + "\n".join(keys) + "\n---\n<!-- reme:begin statements -->\n## Facts\n\n" + body + "\n"
    vault.write_sync(path, text + "<!-- reme:end statements -->\n", overwrite=True, actor="pipeline")
    return path


def place(vault: Vault, path: str, words: str, **fields: Any) -> dict[str, Any]:
    """Evidence: the line of a note that holds these words."""
    lines = vault.read_bytes(path).decode("utf-8").split("\n")
    line = next(number for number, text in enumerate(lines, 1) if words in text)
    return {"note": path, "start_line": line, "end_line": line, "quote": words, **fields}


def unit(
    name: str, statement: str, *evidence: Mapping[str, Any], category: str = "personal", **fields: Any
) -> dict[str, Any]:
    return {"name": name, "category": category, "statement": statement, "evidence": list(evidence), **fields}


def found(units: Sequence[Mapping[str, Any]] = (), topics: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
    return {"units": list(units), "topics": list(topics)}


def by_note(answers: Mapping[str, Sequence[Mapping[str, Any]]]) -> Say:
    """An extraction that gives the units of those notes that the request shows, by a part of their paths."""

    def extract(user: str) -> dict[str, Any]:
        shown = re.findall(r'<note path="([^"]+)"', user)
        return found([one for part, units in answers.items() if any(part in path for path in shown) for one in units])

    return extract


def about_first(action: str, **fields: Any) -> Say:
    """A decision about the first statement of the first note that is shown; ``create`` where none is."""

    def decide(user: str) -> dict[str, Any]:
        note = re.search(r'<note path="([^"]+)"', user)
        if note is None:
            return {"action": "create"}
        held = re.search(r"\[(d[0-9a-f]{8})\]", user)
        return {"action": action, "target": note.group(1), "statement_id": held.group(1) if held else "", **fields}

    return decide


def failing(reason: str = "model") -> PlanError:
    return PlanError(reason, "the provider is down")  # type: ignore[arg-type]


def files(root: Path, *folders: str) -> dict[str, bytes]:
    """The files of a vault, or of some of its folders; locks and indexes aside."""
    found = {path.relative_to(root).as_posix(): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}
    wanted = folders or ("",)
    return {
        name: data for name, data in found.items() if name.startswith(wanted) and not name.startswith(("metadata/",))
    }


def notes_below(root: Path, folder: str = "digest") -> dict[str, str]:
    """The notes of a folder, by path."""
    return {name: data.decode("utf-8") for name, data in files(root, f"{folder}/").items()}


def state(vault: Vault) -> dict[str, Any]:
    return json.loads(vault.read_bytes("history/pipelines/auto_dream.json"))
