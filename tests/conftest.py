"""Every test runs without the user's state, without keys and without the network."""

import compileall
import errno
import gc
import ipaddress
import os
import shutil
import socket
import stat
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# How many examples a property test tries, unless it says so itself: REME_TEST_PROFILE=long for many, as `.ci/run` does.
# Both always try the same ones, so that a build says the same twice; REME_TEST_PROFILE=explore looks for new ones.
settings.register_profile(
    "short", max_examples=25, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("long", settings.get_profile("short"), max_examples=300)
settings.register_profile("explore", settings.get_profile("long"), derandomize=False)
PROFILE = os.environ.get("REME_TEST_PROFILE", "short")
settings.load_profile(PROFILE)

_IN_MEMORY = "/dev/shm"
_ROOM = 4 << 30  # bytes; a few tests write files of some hundred megabytes

_KEYS = ("DASHSCOPE_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "GEMINI_API_KEY")
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
_HOMES = ("HOME", "USERPROFILE", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With many examples every property test is a slow one, so that ``-m slow`` runs it."""
    for item in items:
        if PROFILE != "short" and getattr(getattr(item, "function", None), "is_hypothesis_test", False):
            item.add_marker(pytest.mark.slow)


def pytest_configure(config: pytest.Config) -> None:
    """Processes that tests start find the package's bytecode, as installers leave it, also where Python writes none.

    Folders of tests lie in memory where the system has room for them: to remove one from a disk may take milliseconds.
    """
    if not hasattr(config, "workerinput"):
        compileall.compile_dir(Path(__file__).resolve().parent.parent / "agentscope_reme", quiet=2)
    if os.access(_IN_MEMORY, os.W_OK) and shutil.disk_usage(_IN_MEMORY).free >= _ROOM:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", _IN_MEMORY)  # where pytest makes them, unless told otherwise


def pytest_report_header() -> str:
    """Which form of ranking is tested: after a change to compiled sources the one in numpy, until they are built."""
    from agentscope_reme.index.compiled import form

    return f"ranking: {form}"


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Generator[None, object, object]:
    """Modules and tests stay until the end: garbage is not looked for among them, neither now nor by any test.

    What pytest makes of the assertions of 200 modules it finds again in the next run, also where Python writes no
    bytecode: six seconds in each process.
    """
    gc.disable()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "dont_write_bytecode", False)
        try:
            return (yield)
        finally:
            gc.enable()
            gc.collect()
            gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _no_user_state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Home, caches and settings are an empty folder; keys, proxies and ``REME_*`` are not set."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        for name in _HOMES:
            patch.setenv(name, str(home))
        for name in [*_KEYS, *_PROXIES, *map(str.lower, _PROXIES), *(key for key in os.environ if _ours(key))]:
            patch.delenv(name, raising=False)
        patch.setenv("HF_HUB_OFFLINE", "1")
        yield


@pytest.fixture(scope="session", autouse=True)
def _no_network() -> Iterator[None]:
    """A connection to anything but this machine fails with a sentence that says so."""
    real = socket.socket.connect

    def connect(self: socket.socket, address: Any) -> None:
        if self.family != getattr(socket, "AF_UNIX", None) and not _is_loopback(address[0]):
            raise OSError(f"tests run without a network; something connects to {address!r}")
        real(self, address)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", connect)
        yield


@pytest.fixture(scope="session", autouse=True)
def _no_waiting_for_the_disk() -> Iterator[None]:
    """A sync in this process is only looked at, not waited for: what a crash leaves, ``crash/`` finds out by itself."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", _looked_at)
        yield


@pytest.fixture
def vault_dir(tmp_path: Path) -> Path:
    """A place for a vault; nothing is there yet."""
    return tmp_path / ".reme"


def _looked_at(file: int | Any) -> None:
    """Raise OSError for what cannot be synced, as the system does."""
    descriptor = file if isinstance(file, int) else file.fileno()
    mode = os.fstat(descriptor).st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))


def _ours(name: str) -> bool:
    return name.startswith("REME_")


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
