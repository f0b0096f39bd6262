"""The build of the compiled loops of ranking (agentscope_reme/index/compiled), which a wheel or an install may lack.

    python hatch_build.py        compile them in place, without an install

hatchling calls it for every wheel, editable ones included. What cannot be compiled, for whatever reason, leaves the
package as it is in Python, and a line of the build's output says so. The environment variable AGENTSCOPE_REME_BUILD
decides otherwise: ``skip`` never tries, ``require`` fails the build instead.
"""

import contextlib
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from importlib import metadata
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SWITCH = "AGENTSCOPE_REME_BUILD"
FOLDER = Path("agentscope_reme", "index", "compiled")
MODULE = "agentscope_reme.index.compiled.kernels"

# Sums have the same bits as numpy's: nothing is reordered and no product is fused with a sum. They come after what
# CFLAGS says, and so have the last word. Without debugging symbols the file does not name the folder it was made in.
_FLAGS = {"msvc": ["/O2", "/fp:precise"], "unix": ["-O3", "-g0", "-fno-fast-math", "-ffp-contract=off"]}

# Run by an interpreter of its own, in a copy of the sources: what setuptools changes in its process, prints or raises
# stays there, and nothing it makes is left beside the sources.
_COMPILE = """
import sys
from Cython.Build import cythonize
from setuptools import Distribution, Extension
from setuptools.command.build_ext import build_ext

name, source, told, flags = sys.argv[1], sys.argv[2], sys.argv[3].split(), eval(sys.argv[4])

class Build(build_ext):
    def build_extension(self, extension):
        extension.extra_compile_args = flags["msvc" if self.compiler.compiler_type == "msvc" else "unix"]
        super().build_extension(extension)

macros = [(f"AGENTSCOPE_REME_{what}", f'"{text}"') for what, text in zip(("SOURCES", "RECIPE"), told, strict=True)]
try:
    extensions = cythonize([Extension(name, [source], define_macros=macros)])
    command = Build(Distribution({"name": "kernels", "ext_modules": extensions}))
    command.build_lib = "built"
    command.ensure_finalized()
    command.run()
except Exception as error:
    sys.exit(f"{type(error).__name__}: {error}")
"""

# Loading what was built shows that it is for this interpreter and of these sources. Where a package is built there need
# be no numpy, and nothing that is loaded asks it for more than names.
_LOAD = """
import importlib.util, sys, types

class Absent(types.ModuleType):
    def __getattr__(self, name):
        return lambda *_: None

if importlib.util.find_spec("numpy") is None:
    sys.modules["numpy"] = Absent("numpy")
spec = importlib.util.spec_from_file_location(sys.argv[1], sys.argv[2])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
print(module.SOURCES, module.RECIPE)
"""


class CannotCompile(Exception):
    """There is no compiled form, and why."""


class CompiledLoops(BuildHookInterface):
    """The hook: it adds the compiled module to a wheel, or puts it beside its sources for an editable install."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, unless told not to; a failure is ``CannotCompile`` or ``OSError`` where compiling is required."""
        wish = os.environ.get(SWITCH, "").strip().lower()
        if wish not in ("", "skip", "require"):
            raise ValueError(f"{SWITCH} is {wish!r}; it may be skip or require, or not be set.")
        root, editable = Path(self.root), version == "editable"
        if wish == "skip":
            reason = f"{SWITCH}=skip"
        else:
            try:
                self.app.display_info(self._put(root, editable, build_data))
                return
            except (CannotCompile, OSError) as error:
                if wish == "require":
                    raise
                reason = str(error)
        if editable:
            with contextlib.suppress(OSError):  # a checkout that cannot be written keeps what it has
                in_place(root).unlink(missing_ok=True)
        self.app.display_warning(f"The loops of ranking are not compiled, those in numpy are used: {reason}")

    def _put(self, root: Path, editable: bool, build_data: dict[str, Any]) -> str:
        """Compile, put the module where it belongs, and say so."""
        if editable and up_to_date(root):
            return "The loops of ranking are compiled already."
        self._folder = tempfile.TemporaryDirectory(prefix="agentscope-reme-")
        built = compiled(root, Path(self._folder.name))
        if editable:
            put_in_place(built, root)
        else:
            build_data["force_include"][str(built)] = (FOLDER / built.name).as_posix()
            build_data["pure_python"] = False
            build_data["infer_tag"] = True
        return f"The loops of ranking are compiled: {built.name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what the build needed while it ran."""
        if hasattr(self, "_folder"):
            self._folder.cleanup()


def compiled(root: Path, folder: Path) -> Path:
    """Compile the sources below ``root`` in ``folder`` and return the module's file; ``CannotCompile`` says why not."""
    told = _told(root)
    (folder / FOLDER).mkdir(parents=True)
    for path in _rules(root).sources(root / FOLDER):
        shutil.copyfile(path, folder / FOLDER / path.name)
    for package in (FOLDER, *FOLDER.parents[:-1]):
        (folder / package / "__init__.py").touch()
    _run(folder, _COMPILE, MODULE, (FOLDER / "kernels.pyx").as_posix(), told, repr(_FLAGS))
    built = next((folder / "built" / FOLDER).glob("kernels.*"), None)
    if built is None:
        raise CannotCompile("The compiler left no file.")
    if not _for_another_system() and _told_by(built) != told:
        raise CannotCompile(f"{built.name} does not say of which sources it was made.")
    return built


def in_place(root: Path) -> Path:
    """Where an editable install of this interpreter has the module's file: beside its sources."""
    return root / FOLDER / f"kernels{sysconfig.get_config_var('EXT_SUFFIX')}"


def put_in_place(built: Path, root: Path) -> None:
    """Put the module's file beside its sources in one step: a process that has the old one open keeps it whole."""
    beside = root / FOLDER / f".{os.getpid()}.{built.name}"
    try:
        shutil.copyfile(built, beside)
        os.replace(beside, in_place(root))
    finally:
        beside.unlink(missing_ok=True)


def up_to_date(root: Path) -> bool:
    """Whether the file beside the sources loads, was made of them, and in the way this file would make it."""
    try:
        return in_place(root).is_file() and _told_by(in_place(root)) == _told(root)
    except CannotCompile:
        return False


def _told(root: Path) -> str:
    """What is compiled into the module: of which sources it was made and how, as two hashes."""
    rules = _rules(root)
    try:
        how = [Path(__file__).read_bytes(), metadata.version("cython"), metadata.version("setuptools")]
    except metadata.PackageNotFoundError as error:
        raise CannotCompile(f"There is no {error.name}.") from None
    how += [os.environ.get(name, "") for name in ("CC", "CFLAGS", "CPPFLAGS", "LDFLAGS", "ARCHFLAGS")]
    recipe = hashlib.sha256(repr(how).encode()).hexdigest()
    return f"{rules.fingerprint(rules.sources(root / FOLDER))} {recipe}"


def _told_by(built: Path) -> str:
    """What a module says of itself once it is loaded, which also shows that this interpreter can load it."""
    return _run(built.parent, _LOAD, MODULE, str(built)).strip()


def _rules(root: Path) -> Any:
    """The package's own rule of what the sources are and how they are told, without importing the package."""
    spec = importlib.util.spec_from_file_location("sources", root / FOLDER / "sources.py")
    module = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]  # the file is there
    spec.loader.exec_module(module)  # type: ignore[union-attr]
    return module


def _run(folder: Path, program: str, *arguments: str) -> str:
    """Run ``program`` in ``folder`` and return what it printed; the end of its errors is in ``CannotCompile``."""
    command = [sys.executable, "-P", "-c", program, *arguments]  # -P: no module of that folder is imported
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace")
    if done.returncode:
        lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        raise CannotCompile("\n".join(lines[-20:]) or f"Python ended with {done.returncode}.")
    return done.stdout


def _for_another_system() -> bool:
    """Whether the build is for another processor than this interpreter's, which could not load what was built."""
    return any(os.environ.get(name) for name in ("ARCHFLAGS", "_PYTHON_HOST_PLATFORM"))


def main() -> None:
    """Compile in place; the error, if there is one, is the build's."""
    root = Path(__file__).resolve().parent
    if not up_to_date(root):
        with tempfile.TemporaryDirectory(prefix="agentscope-reme-") as folder:
            put_in_place(compiled(root, Path(folder)), root)
    print(f"compiled: {in_place(root).relative_to(root)}")


if __name__ == "__main__":
    try:
        main()
    except CannotCompile as error:
        sys.exit(str(error))
