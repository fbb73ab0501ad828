"""For all tests: interruptions work, also where the tests run in the background of a shell that
ignores them (children inherit that); tests whose program is not installed are skipped.

Tests install nothing: `make test` installs what they need (TEST_PACKAGES in the Makefile)."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def debian_program() -> Callable[[str, str], str]:
    """debian_program(package, path): a program of a Debian package; without it the test skips."""

    def find(package: str, name: str) -> str:
        found = shutil.which(name)
        if found is None:
            pytest.skip(f"{name} is not installed: apt-get install {package}")
        return found

    return find


@pytest.fixture(scope="module")  # not session: asyncio cannot run beside playwright in a thread
def browser(debian_program: Callable[[str, str], str]) -> Iterator[Browser]:
    """A browser without a window; without one installed the test skips."""
    from tests.browser import chromium

    program = shutil.which("google-chrome") or debian_program("chromium", "chromium")
    with chromium(program) as started:
        yield started
