"""Write one line for each module, from the first sentence of its docstring, into CONTRIBUTING.md.

python scripts/module_list.py           write
python scripts/module_list.py --check   write nothing; exit 1 when the page is not current
"""

import argparse
import ast
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "agentscope_reme"
PAGE = ROOT / "CONTRIBUTING.md"
BEGIN, END = "<!-- modules: begin -->", "<!-- modules: end -->"

# From the lowest layer to the highest; the package itself first.
LAYERS = (
    "",
    "vault",
    "index",
    "index/compiled",
    "memory",
    "pipelines",
    "adapters",
    "hooks",
    "toolkit",
    "jobs",
    "service",
)


def first_sentence(path: Path) -> str:
    """The first sentence of a module's docstring, on one line; "" when it has none."""
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    paragraph = " ".join(docstring.split("\n\n")[0].split())
    match = re.match(r".+?[.!?](?=\s[A-Z]|$)", paragraph)
    sentence = match[0] if match else paragraph
    return re.sub(r":\w+:`~?([^`]+)`", r"`\1`", sentence)  # `:class:` and the like mean nothing on a Markdown page


def table() -> str:
    """One table for each layer that has modules, headed by what the layer's own docstring says."""
    parts = []
    for layer in LAYERS:
        folder = PACKAGE / layer
        modules = sorted(path for path in folder.glob("*.py") if not path.stem.startswith("_"))
        if not modules:
            continue
        heading = f"`{layer}/`" if layer else "The package itself"
        lines = [f"**{heading}**: {first_sentence(folder / '__init__.py')}", ""]
        lines += [f"- `{path.name}`: {first_sentence(path)}" for path in modules]
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def page() -> str:
    """The text of CONTRIBUTING.md with the list as it should be now."""
    text = PAGE.read_text(encoding="utf-8")
    head, begin, rest = text.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"no {BEGIN} ... {END} in {PAGE.name}")
    return f"{head}{BEGIN}\n\n{table()}\n\n{END}{tail}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; fail when the page is not current")
    check = parser.parse_args().check
    if PAGE.read_text(encoding="utf-8") == page():
        return 0
    print(("not current: " if check else "written: ") + PAGE.name)
    if not check:
        PAGE.write_text(page(), encoding="utf-8")
    return 1 if check else 0


if __name__ == "__main__":
    sys.exit(main())
