"""What probes add to an event: ours and bpftrace's with the same counts, in turns, in one run.

Prints for each load what it takes without, and what each tool adds (median over rounds, and the
interval that holds it with 95 % probability). Root, and Debian's bpftrace.

    python bench/probe_cost.py [--rounds 15]
"""

from __future__ import annotations

import argparse
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial

from sesame.measurement import Detail, loaded
from sesame.measurement.cost import Load, median_and_interval, on_one_cpu, run_load

SENT = "tracepoint:sock:sock_send_length,tracepoint:sock:sock_recv_length"


@dataclass(frozen=True)
class Comparison:
    load: Load
    subsystem: str
    points: tuple[str, ...]
    events: int  # of one time of the load
    target_ns: dict[Detail, float]  # of one event, as the design has it
    bpftrace: dict[str, str]


COMPARISONS = (
    Comparison(
        Load("read", 8_000, "fs", {}),
        "fs",
        ("read",),
        1,
        {Detail.COUNT: 150, Detail.DURATION: 320},
        {
            "sizes": "tracepoint:syscalls:sys_exit_pread64 { @ = hist(args->ret); }",
            "durations": "tracepoint:syscalls:sys_enter_pread64 { @t[tid] = nsecs; } "
            "tracepoint:syscalls:sys_exit_pread64 "
            "{ @s = hist(args->ret); @d = hist(nsecs - @t[tid]); delete(@t[tid]); }",
        },
    ),
    Comparison(
        Load("touch", 4_096, "vm", {}),
        "vm",
        ("copy-on-write", "first-touch", "zero-fill", "reactivation", "page-in", "total"),
        1,
        {Detail.COUNT: 75, Detail.DURATION: 500},
        {"counts": "tracepoint:exceptions:page_fault_user { @[args->error_code] = count(); }"},
    ),
    Comparison(
        Load("packet", 1_500, "ipc", {}),
        "ipc",
        ("send", "receive"),
        2,
        {Detail.COUNT: 150},
        {"sizes": f"{SENT} {{ @ = hist(args->ret); }}"},
    ),
)


@contextmanager
def ours(comparison: Comparison, detail: Detail) -> Iterator[None]:
    with loaded([comparison.subsystem]) as probes:
        one = probes[comparison.subsystem]
        for number, point in enumerate(one.subsystem.points):
            if point.name in comparison.points:
                one.set(number, detail)
        yield


@contextmanager
def bpftrace(program: str) -> Iterator[None]:
    ready = 'BEGIN { printf("ready\\n"); } '
    process = subprocess.Popen(
        ["bpftrace", "-e", ready + program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    try:
        assert process.stdout is not None
        while b"ready" not in process.stdout.readline():
            if process.poll() is not None:
                raise RuntimeError(f"bpftrace did not take: {program}")
        yield
    finally:
        process.terminate()
        process.communicate()


def rounds_of(comparison: Comparison, rounds: int) -> None:
    """Each tool beside a run without, which goes first in every other round."""
    tools: dict[str, Callable[[], AbstractContextManager[None]]] = {
        f"sesame {detail.name.lower()}": partial(ours, comparison, detail)
        for detail in comparison.target_ns
    } | {
        f"bpftrace {name}": partial(bpftrace, program)
        for name, program in comparison.bpftrace.items()
    }
    added: dict[str, list[float]] = {name: [] for name in tools}
    without: list[float] = []
    for number in range(rounds):
        for name, tool in tools.items():
            base = run_load(comparison.load) if number % 2 else 0.0
            with tool():
                with_it = run_load(comparison.load)
            base = base or run_load(comparison.load)
            added[name].append(with_it - base)
            without.append(base)
    middle = median_and_interval(without)[0]
    print(f"{comparison.load.name}: {middle:.0f} ns without")
    for name, values in added.items():
        middle, least, most = median_and_interval([v / comparison.events for v in values])
        line = f"  {name:18} +{middle:6.0f} ns an event ({least:.0f} to {most:.0f})"
        if name.startswith("sesame"):
            target = comparison.target_ns[Detail[name.split()[1].upper()]]
            line += f", target {target:.0f}: {'reached' if middle <= target else 'MISSED'}"
        print(line, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    arguments = parser.parse_args()
    with on_one_cpu():
        for comparison in COMPARISONS:
            rounds_of(comparison, arguments.rounds)


if __name__ == "__main__":
    main()
