"""Predicted against measured time on this machine, at 2 ranks over shared memory.

A model of this machine is made by `sesame machine calibrate`; then the examples run under mpiexec
and under `sesame simulate` with that model, in turns. Prints the median of both and the error for
each program, and the spread of the real runs, which limits the accuracy that can be expected.

With --ranks-as processes the ranks are processes, and with Open MPI two programs of Python run, too
(Debian's python3-mpi4py and python3-numpy).

    python bench/accuracy.py [--mpi openmpi] [--ranks-as processes] [--repeat 5] [--keep here.toml]
"""

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COMPILERS = {".c": "mpicc", ".cc": "mpicxx", ".f90": "mpif90"}
PROGRAMS = [
    ("examples/heat.c", ["1024", "400"]),
    ("examples/cg.f90", ["512", "300"]),
    ("examples/nbody.cc", ["4096", "6"]),
    ("examples/samplesort.c", ["1500000"]),
]
PYTHON = "/usr/bin/python3"  # its mpi4py uses Open MPI
PYTHON_PROGRAMS = [
    ("bench/programs/heat.py", ["1500", "60"]),
    ("bench/programs/words.py", ["60"]),
]


def build(source: str, mpi: str, directory: Path) -> Path:
    path = ROOT / source
    program = directory / path.stem
    command = [f"{COMPILERS[path.suffix]}.{mpi}", "-O2", "-w", str(path), "-o", str(program), "-lm"]
    subprocess.run(command, check=True)
    return program


def has_python(mpi: str, ranks_as: str) -> bool:
    return mpi == "openmpi" and ranks_as == "processes"


def can_run_python() -> bool:
    if not Path(PYTHON).is_file():
        return False
    imports = subprocess.run([PYTHON, "-c", "import mpi4py, numpy"], stderr=subprocess.DEVNULL)
    return imports.returncode == 0


def programs(mpi: str, ranks_as: str) -> list[tuple[str, list[str]]]:
    return PROGRAMS + (PYTHON_PROGRAMS if has_python(mpi, ranks_as) else [])


def output_of(command: list[str]) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def seconds_in(text: str) -> float:
    return float(re.search(r"([0-9.]+) s$", text.strip())[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mpi", choices=["mpich", "openmpi"], default="mpich")
    parser.add_argument("--ranks-as", choices=["fibers", "processes"], default="fibers")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--keep", type=Path, help="write the machine model here")
    arguments = parser.parse_args()
    mpi = arguments.mpi
    if shutil.which(f"mpicc.{mpi}") is None:
        raise SystemExit(f"bench/accuracy.py needs Debian's lib{mpi}-dev")
    if has_python(mpi, arguments.ranks_as) and not can_run_python():
        raise SystemExit("bench/accuracy.py needs Debian's python3-mpi4py and python3-numpy")
    os.environ |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        mpiexec = [f"mpiexec.{mpi}", "-n", "2"]
        machine = directory / "here.toml"
        sesame = [sys.executable, "-m", "sesame"]
        calibrate = ["machine", "calibrate", "--mpi", f"mpicxx.{mpi}", "--file", str(machine)]
        subprocess.run([*sesame, *calibrate], check=True)
        if arguments.keep:
            arguments.keep.write_text(machine.read_text())
        simulate = [*sesame, "simulate", "-n", "2", "--machine", str(machine)]
        simulate += ["--ranks-as", arguments.ranks_as, "--"]
        for source, options in programs(mpi, arguments.ranks_as):
            is_python = source.endswith(".py")
            started = [PYTHON, ROOT / source] if is_python else [build(source, mpi, directory)]
            command = [*map(str, started), *options]
            real, predicted = [], []
            for _ in range(arguments.repeat):
                real.append(seconds_in(output_of([*mpiexec, *command])))
                predicted.append(seconds_in(output_of([*simulate, *command])))
            measured, ours = statistics.median(real), statistics.median(predicted)
            spread = (max(real) - min(real)) / measured
            print(
                f"{Path(source).name:13} measured {measured:.4f} s, predicted {ours:.4f} s, "
                f"error {100 * (ours / measured - 1):+.1f} %, real runs spread "
                f"{100 * spread:.0f} %",
                flush=True,
            )


if __name__ == "__main__":
    main()
