"""The package as a user installs it, from a wheel and not from the source tree.

The wheel is made of the tree's Python files and of what `build/` holds, so nothing is compiled.
`make test-wheel` tries the wheel that is published.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.command_line import Outcome, run
from tests.integration.installations import ROOT

PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input"]
NO_NETWORK = ["--quiet", "--no-index", "--no-deps"]


def succeed(*command: str | Path, **variables: str) -> None:
    done = subprocess.run(
        command, env={**os.environ, **variables}, cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with the package; its dependencies are those of the tests."""
    directory = tmp_path_factory.mktemp("installed")
    python = directory / "venv/bin/python"
    succeed(sys.executable, "-m", "venv", "--without-pip", directory / "venv")
    make = ["wheel", *NO_NETWORK, "--no-build-isolation", "-w", str(directory), "."]
    python_only = ["--config-settings=wheel.cmake=false", "--config-settings=wheel.py-api=py3"]
    succeed(*PIP, *make, *python_only)
    (wheel,) = directory.glob("*.whl")
    succeed(*PIP, "--python", python, "install", "--no-compile", *NO_NETWORK, wheel)
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(directory / "venv")}))
    # What is outside of the package (a unit of systemd, completions) is put below `rest`.
    native = ["cmake", "--install", str(ROOT / "build"), "--prefix", "/package"]
    succeed(*native, DESTDIR=str(directory / "rest"))
    succeed("cp", "-a", directory / "rest/package/sesame", packages)
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return directory / "venv"


@pytest.fixture
def installed(environment: Path, tmp_path: Path) -> Callable[..., Outcome]:
    """installed(program, *arguments): a program of the environment, in an empty directory."""
    variables = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "SESAME"))}

    def execute(program: str, *arguments: object) -> Outcome:
        words = [str(environment / "bin" / program), *map(str, arguments)]
        outcome = run(words, tmp_path, env=variables)
        assert outcome.status == 0, outcome.stdout + outcome.stderr
        return outcome

    return execute


def test_the_module_is_the_installed_one(installed, environment):
    code = "import sesame, sesame.native; print(sesame.__file__, sesame.native.__file__)"
    printed = installed("python", "-I", "-c", code).stdout.split()
    assert [Path(name).is_relative_to(environment) for name in printed] == [True, True]


@pytest.mark.long
def test_the_commands_of_the_readme_work(installed, compiled, tmp_path):
    heat = compiled("examples/heat.c")
    options = ("--machine", "infiniband", "-o", "run.sesame", "--report", "run.html")
    assert "4 ranks" in installed("sesame", "simulate", "-n", 4, *options, "--", heat).stderr
    assert (tmp_path / "run.html").stat().st_size > 0
    assert json.loads(installed("sesame", "info", "run.sesame", "--json").stdout)["ranks"] == 4
    (tmp_path / "data").write_bytes(bytes(5000))
    installed("sesame", "trace", "-o", "copy.sesame", "--", "cp", "data", "copied")
    assert (tmp_path / "copied").read_bytes() == bytes(5000)
    assert "write" in installed("sesame", "report", "copy.sesame", "--json").stdout
    installed("sesame", "report", "copy.sesame", "copy.html")
    assert (tmp_path / "copy.html").stat().st_size > 0


def test_a_program_uses_the_library(installed, compiled):
    code = (
        "import sesame, sys\n"
        "run = sesame.simulate(sys.argv[1], ranks=2, machine='infiniband')\n"
        "print(run.kind, run.info['ranks'])"
    )
    assert (
        installed("python", "-I", "-c", code, compiled("examples/heat.c")).stdout.split()[-1] == "2"
    )
