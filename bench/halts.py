"""What it costs computation that its processor halts now and then.

Two processes multiply a sparse matrix of 11 MB by a vector (the data of a rank of the solver `cg`,
class A, on two ranks), with breaks in which they look at a clock, as ranks of a real MPI look for
messages, or sleep, as ranks that wait for a simulator. Prints the median time of a product for
both, in turns, and their ratio. No part of Sesame runs.

    python bench/halts.py [--repeat 9]
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import tempfile
from pathlib import Path

SOURCE = Path(__file__).parent / "programs/halts.c"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeat", type=int, default=9)
    repeat = parser.parse_args().repeat
    with tempfile.TemporaryDirectory() as directory:
        program = Path(directory) / "halts"
        subprocess.run(["cc", "-O2", str(SOURCE), "-o", str(program)], check=True)
        times: dict[str, list[float]] = {"0": [], "1": []}
        for _ in range(repeat):
            for sleeps, of_way in times.items():
                done = subprocess.run([program, sleeps], check=True, stdout=subprocess.PIPE)
                of_way.append(float(done.stdout))
    looking, asleep = (statistics.median(of_way) for of_way in times.values())
    for name, of_way in zip(("looks at a clock", "sleeps"), times.values(), strict=True):
        print(f"{name:17}: {statistics.median(of_way):7.1f} us", end="")
        print(f" ({min(of_way):.1f} to {max(of_way):.1f})")
    print(f"a product takes {asleep / looking:.2f} times as long where the processor halts")


if __name__ == "__main__":
    main()
