"""Predicted against measured time of third-party programs on this machine, at 2 ranks.

The programs are Debian's, unmodified, and linked to Open MPI. Each prints the time that it took,
without its start; under `sesame simulate` that time is the predicted one. The machine's model is
made by `sesame machine calibrate` just before, or given. Real and simulated runs take turns.
Programs that are not installed are left out.

    python bench/program_accuracy.py [--machine here.toml] [--repeat 5] [--only lammps,cp2k]
"""

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOC = Path("/usr/share/doc")
SESAME = [sys.executable, "-m", "sesame"]
REAL = ["mpiexec.openmpi", "--bind-to", "none", "-n", "2"]
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
TIMEOUT_S = 300

MELT = ROOT / "tests/programs/processes/in.melt"
MELT_SIZE = ["-var", "size", "20", "-var", "every", "50", "-var", "steps", "200"]

WATER = """
start water
geometry units angstroms noautosym
 O 0.0 0.0 0.1173
 H 0.0 0.7572 -0.4692
 H 0.0 -0.7572 -0.4692
end
basis
 * library cc-pvtz
end
scf
 direct
end
task scf gradient
"""

DYNAMICS = """
integrator = md
dt = 0.001
nsteps = 200
nstlog = 100
coulombtype = PME
rcoulomb = 0.9
rvdw = 0.9
gen_vel = yes
gen_seed = 7
verlet-buffer-tolerance = -1
rlist = 1.0
"""

TOPOLOGY = """
#include "oplsaa.ff/forcefield.itp"
#include "oplsaa.ff/spce.itp"
[ system ]
water
[ molecules ]
"""


@dataclass(frozen=True)
class Program:
    name: str
    command: list[str]
    seconds: str  # a pattern of the time in what the program writes
    prepare: Callable[[Path], None] | None = None  # writes its input into a directory
    output: str = ""  # the file that has it; empty: the standard output


def prepare_nwchem(directory: Path) -> None:
    (directory / "water.nw").write_text(WATER)


def prepare_hpcc(directory: Path) -> None:
    text = (DOC / "hpcc/examples/_hpccinf.txt").read_text()
    for name, value in {"Ns": 4000, "NBs": 80, "Ps": 1, "Qs": 2}.items():
        text = re.sub(rf"^\d+( +{name})$", rf"{value}\1", text, flags=re.MULTILINE)
    (directory / "hpccinf.txt").write_text(text)


def prepare_cp2k(directory: Path) -> None:
    text = run(["zcat", str(DOC / "cp2k/examples/argon.inp.gz")], directory)
    (directory / "argon.inp").write_text(text.replace("STEPS 100", "STEPS 300"))


def prepare_gromacs(directory: Path) -> None:
    (directory / "topol.top").write_text(TOPOLOGY)
    (directory / "md.mdp").write_text(DYNAMICS)
    box = ["-box", "3.72412", "3.72412", "3.72412"]
    solvate = ["solvate", "-cs", "spc216.gro", *box, "-p", "topol.top", "-o", "c.gro"]
    grompp = ["-f", "md.mdp", "-c", "c.gro", "-p", "topol.top", "-o", "md.tpr", "-maxwarn", "5"]
    run(["gmx", *solvate], directory)
    run(["gmx", "grompp", *grompp], directory)


GROMACS = ["gmx_mpi", "mdrun", "-s", "md.tpr", "-ntomp", "1", "-dlb", "no", "-notunepme"]
PROGRAMS = [
    Program(
        "lammps",
        ["lmp", "-in", str(MELT), *MELT_SIZE, "-log", "none"],
        r"Loop time of ([\d.]+)",
    ),
    Program("hpcc HPL", ["hpcc"], r"HPL_time=([\d.]+)", prepare_hpcc, "hpccoutf.txt"),
    Program(
        "cp2k",
        ["cp2k.psmp", "argon.inp"],
        r"^ CP2K +1 +[\d.]+ +[\d.]+ +[\d.]+ +[\d.]+ +([\d.]+)$",
        prepare_cp2k,
    ),
    Program(
        "gromacs",
        [*GROMACS, "-reprod", "-pin", "off", "-nobackup"],
        r"^ +Time: +[\d.]+ +([\d.]+)",
        prepare_gromacs,
        "md.log",
    ),
    Program(
        "nwchem",
        ["nwchem.openmpi", "water.nw"],
        r"Total times +cpu: +[\d.]+s +wall: +([\d.]+)s",
        prepare_nwchem,
    ),
]


def run(command: list[str], directory: Path) -> str:
    done = subprocess.run(
        command,
        cwd=directory,
        env={**os.environ, **AS_ROOT, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: status {done.returncode}\n{done.stderr[-2000:]}")
    return done.stdout


def time_of(program: Program, start: list[str], directory: Path) -> float:
    """Seconds that the program says it took."""
    printed = run([*start, *program.command], directory)
    text = (directory / program.output).read_text() if program.output else printed
    if program.output:
        (directory / program.output).unlink()
    return float(re.findall(program.seconds, text, re.MULTILINE)[-1])


def compare(program: Program, machine: Path, repeat: int, directory: Path) -> None:
    if program.prepare:
        program.prepare(directory)
    # A calibrated model has no file system unless it was asked for, so files are this machine's.
    simulate = [*SESAME, "simulate", "-n", "2", "--machine", str(machine), "--"]
    real, predicted = [], []
    for _ in range(repeat):
        real.append(time_of(program, REAL, directory))
        predicted.append(time_of(program, simulate, directory))
    measured, ours = statistics.median(real), statistics.median(predicted)
    print(
        f"{program.name:12} measured {measured:.4f} s ({min(real):.4f} to {max(real):.4f}), "
        f"predicted {ours:.4f} s ({min(predicted):.4f} to {max(predicted):.4f}), "
        f"error {100 * (ours / measured - 1):+.1f} %",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--machine", type=Path, help="a calibrated model of this machine")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--only", default="", help="names of programs, separated by commas")
    arguments = parser.parse_args()
    wanted = arguments.only.split(",") if arguments.only else [one.name for one in PROGRAMS]
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        machine = arguments.machine and arguments.machine.resolve()
        if machine is None:
            machine = directory / "here.toml"
            calibrate = ["machine", "calibrate", "--mpi", "mpicxx.openmpi", "--file", str(machine)]
            subprocess.run([*SESAME, *calibrate], check=True, env={**os.environ, **AS_ROOT})
        for program in PROGRAMS:
            if program.name not in wanted:
                continue
            if shutil.which(program.command[0]) is None:
                print(f"{program.name:12} is not installed")
                continue
            place = directory / program.command[0]
            place.mkdir()
            compare(program, machine, arguments.repeat, place)


if __name__ == "__main__":
    main()
