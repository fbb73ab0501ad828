"""Builds a workload with an MPI compiler wrapper, once for each compiler and version of the
sources."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sesame.errors import BuildError, InputError
from sesame.settings import setting
from sesame.workloads.catalogue import SOURCES, Workload

PACKAGES = "cmake ninja-build libcli11-dev nlohmann-json3-dev mpi-default-dev"
HINT = f"on Debian and Ubuntu: apt-get install {PACKAGES}"
MOST_LINES = 30  # of a compiler's messages
LINES_BEFORE = 5  # an error: gfortran says its place, and what it is, before it says "Error:"
# Of compilers, CMake and the linker.
ERROR = re.compile(r"error:|error at |undefined reference", re.IGNORECASE)


@dataclass(frozen=True)
class Compiler:
    """An MPI compiler wrapper for C++ and its mpiexec; None if there is none beside it."""

    wrapper: Path
    mpiexec: Path | None


@dataclass(frozen=True)
class Built:
    """A workload's program, built with a compiler."""

    workload: Workload
    program: Path
    compiler: Compiler


def find_compiler(wanted: str | None = None) -> Compiler:
    """The compiler wrapper named `wanted`; by default the first of Debian's MPICH, the mpich wheel
    and `mpicxx` that exists.

    Raises InputError if there is none.
    """
    beside_python = str(Path(sys.executable).parent / "mpicxx")
    names = [wanted] if wanted else ["mpicxx.mpich", beside_python, "mpicxx"]
    for name in names:
        found = shutil.which(name)
        if found is not None:
            wrapper = Path(os.path.abspath(found))  # noqa: PTH100  (links stay: they name the MPI)
            return Compiler(wrapper, _mpiexec_of(wrapper))
    if wanted:
        raise InputError(
            f"{setting('mpi', wanted)}: no such compiler wrapper", hint="for instance mpicxx"
        )
    raise InputError("there is no MPI compiler wrapper, looked for mpicxx", hint=HINT)


def _mpiexec_of(wrapper: Path) -> Path | None:
    """The mpiexec of a wrapper, in the same directory: mpiexec.mpich for mpicxx.mpich."""
    for name in (f"mpiexec{wrapper.suffix}", "mpiexec"):
        if os.access(wrapper.parent / name, os.X_OK):
            return wrapper.parent / name
    return None


def build_workload(workload: Workload, compiler: Compiler) -> Built:
    """Builds a program unless it is built already. Raises BuildError with the compiler's output."""
    directory = _cache_directory() / fingerprint(compiler)
    program = directory / workload.name
    with _locked(directory):
        if not program.is_file():
            if shutil.which("cmake") is None:
                raise BuildError("building a workload needs cmake", hint=HINT)
            _step(workload, _configure_command(directory, compiler, workload))
            _step(workload, ["cmake", "--build", str(directory), "--target", workload.name])
    return Built(workload, program, compiler)


def fingerprint(compiler: Compiler) -> str:
    """A hash of the sources, their path and the compiler, which names the build directory. The path
    is included, since a CMake build directory belongs to one source path."""
    digest = hashlib.sha256(str(SOURCES.resolve()).encode())
    for path in sorted(path for path in SOURCES.rglob("*") if path.is_file()):
        digest.update(str(path.relative_to(SOURCES)).encode() + b"\0")
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    digest.update(str(compiler.wrapper).encode())
    for question in ("-show", "--version"):
        command = [str(compiler.wrapper), question]
        digest.update(subprocess.run(command, capture_output=True, check=False).stdout)
    return digest.hexdigest()[:16]


def _cache_directory() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "sesame/workloads"


@contextmanager
def _locked(directory: Path) -> Iterator[None]:
    """Locks a build directory against concurrent builds."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        lock = (directory / "lock").open("w")
    except OSError as error:
        raise BuildError(
            f"{directory}: cannot write there: {error.strerror}",
            hint="set XDG_CACHE_HOME to another directory for built programs",
        ) from error
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _configure_command(directory: Path, compiler: Compiler, workload: Workload) -> list[str]:
    command = ["cmake", "-S", str(SOURCES), "-B", str(directory)]
    if shutil.which("ninja") is not None:
        command += ["-G", "Ninja"]
    command.append(f"-DCMAKE_CXX_COMPILER={compiler.wrapper}")
    if workload.language == "Fortran":
        command.append(f"-DCMAKE_Fortran_COMPILER={_fortran_wrapper(workload, compiler)}")
    return command


def _fortran_wrapper(workload: Workload, compiler: Compiler) -> Path:
    """The Fortran wrapper of the same MPI: mpif90.mpich for mpicxx.mpich. Checks that it works;
    raises BuildError."""
    name = compiler.wrapper.name
    wrapper = compiler.wrapper.with_name(
        name.replace("mpicxx", "mpif90").replace("mpic++", "mpif90")
    )
    if wrapper.name == name or not os.access(wrapper, os.X_OK):
        raise BuildError(
            f"{workload.name} is a Fortran program, and there is no MPI wrapper for Fortran that "
            f"goes with {compiler.wrapper}",
            hint=_fortran_hint(),
        )
    with tempfile.TemporaryDirectory(prefix="sesame-") as directory:
        source = Path(directory) / "uses_mpi.f90"
        source.write_text("program uses_mpi\n  use mpi_f08\nend program\n", encoding="utf-8")
        command = [str(wrapper), "-c", str(source), "-o", str(source.with_suffix(".o"))]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = "\n".join((done.stderr or done.stdout).strip().splitlines()[:MOST_LINES])
        raise BuildError(
            f"{workload.name} is a Fortran program, and {wrapper} does not compile `use mpi_f08`:\n"
            f"{said}",
            hint=_fortran_hint(),
        )
    return wrapper


def _step(workload: Workload, command: list[str]) -> None:
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if done.returncode != 0:
        said = "\n".join(_of_error(done.stdout.rstrip().splitlines()))
        raise BuildError(f"{workload.name} cannot be built:\n{said}", hint=HINT)


def _of_error(lines: list[str]) -> list[str]:
    """The lines around the first error, from which the others often follow; else the last ones."""
    found = (i for i, line in enumerate(lines) if ERROR.search(line))
    first = next(found, len(lines))
    begin = max(0, min(first - LINES_BEFORE, len(lines) - MOST_LINES))
    return lines[begin : begin + MOST_LINES]


def _fortran_hint() -> str:
    return (
        "a Fortran program needs an MPI that has mpi_f08 for this compiler, for instance "
        f"Debian's: apt-get install libmpich-dev gfortran, then {setting('mpi', 'mpicxx.mpich')}"
    )
