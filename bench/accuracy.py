"""Predicted against measured time on this machine, at 2 ranks of MPICH over shared memory.

A model of this machine is made by `sesame machine calibrate`; then the examples run under mpiexec
and under `sesame simulate` with that model, in turns. Prints the median of both and the error for
each program, and the spread of the real runs, which limits the accuracy that can be expected.

    python bench/accuracy.py [--repeat 5] [--keep here.toml]
"""

import argparse
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COMPILERS = {".c": "mpicc.mpich", ".cc": "mpicxx.mpich", ".f90": "mpif90.mpich"}
PROGRAMS = [
    ("examples/heat.c", ["1024", "400"]),
    ("examples/cg.f90", ["512", "300"]),
    ("examples/nbody.cc", ["4096", "6"]),
    ("examples/samplesort.c", ["1500000"]),
]


def build(source: str, directory: Path) -> Path:
    path = ROOT / source
    program = directory / path.stem
    command = [COMPILERS[path.suffix], "-O2", "-w", str(path), "-o", str(program), "-lm"]
    subprocess.run(command, check=True)
    return program


def output_of(command: list[str]) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def seconds_in(text: str) -> float:
    return float(re.search(r"([0-9.]+) s$", text.strip())[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--keep", type=Path, help="write the machine model here")
    arguments = parser.parse_args()
    if shutil.which("mpicc.mpich") is None:
        raise SystemExit("bench/accuracy.py needs Debian's libmpich-dev")
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        mpiexec = ["mpiexec.mpich", "-n", "2"]
        machine = directory / "here.toml"
        sesame = [sys.executable, "-m", "sesame"]
        subprocess.run([*sesame, "machine", "calibrate", "--file", str(machine)], check=True)
        if arguments.keep:
            arguments.keep.write_text(machine.read_text())
        simulate = [*sesame, "simulate", "-n", "2", "--machine", str(machine), "--"]
        for source, options in PROGRAMS:
            command = [str(build(source, directory)), *options]
            real, predicted = [], []
            for _ in range(arguments.repeat):
                real.append(seconds_in(output_of([*mpiexec, *command])))
                predicted.append(seconds_in(output_of([*simulate, *command])))
            measured, ours = statistics.median(real), statistics.median(predicted)
            spread = (max(real) - min(real)) / measured
            print(
                f"{Path(source).stem:12} measured {measured:.4f} s, predicted {ours:.4f} s, "
                f"error {100 * (ours / measured - 1):+.1f} %, real runs spread "
                f"{100 * spread:.0f} %",
                flush=True,
            )


if __name__ == "__main__":
    main()
