"""Faults that users reported, group 8: what a text is taken apart into."""

import asyncio
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from agentscope_reme import ReMe
from agentscope_reme.index.tokenizer import Tokenizer

NOTES = {
    "version-3": "We run v1.2.3 here.",
    "version-4": "We run v1.2.4 there.",
    "snake": "Call get_user_name first.",
    "camel": "Call getUserName first.",
    "error": "It failed with E_CONN_0x80070005 again.",
    "mail": "Write to ops@example.com about it.",
    "path": "The code is in src/main.py today.",
    "plus": "He writes C++ at work.",
    "sharp": "She writes C# at work.",
}


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("v1.2.3", {"version-3"}),
        ("v1.2.4", {"version-4"}),
        ("get_user_name", {"snake"}),
        ("getUserName", {"camel"}),
        ("E_CONN_0x80070005", {"error"}),
        ("user name", {"snake", "camel"}),
        ("username", {"snake", "camel"}),
        ("v1.2", {"version-3", "version-4"}),
        ("ops@example.com", {"mail"}),
        ("src/main.py", {"path"}),
        ("C++", {"plus"}),
        ("C#", {"sharp"}),
    ],
)
async def test_c8_03_identifiers_are_found_whole_and_by_their_parts(
    vault_dir: Path, query: str, first: set[str]
) -> None:
    async with ReMe(vault_dir) as reme:
        for number, text in enumerate(NOTES.values()):
            await reme.vault.write(f"n{number}.md", f"{text}\n")
        hits = (await reme.search(query, limit=10)).hits
        names = [list(NOTES)[int(hit.path[1:-3])] for hit in hits]
        assert set(names[: len(first)]) == first


@pytest.mark.parametrize("query", ["ABC123", "abc123", "100元", "ＡＢＣ１２３"])
async def test_c8_04_width_and_case_make_no_difference_and_the_text_is_shown_as_it_is(
    vault_dir: Path, query: str
) -> None:
    async with ReMe(vault_dir) as reme:
        await reme.vault.write("price.md", "型号ＡＢＣ１２３，价格１００元\n")
        await reme.vault.write("other.md", "型号没有写，价格也没有\n")
        assert (await reme.search(query)).hits[0].text == "型号ＡＢＣ１２３，价格１００元"


async def test_c8_04_ligatures_and_circled_digits_are_what_they_stand_for(vault_dir: Path) -> None:
    async with ReMe(vault_dir) as reme:
        await reme.vault.write("a.md", "the ﬁle is here\n")
        await reme.vault.write("b.md", "step ① of it\n")
        assert [hit.path for hit in (await reme.search("file")).hits] == ["a.md"]
        assert [hit.path for hit in (await reme.search("step 1")).hits][:1] == ["b.md"]


def test_c8_09_the_dictionary_is_private_silent_and_loaded_once_for_all_threads(tmp_path: Path) -> None:
    planted = tmp_path / "jieba.cache"
    planted.write_bytes(b"planted by somebody else")
    script = (
        "import threading\n"
        "from agentscope_reme.index.tokenizer import Tokenizer\n"
        "tokenizer, out = Tokenizer('jieba'), []\n"
        "work = lambda: out.append(tokenizer.terms('我来到北京清华大学'))\n"
        "threads = [threading.Thread(target=work) for _ in range(2)]\n"
        "[one.start() for one in threads]; [one.join() for one in threads]\n"
        "assert out[0] == out[1] and '清华大学' in out[0], out\n"
    )
    environment = {
        "TMPDIR": str(tmp_path),
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": ":".join(path or "." for path in sys.path),
    }
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert planted.read_bytes() == b"planted by somebody else"
    assert [path.name for path in tmp_path.iterdir()] == ["jieba.cache"]


async def test_c8_09_the_first_search_loads_the_dictionary_off_the_event_loop(vault_dir: Path, monkeypatch) -> None:
    threads: list[threading.Thread] = []
    real = Tokenizer.warm

    def warm(self):
        threads.append(threading.current_thread())
        real(self)

    monkeypatch.setattr(Tokenizer, "warm", warm)
    async with ReMe(vault_dir, chinese="jieba", search_wait=120) as reme:
        await reme.vault.write("a.md", "北京的天气\n")
        task = asyncio.create_task(reme.search("北京"))
        assert (await task).hits
    assert threads
    assert threading.main_thread() not in threads
