"""What the Python tests share: the simulator's stand-in and a way to run the command line."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
SESAME = [sys.executable, "-c", "from sesame.cli import main; main()"]


@dataclass
class Outcome:
    status: int
    stdout: str
    stderr: str

    @property
    def json(self) -> Any:
        return json.loads(self.stdout)


@pytest.fixture(scope="session")
def fake_bin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with both simulators, each the stand-in."""
    folder = tmp_path_factory.mktemp("bin")
    for interface in ("mpich", "mpiabi"):
        script = folder / f"sesame-simulator-{interface}"
        script.write_text(f'#!/bin/sh\nexec {sys.executable} {HERE / "fake_host.py"} "$@"\n')
        script.chmod(0o755)
    return folder


@pytest.fixture
def environment(fake_bin: Path) -> dict[str, str]:
    return {**os.environ, "SESAME_BIN": str(fake_bin)}


@pytest.fixture
def sesame(environment: dict[str, str], tmp_path: Path) -> Callable[..., Outcome]:
    """Runs the command line in an empty directory, with the stand-in as the simulator."""

    def run(*arguments: str, stdin: str | None = None) -> Outcome:
        done = subprocess.run(
            [*SESAME, *arguments],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env=environment,
            input=stdin,
            timeout=60,
            check=False,
        )
        return Outcome(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture(scope="session")
def run_path(fake_bin: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A data set of 8 ranks and 20 rounds; not to be changed."""
    path = tmp_path_factory.mktemp("data") / "run.sesame"
    command = ["simulate", "-n", "8", "--machine", "paragon", "-o", str(path), "--keep-raw"]
    command += ["--", "ring", "20"]
    environment = {**os.environ, "SESAME_BIN": str(fake_bin)}
    subprocess.run([*SESAME, *command], check=True, capture_output=True, env=environment)
    yield path


@pytest.fixture(scope="session")
def chromium(debian_program: Callable[[str, str], str]) -> list[str]:
    """A browser without a window."""
    name = shutil.which("chromium-browser") or debian_program("chromium", "chromium")
    return [name, "--headless", "--no-sandbox", "--disable-gpu"]
