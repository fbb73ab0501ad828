"""Uploads to `sesame serve`: the memory of the web process, breaks at any point, speed of imports.

    python bench/repository_upload.py memory --gigabytes 5
    python bench/repository_upload.py breaks --times 20
    python bench/repository_upload.py import --requests 1000000

`memory` sends a data set whose raw stream is as large as said and prints by how much the server's
largest resident size grew. `breaks` kills the server or the client (SIGKILL) at random moments of
an upload, begins again, and counts what is there afterwards. `import` compares the time of `sesame
import` with that of the import in the confined process, and with all of `sesame push`.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT)]

from tests.python.block_traces import random_requests, write_msr  # noqa: E402
from tests.some_info import some_info  # noqa: E402

from sesame.datasets import DataSetWriter, Field, RecordType  # noqa: E402

SESAME = [sys.executable, "-m", "sesame"]
CHUNK = 16 << 20


class Server:
    """`sesame serve DIR` in a process of its own."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        directory.mkdir(exist_ok=True)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{free.getsockname()[1]}"
        self.start()

    def start(self) -> None:
        command = [*SESAME, "serve", str(self.directory), "--listen", self.address]
        self._process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert self._process.stdout is not None
        greeting = self._process.stdout.readline()
        found = re.search(r"token=(\S+)", greeting)
        assert found, greeting
        self.token = found[1]

    def kill(self) -> None:
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait()

    def resident(self, name: str) -> int:
        """VmRSS or VmHWM in bytes."""
        text = Path(f"/proc/{self._process.pid}/status").read_text()
        found = re.search(rf"{name}:\s+(\d+) kB", text)
        assert found
        return int(found[1]) * 1024

    def reset_peak(self) -> None:
        Path(f"/proc/{self._process.pid}/clear_refs").write_text("5")

    def get(self, path: str) -> Any:
        request = urllib.request.Request(f"http://{self.address}/api/v1{path}")
        request.add_header("authorization", f"Bearer {self.token}")
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    def push(self, path: Path) -> subprocess.Popen[str]:
        command = [*SESAME, "push", str(path), "--to", f"http://{self.address}", "--json"]
        environment = {**os.environ, "SESAME_TOKEN": self.token}
        return subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def pushed(self, path: Path) -> dict[str, Any]:
        process = self.push(path)
        out, err = process.communicate()
        assert process.returncode == 0, err
        found: dict[str, Any] = json.loads(out)
        return found


def write_data_set(path: Path, raw_bytes: int) -> None:
    described = RecordType("sample", "what was seen", (Field("value", "int64", "", "a number"),))
    with DataSetWriter(path) as writer:
        writer.write_described(described, {"value": list(range(1000))})
        writer.raw.mkdir()
        left, generator = raw_bytes, np.random.default_rng(1)
        with (writer.raw / "stream").open("wb") as file:
            while left:
                part = min(left, CHUNK)
                file.write(generator.bytes(part))
                left -= part
        writer.finish(some_info(title="large"))


def write_trace(path: Path, requests: int) -> None:
    write_msr(path, random_requests(requests))


def measure_memory(directory: Path, gigabytes: float) -> None:
    data = directory / "large.sesame"
    write_data_set(data, int(gigabytes * 1e9))
    write_data_set(directory / "first.sesame", 1000)
    server = Server(directory / "repository")
    server.pushed(directory / "first.sesame")  # what every upload loads
    server.reset_peak()
    before, begin = server.resident("VmRSS"), time.monotonic()
    server.pushed(data)
    seconds = time.monotonic() - begin
    grown = server.resident("VmHWM") - before
    print(f"{gigabytes} GB in {seconds:.1f} s: {before / 1e6:.1f} MB before, {grown / 1e6:+.1f} MB")
    server.stop()


def try_breaks(directory: Path, times: int, seed: int) -> None:
    """Each time a trace of its own; the kill comes at a random moment of the time that a whole
    upload takes."""
    chance = random.Random(seed)
    server = Server(directory / "repository")
    for number in range(2):  # the first one loads what all need
        first = directory / f"first{number}.csv"
        write_trace(first, 300_000 - 1 - number)
        begin = time.monotonic()
        server.pushed(first)
        whole = time.monotonic() - begin
    killed = {"server": 0, "client": 0}
    for number in range(times):
        trace = directory / f"trace{number}.csv"
        write_trace(trace, 300_000 + number)
        client = server.push(trace)
        time.sleep(chance.uniform(0.1, 1.0) * whole)
        who = chance.choice(list(killed))
        killed[who] += client.poll() is None
        if who == "client":
            client.kill()
        else:
            server.kill()
            server.start()
        client.communicate()
        server.pushed(trace)
    print(f"killed {killed} of {times}, upload of {whole:.1f} s: {left(server, times + 2)}")
    server.stop()


def left(server: Server, expected: int) -> str:
    """What there is afterwards, against what there should be."""
    state = server.directory / ".repository"
    total = server.get("/things?most=1000")["total"]
    with sqlite3.connect(state / "repository.db") as database:
        versions = database.execute("select count(*) from version").fetchone()[0]
        referenced = {row[0] for row in database.execute("select sha256 from file")}
    stored = {one.name for one in (state / "files").rglob("*") if one.is_file()}
    staged = [one for one in (state / "cache" / "uploads").iterdir() if one.is_dir()]
    return (
        f"{total} things and {versions} versions of {expected}, "
        f"{len(referenced - stored)} files lost, {len(stored - referenced)} files too many, "
        f"{len(staged)} uploads left"
    )


def compare_import(directory: Path, requests: int) -> None:
    trace = directory / "trace.csv"
    write_trace(trace, requests)
    for number in range(3):
        begin = time.monotonic()
        command = [*SESAME, "import", str(trace), "-o", str(directory / f"{number}.sesame")]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        line = time.monotonic() - begin
        server = Server(directory / f"repository{number}")
        begin = time.monotonic()
        state = server.pushed(trace)
        there = time.monotonic() - begin
        server.stop()
        print(
            f"`sesame import` {line:.2f} s ({requests / line:,.0f} events/s); import at upload "
            f"{state['import_s']:.2f} s ({requests / state['import_s']:,.0f} events/s), "
            f"preparing pages {state['prepare_s']:.2f} s, `sesame push` in all {there:.2f} s"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["memory", "breaks", "import"])
    parser.add_argument("--gigabytes", type=float, default=5.0)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--requests", type=int, default=1_000_000)
    given = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="upload"))
    try:
        if given.what == "memory":
            measure_memory(directory, given.gigabytes)
        elif given.what == "breaks":
            try_breaks(directory, given.times, given.seed)
        else:
            compare_import(directory, given.requests)
    finally:
        shutil.rmtree(directory)


if __name__ == "__main__":
    main()
