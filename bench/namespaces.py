"""Messages through shared network cards, predicted and measured: Open MPI over TCP between network
namespaces whose devices are limited by tc.

Each namespace is a node with one card: a veth device with a token bucket (HTB) in either direction.
The machine file is made of a ping-pong and a stream between two of them and a ping-pong inside one.
Patterns in which messages share cards are measured, and predicted from it with network.sharing =
"interface" and "none". Prints a table; with --write it replaces that of docs/models/sharing.md.
Needs root, iproute2 and Open MPI.

    python bench/namespaces.py [--rate 160mbit] [--repeat 5] [--write]
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from message_rate import build
from packets import PAGE, replace_table
from tests.integration.networks import Network, ip

MARKS = ("<!-- table: python bench/namespaces.py --write -->", "<!-- end of table -->")
NODES = 4
LARGE = 1_000_000  # bytes
# Pattern, ranks, bytes, rounds; ranks are on the nodes in turn.
CASES = (
    ("incast", 4, LARGE, 4),
    ("incast", 4, 100_000, 20),
    ("shift", 4, LARGE, 4),
    ("shift", 8, LARGE, 4),
    ("exchange", 4, LARGE, 4),
    ("exchange", 8, 500_000, 4),
)
# Enough that a bucket is never empty by the timer alone; little beside a message.
BURST = "3k"
QUEUE = "4mb"  # nothing is dropped
# Two frames are one packet: acknowledgements do not wait behind 64 KiB.
PACKET = "3000"
# Windows are wide from the first message on, and stay so.
TCP = (
    "tcp_rmem=4096 4194304 8388608",
    "tcp_wmem=4096 4194304 8388608",
    "tcp_slow_start_after_idle=0",
)
# Large messages are pushed: with PUT the receiver requests each fragment, and requests wait behind
# data that goes the same way.
OPEN_MPI = {
    "pml": "ob1",
    "btl": "tcp,vader,self",
    "btl_tcp_flags": "9",
    "btl_tcp_if_include": "10.77.0.0/24",
    "oob_tcp_if_include": "10.77.0.0/24",
    "mpi_yield_when_idle": "1",
}

MACHINE = """name = "namespaces"
nodes = {nodes}
[node]
cores = 2
[node.network]
latency = "{node_latency} us"
bandwidth = "{node_bandwidth} B/s"
[network]
latency = "{latency} us"
bandwidth = "{bandwidth} B/s"
eager_limit = "64 KiB"
sharing = "{sharing}"
[network.card]
bandwidth = "{card} B/s"
[topology]
kind = "crossbar"
"""


class LimitedNetwork(Network):
    """Nodes whose devices have a rate, in both directions."""

    def __init__(self, rate: str, directory: Path) -> None:
        super().__init__(directory, NODES)
        # Open MPI starts its daemons by it as by ssh: host, command. Hosts of one name would share
        # memory.
        self.launcher = directory / "launch"
        self.launcher.write_text(
            "#!/bin/bash\nhost=$1; shift\nnumber=${host##*.}\n"
            f"exec ip netns exec {self.prefix}$number"
            ' unshare --uts sh -c "hostname node$number; $*"\n',
            encoding="utf-8",
        )
        self.launcher.chmod(0o755)
        try:
            ip("-n", self.hub, "link", "set", "lo", "up")
            for address in self.nodes:
                self._limit(address.rsplit(".", maxsplit=1)[-1], rate)
        except BaseException:
            self.close()
            raise

    def measure(self, hosts: int, ranks: int, command: list[str]) -> float:
        """Time of a round, s."""
        parameters = OPEN_MPI | {"plm_rsh_agent": str(self.launcher)}
        starter = ["mpirun.openmpi", "--allow-run-as-root", "-n", str(ranks), "--map-by", "node"]
        starter += ["--host", ",".join(f"{one}:{ranks}" for one in self.nodes[:hosts])]
        starter += [word for pair in parameters.items() for word in ("--mca", *pair)]
        done = subprocess.run(
            ["ip", "netns", "exec", self.hub, *starter, "--bind-to", "none", *command],
            check=True,
            capture_output=True,
            text=True,
            timeout=60,
        )
        return float(done.stdout.split()[-1]) * 1e-6

    def _limit(self, number: str, rate: str) -> None:
        name = f"{self.prefix}{number}"
        ip("-n", name, "link", "set", "eth0", "gso_max_size", PACKET)
        ip("netns", "exec", name, "sysctl", "-qw", *(f"net.ipv4.{one}" for one in TCP))
        limit = ("rate", rate, "ceil", rate, "burst", BURST, "cburst", BURST)
        for namespace, device in ((name, "eth0"), (self.hub, f"port{number}")):
            for words in (
                ("qdisc", "add", "dev", device, "root", "handle", "1:", "htb", "default", "1"),
                ("class", "add", "dev", device, "parent", "1:", "classid", "1:1", "htb", *limit),
                ("qdisc", "add", "dev", device, "parent", "1:1", "bfifo", "limit", QUEUE),
            ):
                ip("netns", "exec", namespace, "tc", *words)


@contextmanager
def network_of(rate: str, directory: Path) -> Iterator[LimitedNetwork]:
    network = LimitedNetwork(rate, directory)
    try:
        yield network
    finally:
        network.close()


class Bench:
    def __init__(
        self, network: LimitedNetwork, program: Path, repeat: int, directory: Path
    ) -> None:
        self.network, self.program, self.repeat = network, str(program), repeat
        self.directory = directory
        self.constants = self._calibrate()

    def measured(self, pattern: str, ranks: int, size: int, rounds: int, hosts: int) -> float:
        """Median, s."""
        command = [self.program, pattern, str(size), str(rounds)]
        times = [self.network.measure(hosts, ranks, command) for _ in range(self.repeat)]
        return statistics.median(times)

    def _calibrate(self) -> dict[str, float]:
        one_way = {
            (hosts, size): self.measured("pingpong", 2, size, rounds, hosts) / 2
            for hosts in (1, 2)
            for size, rounds in ((0, 200), (LARGE, 5))
        }
        stream = self.measured("stream", 2, LARGE, 8, 2)
        return {
            "latency": one_way[2, 0] * 1e6,
            "bandwidth": LARGE / (one_way[2, LARGE] - one_way[2, 0]),
            "node_latency": one_way[1, 0] * 1e6,
            "node_bandwidth": LARGE / (one_way[1, LARGE] - one_way[1, 0]),
            "card": LARGE / stream,
        }

    def predicted(self, sharing: str, pattern: str, ranks: int, size: int, rounds: int) -> float:
        machine = self.directory / f"{sharing}.toml"
        machine.write_text(
            MACHINE.format(nodes=NODES, sharing=sharing, **self.constants), encoding="utf-8"
        )
        options = ["--machine", str(machine), "--placement", "cyclic", "--compute", "none"]
        command = [sys.executable, "-m", "sesame", "simulate", "-n", str(ranks), *options]
        done = subprocess.run(
            [*command, "--", self.program, pattern, str(size), str(rounds)],
            check=True,
            capture_output=True,
            text=True,
        )
        return float(done.stdout.split()[0]) * 1e-6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rate", default="160mbit")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    lines = [
        "| pattern | ranks | message | measured | predicted | error | without sharing |",
        "|---|---|---|---|---|---|---|",
    ]
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        program = build("mpicc.openmpi", "patterns", directory)
        with network_of(arguments.rate, directory) as network:
            bench = Bench(network, program, arguments.repeat, directory)
            print({key: round(value, 2) for key, value in bench.constants.items()})
            for case in CASES:
                pattern, ranks, size, _ = case
                measured = bench.measured(*case, hosts=NODES)
                predicted, alone = (bench.predicted(one, *case) for one in ("interface", "none"))
                lines.append(
                    f"| {pattern} | {ranks} | {size // 1000} kB | {1e3 * measured:.1f} ms | "
                    f"{1e3 * predicted:.1f} ms | {100 * (predicted / measured - 1):+.1f} % | "
                    f"{100 * (alone / measured - 1):+.1f} % |"
                )
                print(lines[-1], flush=True)
    if arguments.write:
        replace_table(PAGE, MARKS, "\n".join(lines))


if __name__ == "__main__":
    main()
