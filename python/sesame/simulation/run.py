"""One simulation: runs the simulator and converts its output to a data set."""

from __future__ import annotations

import shutil
import signal
import tempfile
from collections.abc import Collection, Iterable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sesame import native
from sesame.accuracy import known_by, past_of
from sesame.datasets.describe import count_of
from sesame.datasets.info import HostMachine, Info, Instrument, Kind
from sesame.errors import AlreadyReported, Interrupted, SimulationError
from sesame.host_load import LoadWatch
from sesame.settings import setting, spelling
from sesame.simulation.compute import (
    computed_together,
    doubts_of_other_run,
    doubts_of_recorded,
    recorded_times,
    write_recorded,
)
from sesame.simulation.copies import computing_beside
from sesame.simulation.host import Host, HostRun, Progress, note_of_processes
from sesame.simulation.measuring import Measuring, measuring_of
from sesame.simulation.scenario import Scenario
from sesame.trust import Doubt, Estimate

if TYPE_CHECKING:
    from sesame.datasets import DataSet, DataSetWriter

SCALARS = (
    "predicted_time_s",
    "ranks",
    "spawned_ranks",
    "machine",
    "collectives",
    "sharing",
    "messages",
    "bytes",
    "wall_time_s",
    "messages_per_second",
    "startup_s",
    "parallel",
    "peak_rss_bytes",
    "deepest_stack_bytes",
    "io_time_s",
    "file_bytes_read",
    "file_bytes_written",
    "device_reads",
    "device_writes",
    "exit_status",
    "outcome",
    "outcome_text",
    "ranks_on_one_node",
    "asks_for_threads",
    "computed_together",
    "last_rank",
    "sensitivity_s",
    "sensitivity_range",
)
MOST_FILES_NAMED = 3  # in a note
# KiB; of the largest, four share a page of the page table, which reaches over 2 MiB.
SMALL_STACKS = (64, 128, 256, 512)
# Tables that the simulator writes.
RECORDED = ("call", "message", "io")


@dataclass(frozen=True)
class Keep:
    """What is kept of a run in its data set."""

    records: bool = True  # every call and message, not only the sums
    raw: bool = False  # also the raw streams


@dataclass(frozen=True, repr=False)
class RunResult:
    """The result of a run (result.json of the simulator) and its uncertainty."""

    result: dict[str, Any]
    measuring: Measuring | None = None
    doubts: tuple[Doubt, ...] = ()
    estimate: Estimate | None = None  # of the predicted time, when the run was repeated
    repeats_s: tuple[float, ...] = ()  # times of the repeats in run order, s

    def __repr__(self) -> str:
        """One line; `result` has hundreds."""
        outcome = self.result.get("outcome", "completed")
        return (
            f"<RunResult {self.predicted_s:.6g} s, {outcome}, exit status {self.exit_status}; "
            "figures: .scalars, all: .result>"
        )

    @property
    def predicted_s(self) -> float:
        """The predicted time in s; the median if the run was repeated."""
        predicted = (
            self.result["predicted_time_s"] if self.estimate is None else self.estimate.value
        )
        return float(predicted)

    @property
    def succeeded(self) -> bool:
        """Whether it completed with exit status 0: only then its time is that of its work."""
        result = self.result
        return result.get("outcome", "completed") == "completed" and not result.get("exit_status")

    @property
    def scalars(self) -> dict[str, Any]:
        scalars = {key: self.result[key] for key in SCALARS if key in self.result}
        scalars["predicted_time_s"] = self.predicted_s
        if self.estimate is not None:
            # Its doubts are among those of the run.
            described = self.estimate.as_json()
            del described["doubts"]
            scalars["predicted_time"] = {**described, "values": list(self.repeats_s)}
        if self.measuring is not None:
            scalars["measuring"] = self.measuring.as_json()
        return scalars

    @property
    def notes(self) -> tuple[str, ...]:
        """Limits of the prediction that were found during the run."""
        left_unused = [self.result["ranks"]] if self.left_network_unused else []
        return (
            *_unused_network(self.result.get("machine", ""), left_unused),
            *self._other_notes(),
        )

    @property
    def left_network_unused(self) -> bool:
        """Whether all of several ranks were on one node of a machine with more."""
        return bool(self.result.get("ranks_on_one_node") and not self.result.get("spawned_ranks"))

    def _other_notes(self) -> tuple[str, ...]:
        return (
            *self._threads(),
            *self._host_files(),
            *self._uses_without_time(),
            *self._refusals(),
            *self._spawns(),
            *self._shared_libraries(),
            *self._assumed(),
            *self._large_stacks(),
        )

    def _threads(self) -> Iterator[str]:
        if self.result.get("asks_for_threads"):
            why = "it asks for MPI_THREAD_MULTIPLE"
            fibers = setting("ranks_as", "fibers")
            yield f"{note_of_processes(why)}; if only one thread calls MPI, {fibers} is faster"

    def _large_stacks(self) -> Iterator[str]:
        """docs/decisions/0016-many-ranks.md has the measurements."""
        deepest = self.result.get("deepest_stack_bytes", 0) // 1024
        enough = next((size for size in SMALL_STACKS if size >= 4 * deepest), None)
        if deepest and enough is not None:
            yield (
                f"no rank has more than {deepest} KiB of its stack in memory; with "
                f"{setting('stack_size', f'{enough}KiB')} the ranks' page tables take less memory, "
                "and runs with many messages were 1.0 to 1.8 times as fast"
            )

    def _assumed(self) -> Iterator[str]:
        keys = self.result.get("assumed_constants", [])
        if keys:
            yield (
                f"the model {self.result['machine']} assumes what has no source: {', '.join(keys)}"
            )

    def _spawns(self) -> Iterator[str]:
        spawned = self.result.get("spawned_ranks", 0)
        if spawned and not self.result.get("spawn_time_s"):
            yield (
                f"{spawned} {'rank was' if spawned == 1 else 'ranks were'} spawned and began at "
                "once: the machine file does not say how long that takes; "
                f"set it, for instance with {setting('settings', {'node.spawn_time': '20ms'})}"
            )

    def _shared_libraries(self) -> Iterator[str]:
        opened = self.result.get("libraries_opened_for_all_ranks", [])
        if opened:
            names = ", ".join(Path(path).name for path in opened[:MOST_FILES_NAMED])
            more = len(opened) - MOST_FILES_NAMED
            yield (
                f"a shared library opened {names}{f' and {more} more' if more > 0 else ''}, whose "
                "static data all ranks share; where that matters, give the library that opens it "
                f"with {setting('private_libraries')}"
            )

    def _refusals(self) -> Iterator[str]:
        refused = sum(system.get("refused", 0) for system in self.result.get("storage", []))
        if refused:
            yield (
                "a simulated file system was full and let no file grow (ENOSPC, MPI_ERR_NO_SPACE), "
                f"refusals: {refused}; capacity and device.capacity of [storage] and "
                "[node.storage] set its size"
            )

    def _host_files(self) -> Iterator[str]:
        files = self.result.get("host_files", [])
        if not files:
            return
        named = ", ".join(files[:MOST_FILES_NAMED])
        more = f" and {len(files) - MOST_FILES_NAMED} more" if len(files) > MOST_FILES_NAMED else ""
        yield (
            f"the machine has no file system for {named}{more}: MPI-IO used the host's files, "
            "which took no simulated time"
        )

    def _uses_without_time(self) -> Iterator[str]:
        for use, ranks in self.result.get("uses_without_time", {}).items():
            named = ", ".join(map(str, ranks[:MOST_FILES_NAMED]))
            more = " and others" if len(ranks) > MOST_FILES_NAMED else ""
            yield f"what {use} (rank {named}{more}) do to simulated files takes no simulated time"

    @property
    def exit_status(self) -> int:
        return int(self.result["exit_status"])


def notes_of_runs(runs: Iterable[RunResult]) -> list[str]:
    """What the runs of a series give as notes, each once."""
    on_one_node: dict[str, set[int]] = {}
    others: list[str] = []
    for run in runs:
        others += run._other_notes()
        if run.left_network_unused:
            on_one_node.setdefault(run.result["machine"], set()).add(run.result["ranks"])
    unused = [note for one in on_one_node.items() for note in _unused_network(*one)]
    return list(dict.fromkeys([*unused, *others]))


def _unused_network(machine: str, ranks: Collection[int]) -> Iterator[str]:
    """`ranks` are the numbers of ranks of the runs that did not use it."""
    if not ranks:
        return
    counts = [str(count) for count in sorted(ranks)]
    listed = f"{', '.join(counts[:-1])} or {counts[-1]}" if len(counts) > 1 else counts[0]
    yield (
        f"all {listed} ranks were on one node of {machine}, so its network was not used; "
        f"to spread them: {setting('placement', 'cyclic')}"
    )


def simulate(
    scenario: Scenario, host: Host, *, progress: Progress | None = None, **more: Any
) -> RunResult:
    """Runs a scenario and returns its result; writes no data set. `more`: arguments of Host.run.

    Raises InputError if the scenario is invalid, AlreadyReported if the simulator printed the
    reason.
    """
    with tempfile.TemporaryDirectory(prefix="sesame-") as directory:
        return _run(scenario, host, Path(directory), Keep(records=False), progress, more)


def simulate_into(
    writer: DataSetWriter,
    scenario: Scenario,
    host: Host,
    keep: Keep,
    *,
    repeated: RunResult | None = None,
    progress: Progress | None = None,
    **more: Any,
) -> RunResult:
    """Runs a scenario, writes its records and result, and finishes the data set.

    `repeated`: the combined result of repeats, stored in place of this run's own. Raises as
    `simulate`, and OutputError if the data set cannot be written.
    """
    begin = datetime.now(UTC)
    outcome = _run(scenario, host, writer.directory, keep, progress, more)
    if repeated is not None:
        outcome = replace(
            outcome,
            doubts=repeated.doubts,
            estimate=repeated.estimate,
            repeats_s=repeated.repeats_s,
        )
    (writer.directory / "result.json").unlink()
    if keep.records:
        from sesame.simulation.storage import write_files_of_records

        writer.rows |= outcome.result["recorded_rows"]
        write_files_of_records(writer, outcome.result)
    write_result(writer, scenario, outcome, begin, keep)
    return outcome


def write_result(
    writer: DataSetWriter, scenario: Scenario, outcome: RunResult, begin: datetime, keep: Keep
) -> None:
    """Writes the summaries of a run and finishes its data set, which already has the records of
    calls and messages if `keep` asks for them."""
    _write_summaries(writer, outcome.result)
    writer.finish(info_of_run(scenario, outcome, begin, keep))


def _run(
    scenario: Scenario,
    host: Host,
    directory: Path,
    keep: Keep,
    progress: Progress | None,
    more: dict[str, Any],
) -> RunResult:
    text = _text_of(scenario, directory, keep)
    recorded_file = directory / "recorded_compute"
    recorded = _recorded(scenario)
    doubts = list(scenario.doubts)
    if scenario.compute.times is not None:
        text["compute"] = scenario.compute.to_json(scenario.compute.times)
    elif recorded is not None:
        times = recorded_times(recorded, scenario.ranks)
        doubts += doubts_of_recorded(recorded)
        write_recorded(times, recorded_file)
        text["compute"] = scenario.compute.to_json(recorded_file.resolve())
        text["compute"]["together"] = computed_together(recorded.info)
    watch = LoadWatch()
    try:
        own, copies = scenario.arguments_of_copies, scenario.compute.copies - 1
        beside = text if own is None else text | {"arguments": list(own)}
        with computing_beside(host.executable, beside, copies, doubts), ExitStack() as stack:
            if scenario.hosts:
                from sesame.simulation.hosts import connected_hosts

                connecting = connected_hosts(
                    scenario.hosts, scenario.launcher, host, text, pump=more.get("pump")
                )
                further = stack.enter_context(connecting)
                text |= further.scenario
                more = {**more, "descriptors": further.descriptors}
            run = host.run(text, directory, progress=progress, **more)
    finally:  # simulated files without `files` are not kept
        shutil.rmtree(directory / "files", ignore_errors=True)
        if scenario.files_directory is not None:
            _remove_empty(scenario, scenario.files_directory)
    recorded_file.unlink(missing_ok=True)
    result = _checked(run)
    if recorded is not None and scenario.trace is None:
        calls = {call["name"]: call["count"] for call in result["calls"]}
        doubts += doubts_of_other_run(recorded, scenario.command, calls)
    if _is_on_one_of_several_nodes(scenario):
        result["ranks_on_one_node"] = True
    in_simulator = host.computes_ranks and not result.get("asks_for_threads")
    measuring = measuring_of(result, watch.stop(), in_simulator=in_simulator)
    measuring = measuring or scenario.compute.measuring
    if measuring is not None:
        doubts += measuring.doubts
    return RunResult(result, measuring, tuple(doubts))


def _text_of(scenario: Scenario, directory: Path, keep: Keep) -> dict[str, Any]:
    """The scenario for the simulator, which writes into the directory."""
    text = scenario.to_json()
    text |= {
        "settings": spelling(),
        "output_directory": str(directory.resolve()),
        "raw": keep.raw and keep.records,
    }
    if keep.records:
        text["tables"] = _recorded_tables()
    if scenario.expected_sources is not None:
        text["expected_sources"] = str(scenario.expected_sources.resolve())
    return text


def _recorded(scenario: Scenario) -> DataSet | None:
    """The data set that computation is taken from, as the user asks; its times may have been
    written to a file already."""
    source = scenario.compute.recorded
    if source is None:
        return None
    from sesame.datasets import DataSet

    return DataSet(source)


def _is_on_one_of_several_nodes(scenario: Scenario) -> bool:
    """Whether all ranks, of which there are several, are on one node of a machine with more."""
    if scenario.ranks < 2:
        return False
    network = _network_of(scenario)
    return network.nodes_of_machine() > 1 and len(set(network.nodes())) == 1


def nodes_of(scenario: Scenario) -> list[int]:
    """The node of each rank."""
    nodes: list[int] = _network_of(scenario).nodes()
    return nodes


def _network_of(scenario: Scenario) -> Any:
    placement = scenario.placement.removeprefix("file:")
    overrides = list(scenario.overrides)
    return native.Network(str(scenario.machine), overrides, scenario.ranks, placement)


def _recorded_tables() -> dict[str, Any]:
    from sesame.datasets import record_type

    types = {name: record_type(name) for name in RECORDED}
    return {name: {**kind.to_json(), "complete": kind.complete} for name, kind in types.items()}


def _remove_empty(scenario: Scenario, files: Path) -> None:
    """Removes the directories of mounts that the program did not use."""
    model = native.read_machine(str(scenario.machine), list(scenario.overrides))
    for storage in (model["storage"], model["node_storage"]):
        for mount in storage["mounts"] if storage else ():
            top = files / mount.removeprefix("/").removeprefix(".")
            above = [parent for parent in top.parents if files in parent.parents]
            for path in [*top.glob("node-*"), top, *above] if top != files else []:
                with suppress(OSError):  # not empty
                    path.rmdir()


def _checked(run: HostRun) -> dict[str, Any]:
    """The result; raises an error with the reason if there is none."""
    if run.result is not None:
        return run.result
    if run.status == 130:
        raise Interrupted
    if run.status == 2:
        raise AlreadyReported(2)  # the simulator has printed the error
    if run.status > 128:
        name = signal.Signals(run.status - 128).name
        raise SimulationError(
            f"the simulator was ended by {name}",
            hint="the program may have overwritten memory; try it under a real MPI"
            if name in ("SIGSEGV", "SIGBUS", "SIGABRT")
            else "check that there is enough memory",
            exit_status=run.status,
        )
    raise SimulationError(f"the simulator wrote no result and ended with status {run.status}")


def _write_summaries(writer: DataSetWriter, result: dict[str, Any]) -> None:
    from sesame.simulation.critical_path import write_critical_path
    from sesame.simulation.links import write_links
    from sesame.simulation.storage import write_storage

    ranks = result["rank_table"]
    writer.write_records("rank", {"rank": list(range(len(ranks["end_s"]))), **ranks})
    calls = result["calls"]
    names = ("name", "count", "time_s", "bytes", "max_rank_time_s")
    writer.write_records("call_total", {name: [call[name] for call in calls] for name in names})
    _write_rows(writer, "pair", ("source", "destination", "messages", "bytes"), result["matrix"])
    sizes = [
        (0 if low < 0 else 1 << low, count, size) for low, count, size in result["message_sizes"]
    ]
    _write_rows(writer, "message_size", ("at_least_bytes", "count", "bytes"), sizes)
    write_links(writer, result)
    write_storage(writer, result)
    write_critical_path(writer, result)


def _write_rows(writer: DataSetWriter, name: str, fields: tuple[str, ...], rows: list[Any]) -> None:
    columns = zip(*rows, strict=True) if rows else [()] * len(fields)
    writer.write_records(name, dict(zip(fields, map(list, columns), strict=True)))


def info_of_run(
    scenario: Scenario,
    outcome: RunResult,
    begin: datetime,
    keep: Keep,
) -> Info:
    machine_file = scenario.machine.read_text(encoding="utf-8")
    program = scenario.traced_program or known_by(scenario.command)[0]
    past = past_of(machine_file, scenario.overrides, program)
    machine, ranks = outcome.result["machine"], outcome.result["ranks"]
    return Info(
        kind=Kind.SIMULATED,
        title=f"{scenario.name} on {count_of(ranks, 'simulated rank')} of {machine}",
        description="A simulated run: times are those of the target system, not of the host.",
        instrument=Instrument.ours("sesame simulate"),
        target_system={"name": machine, "machine_file": machine_file},
        host=HostMachine.here(),
        ranks=ranks,
        begin_time=begin.isoformat(timespec="seconds"),
        command=scenario.command,
        compute=str(scenario.compute),
        seed=scenario.seed,
        scenario=scenario.to_json(),
        result=outcome.scalars,
        past_error=None if past is None else past.as_json(),
        notes=[*scenario.notes, *outcome.notes],
        doubts=[doubt.as_json() for doubt in outcome.doubts],
        # Nothing is discarded or damaged: if a record cannot be written, the run fails.
        raw=None
        if not keep.records
        else {
            "format": "CTF 1.8",
            "directory": "raw" if keep.raw else None,
            "discarded": 0,
            "damage": [],
        },
    )
