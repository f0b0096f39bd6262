"""Tokenizers of Hugging Face, with real ones of our own making: by folder, by name, by AgentScope's counter."""

import asyncio
from importlib.util import find_spec
from pathlib import Path

import pytest
from agentscope.message import Msg

from agentscope_reme import ReMe
from agentscope_reme.memory.counters import HuggingFaceCounter, default_counter

# Only looked for: importing it takes each process that collects tests most of a second.
pytestmark = pytest.mark.skipif(find_spec("transformers") is None, reason="needs the `huggingface` extra")

WORDS = ["<unk>", "<msg>", "user", "the", "kiln", "fires", "on", "friday", "studio"]
TEMPLATE = "{% for message in messages %}<msg> {{ message['role'] }} {{ message['content'] }} {% endfor %}"


@pytest.fixture(scope="module")
def tokenizer_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tokenizer that knows a handful of words, one token each, saved as `from_pretrained` reads it."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import WhitespaceSplit
    from transformers import PreTrainedTokenizerFast

    made = Tokenizer(WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="<unk>"))
    made.pre_tokenizer = WhitespaceSplit()
    folder = tmp_path_factory.mktemp("tokenizer")
    fast = PreTrainedTokenizerFast(tokenizer_object=made, unk_token="<unk>", eos_token="<|endoftext|>")
    fast.chat_template = TEMPLATE
    fast.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def plain_folder(tokenizer_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same tokenizer without a chat template."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(str(tokenizer_folder))
    tokenizer.chat_template = None
    folder = tmp_path_factory.mktemp("plain")
    tokenizer.save_pretrained(folder)
    return folder


async def test_the_counter_of_another_model_counts_for_the_memory(tokenizer_folder: Path, vault_dir: Path) -> None:
    from agentscope.token import HuggingFaceTokenCounter

    counter = HuggingFaceTokenCounter(str(tokenizer_folder))
    async with ReMe(vault_dir=vault_dir, token_counter=counter) as reme:
        short = await reme.budget.message(Msg("user", "the kiln fires", "user"))
        long = await reme.budget.message(Msg("user", "the kiln fires on friday", "user"))
        assert long - short == 2
        memory = reme.get_in_memory_memory(session_id="s")
        before = (await memory.estimate_tokens())["estimated_tokens"]
        await memory.add(Msg("user", "the studio", "user"))
        after = (await memory.estimate_tokens())["estimated_tokens"]
        assert after - before == await reme.budget.message(Msg("user", "the studio", "user"))
        assert after - before < short


@pytest.mark.parametrize("template", [True, False])
async def test_a_folder_is_enough_with_or_without_a_chat_template(
    tokenizer_folder: Path, plain_folder: Path, vault_dir: Path, template: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async with ReMe(vault_dir=vault_dir, token_counter=str(tokenizer_folder if template else plain_folder)) as reme:
        assert await reme.budget.text("the kiln fires on friday") == 5
        assert reme.budget.name.startswith("huggingface")
    assert caplog.text == ""


async def test_a_counter_of_agentscope_whose_tokenizer_has_no_template_still_counts(
    tokenizer_folder: Path, vault_dir: Path
) -> None:
    from agentscope.token import HuggingFaceTokenCounter

    counter = HuggingFaceTokenCounter(str(tokenizer_folder))
    counter.tokenizer.chat_template = None
    async with ReMe(vault_dir=vault_dir, token_counter=counter) as reme:
        assert await reme.budget.text("the kiln fires on friday") == 5


def test_a_tokenizer_written_in_python_counts() -> None:
    from transformers import ByT5Tokenizer

    counter = HuggingFaceCounter(ByT5Tokenizer())
    assert counter.count_text("kiln") == 4
    assert counter.count_text("窑") == 3
    assert counter.count_text("") == 0


def test_special_tokens_are_plain_text(tokenizer_folder: Path) -> None:
    counter = HuggingFaceCounter(str(tokenizer_folder), local_only=True)
    assert counter.count_text("the kiln <|endoftext|> fires") == 4
    from transformers import ByT5Tokenizer

    assert HuggingFaceCounter(ByT5Tokenizer()).count_text("</s>") == 4


async def test_long_texts_are_counted_beside_the_loop_by_many_at_once(tokenizer_folder: Path, vault_dir: Path) -> None:
    async with ReMe(vault_dir=vault_dir, token_counter=str(tokenizer_folder)) as reme:
        text = "the kiln fires on friday " * 2_000
        assert await asyncio.gather(*(reme.budget.text(text) for _ in range(8))) == [10_000] * 8


async def test_a_name_that_is_not_on_this_machine_blocks_nothing(
    vault_dir: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Without a network the default counts, at once and to the end."""
    async with ReMe(vault_dir=vault_dir, token_counter="nobody/has-this-tokenizer") as reme:
        assert await reme.budget.text("the kiln") == default_counter().count_text("the kiln")
        assert reme.budget.name == "qwen"
        assert "nobody/has-this-tokenizer" in caplog.text
        memory = reme.get_in_memory_memory(session_id="s")
        await memory.add(Msg("user", "the studio", "user"))
        assert (await memory.estimate_tokens())["messages_tokens"] > 0


async def test_a_folder_that_is_no_tokenizer_is_said_once(
    vault_dir: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "empty").mkdir()
    async with ReMe(vault_dir=vault_dir, token_counter=str(tmp_path / "empty")) as reme:
        for _ in range(3):
            assert await reme.budget.text("the kiln") > 0
    assert caplog.text.count("could not be loaded") == 1


async def test_a_tokenizer_that_arrives_later_takes_over_and_everything_is_counted_again(
    tokenizer_folder: Path, vault_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when it is fetched from a network: the first try looks on this machine only."""
    from transformers import AutoTokenizer

    real, here, allowed = AutoTokenizer.from_pretrained, asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def from_pretrained(name: str, *, local_files_only: bool = False) -> object:
        if local_files_only:
            raise OSError("not on this machine")
        asyncio.run_coroutine_threadsafe(allowed.wait(), loop).result()
        found = real(str(tokenizer_folder))
        loop.call_soon_threadsafe(here.set)
        return found

    monkeypatch.setattr(AutoTokenizer, "from_pretrained", from_pretrained)
    async with ReMe(vault_dir=vault_dir, token_counter="our/tokenizer") as reme:
        memory = reme.get_in_memory_memory(session_id="s")
        await memory.add(Msg("user", "unknown-to-the-small-vocabulary words everywhere", "user"))
        assert (before := await memory.message_tokens()) > 0
        assert reme.budget.name == "qwen"
        allowed.set()
        await here.wait()
        while reme.budget.name == "qwen":
            await reme.budget.ready()
            await asyncio.sleep(0.01)
        fresh = Msg("user", "unknown-to-the-small-vocabulary words everywhere", "user")
        assert await memory.message_tokens() == await reme.budget.message(fresh) < before
