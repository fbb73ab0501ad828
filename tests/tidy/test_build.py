"""The build passes on what it is given."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.long
def test_optimising_at_link_time_has_the_flags_of_the_build(tmp_path):
    if shutil.which("cmake") is None or shutil.which("ninja") is None:
        pytest.skip("needs cmake and ninja (Debian: cmake ninja-build)")
    command = ["cmake", "-G", "Ninja", "-S", ROOT, "-B", tmp_path, "-DSESAME_BINDINGS=OFF"]
    command += ["-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS=-march=x86-64 -DGIVEN"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    found = re.findall(r"COMMAND = .*-flinker-output.*", (tmp_path / "build.ninja").read_text())
    assert len(found) == 2
    for one in found:
        assert re.search(
            r"-march=x86-64 -DGIVEN -O3 -DNDEBUG -flto=auto -flto-partition=one -r ", one
        ), one
