"""The layering of the package, read from its source: what may import what, and where AgentScope may stand.

An import counts wherever it stands, also inside a function; only imports under ``if TYPE_CHECKING:`` are looked at
apart, since they do not run.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "agentscope_reme"
NAME = PACKAGE.name

# A module may import its own layer and those with a smaller number. Layers of one number do not know each other,
# except the plain values at 0.
RANK = {
    "_version": 0,
    "errors": 0,
    "models": 0,
    "config": 0,
    "weights": 0,  # of ranking: a part of config, in a module of its own
    "expression": 0,
    "loading": 0,
    "prompts": 0,
    "quoting": 0,
    "vault": 1,
    "index": 2,
    "memory": 3,
    "pipelines": 3,
    "adapters": 4,
    "hooks": 5,
    "toolkit": 5,
    "jobs": 5,
    "facade": 5,  # the functional interface to working memory: a part of ReMe, in a module of its own
    "forgetting": 5,  # crosses vault, index and journals: a part of ReMe, in a module of its own
    "knowledge": 5,  # growing the vault from conversations: a part of ReMe, in a module of its own
    "documents": 5,  # reading documents: a part of ReMe, in a module of its own
    "attachment": 6,  # how an agent gets its memory, tools and hook
    "agents": 7,  # serving agents: a part of ReMe, in a module of its own
    "reme": 8,
    "service": 9,
}

# Where AgentScope may be imported. `reme.py` only inside functions: importing the facade must not import AgentScope.
AGENTSCOPE_ANYWHERE = (
    "memory/",
    "adapters/",
    "hooks/",
    "toolkit/",
    "pipelines/agent.py",
    "service/chat.py",
    "service/demo.py",
    "service/offline_model.py",
)
AGENTSCOPE_IN_FUNCTIONS = ("agents.py", "attachment.py", "reme.py", "facade.py", "knowledge.py")

BANNED_NAMES = {"util", "utils", "helper", "helpers", "manager", "managers", "common", "misc"}
LONGEST_MODULE = 400

_WRITING_MODE = re.compile(r"^(?=.*[wax+])[rwaxbt+]{1,3}$")


@dataclass(frozen=True)
class Import:
    """One imported module, absolute; ``typing_only`` under TYPE_CHECKING, ``in_function`` when not at module level."""

    module: str
    line: int
    typing_only: bool
    in_function: bool


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def relative(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def layer(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports_of(source: str, package: str) -> Iterator[Import]:
    """Yield every module that ``source``, standing in the package ``package``, names in an import statement."""

    def visit(node: ast.AST, typing_only: bool, in_function: bool) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import):
                for alias in child.names:
                    yield Import(alias.name, child.lineno, typing_only, in_function)
            elif isinstance(child, ast.ImportFrom):
                base = child.module or ""
                if child.level:
                    parents = package.split(".")
                    stem = ".".join(parents[: len(parents) - child.level + 1])
                    base = f"{stem}.{base}" if base else stem
                for alias in child.names:  # `from .. import models` names the module models
                    yield Import(f"{base}.{alias.name}", child.lineno, typing_only, in_function)
            elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
                for statement in child.body:
                    yield from visit(ast.Module([statement], []), True, in_function)
                for statement in child.orelse:
                    yield from visit(ast.Module([statement], []), typing_only, in_function)
            else:
                function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
                yield from visit(child, typing_only, in_function or function)

    yield from visit(parsed(source), False, False)


@cache
def parsed(source: str) -> ast.Module:
    return ast.parse(source)


@cache
def imports(path: Path) -> list[Import]:
    package = ".".join([NAME, *path.relative_to(PACKAGE).parts[:-1]])
    return list(imports_of(path.read_text(encoding="utf-8"), package))


def target_layer(module: str) -> str | None:
    """The layer that ``module`` (absolute) lies in; None when it is not ours or is a name of the package itself."""
    parts = module.split(".")
    return parts[1] if parts[0] == NAME and len(parts) > 1 and parts[1] in RANK else None


def may_import(source: str, target: str) -> bool:
    return source == target or RANK[target] < RANK[source] or RANK[target] == RANK[source] == 0


def layering_faults(path: Path, found: list[Import]) -> list[str]:
    if path.parent == PACKAGE and path.name == "__init__.py":
        return []  # resolves the public names lazily, from any layer; tests/test_packaging.py holds it to that
    source = layer(path)
    faults = []
    for item in found:
        target = target_layer(item.module)
        # Any layer above the index may name the facade in an annotation: it is handed one.
        annotation = item.typing_only and target == "reme" and RANK[source] > RANK["index"]
        if target is not None and not annotation and not may_import(source, target):
            faults.append(f"{relative(path)}:{item.line} {source} imports {target}")
    return faults


def agentscope_faults(path: Path, found: list[Import]) -> list[str]:
    where = relative(path)
    faults = []
    for item in found:
        if item.module.split(".")[0] != "agentscope" or item.typing_only:
            continue
        allowed = where.startswith(AGENTSCOPE_ANYWHERE) or (where in AGENTSCOPE_IN_FUNCTIONS and item.in_function)
        if not allowed:
            faults.append(f"{where}:{item.line} imports {item.module}")
    return faults


def test_every_module_belongs_to_a_layer():
    unknown = {layer(path) for path in modules()} - set(RANK) - {"__init__"}
    assert not unknown, f"give these a place in RANK, and in the design: {sorted(unknown)}"


def test_imports_point_one_way():
    faults = [fault for path in modules() for fault in layering_faults(path, imports(path))]
    assert not faults, "\n".join(faults)


def test_agentscope_is_imported_only_where_an_adapter_stands():
    faults = [fault for path in modules() for fault in agentscope_faults(path, imports(path))]
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize(
    ("place", "source"),
    [
        ("vault/notes.py", "from ..index import search"),
        ("vault/notes.py", "def f():\n    from ..index.search import Index"),
        ("vault/notes.py", "import agentscope_reme.memory"),
        ("vault/notes.py", "from .. import reme"),
        ("vault/notes.py", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ..reme import ReMe"),
        ("memory/window.py", "from ..pipelines import auto_memory"),
        ("pipelines/auto_memory.py", "from ..memory import tokens"),
        ("toolkit/tools.py", "from ..service.cli import main"),
        ("reme.py", "from .service import cli"),
    ],
)
def test_an_import_against_the_layers_is_found(place, source):
    path = PACKAGE / place
    package = ".".join([NAME, *Path(place).parts[:-1]])
    assert layering_faults(path, list(imports_of(source, package)))


@pytest.mark.parametrize(
    ("place", "source"),
    [
        ("vault/notes.py", "import agentscope"),
        ("index/search.py", "def f():\n    from agentscope.message import Msg"),
        ("reme.py", "from agentscope.tool import Toolkit"),
        ("service/cli.py", "def f():\n    import agentscope.agent as a"),
    ],
)
def test_a_stray_import_of_agentscope_is_found(place, source):
    package = ".".join([NAME, *Path(place).parts[:-1]])
    assert agentscope_faults(PACKAGE / place, list(imports_of(source, package)))


def test_no_module_is_named_after_nothing():
    banned = [relative(path) for path in modules() if BANNED_NAMES & set(path.stem.lower().split("_"))]
    assert not banned, f"name these after what they are about: {banned}"


def test_modules_stay_readable():
    compiled = [path for path in PACKAGE.rglob("*.p*") if path.suffix in (".pyx", ".pxi")]
    assert compiled
    long = {relative(path): len(path.read_text(encoding="utf-8").splitlines()) for path in [*modules(), *compiled]}
    long = {path: lines for path, lines in long.items() if lines > LONGEST_MODULE}
    assert not long, f"over {LONGEST_MODULE} lines, so probably two things: {long}"


def test_every_package_says_what_lives_there():
    silent = [
        relative(path)
        for path in modules()
        if path.name == "__init__.py"
        and not ast.get_docstring(parsed(path.read_text(encoding="utf-8")))
        and "prompts" not in path.parts
    ]
    assert not silent


def test_tools_keep_their_annotations_as_types():
    """AgentScope builds a tool's schema from its annotations, which postponed evaluation turns into strings."""
    postponed = [
        relative(path)
        for path in modules()
        if layer(path) == "toolkit" and "__future__.annotations" in {item.module for item in imports(path)}
    ]
    assert not postponed


def test_nothing_defines_a_length_that_would_make_an_empty_memory_false():
    """AgentScope writes ``memory or InMemoryMemory()``: a memory or toolkit that is false while empty is replaced."""
    faults = []
    for path in modules():
        if layer(path) not in ("memory", "toolkit", "adapters"):
            continue
        for node in ast.walk(parsed(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name in ("__len__", "__bool__"):
                faults.append(f"{relative(path)}:{node.lineno} {node.name}")
    assert not faults, "\n".join(faults)


def writes_of(source: str) -> Iterator[int]:
    """Yield the lines on which ``source`` opens a file for writing, renames or replaces one."""
    for node in ast.walk(parsed(source)):
        if isinstance(node, ast.Attribute) and node.attr in ("O_WRONLY", "O_RDWR", "O_APPEND", "O_CREAT", "O_TRUNC"):
            yield node.lineno
        if not isinstance(node, ast.Call):
            continue
        function = node.func
        name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        owner = getattr(function.value, "id", "") if isinstance(function, ast.Attribute) else ""
        if name in ("write_text", "write_bytes") or (owner == "os" and name in ("replace", "rename", "renames")):
            yield node.lineno
        elif name == "open":
            # The mode is the second argument of the built-in, the first of a path's method.
            given = [*node.args[0 if isinstance(function, ast.Attribute) else 1 :], *(k.value for k in node.keywords)]
            texts = [argument.value for argument in given if isinstance(argument, ast.Constant)]
            if any(isinstance(text, str) and _WRITING_MODE.match(text) for text in texts):
                yield node.lineno


def test_only_storage_writes_files_of_the_vault():
    layers = ("vault", "memory", "pipelines", "adapters", "hooks", "toolkit", "jobs", "reme")
    # paths.py holds the open folder, race-safe against symlinks, on which storage.py acts.
    writers = ("vault/storage.py", "vault/paths.py")
    faults = [
        f"{relative(path)}:{line}"
        for path in modules()
        if layer(path) in layers and relative(path) not in writers
        for line in writes_of(path.read_text(encoding="utf-8"))
    ]
    assert not faults, f"write through vault/storage.py: {faults}"


def test_a_stray_write_is_found():
    source = 'open("a", "w")\np.open("ab")\nopen("a", mode="x")\np.write_text("a")\nos.replace(a, b)\n'
    source += "os.open(a, os.O_WRONLY)\n"
    assert list(writes_of(source)) == [1, 2, 3, 4, 5, 6]
    assert not list(writes_of('open("a")\np.open("rb")\ntext.replace("a", "b")\n'))


def test_tests_mirror_the_package():
    layers = {path.name for path in PACKAGE.iterdir() if path.is_dir() and len(list(path.glob("*.py"))) > 1}
    untested = {name for name in layers if not list((ROOT / "tests" / name).rglob("test_*.py"))}
    assert not untested, f"layers without tests in tests/<layer>/: {sorted(untested)}"
    apart = {"promises", "cases", "crash", "e2e", "support", "data"}
    folders = {path.name for path in (ROOT / "tests").iterdir() if path.is_dir()}
    folders = {name for name in folders if not name.startswith((".", "_"))}
    assert not folders - set(RANK) - apart, "a folder in tests/ that mirrors nothing"
