"""Messages that share links, beside the same messages as packets in ns-3.

Random messages between the nodes of a small fat tree, first as a program in the simulator with
network.sharing = "links", then packet by packet in ns-3 (bench/programs/packets.cc). A message
alone takes as long in both. Prints a table of the differences; with --write it replaces that of
docs/models/sharing.md. Needs mpicc, and ns-3 (Debian: libns3-dev); without it, it says so and ends.

    python bench/packets.py [--messages 3000] [--write]
"""

import argparse
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from message_rate import build

from sesame.datasets import DataSet

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "models" / "sharing.md"
MARKS = ("<!-- table: python bench/packets.py --write -->", "<!-- end of table -->")
LIBRARIES = [
    f"-lns3-{name}" for name in ("internet", "point-to-point", "network", "traffic-control", "core")
]

# A packet has as many bytes of headers (UDP, IP, PPP) beside the 4 KiB of InfiniBand's largest.
PAYLOAD, HEADERS = 4096, 30
BANDWIDTH = 10e9  # of payload, B/s
DELAY_NS = 100  # of a cable
PACKET_NS = PAYLOAD / BANDWIDTH * 1e9
HOSTS, LEAVES = 4, 4
NODES = HOSTS * LEAVES
PACKETS = (1, 4, 16, 64)  # of a message

# Every switch on the way receives a packet before it sends it.
MACHINE = f"""name = "tree"
nodes = {NODES}
[network]
latency = "{2 * DELAY_NS + PACKET_NS} ns"
bandwidth = "{BANDWIDTH / 1e9} GB/s"
hop_latency = "{DELAY_NS + PACKET_NS} ns"
sharing = "links"
[topology]
kind = "fat_tree"
arity = [{HOSTS}, {LEAVES}]
uplinks = [UPLINKS]
"""

Array = np.ndarray[Any, Any]
Messages = list[tuple[float, int, int, int]]  # start (ns), sender, receiver, packets; by start


@dataclass(frozen=True)
class Case:
    """What is sent on a tree with so many links up from a leaf switch."""

    name: str
    uplinks: int
    messages: Callable[[int, int], Messages]  # (uplinks, about how many)


def at_random(load: float) -> Callable[[int, int], Messages]:
    """Messages of any node to any other at random times; the links with most to carry are busy for
    this part of the time."""

    def make(uplinks: int, count: int) -> Messages:
        source = random.Random(uplinks + 100 * load)
        leaving = (NODES - HOSTS) / (NODES - 1) * HOSTS / uplinks  # uplink's load / card's
        between_ns = np.mean(PACKETS) * PACKET_NS / (load / max(leaving, 1))
        found = []
        for sender in range(NODES):
            start = 0.0
            for _ in range(count // NODES):
                start += source.expovariate(1 / between_ns)
                receiver = source.choice([node for node in range(NODES) if node != sender])
                found.append((round(start), sender, receiver, source.choice(PACKETS)))
        return sorted(found)

    return make


def all_at_once(uplinks: int, count: int) -> Messages:
    """Each node to each other, next ones first."""
    return [
        (0.0, node, (node + distance) % NODES, PACKETS[-1])
        for distance in range(1, NODES)
        for node in range(NODES)
    ]


CASES = [
    Case(f"random, {100 * load:.0f} % of the busiest links", uplinks, at_random(load))
    for uplinks in (HOSTS, HOSTS // 2)
    for load in (0.3, 0.6, 0.9)
] + [Case("all pairs at once", uplinks, all_at_once) for uplinks in (HOSTS, HOSTS // 2)]


def simulated(program: Path, uplinks: int, messages: Messages, directory: Path) -> Array:
    """When each arrives, ns."""
    machine, lines = directory / "tree.toml", directory / "messages"
    machine.write_text(MACHINE.replace("UPLINKS", str(uplinks)))
    lines.write_text("".join(f"{s} {a} {b} {PAYLOAD * n}\n" for s, a, b, n in messages))
    run = directory / "run.sesame"
    shutil.rmtree(run, ignore_errors=True)
    command = [sys.executable, "-m", "sesame", "simulate", "-n", str(NODES), "--compute", "none"]
    command += ["--machine", str(machine), "-o", str(run), "--", str(program), str(lines)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
    table = DataSet(run).table("message", ["tag", "arrival_ps"])
    arrivals = np.zeros(len(messages))
    arrivals[table.column("tag").to_numpy()] = table.column("arrival_ps").to_numpy() / 1e3
    return arrivals


def as_packets(program: Path, uplinks: int, messages: Messages) -> Array:
    """The same of ns-3."""
    rate = round(8 * BANDWIDTH * (PAYLOAD + HEADERS) / PAYLOAD)
    words = [HOSTS, LEAVES, uplinks, rate, DELAY_NS, PAYLOAD]
    lines = "".join(f"{s} {a} {b} {n}\n" for s, a, b, n in messages)
    command = [str(program), *map(str, words)]
    done = subprocess.run(command, input=lines, capture_output=True, text=True, check=True)
    return np.array([float(line) for line in done.stdout.split()])


@dataclass(frozen=True)
class Difference:
    """The simulator against packets."""

    waiting: float  # mean time of a message / that alone, in packets
    mean: float  # relative errors: of the mean time of a message
    by_size: list[float]  # of messages of a size
    last: float  # of the last arrival

    def row(self, case: Case) -> str:
        errors = [self.mean, *(error for error in self.by_size), self.last]
        cells = [f"{100 * error:+.1f} %" if np.isfinite(error) else "" for error in errors]
        return " | ".join(
            [f"| {case.name}", str(case.uplinks), f"{self.waiting:.2f}", *cells, ""]
        ).rstrip()


def alone_ns(messages: Messages) -> Array:
    _, sender, receiver, packets = (np.array(column) for column in zip(*messages, strict=True))
    links = np.where(sender // HOSTS == receiver // HOSTS, 2, 4)
    return np.asarray(links * DELAY_NS + (packets + links - 1) * PACKET_NS)


def difference(messages: Messages, got: Array, reference: Array) -> Difference:
    start, _, _, packets = (np.array(column) for column in zip(*messages, strict=True))
    times, expected = got - start, reference - start

    def error(chosen: Array) -> float:
        return float(times[chosen].mean() / expected[chosen].mean() - 1)

    return Difference(
        float(expected.mean() / alone_ns(messages).mean()),
        error(packets > 0),
        [error(packets == size) if (packets == size).any() else float("nan") for size in PACKETS],
        float(got.max() / reference.max() - 1),
    )


def compare(programs: tuple[Path, Path], case: Case, count: int, directory: Path) -> Difference:
    messages = case.messages(case.uplinks, count)
    got = simulated(programs[0], case.uplinks, messages, directory)
    return difference(messages, got, as_packets(programs[1], case.uplinks, messages))


def build_both(directory: Path) -> tuple[Path, Path] | None:
    """The two programs; None without ns-3 or MPI."""
    compiler = shutil.which("mpicc.mpich") or shutil.which("mpicc")
    packets = directory / "packets"
    source = HERE / "programs" / "packets.cc"
    command = ["g++", "-std=c++17", "-O1", "-w", str(source), "-o", str(packets), *LIBRARIES]
    if compiler is None or not Path("/usr/include/ns3/core-module.h").exists():
        return None
    subprocess.run(command, check=True)
    return build(compiler, "traffic", directory), packets


def table(programs: tuple[Path, Path], count: int, directory: Path) -> str:
    sizes = [f"{size * PAYLOAD >> 10} KiB" for size in PACKETS]
    heads = ["traffic", "uplinks", "time / time alone", "mean time", *sizes, "last arrival"]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    lines += [compare(programs, case, count, directory).row(case) for case in CASES]
    return "\n".join(lines)


def replace_table(page: Path, marks: tuple[str, str], text: str) -> None:
    before, _, rest = page.read_text(encoding="utf-8").partition(marks[0])
    _, _, after = rest.partition(marks[1])
    if not after:
        raise SystemExit(f"{page} has no place for a table: {marks[0]}")
    page.write_text(f"{before}{marks[0]}\n{text}\n\n{marks[1]}{after}", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--messages", type=int, default=3000, help="of a random case, about")
    parser.add_argument("--write", action="store_true", help="replace the table of the page")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        programs = build_both(Path(name))
        if programs is None:
            print("no mpicc or no ns-3 here (Debian: libns3-dev)")
            return
        text = table(programs, options.messages, Path(name))
    if options.write:
        replace_table(PAGE, MARKS, text)
    print(text)


if __name__ == "__main__":
    main()
