"""Retention score: facts are planted in real agent runs, five compactions follow, and what of them is left?

    python bench/retention.py FILE [--window 16000] [--messages 200] [--model NAME] [--tuning]

FILE is the JSON lines of ``bench/trajectories.py``. Runs are joined into sessions, each is divided into five parts, and
facts are planted in every part: paths, numbers, names, decisions, in English and Chinese, in what the user says, in
what the agent says and in the middle of what a tool returns. After each part the conversation is compacted. Then, for
each fact: does its answer stand in the context (checkpoint and kept messages), and does ``memory_search`` return it for
a question that does not contain it? ``either`` is what an agent can still answer.

Rows: ``extractive`` is the checkpoint without a model; ``forgetful model`` is a stub whose checkpoints say nothing, so
that what is left is what the checks put back; ``NAME`` is a real model at ``REME_LLM_BASE_URL`` (OpenAI-compatible)
with ``REME_LLM_API_KEY``, when it is given.

``--tuning`` prints instead what one setting after the other does to the same sessions, when compaction starts by
itself: how often it does, how large the context is at a step on average, how many results move to files, how many facts
are left. The table of ``docs/tuning.md`` is printed by it.
"""

import argparse
import asyncio
import os
import random
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from agentscope.formatter import OpenAIChatFormatter
from agentscope.message import Msg
from agentscope.model import ChatModelBase, ChatResponse, OpenAIChatModel
from replay import data_file, table
from trajectories import arguments_of, runs

from agentscope_reme import ReMe
from agentscope_reme.memory.blocks import json_text
from agentscope_reme.models import CompactionEvent

ROUNDS = 5
SECTIONS = ("Goal", "Constraints", "Progress", "Key Decisions", "Next Steps", "Critical Context")
SPEAKERS = ("user", "assistant", "tool")

# (kind, sentence, question); {a} is the answer, which no question has.
TEMPLATES = {
    "en": (
        ("path", "By the way, the rollback script is {a}.", "Where is the rollback script?", "ops/roll/{w}_{n}.sh"),
        ("path", "The nightly backups are under {a} now.", "Where are the nightly backups?", "/srv/backup/{w}{n}"),
        ("path", "Keep the notes on this in {a}.", "In which file are the notes kept?", "notes/{w}-{n}.md"),
        ("number", "My membership number is {a}.", "What is the membership number?", "{n}{m}"),
        ("number", "The budget for the whole thing is {a} euros.", "How large is the budget in euros?", "{n}"),
        ("number", "The staging database listens on port {a}.", "Which port does the staging database use?", "5{m}"),
        ("name", "My colleague {a} signs off on refunds.", "Who signs off on refunds?", "{W} Okonkwo"),
        ("name", "The client's lawyer is {a}.", "Who is the client's lawyer?", "Ines {W}"),
        ("decision", "We decided to use {a} for the queue instead of Redis.", "What do we use for the queue?", "{W}MQ"),
        ("decision", "Let's go with the {a} theme, the dark one was rejected.", "Which theme did we go with?", "{w}"),
        ("decision", "Always answer me in short sentences signed {a}.", "How are answers to be signed?", "{W}-{m}"),
        ("name", "The ward is called {a} from today on.", "What is the ward called?", "{W} House"),
    ),
    "zh": (
        ("path", "对了，部署脚本放在 {a}。", "部署脚本放在哪里？", "deploy/{w}_{n}.sh"),
        ("path", "日志以后都写到 {a}。", "日志写到哪个目录？", "/var/log/{w}{n}"),
        ("number", "这个季度的报销上限是 {a} 元。", "报销上限是多少元？", "{n}"),
        ("number", "我的工号是 {a}。", "我的工号是多少？", "{n}{m}"),
        ("number", "会议室的门禁密码改成了 {a}。", "会议室的门禁密码是什么？", "{m}{n}"),
        ("name", "新来的同事叫{a}，负责支付模块。", "谁负责支付模块？", "{h}若川"),
        ("name", "供应商的联系人是{a}。", "供应商的联系人是谁？", "{h}知微"),
        ("name", "我女儿的猫叫{a}。", "女儿的猫叫什么？", "{h}小团"),
        ("decision", "我们决定缓存改用 {a}，不再用 Memcached。", "缓存决定改用什么？", "{W}Cache"),
        ("decision", "定了，首页用{a}方案。", "首页用哪个方案？", "{h}蓝"),
        ("decision", "周会一律改到{a}。", "周会改到什么时候？", "周四{c}点"),
        ("name", "客户的项目代号是{a}。", "客户的项目代号是什么？", "{h}山雀"),
    ),
}  # fmt: skip
WORDS = (
    "tansy", "kestrel", "marlow", "quince", "ferrum", "osprey", "lindal", "bramble", "cobalt", "juniper", "harrow",
    "saffron", "tundra", "willet", "zephyr", "almond", "basalt", "cedar", "dunlin", "ember",
)  # fmt: skip
SURNAMES = "陆沈顾秦苏钟韩薛裴温霍江邵祝俞聂"


@dataclass(frozen=True)
class Fact:
    """A sentence that was planted, and how it is asked for."""

    language: str
    kind: str
    sentence: str
    question: str
    answer: str
    speaker: str
    round: int


@dataclass(frozen=True)
class Kept:
    """What became of a fact."""

    fact: Fact
    in_context: bool
    found: bool


class Forgetful(ChatModelBase):
    """A summariser whose checkpoints have all sections and say nothing."""

    def __init__(self) -> None:
        super().__init__("forgetful", False)

    async def __call__(self, *_: Any, **__: Any) -> ChatResponse:
        text = "\n\n".join(f"## {name}\nThe work goes on." for name in SECTIONS)
        return ChatResponse(content=[{"type": "text", "text": text}])


# --- planting -------------------------------------------------------------------------------------------------------


def facts(seed: int) -> list[Fact]:
    """Return the facts of one session, spread over rounds and speakers, with answers of their own."""
    chance = random.Random(seed)
    words, surnames = chance.sample(WORDS, len(WORDS)), chance.sample(SURNAMES, len(SURNAMES))
    planted = []
    for language, templates in TEMPLATES.items():
        for number, (kind, sentence, question, form) in enumerate(templates):
            word = words[number]
            answer = form.format(
                w=word, W=word.capitalize(), n=chance.randint(1_100, 9_899), m=chance.randint(110, 989),
                h=surnames[number], c="一二三五六七八九十"[number % 9],
            )  # fmt: skip
            spoken = sentence.format(a=answer)
            speaker = SPEAKERS[(number + seed) % len(SPEAKERS)]
            planted.append(Fact(language, kind, spoken, question, answer, speaker, (number * 7 + seed) % ROUNDS))
    return planted


def sessions(path: Path, least: int) -> Iterator[list[Msg]]:
    """Join runs into sessions of at least ``least`` messages; a rest that is shorter is left out."""
    held: list[Msg] = []
    for run in runs(path):
        held += [message for recorded in run if (message := _message(recorded)) is not None]
        if len(held) >= least:
            yield held
            held = []


def _message(recorded: dict[str, Any]) -> Msg | None:
    if recorded["role"] == "tool":
        result = {
            "type": "tool_result",
            "id": recorded["tool_call_id"],
            "name": recorded.get("name") or "tool",
            "output": recorded["content"] or "",
        }
        return Msg("system", [result], "system")
    if recorded["role"] != "assistant":
        # The recorded system prompts are none of the conversation: an agent's is never in its memory.
        said = recorded["content"] if recorded["role"] == "user" else ""
        return Msg("user", said, "user") if said else None
    blocks: list[Any] = [{"type": "text", "text": recorded["content"]}] if recorded["content"] else []
    for call in recorded.get("tool_calls") or ():
        blocks.append({"type": "tool_use", "id": call["id"], "name": call["name"], "input": arguments_of(call)})
    return Msg("agent", blocks, "assistant") if blocks else None


def plant(part: Sequence[Msg], planted: Iterable[Fact], chance: random.Random) -> list[Fact]:
    """Put each fact into a message of its speaker, or of another where that one says nothing; return what was done."""
    free: dict[str, list[Msg]] = {
        "user": [message for message in part if message.role == "user"],
        "assistant": [message for message in part if _text_block(message) is not None],
        "tool": [message for message in part if message.role == "system"],
    }
    done = []
    for fact in planted:
        speaker = next(one for one in (fact.speaker, *SPEAKERS) if free[one])
        message = chance.choice(free[speaker])
        done.append(replace(fact, speaker=speaker))
        if message.role == "user":
            message.content = f"{message.content}\n{fact.sentence}"
        elif message.role == "assistant":
            block = _text_block(message)
            block["text"] = f"{block['text']}\n{fact.sentence}"
        else:
            block = message.content[0]
            lines = block["output"].split("\n")
            lines.insert(len(lines) // 2, fact.sentence)
            block["output"] = "\n".join(lines)
    return done


def _text_block(message: Msg) -> Any:
    if message.role != "assistant":
        return None
    return next((block for block in message.content if block["type"] == "text"), None)


# --- one session ----------------------------------------------------------------------------------------------------


@dataclass
class Lived:
    """What one session showed beside its facts."""

    kept: list[Kept]
    sizes: list[int]
    compactions: int = 0
    offloaded: int = 0


async def one(number: int, messages: list[Msg], model: Any, *, forced: bool = True, **settings: Any) -> Lived:
    """Live through a session and see what is left; with ``forced`` it is compacted after each part."""
    chance, wanted, planted = random.Random(number), facts(number), []
    with tempfile.TemporaryDirectory() as folder:
        formatter = OpenAIChatFormatter() if model is not None else None
        lived = Lived([], [])

        def noted(event: CompactionEvent) -> None:
            lived.compactions += event.kind == "compacted"
            lived.offloaded += event.results_offloaded

        async with ReMe(folder, chat_model=model, formatter=formatter, on_event=noted, watch="off", **settings) as reme:
            memory = reme.get_in_memory_memory(f"s{number}")
            size = len(messages) // ROUNDS + 1
            for turn in range(ROUNDS):
                part = messages[turn * size : (turn + 1) * size]
                planted += plant(part, [fact for fact in wanted if fact.round == turn], chance)
                for message in part:
                    await memory.add(message)
                    if message.role != "assistant":  # what comes before a reasoning step
                        await reme.compaction.keep_within_window(memory, system_prompt="You use tools to help.")
                        lived.sizes.append(await memory.message_tokens() + await memory.summary_tokens())
                if forced:
                    await reme.compaction.compact(memory)
            await reme.await_summary_tasks()
            context = "\n".join(json_text(message.to_dict()) for message in await memory.get_memory())
            lived.kept = [await _kept(reme, fact, context) for fact in planted]
    return lived


async def _kept(reme: ReMe, fact: Fact, context: str) -> Kept:
    response = await reme.memory_search(fact.question, max_results=5)
    found = "\n".join(str(block.get("text") or "") for block in response.content)
    return Kept(fact, fact.answer in context, fact.answer in found)


# --- what is printed ------------------------------------------------------------------------------------------------


def shares(kept: Sequence[Kept]) -> list[str]:
    """Return the number of facts and the shares in context, found, and either."""
    count = len(kept)
    held = sum(one.in_context for one in kept)
    found = sum(one.found for one in kept)
    either = sum(one.in_context or one.found for one in kept)
    return [str(count), *(f"{value / count:.3f}" for value in (held, found, either))]


def by(kept: Sequence[Kept], key: str) -> dict[str, list[Kept]]:
    """Group by a field of the fact."""
    groups: dict[str, list[Kept]] = defaultdict(list)
    for one in kept:
        groups[str(getattr(one.fact, key))].append(one)
    return dict(sorted(groups.items()))


VARIATIONS: tuple[dict[str, Any], ...] = (
    {},
    {"max_input_length": 8_000},
    {"max_input_length": 32_000},
    {"max_input_length": 64_000},
    {"compact_ratio": 0.5},
    {"compact_ratio": 0.85},
    {"memory_compact_reserve": 500},
    {"memory_compact_reserve": 1_400},
    {"summary_max_tokens": 500},
    {"summary_max_tokens": 1_000},
    {"recent_tool_results": 1},
    {"recent_tool_results": 10},
    {"old_max_bytes": 1_000},
    {"old_max_bytes": 12_000},
)


async def tuning(path: Path, least: int) -> str:
    """Return the table of what settings do."""
    rows = []
    for changed in VARIATIONS:
        settings = {"max_input_length": 16_000, **changed}
        lived = [
            await one(number, messages, None, forced=False, **settings)
            for number, messages in enumerate(sessions(path, least))
        ]
        kept = [each for session in lived for each in session.kept]
        sizes = [size for session in lived for size in session.sizes]
        said = [each for each in kept if each.fact.speaker == "user"]
        name = ", ".join(f"`{key}={value}`" for key, value in changed.items()) or "defaults, window 16 000"
        rows.append(
            [
                name,
                f"{sum(session.compactions for session in lived) / len(lived):.1f}",
                f"{sum(sizes) / len(sizes):.0f}",
                f"{sum(session.offloaded for session in lived) / len(lived):.0f}",
                f"{sum(each.in_context for each in said) / len(said):.2f}",
                shares(kept)[1],
                shares(kept)[3],
            ]
        )
    head = [
        "setting", "compactions", "tokens a step", "results moved", "users' facts in context", "all facts", "either",
    ]  # fmt: skip
    return table(head, rows)


def real_model(name: str) -> Any:
    """Return the model of this name, at the address the environment names."""
    key, address = os.environ.get("REME_LLM_API_KEY"), os.environ.get("REME_LLM_BASE_URL")
    if not key:
        sys.exit("--model needs REME_LLM_API_KEY, and REME_LLM_BASE_URL where it is not OpenAI's")
    return OpenAIChatModel(name, api_key=key, stream=False, client_kwargs={"base_url": address} if address else None)


async def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?")
    parser.add_argument("--window", type=int, default=16_000)
    parser.add_argument("--messages", type=int, default=200)
    parser.add_argument("--model", help="name of a model that makes the checkpoints of one more row")
    parser.add_argument("--lost", action="store_true", help="print the facts that are in neither place")
    parser.add_argument("--tuning", action="store_true", help="print what settings do instead")
    options = parser.parse_args()
    path = data_file(options.file, "usage: python bench/retention.py FILE")
    if options.tuning:
        print(await tuning(path, options.messages))
        return
    models: dict[str, Any] = {"extractive": None, "forgetful model": Forgetful()}
    if options.model:
        models[options.model] = real_model(options.model)
    rows = []
    for name, model in models.items():
        kept: list[Kept] = []
        for number, messages in enumerate(sessions(path, options.messages)):
            kept += (await one(number, messages, model, max_input_length=options.window)).kept
        rows.append([name, "all", *shares(kept)])
        for key in ("speaker", "kind", "language", "round"):
            rows += [[name, f"{key} {value}", *shares(group)] for value, group in by(kept, key).items()]
        if options.lost:
            for one_lost in (each for each in kept if not (each.in_context or each.found)):
                print("lost:", name, one_lost.fact)
    print(table(["checkpoint", "facts", "number", "in context", "memory_search", "either"], rows))


if __name__ == "__main__":
    asyncio.run(main())
