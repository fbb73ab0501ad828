"""What Open MPI's binary interface costs beside MPICH's: the same programs, linked to either, by
turns.

Runs the ring and the halo exchange of bench/programs at several numbers of ranks. Prints, for each,
the messages for a second of processor time, the memory that a rank adds to 4 ranks (in runs of one
round) and the time to start, each with the median of the ratios of --repeat pairs of runs. Needs
mpicc.mpich and mpicc.openmpi.

    python bench/interfaces.py [--ranks 16,1024] [--repeat 7] [--messages 3000000]
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from message_rate import MESSAGES_PER_ROUND, build

FEW_RANKS = 4
COMPILERS = ("mpicc.mpich", "mpicc.openmpi")
UNITS = {"rate": (1e-6, "million messages/s"), "memory": (1e-3, "kB a rank"), "start": (1e3, "ms")}


def result_of(program: Path, ranks: int, rounds: int) -> dict:
    """With the processor time of the command, which other processes disturb less than its time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    options = ["-n", str(ranks), "--machine", "infiniband", "--compute", "none", "--json"]
    command = [sys.executable, "-m", "sesame", "simulate", *options, "--", program, str(rounds)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {**json.loads(done.stdout), "processor_s": spent}


def figures_of(program: Path, ranks: int, rounds: int, few_bytes: int) -> dict[str, float]:
    short, long = (result_of(program, ranks, count) for count in (1, rounds))
    return {
        "rate": (long["messages"] - short["messages"])
        / (long["processor_s"] - short["processor_s"]),
        "memory": (short["peak_rss_bytes"] - few_bytes) / (ranks - FEW_RANKS),
        "start": short["startup_s"],
    }


def compare(name: str, programs: list[Path], ranks: int, options: argparse.Namespace) -> None:
    rounds = max(options.messages // (ranks * MESSAGES_PER_ROUND[name]), 10)
    few = [result_of(program, FEW_RANKS, 1)["peak_rss_bytes"] for program in programs]
    pairs = [
        [
            figures_of(program, ranks, rounds, base)
            for program, base in zip(programs, few, strict=True)
        ]
        for _ in range(options.repeat)
    ]
    for figure, (scale, unit) in UNITS.items():
        ours, theirs = (
            scale * statistics.median(pair[i][figure] for pair in pairs) for i in (0, 1)
        )
        ratio = statistics.median(pair[1][figure] / pair[0][figure] for pair in pairs)
        print(
            f"{name} {ranks} ranks: MPICH's {ours:.4g}, Open MPI's {theirs:.4g} {unit}, "
            f"ratio {ratio:.3f}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--ranks", default="16,1024")
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--messages", type=int, default=3_000_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        for name in ("ring", "halo"):
            programs = [build(compiler, name, Path(directory)) for compiler in COMPILERS]
            for ranks in map(int, options.ranks.split(",")):
                compare(name, programs, ranks, options)


if __name__ == "__main__":
    main()
