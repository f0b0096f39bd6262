"""LoCoMo's JSON as values: sessions of dated turns, and questions with the turns that hold their evidence."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Turn:
    """One line of a conversation; a shared picture is told by its caption."""

    id: str
    speaker: str
    text: str


@dataclass(frozen=True)
class Session:
    """One sitting; ``timestamp`` is in the form messages carry."""

    timestamp: str
    turns: tuple[Turn, ...]


@dataclass(frozen=True)
class Question:
    """A question, its category (1 to 5), and the turns from which it can be answered."""

    text: str
    category: int
    turns: tuple[Turn, ...]


@dataclass(frozen=True)
class Conversation:
    """A conversation of two people over months."""

    id: str
    speakers: tuple[str, str]
    sessions: tuple[Session, ...]
    questions: tuple[Question, ...]


def load(path: Path) -> Iterator[Conversation]:
    """Yield the conversations of a file; questions whose evidence does not exist are left out."""
    for item in json.loads(path.read_text(encoding="utf-8")):
        talk = item["conversation"]
        sessions = tuple(_sessions(talk))
        turns = {turn.id: turn for session in sessions for turn in session.turns}
        questions = []
        for asked in item["qa"]:
            named = re.findall(r"D:?(\d+):(\d+)", " ".join(map(str, asked.get("evidence", []))))
            ids = sorted({f"D{int(session)}:{int(line)}" for session, line in named} & turns.keys())
            if ids:
                questions.append(Question(asked["question"], asked["category"], tuple(turns[one] for one in ids)))
        yield Conversation(item["sample_id"], (talk["speaker_a"], talk["speaker_b"]), sessions, tuple(questions))


def _sessions(talk: dict[str, Any]) -> Iterator[Session]:
    number = 1
    while f"session_{number}_date_time" in talk:
        lines = talk.get(f"session_{number}") or []
        if lines:
            when = datetime.strptime(talk[f"session_{number}_date_time"], "%I:%M %p on %d %B, %Y")
            yield Session(f"{when:%Y-%m-%d %H:%M:%S}.000", tuple(map(_turn, lines)))
        number += 1


def _turn(line: dict[str, Any]) -> Turn:
    text = " ".join(line["text"].split())
    if line.get("blip_caption"):
        text += f" [shares a picture: {line['blip_caption']}]"
    return Turn(line["dia_id"], line["speaker"], text)


def squash(text: str) -> str:
    """Reduce a text to its words, for the question whether one stands in another."""
    return re.sub(r"\W+", " ", text).strip().lower()
