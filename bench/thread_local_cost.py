"""What thread-local variables of a program cost: processor time for a message, by turns with and
without them (docs/decisions/0017).

Runs the ring and the halo exchange of bench/programs as they are, and with one thread-local
variable. Prints nanoseconds for a message and the ratio; medians of --repeat runs. Needs
mpicc.mpich.

    python bench/thread_local_cost.py [--ranks 2,64,1024] [--repeat 5] [--messages 4000000]
"""

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from message_rate import MESSAGES_PER_ROUND, PROGRAMS

VARIABLE = """
static __thread volatile int own = 1;
__attribute__((constructor)) static void touch(void) { own++; }
"""


def build(name: str, directory: Path, *, thread_local: bool) -> Path:
    header = directory / "variable.h"
    header.write_text(VARIABLE)
    program = directory / f"{name}{'-own' if thread_local else ''}"
    flags = ["-include", str(header)] if thread_local else []
    source = str(PROGRAMS / f"{name}.c")
    subprocess.run(["mpicc.mpich", "-O2", "-w", *flags, source, "-o", str(program)], check=True)
    return program


def processor_seconds(program: Path, ranks: int, rounds: int) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    options = ["-n", str(ranks), "--machine", "infiniband", "--compute", "none", "--json"]
    command = [sys.executable, "-m", "sesame", "simulate", *options, "--", program, str(rounds)]
    subprocess.run(command, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def message_ns(program: Path, name: str, ranks: int, messages: int) -> float:
    """Without what starting takes: the difference of a long and a short run."""
    rounds = max(messages // (ranks * MESSAGES_PER_ROUND[name]), 10)
    extra = processor_seconds(program, ranks, rounds) - processor_seconds(program, ranks, 1)
    return 1e9 * extra / (ranks * MESSAGES_PER_ROUND[name] * rounds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--ranks", default="2,64,1024")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--messages", type=int, default=4_000_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        for name in ("ring", "halo"):
            plain, own = (build(name, Path(directory), thread_local=t) for t in (False, True))
            for ranks in map(int, options.ranks.split(",")):
                if name == "halo" and ranks < 4:
                    continue
                pairs = [
                    [message_ns(program, name, ranks, options.messages) for program in (plain, own)]
                    for _ in range(options.repeat)
                ]
                without, with_own = (
                    statistics.median(column) for column in zip(*pairs, strict=True)
                )
                ratio = statistics.median(b / a for a, b in pairs)
                print(
                    f"{name} {ranks} ranks: {without:.0f} ns a message, with a thread-local "
                    f"variable {with_own:.0f} ns, ratio {ratio:.3f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
