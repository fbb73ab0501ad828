"""The MPI libraries that the tracer's tests use, and runs under them with and without tracer."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.built_programs import build_program
from tests.command_line import SESAME, Outcome, run
from tests.integration.raw_records import Record, read_records, tracing

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "tests/programs/trace"
BIN = Path(sys.executable).parent
TIMEOUT_S = 60


@dataclass(frozen=True)
class Mpi:
    compilers: dict[str, str]
    starter: tuple[str, ...]
    interface: int  # as in the record `joined`
    library: str  # pattern of the library's name among those of a program


# The first three differ in their binary interface: those are the cases of a test with few.
MPIS = {
    "mpich": Mpi({".c": "mpicc.mpich", ".f90": "mpif90.mpich"}, ("mpiexec.mpich",), 1, "libmpich"),
    "openmpi": Mpi(
        {".c": "mpicc.openmpi", ".f90": "mpif90.openmpi"},
        ("mpiexec.openmpi", "--oversubscribe"),
        3,
        r"libmpi\.so",
    ),
    "wheel-abi": Mpi({".c": str(BIN / "mpicc_abi")}, (str(BIN / "mpiexec"),), 2, "libmpi_abi"),
    "wheel": Mpi({".c": str(BIN / "mpicc")}, (str(BIN / "mpiexec"),), 1, r"libmpi\.so"),
}
DEBIAN = {"mpich": "libmpich-dev", "openmpi": "libopenmpi-dev"}  # their packages of wrappers
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
FORTRAN = ("-fallow-argument-mismatch",)


@dataclass
class Run:
    status: int
    stdout: str
    stderr: str
    records: list[Record]

    def of(self, call: str, rank: int | None = None) -> list[Record]:
        """The records of a call, of one rank or of all."""
        return [r for r in self.records if r.call == call and rank in (None, self.rank_of(r))]

    def shaped(self, shape: str, rank: int) -> list[Record]:
        return [r for r in self.records if r.shape == shape and self.rank_of(r) == rank]

    def rank_of(self, record: Record) -> int:
        return self._ranks[record.pid]

    @functools.cached_property
    def _ranks(self) -> dict[int, int]:
        ranks = {record.pid: -1 for record in self.records}
        return ranks | {r.pid: r.rank for r in self.records if r.shape == "joined"}


def find_compiler(mpi: str, suffix: str = ".c") -> str:
    compiler = MPIS[mpi].compilers[suffix]
    if shutil.which(compiler) is None:
        package = (
            f"apt-get install {DEBIAN[mpi]} gfortran" if mpi in DEBIAN else "pip install 'mpich>=5'"
        )
        pytest.skip(f"there is no {compiler}: {package}")
    return compiler


class Bench:
    """Compiles programs once, and runs them in a directory of the test."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def compile(self, source: str, mpi: str, *flags: str, name: str = "") -> Path:
        path = ROOT / source if "/" in source else PROGRAMS / source
        compiler = find_compiler(mpi, path.suffix)
        more = FORTRAN if path.suffix == ".f90" else ()
        words = ("-O2", "-w", *more, str(path), *flags, "-lm")
        return build_program(f"{name or path.stem}-{mpi}", path, compiler, *words)

    def run(
        self, mpi: str, ranks: int, *command: str | Path, traced: bool = True, **more: str
    ) -> Run:
        return self.start([*MPIS[mpi].starter, "-n", str(ranks), *command], traced, **more)

    def trace(self, mpi: str, ranks: int, *command: str | Path) -> Outcome:
        """`sesame trace -o run.sesame` of the command, which must succeed."""
        starter = MPIS[mpi].starter
        if shutil.which(starter[0]) is None:
            pytest.skip(f"{starter[0]} is not installed")
        words = [*SESAME, "trace", "-o", "run.sesame", "--", *starter, "-n", str(ranks)]
        outcome = run([*words, *map(str, command)], self.directory, env=os.environ | AS_ROOT)
        assert outcome.status == 0, outcome.stderr
        return outcome

    def start(self, command: list[str | Path], traced: bool = True, **more: str) -> Run:
        raw = self.directory / "raw"
        shutil.rmtree(raw, ignore_errors=True)
        raw.mkdir(parents=True)
        environment = tracing(raw, **AS_ROOT, **more) if traced else {**os.environ, **AS_ROOT}
        done = subprocess.run(
            [str(word) for word in command],
            env=environment,
            cwd=self.directory,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=TIMEOUT_S,
            check=False,
        )
        written = (raw / "metadata").exists()
        records = read_records(raw) if written else []
        return Run(done.returncode, done.stdout, done.stderr, records)


def library_of(program: Path, mpi: str) -> Path:
    """The MPI library that a program finds."""
    listing = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    found = re.search(rf"{MPIS[mpi].library}\S* => (\S+)", listing)
    assert found, listing
    return Path(found[1])


def functions_of(library: Path) -> set[str]:
    """The C functions of MPI that a library defines."""
    listing = subprocess.run(
        ["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True
    ).stdout
    names = {line.split()[-1].split("@")[0] for line in listing.splitlines()}
    return {name for name in names if re.fullmatch(r"MPIX?_[A-Z](?:[a-z]|_[a-z])\w*", name)}


BenchMaker = Callable[[], Bench]
