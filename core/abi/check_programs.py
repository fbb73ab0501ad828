"""Compiles programs with real MPI compilers and runs them as simulated ranks.

usage: check_programs.py SIMULATOR_DIRECTORY MACHINE_FILE MPI_PACKAGE SOURCE...

Each program checks what differs between binary interfaces and prints how many checks failed. A
compiler that is not there is passed over; without any the check is skipped (exit status 77).
"""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

EXPECTED = "0 checks failed"


def recipes(source, package):
    """(source, interface, compiler) for each way to compile the program."""
    source = Path(source).resolve()
    if source.suffix == ".f90":
        return [(source, "mpich", "mpif90.mpich"), (source, "openmpi", "mpif90.openmpi")]
    return [
        (source, "mpich", "mpicc.mpich"),
        (source, "mpich", str(package / "bin/mpicc")),
        (source, "mpiabi", str(package / "bin/mpicc_abi")),
        (source, "openmpi", "mpicc.openmpi"),
    ]


def simulate(simulator, machine, program, ranks, directory):
    scenario = {
        "program": str(program), "arguments": [], "ranks": ranks, "machine": machine,
        "output_directory": str(directory),
    }  # fmt: skip
    file = directory / "scenario.json"
    file.write_text(json.dumps(scenario))
    return subprocess.run([simulator, file], capture_output=True, text=True, timeout=120)


def check(recipe, simulators, machine, directory):
    source, interface, compiler = recipe
    program = directory / "program"
    subprocess.run([compiler, source, "-o", program], check=True, cwd=directory)
    good = True
    for ranks in (1, 2, 5):
        run = simulate(
            simulators / f"sesame-simulator-{interface}", machine, program, ranks, directory
        )
        passed = run.returncode == 0 and EXPECTED in run.stdout
        how = f"{source.name}, {Path(compiler).name}, {ranks} ranks"
        print(f"{how}: {'good' if passed else 'WRONG'}")
        if not passed:
            print(f"exit status {run.returncode}\n{run.stdout}{run.stderr}")
        good = good and passed
    return good


def main():
    if len(sys.argv) < 5:
        sys.exit(__doc__)
    simulators, machine, package = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
    known = [recipe for source in sys.argv[4:] for recipe in recipes(source, package)]
    chosen = [recipe for recipe in known if shutil.which(recipe[2])]
    if not chosen:
        print("no MPI compiler is here")
        sys.exit(77)
    results = []
    for recipe in chosen:
        with tempfile.TemporaryDirectory() as directory:
            results.append(check(recipe, simulators, machine, Path(directory)))
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
