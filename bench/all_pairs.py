"""Large messages between all pairs of ranks whose messages share links, beside plain copies.

A simulated message has its data, which is copied at least once: the rate of those copies is the
floor. Messages above the machine's eager limit are copied once, smaller ones twice. Prints messages
per second of the simulation, copies per second of a program that does nothing else, and the ratio.

    python bench/all_pairs.py [--machine lumi-c] [--ranks 256] [--bytes 65536] [--repeat 3]
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from pathlib import Path

from message_rate import build, find_mpicc
from runs import sesame

ROUNDS = 4
TARGET = 500_000  # messages per second


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--machine", default="lumi-c")
    parser.add_argument("--ranks", type=int, default=256)
    parser.add_argument("--bytes", type=int, default=65536)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    compiler = find_mpicc()
    sizes = [str(options.bytes), str(ROUNDS)]
    with tempfile.TemporaryDirectory(prefix="sesame-") as name:
        pairs, copies = (build(compiler, one, Path(name)) for one in ("pairs", "copies"))
        floor = max(
            float(subprocess.check_output([copies, *sizes, str(options.ranks)], text=True))
            for _ in range(options.repeat)
        )
        simulated = max(
            rate(options.machine, options.ranks, [str(pairs), *sizes])
            for _ in range(options.repeat)
        )
    print(
        f"{options.ranks} ranks on {options.machine}, {options.bytes} bytes: "
        f"{simulated * 1e-6:.3f} million messages/s (aim {TARGET * 1e-6}), "
        f"{floor * 1e-6:.3f} million copies/s, ratio {simulated / floor:.2f}"
    )


def rate(machine: str, ranks: int, command: list[str]) -> float:
    settings = ["--machine", machine, "--set", "network.sharing=links", "--placement", "cyclic"]
    found = sesame(["simulate", "-n", str(ranks), *settings, "--compute", "none", "--", *command])
    return float(found["messages_per_second"])


if __name__ == "__main__":
    main()
