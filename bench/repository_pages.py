"""The time of quick looks and pages of a repository, from a server in a process of its own.

    python bench/repository_pages.py fill DIR     data sets of 10 and 100 million records; minutes
    python bench/repository_pages.py time DIR     serves DIR; prints figures
    python bench/repository_pages.py              both, with a directory that is removed

Asked (issue 21): the first quick look over 10 million records and 256 nodes under 2 s, again under
0.3 s; the home page of a data set with 100 million records under 300 ms (95 %); 200 sessions, each
one page or view every 5 s, without an error and under 1 s (95 %).

Records are of one type: a rank, a begin and an end, one of 8 names, a size. They are in order of
rank, as those of traced runs are, so that a range of time is in no part of the file. Sessions ask
for home pages (30 %), quick looks (20 %), views of random ranges, nodes and fields that the sums
made at import show (36 %), pictures (10 %) and views that are read from the records (4 %).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pyarrow as pa

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT)]

from tests.some_info import some_info  # noqa: E402

from sesame.datasets import DataSetWriter, Field, RecordType  # noqa: E402
from sesame.repository.local import STATE, add_found  # noqa: E402
from sesame.repository.process import open_directory  # noqa: E402

NODES, RUN_S = 256, 1000.0
SIZES = {"ten": 10_000_000, "hundred": 100_000_000}
ROWS = 1 << 20  # of a batch
SESSIONS, EVERY_S, LASTS_S = 200, 5.0, 60.0
EVENT = RecordType(
    "event",
    "Something that happened",
    (
        Field("rank", "uint32", "rank", "who did it"),
        Field("begin_ns", "int64", "ns", "its begin"),
        Field("end_ns", "int64", "ns", "its end"),
        Field("call", "name", "", "what it was"),
        Field("bytes", "uint64", "B", "its size"),
    ),
    complete=True,
)


# ---- Data ----


def batches(records: int) -> Iterator[dict[str, object]]:
    rng = np.random.default_rng(records)
    names = pa.array([f"MPI_Call_{i}" for i in range(8)])
    for first in range(0, records, ROWS):
        count = min(ROWS, records - first)
        number = np.arange(first, first + count)
        rank = number * NODES // records
        begin = rng.integers(0, int(RUN_S * 1e9), count)
        yield {
            "rank": rank.astype(np.uint32),
            "begin_ns": begin,
            "end_ns": begin + rng.exponential(1e5, count).astype(np.int64),
            "call": pa.DictionaryArray.from_arrays(rng.integers(0, 8, count, np.int32), names),
            "bytes": (1 << rng.integers(0, 24, count)).astype(np.uint64),
        }


def fill(directory: Path) -> None:
    directory.mkdir(exist_ok=True)
    for name, records in SIZES.items():
        path = directory / f"{name}.sesame"
        if path.exists():
            continue
        begin = time.perf_counter()
        with DataSetWriter(path) as writer:
            writer.write_described_batches(EVENT, batches(records))
            writer.finish(some_info("traced", title=name, ranks=NODES))
        print(f"{name}: {records:,} records written in {time.perf_counter() - begin:.1f} s")
    begin = time.perf_counter()
    repository = open_directory(directory)
    count = add_found(repository, directory, print)
    repository.close()
    print(f"{count} data sets added and prepared in {time.perf_counter() - begin:.1f} s")


# ---- A server ----


class Server:
    """`sesame serve DIR` on a free port."""

    def __init__(self, directory: Path) -> None:
        self._process = subprocess.Popen(
            (sys.executable, "-m", "sesame", "serve", str(directory), "--listen", "127.0.0.1:0"),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        assert self._process.stdout is not None and self._process.stderr is not None
        self.address = urlsplit(self._process.stdout.readline().strip())
        for line in self._process.stderr:
            if "data sets added" in line:
                break
        secret = (directory / STATE / "secret").read_text().strip()
        self.headers = {"authorization": f"Bearer {secret}"}

    def peak_megabytes(self) -> float:
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        return int(re.findall(r"VmHWM:\s+(\d+)", status)[0]) / 1000

    def close(self) -> None:
        self._process.terminate()
        self._process.wait()


class Client:
    def __init__(self, server: Server) -> None:
        self._connection = HTTPConnection(server.address.hostname or "", server.address.port)
        self._headers = server.headers

    def get(self, path: str) -> tuple[float, bytes]:
        """The time (s) and the answer, which is that of the address that it leads to."""
        begin = time.perf_counter()
        while True:
            self._connection.request("GET", path, headers=self._headers)
            answer = self._connection.getresponse()
            content = answer.read()
            if answer.status != 303:
                break
            path = answer.headers["location"]
        taken = time.perf_counter() - begin
        assert answer.status == 200, (answer.status, path, content[:300])
        return taken, content


def addresses(client: Client) -> dict[str, str]:
    things = json.loads(client.get("/api/v1/things?library=data")[1])["things"]
    return {one["title"]: one["address"] for one in things}


# ---- Figures ----


def time_looks(server: Server, home: str) -> None:
    """Each look for the first time, and again: its page and its data."""
    looks = {
        "start: count and rate": "",
        "bytes, mean of a record": "&of=bytes&show=mean",
        "a tenth of the run": "&from=300&to=400",
        "one node": "&node=17",
        "a thousandth of the run, read": "&from=300&to=301",
        "one call, read": "&only=call:MPI_Call_3",
        "duration by bytes, read": "&look=pair&xscale=log&yscale=log",
        "single records, read": "&look=record",
    }
    for title, query in looks.items():
        times = []
        for _ in range(2):
            client = Client(server)
            page, _ = client.get(f"{home}/look?v=1&type=event{query}")
            view, content = client.get(f"{home}/look/1/view.json?type=event{query}")
            times.append((page, view))
        first, again = (f"page {page:.3f} + view {view:.3f} s" for page, view in times)
        print(f"{title:32} first {first}, again {again}; {len(content) / 1e3:,.0f} kB")


def time_home(server: Server, home: str) -> None:
    client = Client(server)
    times = [client.get(home)[0] for _ in range(300)]
    page = client.get(home)[1]
    print(f"home page of 100 million records: {spread(times)}; {len(page) / 1e3:.1f} kB")


def spread(times: list[float]) -> str:
    middle, most = (1e3 * one for one in np.percentile(times, [50, 95]))
    return f"50 % {middle:.1f} ms, 95 % {most:.1f} ms, longest {1e3 * max(times):.1f} ms"


def some_page(chance: random.Random, homes: list[str]) -> tuple[str, str]:
    """Kind and address."""
    home, kind = chance.choice(homes), chance.random()
    begin = chance.uniform(0, 0.5 * RUN_S)
    range_of = f"&from={begin:.3f}&to={begin + chance.uniform(0.3, 0.5) * RUN_S:.3f}"
    field = chance.choice(("", "&of=bytes", "&of=duration&show=mean", "&of=bytes&show=most"))
    node = chance.choice(("", f"&node={chance.randrange(NODES)}", "&nodes=0-31"))
    query = f"type=event{field}{node}{range_of}"
    if kind < 0.3:
        return "home page", home
    if kind < 0.5:
        return "quick look", f"{home}/look?v=1&{query}"
    if kind < 0.86:
        return "view", f"{home}/look/1/view.json?{query}"
    if kind < 0.96:
        return "picture", f"{home}/look/1/picture.png?type=event{field}{node}"
    read = chance.choice(("&look=pair&xscale=log", f"&only=call:MPI_Call_{chance.randrange(8)}"))
    return "view read", f"{homes[0]}/look/1/view.json?type=event{read}"


async def session(
    server: Server, homes: list[str], number: int, found: list[tuple[str, float, int]]
) -> None:
    chance = random.Random(number)
    await asyncio.sleep(chance.uniform(0, EVERY_S))
    end = time.perf_counter() + LASTS_S
    reader, writer = await asyncio.open_connection(server.address.hostname, server.address.port)
    while time.perf_counter() < end:
        kind, path = some_page(chance, homes)
        begin = time.perf_counter()
        status = await fetch(server, reader, writer, path)
        taken = time.perf_counter() - begin
        found.append((kind, taken, status))
        await asyncio.sleep(max(EVERY_S - taken, 0))
    writer.close()


async def fetch(
    server: Server, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, path: str
) -> int:
    """The status. A page that leads to another is an answer, too."""
    lines = [f"GET {path} HTTP/1.1", f"Host: {server.address.netloc}"]
    lines += [f"{name}: {value}" for name, value in server.headers.items()]
    writer.write(("\r\n".join(lines) + "\r\n\r\n").encode())
    head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    if length := re.search(r"content-length: (\d+)", head):
        await reader.readexactly(int(length[1]))
    else:
        while int((await reader.readline()).strip(), 16):
            await reader.readuntil(b"\r\n")
        await reader.readline()
    return int(head.split()[1])


def time_sessions(server: Server, homes: list[str]) -> None:
    found: list[tuple[str, float, int]] = []

    async def run() -> None:
        await asyncio.gather(*(session(server, homes, i, found) for i in range(SESSIONS)))

    asyncio.run(run())
    statuses = Counter(status for *_, status in found)
    print(f"{SESSIONS} sessions, {len(found)} answers: {dict(statuses)}")
    for kind in ("home page", "quick look", "view", "picture", "view read", "all"):
        times = [taken for name, taken, _ in found if kind in (name, "all")]
        print(f"  {kind:12} {len(times):5}: {spread(times)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["fill", "time"], nargs="?")
    parser.add_argument("directory", type=Path, nargs="?")
    given = parser.parse_args()
    if given.directory is None:
        with tempfile.TemporaryDirectory() as name:
            fill(Path(name))
            measure(Path(name))
    elif given.what == "fill":
        fill(given.directory)
    else:
        measure(given.directory)


def measure(directory: Path) -> None:
    print(f"load of the machine before: {os.getloadavg()}, {os.cpu_count()} processors")
    server = Server(directory)
    try:
        known = addresses(Client(server))
        homes = [known[name] for name in SIZES]
        time_looks(server, homes[0])
        time_home(server, homes[1])
        time_sessions(server, homes)
        print(f"largest memory of the server: {server.peak_megabytes():.0f} MB")
    finally:
        server.close()
    print(f"load of the machine after: {os.getloadavg()}")


if __name__ == "__main__":
    main()
