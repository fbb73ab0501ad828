"""The tracer tells computation from time in which something else had the processor."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.command_line import SESAME, run

from sesame.datasets import DataSet

ROOT = Path(__file__).resolve().parents[2]
NS = 1_000_000


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = tmp_path_factory.mktemp("stretches") / "stretches"
    source = ROOT / "tests/programs/trace/stretches.c"
    subprocess.run(["gcc", "-O1", "-o", str(built), str(source)], check=True)
    return built


@pytest.fixture
def processor() -> Iterator[str]:
    """One processor, which a rival keeps busy."""
    number = str(max(os.sched_getaffinity(0)))
    rival = subprocess.Popen(["taskset", "-c", number, sys.executable, "-c", "while True: pass"])
    yield number
    rival.kill()
    rival.wait()


def traced(directory: Path, processor: str, program: Path, how: str) -> tuple[int, list[int]]:
    """The time between two writes, and how much of it is recorded as lost; in ns."""
    command = [str(program), how, "60", str(directory / "data")]
    trace = [*SESAME, "trace", "-o", "run.sesame", "--", "taskset", "-c", processor, *command]
    outcome = run(trace, directory)
    assert outcome.status == 0, outcome.stderr
    data_set = DataSet(directory / "run.sesame")
    io = data_set.table("io", ["rank", "call", "begin_ns", "duration_ns"]).to_pylist()
    first, second = (row for row in io if row["call"] == "write")
    lost = [0]
    if "preempted" in data_set.record_types:
        lost += [
            row["lost_ns"]
            for row in data_set.table("preempted").to_pylist()
            if row["rank"] == first["rank"]
            and row["begin_ns"] >= first["begin_ns"]
            and row["begin_ns"] + row["duration_ns"] <= second["begin_ns"] + 1
        ]
    return second["begin_ns"] - first["begin_ns"] - first["duration_ns"], lost


def test_what_a_computation_takes_longer_than_it_computes_others_had(tmp_path, processor, program):
    gap, lost = traced(tmp_path, processor, program, "compute")
    assert gap > 65 * NS, "the rival had no processor time"
    assert gap - sum(lost) == pytest.approx(60 * NS, abs=3 * NS)


@pytest.mark.parametrize("how", ["sleep", "both"])
def test_who_slept_did_not_want_the_processor(tmp_path, processor, program, how):
    gap, lost = traced(tmp_path, processor, program, how)
    # It slept for 60 ms. After that it may have had to wait for the processor, which is lost.
    assert sum(lost) <= gap - 60 * NS
