"""What many ranks cost the simulator: processor time and memory of starting them, of making
communicators, and of receiving from any source.

Prints processor time (user and system), which other load disturbs less than elapsed time. Of the
memory it prints the peak of two sums: what the run occupies (pages of its own and page tables,
read from /proc every 20 ms), and resident memory, which counts the pages of text that all ranks
share for each of them, and no page tables. The figures are differences of two runs; the time of a
start is also printed as a ratio to that of an empty process. More ranks than the kernel's limit of
memory mappings admits are left out: see the message of `sesame simulate`. Needs mpicc.

    python bench/many_ranks.py [--ranks 256,1024,4096,16000] [--rounds 20]
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from message_rate import build, find_mpicc

CALLS = ("split", "dup", "cart", "create", "group", "inter", "window")
WAYS = ("named", "any", "tags", "probe", "iprobe", "workers")


@dataclass
class Cost:
    processor_s: float  # of the whole command
    peak_kib: float  # of the simulator: resident memory
    own_kib: float  # of the simulator: pages of its own and page tables


def run(program: Path, ranks: int, *arguments: str) -> Cost | None:
    """The cost of one simulation; None where there are too many ranks for this kernel."""
    options = ["-n", str(ranks), "--machine", "infiniband", "--compute", "none", "--no-records"]
    command = [sys.executable, "-m", "sesame", "simulate", *options, "--json", "--", str(program)]
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen([*command, *arguments], stdout=output, stderr=errors)
        own_kib = peak_of_children_kib(process.pid)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        errors.seek(0)
        text = errors.read()
        if "vm.max_map_count" in text:
            return None
        if process.returncode != 0 or "correct" not in text:
            raise SystemExit(f"wrong answer from {' '.join(command)}:\n{text}")
        result = json.load(output)
    return Cost(used.ru_utime + used.ru_stime, result["peak_rss_bytes"] / 1024, own_kib)


def peak_of_children_kib(parent: int) -> float:
    """The most memory that a child of this process occupies until the process ends."""
    peak = 0.0
    while os.waitid(os.P_PID, parent, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        with suppress(OSError):
            children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
            peak = max([peak, *map(own_memory_kib, children)])
        time.sleep(0.02)
    return peak


def own_memory_kib(process: str) -> float:
    with suppress(OSError):
        lines = map(str.split, Path(f"/proc/{process}/status").read_text().splitlines())
        return sum(float(line[1]) for line in lines if line[0] in ("RssAnon:", "VmPTE:"))
    return 0.0


def process_us(count: int = 200) -> float:
    """Processor time of starting and ending a process that does nothing."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    for _ in range(count):
        subprocess.run(["true"], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return used / count * 1e6


def show_starts(startup: Path, halo: Path, ranks: int, base: Cost) -> None:
    process = process_us()
    for name, cost in (
        ("start and end", run(startup, ranks)),
        ("halo, 1 round", run(halo, ranks, "1")),
    ):
        if cost is None:
            print(f"{ranks:6} ranks: too many for vm.max_map_count")
            return
        each = (cost.processor_s - base.processor_s) / ranks * 1e6
        print(
            f"{ranks:6} ranks, {name}: {each:7.1f} us, {each / process:.2f} empty processes, "
            f"{(cost.own_kib - base.own_kib) / ranks:5.1f} KiB of its own and "
            f"{(cost.peak_kib - base.peak_kib) / ranks:5.1f} KiB resident a rank",
            flush=True,
        )


def show_calls(startup: Path, ranks: int) -> None:
    plain = run(startup, ranks)
    for call in CALLS:
        cost = run(startup, ranks, call)
        if plain is None or cost is None:
            return
        time_us = (cost.processor_s - plain.processor_s) / ranks * 1e6
        memory_kib = (cost.peak_kib - plain.peak_kib) / ranks
        print(
            f"{ranks:6} ranks, {call:7}: {time_us:7.1f} us and {memory_kib:7.2f} KiB a rank more",
            flush=True,
        )


def show_receives(program: Path, ranks: int, rounds: int) -> None:
    named = 0.0
    for way in WAYS:
        short, whole = run(program, ranks, "1", way), run(program, ranks, str(1 + rounds), way)
        if short is None or whole is None:
            return
        each = (whole.processor_s - short.processor_s) / (rounds * (ranks - 1)) * 1e6
        named = each if way == "named" else named
        print(
            f"{ranks:6} ranks, {way:7}: {each:6.2f} us a message, {each / named:5.2f} times a "
            "named source",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", default="256,1024,4096,16000")
    parser.add_argument("--rounds", type=int, default=20)
    arguments = parser.parse_args()
    ranks = [int(count) for count in arguments.ranks.split(",")]
    compiler = find_mpicc()
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        startup = build(compiler, "startup", directory)
        halo = build(compiler, "halo", directory)
        anysource = build(compiler, "anysource", directory)
        base = run(startup, 2)
        assert base is not None
        for count in ranks:
            show_starts(startup, halo, count, base)
        for count in ranks:
            show_calls(startup, count)
        for count in ranks:
            show_receives(anysource, count, arguments.rounds)


if __name__ == "__main__":
    main()
