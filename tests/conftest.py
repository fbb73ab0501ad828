"""For all tests: interruptions work, also where the tests run in the background of a shell that
ignores them (children inherit that); tests whose program is not installed are skipped.

Tests install nothing: `make test` installs what they need (TEST_PACKAGES in the Makefile)."""

from __future__ import annotations

import gc
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest
from tests.products import mark_beyond_few_cases, mark_further_cases, refuse_several_rules

if TYPE_CHECKING:
    from playwright.sync_api import Browser

signal.signal(signal.SIGINT, signal.default_int_handler)

# Idle threads of OpenBLAS sleep. By default each polls for 2^26 clock cycles after NumPy is loaded,
# in each process: as long as loading it takes. 2^4 is the least.
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Loaded modules and collected tests stay. Without this, looking for objects that are no longer
    needed takes a fifth of the processor time of this process."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(20_000, 20, 20)  # few objects of tests are in cycles
        gc.enable()


@pytest.hookimpl(tryfirst=True)  # before pytest leaves out those that are `long`
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    refuse_several_rules(items)
    mark_further_cases(item for item in items if item.get_closest_marker("each_value"))
    mark_beyond_few_cases(items)


@pytest.fixture(scope="session", autouse=True)
def own_session_directory_of_open_mpi(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Tests run at the same time as others. Each mpiexec of Open MPI 4 makes and removes the same
    directory in /tmp, and one that is about to use it when it is removed fails."""
    os.environ.update(OMPI_MCA_orte_tmpdir_base=str(tmp_path_factory.mktemp("open-mpi")))


@pytest.fixture(scope="session")
def debian_program() -> Callable[[str, str], str]:
    """debian_program(package, path): a program of a Debian package; without it the test skips."""

    def find(package: str, name: str) -> str:
        found = shutil.which(name)
        if found is None:
            pytest.skip(f"{name} is not installed: apt-get install {package}")
        return found

    return find


@pytest.fixture(scope="session")
def browser_program(debian_program: Callable[[str, str], str]) -> str:
    """The program of a browser; without one installed the test skips.

    chromium-headless-shell draws and runs scripts as chromium does. It has no windows, and uses a
    third less processor time.
    """
    preferred = shutil.which("chromium-headless-shell") or shutil.which("google-chrome")
    return preferred or debian_program("chromium", "chromium")


@pytest.fixture(scope="module")  # not session: asyncio cannot run beside playwright in a thread
def browser(browser_program: str) -> Iterator[Browser]:
    """A browser without a window."""
    from tests.browser import chromium

    with chromium(browser_program) as started:
        yield started
