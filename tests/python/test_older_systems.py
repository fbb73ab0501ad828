"""What the files of the package need of the C and C++ libraries. The wheel is for glibc 2.34 and
what comes with it (docs/install.md), and is built where these tests run: in Debian 12."""

from __future__ import annotations

import platform
import re
import subprocess
from pathlib import Path

import pytest

from sesame.installed import find_installed

# Of the systems with glibc 2.34: the newest versions of symbols (PEP 600, manylinux_2_34).
NEWEST = {"GLIBC": (2, 34), "GLIBCXX": (3, 4, 29), "CXXABI": (1, 3, 13)}


def needed(file: Path) -> dict[str, tuple[int, ...]]:
    """The newest versions of symbols that this file needs."""
    table = subprocess.run(["objdump", "-T", file], capture_output=True, text=True, check=True)
    found: dict[str, tuple[int, ...]] = {}
    for name, version in re.findall(r"\*UND\*.*\b(\w+)_(\d+(?:\.\d+)+)\)? ", table.stdout):
        numbers = tuple(map(int, version.split(".")))
        found[name] = max(numbers, found.get(name, numbers))
    return found


def binaries() -> list[Path]:
    files = find_installed("libsesame-trace.so").parent.iterdir()
    return sorted(file for file in files if file.read_bytes()[:4] == b"\x7fELF")


@pytest.mark.skipif(platform.libc_ver()[1] != "2.36", reason="built with another C library")
def test_no_file_needs_newer_libraries_than_the_wheel_says():
    of_files = {file.name: needed(file) for file in binaries()}
    assert of_files["libsesame-trace.so"]["GLIBC"] > (2, 2)
    newer = {
        (file, name, version)
        for file, versions in of_files.items()
        for name, version in versions.items()
        if name in NEWEST and version > NEWEST[name]
    }
    assert newer == set()
