"""The MPI installations that tests compile and run with."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.command_line import Outcome

ROOT = Path(__file__).resolve().parents[2]
VENV_BIN = Path(sys.executable).parent


# What lets Open MPI start more ranks than processors, as root, that yield while they wait.
OPEN_MPI = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
}

# Simulated files in the working directory are those that are there, and stay when the run ends.
IN_PLACE = ("--files", ".")


@dataclass(frozen=True)
class Mpi:
    """One MPI installation: its compilers by language, and how it starts programs."""

    name: str
    compilers: dict[str, str]
    mpiexec: str


def _wheel(name: str) -> str:
    return str(VENV_BIN / name)


MPIS = {
    "debian": Mpi(
        "Debian's MPICH",
        {"c": "mpicc.mpich", "cc": "mpicxx.mpich", "f90": "mpif90.mpich"},
        "mpiexec.mpich",
    ),
    "openmpi": Mpi(
        "Debian's Open MPI",
        {"c": "mpicc.openmpi", "cc": "mpicxx.openmpi", "f90": "mpif90.openmpi"},
        "mpiexec.openmpi",
    ),
    "wheel": Mpi(
        "the mpich wheel", {"c": _wheel("mpicc"), "cc": _wheel("mpicxx")}, _wheel("mpiexec")
    ),
    "wheel-abi": Mpi(
        "the mpich wheel, MPI 5 interface",
        {"c": _wheel("mpicc_abi"), "cc": _wheel("mpicxx_abi")},
        _wheel("mpiexec"),
    ),
}


def unless_sigpipe(start: Callable[[], Outcome]) -> Outcome:
    """Repeats a run whose mpiexec was ended by SIGPIPE, at most 3 times: on a busy machine MPICH's
    mpiexec may write to its proxy when that, with a short program, has ended already."""
    for _ in range(3):
        outcome = start()
        if outcome.status not in (-signal.SIGPIPE, 128 + signal.SIGPIPE):
            break
    return outcome
