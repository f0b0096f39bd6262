"""The compiled loops of ranking are there where they could be built; whatever is wrong with them, the package works.

What is compiled here is a module of a few lines in place of the real one, so that a compiler has little to do; the last
tests build the real one.
"""

import ast
import importlib.util
import inspect
import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path
from typing import Any

import pytest

from agentscope_reme.index import compiled

pytest.importorskip("hatchling", reason="the build is a hook of hatchling")

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDER = Path("agentscope_reme", "index", "compiled")
NAME = f"kernels{sysconfig.get_config_var('EXT_SUFFIX')}"
OTHERS = ("choice.py", "sources.py", "__init__.py")


def loaded_hook() -> Any:
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


hook = loaded_hook()


def project(root: Path) -> Path:
    """A project whose compiled module has nothing but what every one says of itself, in a file that is included."""
    folder = root / FOLDER
    folder.mkdir(parents=True)
    for name in OTHERS:
        shutil.copyfile(ROOT / FOLDER / name, folder / name)
    source = (ROOT / FOLDER / "kernels.pyx").read_text(encoding="utf-8")
    begin = source.index("cdef extern from *:")
    end = source.index('_RECIPE.decode("ascii")') + len('_RECIPE.decode("ascii")')
    (folder / "kernels.pyx").write_text('include "said.pxi"\n', encoding="utf-8")
    (folder / "said.pxi").write_text(source[begin:end] + "\n", encoding="utf-8")
    return root


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small project, compiled in place."""
    pytest.importorskip("Cython")
    pytest.importorskip("setuptools")
    root = project(tmp_path_factory.mktemp("built"))
    try:
        hook.put_in_place(hook.compiled(root, tmp_path_factory.mktemp("folder")), root)
    except hook.CannotCompile as error:
        pytest.skip(f"no compiler: {error}")
    return root


@pytest.fixture
def small(built: Path, tmp_path: Path) -> Path:
    """A copy of it that a test may change."""
    shutil.copytree(built, tmp_path / "small")
    return tmp_path / "small"


def found(root: Path, **environment: str) -> str:
    """Which form a process of its own has in ``root``; the module is there exactly where the form is compiled."""
    program = (
        "import compiled\nfrom compiled import kernels\n"
        "assert (kernels is not None) == (compiled.form == 'compiled')\nprint(compiled.form)"
    )
    variables = {name: value for name, value in os.environ.items() if name != "REME_COMPILED"}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=variables | {"PYTHONPATH": str((root / FOLDER).parent)} | environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


# --- What a process finds -----------------------------------------------------------------------------------------


def test_without_a_compiled_module_ranking_is_in_numpy(tmp_path: Path) -> None:
    assert found(project(tmp_path)) == "in numpy (not built)"


def test_a_module_that_is_whole_and_of_these_sources_is_used(small: Path) -> None:
    assert found(small) == "compiled"


def test_where_a_wheel_was_installed_no_sources_lie_beside_the_module(small: Path) -> None:
    for path in (small / FOLDER).glob("*.p[yx][xi]"):
        path.unlink()
    assert sorted(path.name for path in (small / FOLDER).iterdir() if path.is_file()) == sorted([*OTHERS, NAME])
    assert found(small) == "compiled"


@pytest.mark.parametrize("value", ["0", " 0 "])
def test_it_can_be_switched_off(small: Path, value: str) -> None:
    assert found(small, REME_COMPILED=value) == "in numpy (switched off by REME_COMPILED=0)"


@pytest.mark.parametrize("value", ["", "1"])
def test_other_values_of_the_switch_leave_it_on(small: Path, value: str) -> None:
    assert found(small, REME_COMPILED=value) == "compiled"


def test_a_module_of_other_sources_is_not_used(small: Path) -> None:
    included = small / FOLDER / "said.pxi"
    before = included.read_bytes()
    included.write_bytes(before + b"\n# newer\n")
    assert found(small) == "in numpy (built from other sources: pip install -e . again)"
    included.write_bytes(before)
    assert found(small) == "compiled"
    (small / FOLDER / "more.pxi").write_text("# a file that was not there\n", encoding="utf-8")
    assert found(small).startswith("in numpy (built from other sources")


def test_ends_of_lines_of_a_checkout_make_no_other_sources(small: Path) -> None:
    included = small / FOLDER / "said.pxi"
    included.write_bytes(included.read_bytes().replace(b"\n", b"\r\n"))
    assert found(small) == "compiled"


def test_a_module_for_another_python_is_told_as_such(tmp_path: Path) -> None:
    root = project(tmp_path)
    (root / FOLDER / "kernels.cpython-34m-m68k-linux-gnu.so").write_bytes(b"\x7fELF")
    assert found(root) == "in numpy (built for another Python or another system)"


def test_a_file_that_is_no_module_is_left_alone(tmp_path: Path) -> None:
    root = project(tmp_path)
    path = root / FOLDER / NAME
    for content in (b"", b"not a library " * 100, b"\x7fELF\x01" + bytes(400)):
        path.write_bytes(content)
        assert found(root).startswith(f"in numpy ({NAME} cannot be loaded: "), content[:20]


def test_a_library_that_is_not_this_module_is_left_alone(small: Path) -> None:
    binary = (small / FOLDER / NAME).read_bytes()
    (small / FOLDER / NAME).write_bytes(binary.replace(b"PyInit_kernels", b"PyInit_kernelz"))
    assert found(small).startswith(f"in numpy ({NAME} cannot be loaded: ")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere the loader itself refuses such files")
@pytest.mark.parametrize("share", [0.01, 0.1, 0.25, 0.5])
def test_a_module_that_is_cut_short_does_not_end_the_process(small: Path, share: float) -> None:
    path = small / FOLDER / NAME
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * share)])
    assert found(small) == f"in numpy ({NAME} is cut short)"


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    root = project(tmp_path)
    (root / FOLDER / NAME).write_bytes(b"\x7fELF\x02\x01" + bytes(58))
    (root / FOLDER / NAME).chmod(0)
    if os.access(root / FOLDER / NAME, os.R_OK):
        pytest.skip("this user reads every file")
    assert "cannot be loaded" in found(root)


def test_importing_the_package_and_its_index_loads_nothing_that_is_compiled() -> None:
    program = (
        "import sys, agentscope_reme\nfrom agentscope_reme import ReMe\nfrom agentscope_reme.index import Index\n"
        "print([name for name in sys.modules if name.startswith('agentscope_reme.index.compiled')])"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# --- What the build decides ---------------------------------------------------------------------------------------


class App:
    """What a hook says to the person who builds."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def display_info(self, message: str) -> None:
        self.said.append(message)

    display_warning = display_info


class Build:
    """One run of the hook in ``root``."""

    def __init__(self, root: Path, version: str) -> None:
        self.app = App()
        self.version = version
        self.hook = hook.CompiledLoops(str(root), {}, None, None, str(root), "wheel", self.app)
        self.data: dict[str, Any] = {"force_include": {}, "pure_python": True, "infer_tag": False}

    def run(self) -> str:
        """Build; return what it said."""
        self.hook.initialize(self.version, self.data)
        return "\n".join(self.app.said)

    @property
    def plain(self) -> bool:
        """Whether the wheel is one for every system."""
        return self.data == {"force_include": {}, "pure_python": True, "infer_tag": False}


@pytest.fixture(autouse=True)
def surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (hook.SWITCH, "CC", "ARCHFLAGS", "_PYTHON_HOST_PLATFORM"):
        monkeypatch.delenv(name, raising=False)


def never(root: Path, folder: Path) -> Path:
    raise AssertionError("compiled")


def refused(root: Path, folder: Path) -> Path:
    raise hook.CannotCompile("fatal error: Python.h: No such file")


def full(root: Path, folder: Path) -> Path:
    raise OSError(28, "No space left on device")


def made(root: Path, folder: Path) -> Path:
    (folder / NAME).write_bytes(b"made")
    return folder / NAME


def test_what_was_compiled_goes_into_a_wheel_of_this_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hook, "compiled", made)
    build = Build(tmp_path, "standard")
    assert build.run() == f"The loops of ranking are compiled: {NAME}"
    ((source, target),) = build.data["force_include"].items()
    assert (Path(source).read_bytes(), target) == (b"made", f"agentscope_reme/index/compiled/{NAME}")
    assert (build.data["pure_python"], build.data["infer_tag"]) == (False, True)
    assert not list(tmp_path.iterdir())
    build.hook.finalize("standard", build.data, "")
    assert not Path(source).parent.exists()


@pytest.mark.parametrize(("fails", "reason"), [(refused, "fatal error: Python.h"), (full, "No space left on device")])
@pytest.mark.parametrize("version", ["standard", "editable"])
def test_what_cannot_be_compiled_is_left_out_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: Any, reason: str, version: str
) -> None:
    root = project(tmp_path)
    monkeypatch.setattr(hook, "compiled", fails)
    build = Build(root, version)
    said = build.run()
    assert said.startswith("The loops of ranking are not compiled, those in numpy are used: ")
    assert reason in said
    assert build.plain
    assert found(root) == "in numpy (not built)"


@pytest.mark.parametrize("version", ["standard", "editable"])
def test_skip_never_tries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    monkeypatch.setenv(hook.SWITCH, "skip")
    monkeypatch.setattr(hook, "compiled", never)
    build = Build(project(tmp_path), version)
    assert f"{hook.SWITCH}=skip" in build.run()
    assert build.plain


@pytest.mark.parametrize(("fails", "error"), [(refused, "Python.h"), (full, "No space")])
def test_require_fails_the_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: Any, error: str) -> None:
    monkeypatch.setenv(hook.SWITCH, "require")
    monkeypatch.setattr(hook, "compiled", fails)
    with pytest.raises((hook.CannotCompile, OSError), match=error):
        Build(tmp_path, "standard").run()


def test_another_wish_is_refused_before_anything_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(hook.SWITCH, "never")
    monkeypatch.setattr(hook, "compiled", never)
    with pytest.raises(ValueError, match="'never'; it may be skip or require"):
        Build(tmp_path, "standard").run()


def test_an_editable_install_has_the_module_beside_its_sources_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = project(tmp_path)
    before = {path.name for path in (root / FOLDER).iterdir()}
    monkeypatch.setattr(hook, "compiled", made)
    build = Build(root, "editable")
    build.run()
    assert (root / FOLDER / NAME).read_bytes() == b"made"
    assert {path.name for path in (root / FOLDER).iterdir()} == {*before, NAME}
    assert build.plain  # the wheel of an editable install only points to the folder


def test_an_editable_install_compiles_once_until_the_sources_change(
    small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hook, "compiled", never)
    assert "already" in Build(small, "editable").run()
    monkeypatch.setattr(hook, "compiled", made)
    (small / FOLDER / "said.pxi").open("ab").write(b"# newer\n")
    Build(small, "editable").run()
    assert (small / FOLDER / NAME).read_bytes() == b"made"


def test_an_editable_install_compiles_again_with_other_flags(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hook, "compiled", made)
    monkeypatch.setenv("CFLAGS", f"{os.environ.get('CFLAGS', '')} -O1")
    Build(small, "editable").run()
    assert (small / FOLDER / NAME).read_bytes() == b"made"


@pytest.mark.parametrize("size", [0, 100, 4_096])
def test_an_editable_install_again_repairs_a_broken_module(
    small: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    path = small / FOLDER / NAME
    path.write_bytes(path.read_bytes()[:size])
    monkeypatch.setattr(hook, "compiled", made)
    Build(small, "editable").run()
    assert path.read_bytes() == b"made"


def test_a_checkout_that_cannot_be_written_is_installed_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_only(built: Path, root: Path) -> None:
        raise PermissionError(13, "Permission denied", str(root))

    monkeypatch.setattr(hook, "compiled", made)
    monkeypatch.setattr(hook, "put_in_place", read_only)
    assert "Permission denied" in Build(project(tmp_path), "editable").run()


@pytest.mark.parametrize("wish", ["", "skip"])
def test_an_editable_install_without_it_leaves_no_older_module(
    small: Path, monkeypatch: pytest.MonkeyPatch, wish: str
) -> None:
    monkeypatch.setenv(hook.SWITCH, wish)
    monkeypatch.setattr(hook, "compiled", refused)
    monkeypatch.setattr(hook, "up_to_date", lambda root: False)
    Build(small, "editable").run()
    assert found(small) == "in numpy (not built)"


def test_a_compiler_that_fails_is_named_with_its_error(
    built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", "/bin/false")
    with pytest.raises(hook.CannotCompile, match="/bin/false"):
        hook.compiled(built, tmp_path)


def test_sources_that_are_wrong_are_named_with_file_and_line(small: Path, tmp_path: Path) -> None:
    (small / FOLDER / "said.pxi").write_text("def f(:\n", encoding="utf-8")
    with pytest.raises(hook.CannotCompile, match=r"said\.pxi:1"):
        hook.compiled(small, tmp_path / "folder")


def test_a_module_that_does_not_say_what_it_was_made_of_is_not_taken(small: Path, tmp_path: Path) -> None:
    (small / FOLDER / "said.pxi").write_text("SOURCES = RECIPE = ''\n", encoding="utf-8")
    with pytest.raises(hook.CannotCompile, match="does not say of which sources"):
        hook.compiled(small, tmp_path / "folder")


def test_a_module_that_cannot_be_loaded_is_not_taken(small: Path, tmp_path: Path) -> None:
    (small / FOLDER / "said.pxi").open("a").write("raise RuntimeError('made for numpy 7')\n")
    with pytest.raises(hook.CannotCompile, match="made for numpy 7"):
        hook.compiled(small, tmp_path / "folder")


def test_a_build_without_cython_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> str:
        raise hook.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(hook.metadata, "version", absent)
    assert "There is no cython." in Build(project(tmp_path), "standard").run()


# --- The module itself --------------------------------------------------------------------------------------------


def test_what_was_built_is_told_by_an_interpreter_without_numpy_too() -> None:
    """A package is built in an environment that has nothing but what builds it."""
    if compiled.kernels is None:
        pytest.skip(compiled.form)
    alone = [sys.executable, "-I", "-S", "-c"]
    assert subprocess.run([*alone, "import numpy"], capture_output=True).returncode == 1
    told = subprocess.run(
        [*alone, hook._LOAD, hook.MODULE, compiled.kernels.__file__], check=True, capture_output=True, text=True
    )
    assert told.stdout.split() == [compiled.kernels.SOURCES, compiled.kernels.RECIPE]


def test_the_stub_names_what_the_module_has() -> None:
    if compiled.kernels is None:
        pytest.skip(compiled.form)
    stub = ast.parse((ROOT / FOLDER / "kernels.pyi").read_text(encoding="utf-8"))
    told = {
        node.name: [argument.arg for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
        for node in stub.body
        if isinstance(node, ast.FunctionDef)
    }
    public = {
        name: value
        for name, value in vars(compiled.kernels).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == compiled.kernels.__name__
    }
    functions = {name: value for name, value in public.items() if not isinstance(value, type)}
    assert {name: list(inspect.signature(value).parameters) for name, value in functions.items()} == told
    assert public.keys() - functions.keys() == {node.name for node in stub.body if isinstance(node, ast.ClassDef)}


@pytest.mark.slow
@pytest.mark.parametrize(("wish", "form"), [("require", "compiled"), ("skip", "in numpy (not built)")])
def test_a_wheel_has_the_form_that_its_tag_says(tmp_path: Path, wish: str, form: str) -> None:
    """From the source archive, as an installer without a wheel for its system builds it."""
    pytest.importorskip("Cython")
    hatchling = [sys.executable, "-m", "hatchling", "build"]
    subprocess.run([*hatchling, "-t", "sdist", "-d", str(tmp_path)], cwd=ROOT, check=True, capture_output=True)
    (archive,) = tmp_path.glob("*.tar.gz")
    shutil.unpack_archive(archive, tmp_path)  # made here; Python below 3.11.4 knows no filter
    source = next(path for path in tmp_path.iterdir() if path.is_dir())
    done = subprocess.run(
        [*hatchling, "-t", "wheel", "-d", str(tmp_path)],
        cwd=source, env=os.environ | {hook.SWITCH: wish}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name.endswith("-py3-none-any.whl") == (wish == "skip")
    with zipfile.ZipFile(wheel) as opened:
        opened.extractall(tmp_path / "installed")
    # By itself: in its place it would stand below a folder that has modules named like the standard library's.
    shutil.copytree(tmp_path / "installed" / FOLDER, tmp_path / "alone" / FOLDER)
    assert found(tmp_path / "alone") == form
