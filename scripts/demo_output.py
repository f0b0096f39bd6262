"""Run the demo and put an excerpt of what it printed into both READMEs.

python scripts/demo_output.py           run and write
python scripts/demo_output.py --check   run and write nothing; exit 1 when the READMEs show something else
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- demo: begin -->", "<!-- demo: end -->"
LEFT_OUT = "[...]"


def demo_output() -> str:
    """What `agentscope-reme demo --plain` prints, run in an empty folder."""
    program = "import sys; from agentscope_reme.service.cli import main; sys.exit(main())"
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", program, "demo", "--plain"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout


def index_of(lines: list[str], start: str, after: int = 0) -> int:
    """The first line from ``after`` on that begins so; a demo without it is a ``ValueError``."""
    for position in range(after, len(lines)):
        if lines[position].startswith(start):
            return position
    raise ValueError(f"the demo no longer prints a line that begins with {start!r}")


def excerpt(output: str) -> str:
    """The opening, the first compaction with what led to it, what was measured, and the questions a week later."""
    lines = [line.rstrip() for line in output.splitlines()]
    conversation = index_of(lines, "== The conversation")
    opening = lines[: conversation + 8]
    compaction = index_of(lines, "** compaction 1:")
    turn = max(position for position in range(compaction) if lines[position][:2].isdigit())
    folded = lines[turn : compaction + 4]
    measured = index_of(lines, "== What was measured")
    vault = index_of(lines, "== The vault")
    ending = lines[measured : vault - 1]
    return "\n".join([*opening, LEFT_OUT, *folded, LEFT_OUT, "", *ending])


def with_excerpt(page: Path, text: str) -> str:
    head, begin, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"no {BEGIN} ... {END} in {page.name}")
    return f"{head}{BEGIN}\n\n```text\n{text}\n```\n\n{END}{tail}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; fail when a README is not current")
    check = parser.parse_args().check
    text = excerpt(demo_output())
    stale = 0
    for page in (ROOT / "README.md", ROOT / "README_ZH.md"):
        wanted = with_excerpt(page, text)
        if page.read_text(encoding="utf-8") == wanted:
            continue
        stale += 1
        print(("not current: " if check else "written: ") + page.name)
        if not check:
            page.write_text(wanted, encoding="utf-8")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
