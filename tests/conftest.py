"""For all tests: interruptions work, also where the tests run in the background of a shell that
ignores them (children inherit that); tests whose program is not installed are skipped.

Tests install nothing: `make test` installs what they need (TEST_PACKAGES in the Makefile)."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Callable

import pytest

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
