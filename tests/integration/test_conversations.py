"""Traces of messages: each connected pair of sockets has a number of its own."""

from __future__ import annotations

import sys

import pyarrow.parquet as pq
import pytest
from tests.integration.test_measure import run

pytestmark = pytest.mark.usefixtures("kernel_probes")

PAIRS = """
import os, socket
open("/proc/self/comm", "w").write("pairs")
pairs = [socket.socketpair() for _ in range(40)]
if os.fork() == 0:
    for here, there in pairs:
        there.close()
    for i, (here, there) in enumerate(pairs):
        here.recv(1000 + i)
    os._exit(0)
for i, (here, there) in enumerate(pairs):
    there.send(bytes(1000 + i))
os.wait()
"""
LATE = """
import socket
here, there = socket.socketpair()
here.send(bytes(1234))
here.close()
there.recv(1234)
"""


def test_each_pair_of_sockets_is_a_conversation_of_its_own(tmp_path):
    path = tmp_path / "pairs.sesame"
    run("measure", "run", "--only", "task", "--trace", "ipc", "-o", str(path), "--", sys.executable,
        "-c", PAIRS)  # fmt: skip
    table = pq.read_table(path / "kernel_event.parquet").to_pylist()
    own = [row for row in table if row["command"] == "pairs"]
    ends = {
        point: {row["bytes"]: row["where"] for row in own if row["point"] == point}
        for point in ("send", "receive")
    }
    sizes = range(1000, 1040)
    assert all(ends["send"][size] == ends["receive"][size] != 0 for size in sizes)
    assert len({ends["send"][size] for size in sizes}) == len(sizes)


def test_a_conversation_keeps_its_number_when_one_end_is_closed(tmp_path):
    path = tmp_path / "late.sesame"
    run("measure", "run", "--only", "task", "--trace", "ipc", "-o", str(path), "--", sys.executable,
        "-c", LATE)  # fmt: skip
    table = pq.read_table(path / "kernel_event.parquet").to_pylist()
    mine = {row["point"]: row for row in table if row["bytes"] == 1234 and row["class"] == "unix"}
    assert mine["send"]["where"] == mine["receive"]["where"] != 0
