"""Write the promises and the tests that hold them into docs/promises.md and the tables of both READMEs.

    python scripts/promises.py           write
    python scripts/promises.py --check   write nothing; exit 1 and say which file is not current

A test belongs to promise N when it stands in tests/promises/ and its name starts with `test_promise_NN_`.
"""

import argparse
import ast
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

ROOT = Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- promises: begin -->", "<!-- promises: end -->"
State = Literal["holds", "in part", "planned"]
STATE_ZH = {"holds": "已实现", "in part": "部分实现", "planned": "计划中"}


@dataclass(frozen=True)
class Promise:
    """What is promised, in both languages, and how far it holds; ``open`` is what is missing when it holds in part."""

    number: int
    english: str
    chinese: str
    state: State
    open: str = ""
    open_zh: str = ""


PROMISES = (
    Promise(
        1,
        "The plugin takes no message out of the context before its content is durable on disk.",
        "消息的内容先可靠落盘，插件才会把它移出上下文。",
        "holds",
    ),
    Promise(
        2,
        "A failed, empty, oversized or cut-off summary changes nothing: messages and the old summary are as before.",
        "摘要失败、为空、过长或被截断时什么都不改变：消息和旧摘要保持原样。",
        "holds",
    ),
    Promise(
        3,
        "The model never sees a tool call without its result, or a result without its call; parallel calls included.",
        "模型不会看到没有结果的工具调用，也不会看到没有调用的结果，并行调用也一样。",
        "holds",
    ),
    Promise(
        4,
        "One token count decides when to compact, where to cut and what is reported; it covers system prompt, tool "
        "schemas, summary and messages.",
        "何时压缩、在哪里切分、报告多少，都用同一个 token 计数；它包含系统提示、工具定义、摘要和消息。",
        "holds",
    ),
    Promise(
        5,
        "After the hook, system prompt + tool schemas + context fit the window by the configured counter, also when "
        "one message is larger than it. Only when system prompt and schemas alone exceed it, a `window_too_small` "
        "event says so and nothing is changed.",
        "钩子运行之后，系统提示、工具定义与上下文一定放得进窗口（按所配置的计数器），单条消息大于窗口时也是如此。"
        "只有系统提示和工具定义本身就超出窗口时，才以 `window_too_small` 事件说明，并且什么都不改变。",
        "holds",
    ),
    Promise(
        6,
        "A note is never replaced by a writer that has not seen its present bytes.",
        "没有看过笔记当前内容的写入者，不能替换它。",
        "holds",
    ),
    Promise(
        7,
        "A crash at any point leaves the old file or the new file, never half of one, and never a stray temporary file "
        "that is indexed.",
        "任何时刻崩溃，留下的不是旧文件就是新文件，绝不会是半个文件；残留的临时文件也不会进入索引。",
        "holds",
    ),
    Promise(
        8,
        "Editing one key or one passage leaves every other byte of the file as it was.",
        "修改一个键或一段文字，文件的其余字节保持不变。",
        "holds",
    ),
    Promise(
        9,
        "The index is disposable: after any sequence of changes it gives the hits, in the order and with the scores "
        "(to 1e-5, ties by path and line), of one built from scratch; `doctor` proves it.",
        "索引可以随时丢弃：无论经过怎样的改动，它给出的结果、顺序和分数（误差 1e-5，同分按路径和行号）"
        "都与重新建立的索引相同；`doctor` 可以验证。",
        "holds",
    ),
    Promise(
        10,
        "Search says when it is stale, degraded or has no match; it never returns an empty list that means something "
        "else, or noise that means nothing.",
        "检索会说明自己是否过期、降级或没有匹配；不会用空列表表示别的意思，也不会返回无意义的噪声。",
        "holds",
    ),
    Promise(
        11,
        "No path, link, id or argument reaches a file outside the vault, or another scope's vault.",
        "任何路径、链接、标识或参数都不能触及记忆库之外的文件，也不能触及别的记忆库。",
        "holds",
    ),
    Promise(
        12,
        "Recalled text reaches the model as quoted data with its source, never in the system role of the formatted "
        "request, and cannot close its own fence.",
        "召回的文字以带出处的引用数据交给模型，不会进入请求的 system 角色，也不能自行闭合它的围栏。",
        "holds",
    ),
    Promise(
        13,
        "A pipeline that is killed anywhere and run again ends with every note once: nothing lost, nothing doubled.",
        "流水线无论在哪里被终止，再次运行后每条笔记都恰好一份：不丢失，不重复。",
        "holds",
    ),
    Promise(
        14,
        "Consolidation never deletes or rewrites a source note, bounds what it may remove from a digest note, logs "
        "what it changed, and can be undone.",
        "整理不会删除或改写来源笔记，对摘要笔记的删减有上限，改动有记录，并且可以撤销。",
        "holds",
    ),
    Promise(
        15,
        "Forgetting is complete: the note, its index entries, vectors, history pre-images, offloaded results and "
        "journal lines are gone; a receipt lists them, and what it cannot reach (saved agent states, other notes' "
        "links).",
        "遗忘是彻底的：笔记、索引、向量、历史前像、转存的结果和日志行全部清除；回执列出它们，以及它够不到的地方"
        "（已保存的智能体状态、其他笔记中的链接）。",
        "holds",
    ),
    Promise(
        16,
        "A fresh offline install with no key works.",
        "全新安装、不联网、没有密钥，也能工作。",
        "holds",
    ),
)


def tests_by_promise() -> dict[int, list[tuple[str, str]]]:
    """Map the number of a promise to its tests, as (file relative to the repository, test name), sorted."""
    found: dict[int, list[tuple[str, str]]] = {promise.number: [] for promise in PROMISES}
    for path in sorted((ROOT / "tests" / "promises").rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_promise_"):
                number = int(node.name.split("_")[2])
                found[number].append((path.relative_to(ROOT).as_posix(), node.name))
    return {number: sorted(tests) for number, tests in found.items()}


def state_text(promise: Promise) -> str:
    return f"{promise.state}; missing: {promise.open}" if promise.open else promise.state


def state_text_zh(promise: Promise) -> str:
    state = STATE_ZH[promise.state]
    return f"{state}，尚缺：{promise.open_zh}" if promise.open_zh else state


def english_table() -> str:
    lines = ["| | promise | now |", "|---|---|---|"]
    return "\n".join([*lines, *(f"| P{p.number} | {p.english} | {state_text(p)} |" for p in PROMISES)])


def chinese_table() -> str:
    lines = ["| | 承诺 | 现状 |", "|---|---|---|"]
    return "\n".join([*lines, *(f"| P{p.number} | {p.chinese} | {state_text_zh(p)} |" for p in PROMISES)])


def page() -> str:
    """The text of docs/promises.md."""
    tests = tests_by_promise()
    parts = [
        "# Promises, and the tests that hold them",
        "<!-- Generated by scripts/promises.py. Change the promises there, the tests in tests/promises/. -->",
        "A promise *holds* when its tests cover all that it says, holds *in part* when its heading says what is "
        "missing, and is *planned* when there is no test yet.",
    ]
    for promise in PROMISES:
        parts.append(f"## P{promise.number}: {state_text(promise)}")
        parts.append(promise.english)
        if tests[promise.number]:
            parts.append("\n".join(f"- [`{name}`](../{path})" for path, name in tests[promise.number]))
    return "\n\n".join(parts) + "\n"


def between_markers(text: str, table: str) -> str:
    """Return ``text`` with what lies between the markers replaced; a page without them is a ``ValueError``."""
    head, begin, rest = text.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"no {BEGIN} ... {END} in the page")
    return f"{head}{BEGIN}\n{table}\n{END}{tail}"


def wanted() -> dict[Path, str]:
    """Every file that this script writes, with the text it should have now."""
    readme, readme_zh = ROOT / "README.md", ROOT / "README_ZH.md"
    return {
        ROOT / "docs" / "promises.md": page(),
        readme: between_markers(readme.read_text(encoding="utf-8"), english_table()),
        readme_zh: between_markers(readme_zh.read_text(encoding="utf-8"), chinese_table()),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; fail when a file is not current")
    check = parser.parse_args().check
    stale = [path for path, text in wanted().items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    for path in stale:
        print(("not current: " if check else "written: ") + path.relative_to(ROOT).as_posix())
        if not check:
            path.write_text(wanted()[path], encoding="utf-8")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
