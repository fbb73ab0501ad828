"""Python packages of Debian that call MPI, unmodified, give the same answers as under mpiexec."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.command_line import Outcome
from tests.integration.installations import ROOT

PROGRAMS = ROOT / "tests/programs/processes"
PYTHON = "/usr/bin/python3"
ON_INFINIBAND = ("--machine", "infiniband", "--placement", "cyclic", "--compute", "none")
LAMMPS = Path("/usr/lib/x86_64-linux-gnu/liblammps.so.0")


def petsc_environment(_tmp_path: Path) -> dict[str, str]:
    found = sorted(Path("/usr/lib/petscdir").glob("petsc*/*-real/lib/python3/dist-packages"))
    if not found:
        pytest.skip("petsc4py is not installed: apt install python3-petsc4py")
    return {"PYTHONPATH": str(found[-1])}


def lammps_environment(tmp_path: Path) -> dict[str, str]:
    if not LAMMPS.exists() or not Path("/usr/lib/python3/dist-packages/lammps").exists():
        pytest.skip("LAMMPS for Python is not installed: apt install python3-lammps")
    # The name that the package looks for is one of the development files.
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/liblammps.so").symlink_to(LAMMPS)
    return {"LD_LIBRARY_PATH": str(tmp_path / "lib")}


PACKAGES = [
    ("poisson_petsc.py", petsc_environment),
    ("melt_lammps.py", lammps_environment),
]


def without_ranks(output: str) -> str:
    lines = [line for line in output.splitlines() if " ranks: " in line]
    assert len(lines) == 1, output
    return re.sub(r"^\d+ ranks", "ranks", lines[0])


@pytest.mark.long
@pytest.mark.parametrize(("name", "prepare"), PACKAGES)
def test_a_python_package_has_the_answers_of_mpiexec(
    simulate: Callable[..., Outcome],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    mpiexec: Callable[..., Outcome],
    name: str,
    prepare: Callable[[Path], dict[str, str]],
) -> None:
    for variable, value in prepare(tmp_path).items():
        monkeypatch.setenv(variable, value)
    command = (PYTHON, str(PROGRAMS / name))
    real = mpiexec(4, *command, mpi="openmpi")
    assert real.status == 0, real.stderr
    for ranks in (4, 64):
        outcome = simulate("-n", ranks, *ON_INFINIBAND, "--", *command)
        assert outcome.status == 0, outcome.stderr
        assert f"{ranks} ranks: " in outcome.stdout
        assert without_ranks(outcome.stdout) == without_ranks(real.stdout)
