"""The wall time of 100 Allreduce and 10 Alltoall on 1,024 simulated ranks."""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(__file__).parent / "programs/collectives.c"


def main() -> None:
    compiler = shutil.which("mpicc.mpich") or shutil.which("mpicc")
    if compiler is None:
        print("no mpicc here")
        return
    with tempfile.TemporaryDirectory() as directory:
        program = Path(directory) / "collectives"
        subprocess.run([compiler, "-O2", "-w", str(SOURCE), "-o", str(program)], check=True)
        command = [sys.executable, "-m", "sesame", "simulate", "-n", "1024", "--machine"]
        command += ["infiniband", "--compute", "none", "--json", "--", str(program), "100", "10"]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    print(
        "100 Allreduce of 8 B and 10 Alltoall of 64 B per pair on 1,024 ranks: "
        f"{json.loads(done.stdout)['wall_time_s']:.2f} s"
    )


if __name__ == "__main__":
    main()
