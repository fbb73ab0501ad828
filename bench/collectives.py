"""Wall time of collectives on 1,024 simulated ranks, and the ratio to SimGrid's SMPI.

Simulates 100 Allreduce of 8 B and 10 Alltoall of 64 B per pair, without computation. SMPI runs the
same program when smpicc and smpirun are installed (Debian: simgrid, libsimgrid-dev). Times include
the start. Needs mpicc.
"""

import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from message_rate import build, find_mpicc, smpi_command

RANKS = 1024
OPTIONS = ("100", "10")  # numbers of Allreduce and Alltoall


def sesame_s(program: Path) -> float:
    command = [sys.executable, "-m", "sesame", "simulate", "-n", str(RANKS), "--machine"]
    command += ["infiniband", "--compute", "none", "--json", "--", str(program), *OPTIONS]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return float(json.loads(done.stdout)["wall_time_s"])


def smpi_s(program: Path, directory: Path) -> float:
    command = [*smpi_command(RANKS, directory), str(program), *OPTIONS]
    begin = time.monotonic()
    subprocess.run(command, check=True, capture_output=True)
    return time.monotonic() - begin


def main() -> None:
    compiler = find_mpicc()
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        ours = sesame_s(build(compiler, "collectives", directory))
        what = "100 Allreduce of 8 B and 10 Alltoall of 64 B per pair"
        print(f"{what} on {RANKS:,} ranks: {ours:.2f} s")
        if shutil.which("smpicc") and shutil.which("smpirun"):
            theirs = smpi_s(build("smpicc", "collectives", directory), directory)
            print(f"SMPI: {theirs:.2f} s, {theirs / ours:.1f} times as long")
        else:
            print("SMPI is not installed: no comparison (Debian packages simgrid, libsimgrid-dev)")


if __name__ == "__main__":
    main()
