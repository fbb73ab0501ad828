"""For all tests: interruptions work, also where the tests run in the background of a shell that
ignores them (children inherit that); programs of Debian packages are installed where apt-get is
permitted."""

from __future__ import annotations

import functools
import os
import shutil
import signal
import subprocess
from collections.abc import Callable

import pytest

signal.signal(signal.SIGINT, signal.default_int_handler)


@functools.cache
def _install(package: str) -> bool:
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        return False
    # Another test may be installing something at the same time.
    patience = "DPkg::Lock::Timeout=300"
    command = ["apt-get", "install", "-y", "--no-install-recommends", "-o", patience, package]
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for _ in range(2):
        if (
            subprocess.run(command, env=environment, capture_output=True, check=False).returncode
            == 0
        ):
            return True
        subprocess.run(["apt-get", "update"], capture_output=True, check=False)
    return False


@pytest.fixture(scope="session")
def debian_program() -> Callable[[str, str], str]:
    """debian_program(package, path): a program of a Debian package, installed when missing."""

    def find(package: str, name: str) -> str:
        found = shutil.which(name)
        if found is None and _install(package):
            found = shutil.which(name)
        if found is None:
            pytest.skip(f"{name} is not installed: apt-get install {package}")
        return found

    return find
