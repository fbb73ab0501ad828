"""What collectors of many nodes cost: simulated nodes, two levels of collectors, failures.

Each node sends a reading of all points every ten seconds, in a request of its own, over a
connection of its own, with a token of its own, as a busy node does (an idle one sends six at once).
The nodes send to relays, and these forward to one collector. Meanwhile one relay is gone for a
tenth of the time, and the last collector is killed (SIGKILL) five times. Then everything ends, and
the readings in the data sets are counted. Prints the processor time of all collectors together,
also of those killed, and of a reading on each level; exits with 1 if a reading is missing or is
there twice.

    python bench/collector_nodes.py [--nodes 1000] [--seconds 600] [--relays 2] [--no-failures]
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import numpy as np

from sesame.datasets import DataSet
from sesame.measurement.clocks import own_offset
from sesame.measurement.probes import CELL_READING, subsystems
from sesame.measurement.processors import COLUMNS
from sesame.measurement.readings import Reading, SubsystemCost
from sesame.measurement.summary import Cells, Layout
from sesame.web.server.roles import Role
from sesame.web.server.token_file import Token, digest_of, utc_today

SESAME = [sys.executable, "-m", "sesame"]
CELLS = 14  # with events, of each subsystem
PROCESSORS = 16
KILLS = 5
START_SECONDS = 60.0


def reading_of(node: str, chance: random.Random) -> Reading:
    """A reading of all points, of some 8 kB as those of real nodes; the first of a daemon."""
    now = time.monotonic_ns()
    cells: dict[str, Cells] = {}
    layouts: dict[str, Layout] = {}
    for one in subsystems().values():
        points = tuple(point.name for point in one.points)
        classes = tuple(name or "tmpfs /dev/shm" for name in one.classes)
        last = len(points) * len(classes) * one.groups
        found = np.zeros(min(CELLS, last), CELL_READING)
        found["index"] = sorted(chance.sample(range(last), len(found)))
        for name in CELL_READING.names[1:]:
            found[name] = [chance.randrange(1 << 24) for _ in found]
        cells[one.name] = Cells(found.tobytes())
        limits = tuple(512 << 3 * number for number in range(one.groups - 1))
        layouts[one.name] = Layout(one.name, points, classes, one.groups, limits)
    names = list(cells)
    return Reading(
        node=node,
        start=f"{chance.randrange(16**12):012x}",
        sequence=0,
        begin_ns=now,
        end_ns=now + 1,
        cpu_ns=700_000,
        dropped=0,
        offset=own_offset(),
        cells=cells,
        details={name: [3] * len(layouts[name].points) for name in names},
        active_ns=dict.fromkeys(names, 10_000_000_000),
        costs={name: SubsystemCost(3, 1000, 100_000) for name in names},
        layouts=layouts,
        processors={
            "cpu": list(range(PROCESSORS)),
            **{name: [chance.randrange(10**10) for _ in range(PROCESSORS)] for name in COLUMNS},
        },
    )


@dataclass
class Node:
    """A simulated daemon: readings wait until the relay has confirmed them."""

    name: str
    token: str
    port: int
    template: tuple[bytes, bytes] = (b"", b"")  # around the number and the times
    made: int = 0
    sent: int = 0
    waiting: list[bytes] = field(default_factory=list)
    failures: int = 0
    _streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    def prepare(self, chance: random.Random) -> None:
        text = reading_of(self.name, chance).encode()
        self.template = tuple(
            re.split(rb'"sequence":0,"begin_ns":\d+,"end_ns":\d+', text, maxsplit=1)
        )

    def make(self, interval: float) -> None:
        end = time.monotonic_ns()
        begin = end - int(interval * 1e9)
        numbers = f'"sequence":{self.made},"begin_ns":{begin},"end_ns":{end}'.encode()
        self.waiting.append(numbers.join(self.template))
        self.made += 1

    async def deliver(self) -> None:
        """As a daemon: readings that were not confirmed are sent again with the next one."""
        batch = self.waiting[:64]
        try:
            async with asyncio.timeout(10):
                await self._post(b"".join(batch))
        except (OSError, TimeoutError, asyncio.IncompleteReadError, ConnectionError):
            self.failures += 1
            self.disconnect()
        else:
            del self.waiting[: len(batch)]
            self.sent += len(batch)

    async def _post(self, body: bytes) -> None:
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self.port)
        reader, writer = self._streams
        head = (
            f"POST /v1/readings HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n"
            f"Authorization: Bearer {self.token}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        writer.write(head.encode() + body)
        answer = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", answer)
        await reader.readexactly(int(length[1]) if length else 0)
        if not answer.startswith(b"HTTP/1.1 200"):
            raise ConnectionError(answer.split(b"\r\n")[0].decode())

    def disconnect(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None

    async def run(self, interval: float, end: float, first: float) -> None:
        await asyncio.sleep(first)
        due = time.monotonic()
        while due < end:
            self.make(interval)
            await self.deliver()
            due += interval
            await asyncio.sleep(max(0.0, min(due, end) - time.monotonic()))
        while self.waiting:
            await self.deliver()
            await asyncio.sleep(random.uniform(2.0, 4.0))
        self.disconnect()


class Collector:
    """A process `sesame collect`; `cpu_seconds` of all that were started."""

    def __init__(self, directory: Path, name: str, *options: str) -> None:
        self.directory, self.name = directory / name, name
        self.directory.mkdir()
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.options = options
        self.cpu_seconds, self.most_bytes = 0.0, 0

    @property
    def data(self) -> Path:
        return self.directory / "data"

    def write_tokens(self, names: list[str], role: Role) -> list[str]:
        """A token for each name, with this role."""
        chance = random.SystemRandom()
        tokens = [f"{chance.randrange(16**48):048x}" for _ in names]
        last_day = utc_today() + timedelta(days=2)
        lines = [
            Token(name, role, last_day, digest_of(token.encode())).line()
            for name, token in zip(names, tokens, strict=True)
        ]
        path = self.directory / "collector-tokens"
        path.touch(mode=0o600)
        path.write_text("".join(lines))
        return tokens

    def start(self) -> None:
        log = (self.directory / "log").open("ab")
        place = ["--listen", f"127.0.0.1:{self.port}", "-o", str(self.data)]
        place += ["--token-file", str(self.directory / "collector-token"), "--segment", "1"]
        self._process = subprocess.Popen(
            [*SESAME, "collect", *place, *self.options], stderr=log, stdout=log
        )
        log.close()

    async def wait(self) -> None:
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end:
            with contextlib.suppress(OSError):
                _, writer = await asyncio.open_connection("127.0.0.1", self.port)
                writer.close()
                return
            await asyncio.sleep(0.2)
        sys.exit(f"{self.name} did not start: {(self.directory / 'log').read_text()[-2000:]}")

    async def end(self, number: int = signal.SIGTERM) -> None:
        self._process.send_signal(number)
        _, status, usage = await asyncio.to_thread(os.wait4, self._process.pid, 0)
        self._process.returncode = status
        self.cpu_seconds += usage.ru_utime + usage.ru_stime
        self.most_bytes = max(self.most_bytes, 1024 * usage.ru_maxrss)
        if number == signal.SIGTERM and status != 0:
            sys.exit(f"{self.name} ended with {status}: {(self.directory / 'log').read_text()}")


async def fail_relay(relay: Collector, seconds: float) -> None:
    """It is gone from the middle of the time on, for a tenth of it."""
    await asyncio.sleep(0.4 * seconds)
    await relay.end(signal.SIGKILL)
    await asyncio.sleep(0.1 * seconds)
    relay.start()


async def kill_collector(top: Collector, seconds: float) -> None:
    for _ in range(KILLS):
        await asyncio.sleep(seconds / (KILLS + 1.5))
        await top.end(signal.SIGKILL)
        top.start()
        await top.wait()


async def measure(
    arguments: argparse.Namespace, top: Collector, relays: list[Collector], nodes: list[Node]
) -> None:
    top.start()
    for relay in relays:
        relay.start()
    for one in (top, *relays):
        await one.wait()
    end = time.monotonic() + arguments.seconds
    interval = arguments.interval
    work = [
        node.run(interval, end, interval * number / len(nodes)) for number, node in enumerate(nodes)
    ]
    if not arguments.no_failures:
        work.append(fail_relay(relays[0], arguments.seconds))
        work.append(kill_collector(top, arguments.seconds))
    await asyncio.gather(*work)
    for relay in relays:
        await relay.end()
    await top.end()


def count(directory: Path) -> Counter[tuple[str, int]]:
    """How often each reading is in the data sets, by node and number."""
    found: Counter[tuple[str, int]] = Counter()
    for path in directory.glob("*.sesame"):
        table = DataSet(path).table("kernel_reading")
        found.update(zip(table["node"].to_pylist(), table["sequence"].to_pylist(), strict=True))
    return found


def report(
    arguments: argparse.Namespace, top: Collector, relays: list[Collector], nodes: list[Node]
) -> int:
    readings = sum(node.made for node in nodes)
    found = count(top.data)
    expected = {(node.name, number) for node in nodes for number in range(node.made)}
    missing, more = len(expected - found.keys()), sum(found.values()) - len(found)
    cpu_seconds = sum(one.cpu_seconds for one in (top, *relays))
    of_relays = sum(one.cpu_seconds for one in relays)
    failures = sum(node.failures for node in nodes)
    print(
        f"{readings:,} readings of {len(nodes)} nodes ({len(nodes[0].template[1]):,} B each); "
        f"{failures:,} requests failed; {missing} readings missing, {more} stored again"
    )
    print(
        f"{cpu_seconds:.1f} s of processor time in {arguments.seconds:g} s: "
        f"{cpu_seconds / arguments.seconds:.3f} of a processor"
    )
    print(
        f"a reading: {1e3 * of_relays / readings:.2f} ms in relays, "
        f"{1e3 * top.cpu_seconds / readings:.2f} ms in the collector (with their starts)"
    )
    memory = ", ".join(f"{one.name} {one.most_bytes / 1e6:.0f} MB" for one in (top, *relays))
    print(f"memory at most: {memory}")
    return int(missing > 0 or more > 0 or found.keys() != expected)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--interval", type=float, default=10.0)
    parser.add_argument("--relays", type=int, default=2)
    parser.add_argument("--no-failures", action="store_true", help="without failures")
    parser.add_argument("--directory", type=Path, help="keep everything there")
    arguments = parser.parse_args()
    chance = random.Random(1)
    with tempfile.TemporaryDirectory(prefix="sesame-nodes-") as made:
        directory = arguments.directory or Path(made)
        directory.mkdir(exist_ok=True)
        top = Collector(directory, "collector")
        names = [f"relay{number}" for number in range(arguments.relays)]
        relays = []
        for name, token in zip(names, top.write_tokens(names, Role.RELAY), strict=True):
            file = directory / f"{name}-token"
            file.touch(mode=0o600)
            file.write_text(token)
            to = ["--forward-to", f"127.0.0.1:{top.port}", "--forward-token-file", str(file)]
            relays.append(Collector(directory, name, *to))
        nodes = []
        for number, relay in enumerate(relays):
            own = [f"node{n:04}" for n in range(number, arguments.nodes, len(relays))]
            tokens = relay.write_tokens(own, Role.NODE)
            nodes += [Node(*one, relay.port) for one in zip(own, tokens, strict=True)]
        for node in nodes:
            node.prepare(chance)
        asyncio.run(measure(arguments, top, relays, nodes))
        return report(arguments, top, relays, nodes)


if __name__ == "__main__":
    sys.exit(main())
