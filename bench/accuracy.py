"""Predicted against measured time on this machine, at 2 ranks of MPICH over shared memory.

A model of this machine is made from a ping-pong (bench/programs/calibrate.c); then the examples run
under mpiexec and under `sesame simulate` with that model, in turns. Prints the median of both and
the error for each program, and the spread of the real runs, which bounds what can be asked.

    python bench/accuracy.py [--repeat 5] [--keep here.toml]
"""

import argparse
import itertools
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


def build(source: str, folder: Path) -> Path:
    path = ROOT / source
    program = folder / path.stem
    command = [COMPILERS[path.suffix], "-O2", "-w", str(path), "-o", str(program), "-lm"]
    subprocess.run(command, check=True)
    return program


def output_of(command: list[str]) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def seconds_in(text: str) -> float:
    return float(re.search(r"([0-9.]+) s$", text.strip())[1])


def machine_model(calibration: str) -> str:
    """A machine file for one node with two cores: piecewise linear through the measured times."""
    rows = dict(line.split() for line in calibration.splitlines())
    stream_s = float(rows.pop("stream"))
    points = [(int(size), float(time_s)) for size, time_s in rows.items()]
    latency_s = points[0][1]
    overhead_s = min(stream_s, latency_s / 2)
    constants = f'''send_overhead = "{overhead_s * 1e9:.3f} ns"
receive_overhead = "{overhead_s * 1e9:.3f} ns"
'''
    segments = ""
    offsets_s = []
    for (size, time_s), (next_size, next_time_s) in itertools.pairwise(points):
        slope = max(next_time_s - time_s, 1e-12) / (next_size - size)
        offset_s = max(time_s - slope * size, 2 * overhead_s)
        offsets_s.append(offset_s)
        up_to = f'up_to = "{next_size} B"\n' if next_size != points[-1][0] else ""
        segments += f'''
[[{{table}}.segment]]
{up_to}latency = "{offset_s * 1e9:.3f} ns"
bandwidth = "{1 / slope:.0f} B/s"
'''
    total = points[-1][0] / points[-1][1]
    text = """name = "here"
description = "This machine: two ranks of MPICH over shared memory"
nodes = 1

[topology]
kind = "crossbar"

[node]
cores = 2
compute_ratio = 1.0
"""
    for table in ("network", "node.network"):
        text += f'''
[{table}]
latency = "{offsets_s[0] * 1e9:.3f} ns"
bandwidth = "{total:.0f} B/s"
{constants}{segments.format(table=table)}'''
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--keep", type=Path, help="write the machine model here")
    arguments = parser.parse_args()
    if shutil.which("mpicc.mpich") is None:
        raise SystemExit("bench/accuracy.py needs Debian's libmpich-dev")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        mpiexec = ["mpiexec.mpich", "-n", "2"]
        calibration = output_of([*mpiexec, str(build("bench/programs/calibrate.c", folder))])
        machine = folder / "here.toml"
        machine.write_text(machine_model(calibration))
        if arguments.keep:
            arguments.keep.write_text(machine.read_text())
        simulate = [
            sys.executable,
            "-m",
            "sesame",
            "simulate",
            "-n",
            "2",
            "--machine",
            str(machine),
            "--",
        ]
        for source, options in PROGRAMS:
            command = [str(build(source, folder)), *options]
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
