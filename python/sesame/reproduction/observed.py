"""Runs workloads on this machine while their calls and kernel events are traced."""

from __future__ import annotations

import json
import operator
import os
import resource
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from sesame.datasets import DataSet, DataSetWriter
from sesame.datasets.traced import IoFlag, MpiFlag
from sesame.errors import InputError, WorkloadError
from sesame.measurement import Wanted, record_kernel, subsystems
from sesame.reproduction.limits import MOST_SECONDS, memory_limit
from sesame.reproduction.outcome import Outcome
from sesame.traced.clocks import kernel_shift_ns
from sesame.tracing import TraceOptions, collate, environment
from sesame.workloads import Compiler, build_workload, find_compiler, find_workload

Array = NDArray[Any]


@dataclass(frozen=True)
class Phase:
    """A phase of a rank, between two of its time stamps."""

    rank: int
    process: int
    name: str
    begin_ns: int
    end_ns: int


@dataclass(frozen=True)
class Call:
    """A recorded call of a rank; times are those of the kernel's records."""

    rank: int
    process: int
    name: str
    begin_ns: int
    end_ns: int
    bytes: int
    is_nested: bool  # made inside another one that is recorded


NESTED = {"io": IoFlag.NESTED, "mpi": MpiFlag.NESTED}


@dataclass(frozen=True)
class Observed:
    """The data of one run. The times of each data set are relative to its own begin."""

    command: str
    process: int  # the process that was started
    report: dict[str, Any]  # written by the workload
    kernel: DataSet
    application: DataSet | None  # the traced calls; None without tracing
    faults: int  # page faults of all its processes by the kernel's accounting

    def phases(self) -> list[Phase]:
        """The phases in the workload's report, in times of the kernel's records."""
        table = {name: part["values"] for name, part in self.report["tables"]["phase"].items()}
        zero = self.kernel.info["begin_monotonic_ns"]
        names = ("rank", "process", "phase", "clock", "begin", "end")
        phases = []
        for rank, process, name, clock, begin, end in zip(
            *(table[name] for name in names), strict=True
        ):
            begin_ns = round(1e9 * clock) - zero
            length_ns = round(1e9 * (end - begin))
            phases.append(Phase(int(rank), int(process), name, begin_ns, begin_ns + length_ns))
        return phases

    def calls(self, record: str) -> list[Call]:
        """The calls of first threads in the traced records `mpi` or `io`, in times of the kernel's
        records."""
        run = self.application
        assert run is not None
        shift = kernel_shift_ns(run, self.kernel)
        known = run.table("process", ["rank", "pid", "mpi_rank"]).to_pylist()
        who = {one["rank"]: (one["pid"], one["mpi_rank"]) for one in known}
        columns = ["rank", "thread", "call", "begin_ns", "duration_ns", "bytes", "flags"]
        found = []
        for one in run.table(record, columns).to_pylist():
            if one["thread"] == 0:
                process, rank = who[one["rank"]]
                begin = one["begin_ns"] - shift
                end = begin + one["duration_ns"]
                nested = bool(one["flags"] & NESTED[record])
                found.append(Call(rank, process, one["call"], begin, end, one["bytes"], nested))
        return found

    def processes(self) -> set[int]:
        """The process and all its descendants. Needs a trace of task.create."""
        found = {self.process}
        made = events_of(self.kernel, subsystem="task", point="create")
        for parent, child in zip(made["process"].tolist(), made["what"].tolist(), strict=True):
            if parent in found:
                found.add(child)
        return found

    def faults_traced(self) -> int:
        """Traced page faults of all processes. Needs traces of vm.total and task.create."""
        faults = events_of(self.kernel, subsystem="vm", point="total")
        return int(np.isin(faults["process"], list(self.processes())).sum())


@dataclass(frozen=True)
class Observation:
    """A section of a report that measured its machine, repeated on this machine."""

    name: str
    title: str
    source: str
    observe: Callable[[Laboratory, Callable[[str], None]], Outcome]


class Laboratory:
    """Runs workloads one after the other; data sets are kept in a directory."""

    def __init__(self, directory: Path, mpi: str | None = None) -> None:
        if os.geteuid() != 0:
            raise InputError(
                "this experiment measures the kernel, which only root may do",
                hint="sudo env PATH=$PATH sesame reproduce …; sesame-8.2 needs no root",
            )
        self.directory = directory
        self._compiler: Compiler = find_compiler(mpi)
        if self._compiler.mpiexec is None:
            raise InputError(f"there is no mpiexec beside {self._compiler.wrapper}")
        self._runs = 0

    def run(
        self,
        workload: str,
        options: Sequence[str],
        ranks: int,
        *,
        trace: Sequence[str],
        limit_bytes: int | None = None,
        is_traced: bool = False,
    ) -> Observed:
        """Runs a workload. `trace`: points whose events are recorded. `limit_bytes`: its memory.
        `is_traced`: whether the calls of its ranks are recorded, too. Raises InputError or
        WorkloadError."""
        built = build_workload(find_workload(workload), self._compiler)
        self._runs += 1
        here = self.directory / f"run-{self._runs}"
        here.mkdir()
        report = here / "report.json"
        program = [str(built.program), *options]
        command = [str(self._compiler.mpiexec), "-n", str(ranks), *program]
        raw = here / "raw"
        variables = environment(raw, TraceOptions()) if is_traced else {}
        if is_traced:
            raw.mkdir()
        faults: list[int] = []  # before the command and after it; what prepares probes is not its
        with memory_limit(limit_bytes) as limit:
            words = [*limit, *command, "--report", str(report)]
            started: list[subprocess.Popen[bytes]] = []

            def work(_environment: Mapping[str, str]) -> int:
                quiet = subprocess.DEVNULL
                faults.append(_faults_of_children())
                started.append(
                    subprocess.Popen(words, env=os.environ | variables, cwd=here, stdout=quiet)
                )
                status = wait_for(started[0])
                faults.append(_faults_of_children())
                return status

            def left_out(text: str) -> None:
                if text.partition(" ")[0] in trace:
                    raise InputError(f"this experiment needs all its points, but {text}")

            kernel = here / "kernel.sesame"
            recorded = record_kernel(kernel, _wanted(trace), work, say=left_out)
        if recorded.status != 0 or not report.exists():
            raise WorkloadError(f"{' '.join(command)}: ended with status {recorded.status}")
        if recorded.events is not None and recorded.events["lost"]:
            raise InputError(
                "{lost:,} of {seen:,} events of the kernel were lost".format(**recorded.events),
                hint="repeat it when the machine is idle",
            )
        return Observed(
            " ".join([f"-n {ranks}", workload, *options]),
            started[0].pid,
            json.loads(report.read_text()),
            DataSet(kernel),
            _collated(raw, here / "application.sesame") if is_traced else None,
            faults[1] - faults[0],
        )


def wait_for(process: subprocess.Popen[bytes]) -> int:
    """Waits for a process; ends it if this process is interrupted."""
    try:
        return process.wait()
    except BaseException:
        process.terminate()
        try:
            process.wait(MOST_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        raise


def _wanted(trace: Sequence[str]) -> Wanted:
    tracing = set()
    for name in trace:
        subsystem, _, point = name.partition(".")
        names = [one.name for one in subsystems()[subsystem].points]
        tracing.add((subsystem, names.index(point)))
    points = {(name, i) for name in {name for name, _ in tracing} for i in range(_points_of(name))}
    return Wanted(points, tracing, budget=None)


def _points_of(subsystem: str) -> int:
    return len(subsystems()[subsystem].points)


def _collated(raw: Path, path: Path) -> DataSet:
    with DataSetWriter(path) as writer:
        writer.finish(collate(raw, writer))
    return DataSet(path)


def _faults_of_children() -> int:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_minflt + usage.ru_majflt


def events_of(kernel: DataSet, **wanted: str) -> dict[str, Array]:
    """Columns of the events with these names (subsystem, point, command), by time."""
    tests = [pc.field(name) == value for name, value in wanted.items()]
    table = kernel.table("kernel_event").filter(reduce(operator.and_, tests)).sort_by("time_ns")
    return {name: table.column(name).to_numpy() for name in table.column_names}
