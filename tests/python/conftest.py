"""What the Python tests share: the simulator's stand-in and a way to run the command line."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.command_line import SESAME, Outcome, run
from tests.postgres import Server, programs, server

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def fake_bin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with both simulators, each the stand-in."""
    directory = tmp_path_factory.mktemp("bin")
    for interface in ("mpich", "mpiabi", "openmpi"):
        script = directory / f"sesame-simulator-{interface}"
        script.write_text(f'#!/bin/sh\nexec {sys.executable} {HERE / "fake_host.py"} "$@"\n')
        script.chmod(0o755)
    return directory


@pytest.fixture
def environment(fake_bin: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """With the stand-ins, and without what the user keeps."""
    home = tmp_path_factory.mktemp("home")
    return {**os.environ, "SESAME_BIN": str(fake_bin), "XDG_DATA_HOME": str(home)}


@pytest.fixture
def sesame(environment: dict[str, str], tmp_path: Path) -> Callable[..., Outcome]:
    """Runs the command line in an empty directory, with the stand-in as the simulator."""

    def execute(*arguments: str, stdin: str | None = None) -> Outcome:
        return run([*SESAME, *arguments], tmp_path, 60, stdin, environment)

    return execute


@pytest.fixture(scope="session")
def run_path(fake_bin: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A data set of 8 ranks and 20 rounds; not to be changed."""
    path = tmp_path_factory.mktemp("data") / "run.sesame"
    command = ["simulate", "-n", "8", "--machine", "paragon", "-o", str(path), "--keep-raw"]
    command += ["--", "ring", "20"]
    environment = {**os.environ, "SESAME_BIN": str(fake_bin)}
    done = run([*SESAME, *command], path.parent, env=environment)
    assert done.status == 0, done.stderr
    yield path


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A PostgreSQL server; without its programs or without psycopg the test skips."""
    pytest.importorskip("psycopg")
    found = programs()
    if found is None:
        pytest.skip("needs PostgreSQL's programs (Debian: postgresql)")
    with server(found) as started:
        yield started


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request, tmp_path) -> Path | str:
    """An empty database of each kind."""
    if request.param == "sqlite":
        return tmp_path / "s.db"
    return request.getfixturevalue("postgres").new_database()
