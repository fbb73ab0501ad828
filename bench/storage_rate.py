"""Block requests per second of the simulated file system, through the full path.

Runs `storage_rate` (core/storage/storage_rate.cc): 64 ranks and 8 I/O nodes, random requests of 1
to 4 blocks, 80 % reads, without caches and under each cache policy. Rates are per second of CPU
time, so that other work on the machine counts little, with the ratio to the rate without caches.
All caches together hold the whole file, so that blocks read from devices say nothing of how good a
policy is where they do not (docs/models/reproduction.md, figure 8.10).

    python bench/storage_rate.py --build build

`--build` names a build directory with tests and optimisation: `make build-tests` makes one.
"""

import argparse
import statistics
import subprocess
from pathlib import Path

POLICIES = ("none", "base", "greedy", "coordinated", "global")
TARGET = 1e6  # blocks per second through the full path with caches


def rate(program: Path, policy: str, requests: int) -> tuple[float, int]:
    """Blocks per second, and how many blocks came from devices."""
    done = subprocess.run(
        [str(program), policy, str(requests)], check=True, capture_output=True, text=True
    )
    blocks, _, seconds, from_devices = done.stdout.split()
    return int(blocks) / float(seconds), int(from_devices)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=Path("build"))
    parser.add_argument("--requests", type=int, default=400_000)
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    program = arguments.build / "core" / "storage" / "storage_rate"
    if not program.is_file():
        raise SystemExit(f"{program} is not there: build it with tests, then name the directory")
    uncached = 0.0  # blocks/s
    for policy in POLICIES:
        runs = [rate(program, policy, arguments.requests) for _ in range(arguments.repeat)]
        blocks_per_second = statistics.median(run[0] for run in runs)
        uncached = uncached or blocks_per_second
        verdict = "" if blocks_per_second >= TARGET else f", below {TARGET / 1e6:.0f} million"
        print(
            f"{policy:12} {blocks_per_second / 1e6:6.2f} million blocks/s, "
            f"{blocks_per_second / uncached:4.2f} times that of {POLICIES[0]}, "
            f"{runs[0][1]} blocks read from devices{verdict}",
            flush=True,
        )


if __name__ == "__main__":
    main()
