"""A small data set of every kind, each written by what writes it in earnest where that is quick."""

from __future__ import annotations

import os
import subprocess
from datetime import UTC, datetime
from pathlib import Path

from test_bench import REPORT, built_with
from test_replay import in_this_process, writer
from tests.command_line import SESAME
from tests.python.darshan_writer import LogContents, Record, write_log
from tests.python.traced_run import TracedRun
from tests.some_info import some_info

from sesame.datasets import DataSetWriter
from sesame.exchange import import_trace
from sesame.measurement.session import columns
from sesame.reproduction import Arrow, Band, Bar, Diagram, Judgement, Lanes, Outcome, Table
from sesame.reproduction.stored import write_outcomes
from sesame.trust import Doubt, Reason
from sesame.workloads import run_here, write_run

OUTCOME = Outcome(
    "some",
    "title",
    "source",
    [Judgement("it rises", False, "since it falls", "3 of 4"), Judgement("it ends", True)],
    [Table("counts", ["", "n"], [["a", "17"]])],
    [
        Diagram("one", "x", "y", {"c": [(1.0, 2.0), (4.0, 8.0)], "d": []}, is_logarithmic=True),
        Diagram("two", "x", "y", {"c": [(0.0, 0.5)]}, bands=[Band(0, 1, "sleeping")]),
        Lanes(
            "three",
            "ms",
            ["a", "b"],
            [Bar("a", 0.0, 2.0, "call", "MPI_Init")],
            [Arrow("a", 0.0, "b", 1.0, "8 bytes")],
        ),
    ],
    commands=["some command"],
    runs=[{"command": "some command", "time_s": 1.0}],
    doubts=[Doubt(Reason.BUSY_HOST, "others ran", "wait")],
)


def write_every_kind(directory: Path, simulators: Path) -> dict[str, Path]:
    """The paths by what each is: a kind, and where a kind has several forms, more words."""
    (directory / "bench").mkdir()
    made = {
        "simulated": _simulate(directory / "simulated.sesame", simulators, "2"),
        "series": _simulate(directory / "series.sesame", simulators, "1,2"),
        "traced": writer().write(directory / "traced.sesame"),
        "traced, nothing done": TracedRun().write(directory / "idle.sesame"),
        "imported": _import(directory),
        "replayed": _replay(directory),
        "measured": _measure(directory / "measured.sesame"),
        "bench": _bench(directory / "bench"),
        "characterised": _characterize(directory),
        "reproduced": _reproduce(directory / "reproduced.sesame"),
    }
    # A kind without a single table must be answered, too.
    for kind in ("simulated", "traced", "measured", "bench", "series", "characterised"):
        made[f"{kind}, no tables"] = _empty(directory / f"empty-{kind}.sesame", kind)
    return made


def _simulate(path: Path, simulators: Path, ranks: str) -> Path:
    command = [*SESAME, "simulate", "-n", ranks, "--machine", "paragon", "-o", str(path)]
    command += ["ring", "3"]
    environment = {**os.environ, "SESAME_BIN": str(simulators)}
    subprocess.run(command, check=True, capture_output=True, env=environment)
    return path


def _import(directory: Path) -> Path:
    write_log(directory / "job.darshan", LogContents(1, {7: "/data/out"}, [Record("POSIX", 7, 0)]))
    path = directory / "imported.sesame"
    import_trace(directory / "job.darshan", path)
    return path


def _replay(directory: Path) -> Path:
    target, path = directory / "target", directory / "replayed.sesame"
    target.mkdir()
    run = writer(count=2).write(directory / "to-replay.sesame")
    done = in_this_process("replay", str(run), "--dir", str(target), "-o", str(path), "--json")
    assert done.status == 0, done.stderr
    return path


STATES = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
CPU_0 = {"cpu": 0} | {f"{state}_ns": 10**7 for state in STATES}
CPU_1 = CPU_0 | {"cpu": 1, "idle_ns": 10**9}


def _measure(path: Path) -> Path:
    second = 10**9
    times = {"begin_ns": 0, "end_ns": second, "node": "here"}
    counted = {"subsystem": "fs", "point": "read", "class": "ext4", "at_least_bytes": 0}
    counted |= {"below_bytes": 0, "count": 3, "bytes": 30, "timed": 0, "duration_ns": 0}
    counted |= {"max_duration_ns": 0, "detail": 1, "active_ns": second}
    cost = {"subsystem": "fs", "detail": 1, "active_ns": second, "events": 3, "estimated_ns": 9}
    with DataSetWriter(path) as made:
        for name, row in (("kernel_summary", counted), ("measurement_cost", cost)):
            made.write_records(name, columns(name, [times | row]))
        made.write_records("cpu_time", columns("cpu_time", [times | CPU_0, times | CPU_1]))
        made.finish(some_info("measured", title="kernel measurement", command=["true"]))
    return path


def _bench(directory: Path) -> Path:
    run = run_here(built_with(directory, REPORT, 0), 2, [], output_to_stderr=True)
    with DataSetWriter(directory / "cg.sesame") as made:
        write_run(made, run, datetime.now(UTC))
    return directory / "cg.sesame"


def _characterize(directory: Path) -> Path:
    path = directory / "characterised.sesame"
    run = writer(count=5).write(directory / "to-characterize.sesame")
    done = in_this_process("characterize", str(run), "-o", str(path), "--json")
    assert done.status in (None, 0), done.stderr
    return path


def _reproduce(path: Path) -> Path:
    with DataSetWriter(path) as made:
        write_outcomes(made, [OUTCOME], datetime.now(UTC), facts=[("simulated runs", "7")])
    return path


def _empty(path: Path, kind: str) -> Path:
    with DataSetWriter(path) as made:
        made.finish(some_info(kind))
    return path
