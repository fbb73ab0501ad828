"""Runs every benchmark of this folder: message rates and their ratio to SMPI, collectives at 1,024
ranks, and predicted against measured time. Prints figures; never passes or fails."""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent


def collectives() -> None:
    compiler = shutil.which("mpicc.mpich") or shutil.which("mpicc")
    if compiler is None:
        print("collectives: no mpicc here")
        return
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "collectives"
        source = HERE / "programs/collectives.c"
        subprocess.run([compiler, "-O2", "-w", str(source), "-o", str(program)], check=True)
        command = [sys.executable, "-m", "sesame", "simulate", "-n", "1024", "--machine"]
        command += ["infiniband", "--compute", "none", "--json", "--", str(program), "100", "10"]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        print(
            "100 Allreduce of 8 B and 10 Alltoall of 64 B per pair on 1,024 ranks: "
            f"{json.loads(done.stdout)['wall_time_s']:.2f} s",
            flush=True,
        )


def main() -> None:
    for name in ("message_rate.py", "accuracy.py"):
        subprocess.run([sys.executable, str(HERE / name)], check=False)
    collectives()


if __name__ == "__main__":
    main()
