"""Install the lowest version that pyproject.toml allows of each dependency, and run the tests with them.

    python scripts/lowest_bounds.py             print the constraints, nothing else
    python scripts/lowest_bounds.py --run       install them into a temporary environment and run the tests there
    python scripts/lowest_bounds.py --run --keep FOLDER -- tests/vault -q      keep it; other arguments for pytest

A bound in pyproject.toml is one that this script has installed and passed the tests with. Only what the product needs
is held at its lowest (the dependencies, the `docs` and `huggingface` extras, and what builds the package); other tools
of the `test` extra are the newest.
"""

import argparse
import re
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_REQUIREMENT = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)(\[[^\]]*\])?(?P<bounds>[^;]*)")
_LOWEST = re.compile(r">=\s*(?P<version>[^,\s]+)")


def lowest_constraints(requirements: list[str]) -> list[str]:
    """Turn ``name[extra]>=1.2,<2`` into ``name==1.2``; a requirement without a lower bound is a ``ValueError``."""
    constraints = []
    for requirement in requirements:
        match = _REQUIREMENT.match(requirement)
        lowest = _LOWEST.search(match["bounds"]) if match else None
        if match is None or lowest is None:
            raise ValueError(f"{requirement!r} has no lower bound")
        constraints.append(f"{match['name']}=={lowest['version']}")
    return constraints


def product_requirements() -> list[str]:
    """The dependencies of the product and of its `docs` and `huggingface` extras, as pyproject.toml has them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    return [*project["dependencies"], *extras["docs"], *extras["huggingface"]]


def build_requirements() -> list[str]:
    """What builds the package, as pyproject.toml has it; the `test` extra has the same, so that tests can build it."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["build-system"]["requires"]


def run_tests(constraints: list[str], folder: Path, pytest_arguments: list[str]) -> int:
    """Make an environment in ``folder``, install with the constraints, run pytest; its exit code is returned."""
    constraint_file = folder / "constraints.txt"
    constraint_file.write_text("\n".join(constraints) + "\n", encoding="utf-8")
    venv.create(folder / "venv", with_pip=True)
    python = folder / "venv" / "bin" / "python"
    install = [python, "-m", "pip", "install", "--quiet", "-e", ".[test]", "-c", constraint_file]
    subprocess.run(install, cwd=ROOT, check=True)
    # pip has compiled with the newest tools, in an environment of its own; this one has what the constraints say.
    subprocess.run([python, "hatch_build.py"], cwd=ROOT, check=True)
    return subprocess.run([python, "-m", "pytest", "-p", "no:cacheprovider", *pytest_arguments], cwd=ROOT).returncode


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", action="store_true", help="install and run the tests")
    parser.add_argument("--keep", type=Path, help="folder for the environment (default: temporary)")
    parser.add_argument("pytest", nargs="*", help="arguments for pytest, after --")
    arguments = parser.parse_args()
    constraints = lowest_constraints([*product_requirements(), *build_requirements()])
    print("\n".join(constraints), flush=True)
    if not arguments.run:
        return 0
    if arguments.keep:
        arguments.keep.mkdir(parents=True, exist_ok=True)
        return run_tests(constraints, arguments.keep.resolve(), arguments.pytest)
    with tempfile.TemporaryDirectory() as folder:
        return run_tests(constraints, Path(folder), arguments.pytest)


if __name__ == "__main__":
    sys.exit(main())
