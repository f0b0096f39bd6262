"""AgentScope's Hugging Face counter, with a real tokenizer of our own making: the `huggingface` extra does its work."""

from pathlib import Path

import pytest
from agentscope.message import Msg

from agentscope_reme import ReMe

pytest.importorskip("transformers", reason="needs the `huggingface` extra")

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
    fast = PreTrainedTokenizerFast(tokenizer_object=made, unk_token="<unk>")
    fast.chat_template = TEMPLATE
    fast.save_pretrained(folder)
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


async def test_a_tokenizer_without_a_chat_template_still_leaves_a_count(
    tokenizer_folder: Path, vault_dir: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The counter raises on it; the message is estimated, and the log says so."""
    from agentscope.token import HuggingFaceTokenCounter

    counter = HuggingFaceTokenCounter(str(tokenizer_folder))
    counter.tokenizer.chat_template = None
    async with ReMe(vault_dir=vault_dir, token_counter=counter) as reme:
        assert await reme.budget.message(Msg("user", "the kiln fires on friday", "user")) >= 5
    assert "estimated" in caplog.text
