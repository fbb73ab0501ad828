"""Sources of computation time: measured, none, fixed, or recorded in a data set."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sesame import native
from sesame.errors import InputError
from sesame.settings import setting
from sesame.simulation.copies import check_copies
from sesame.simulation.measuring import Measuring
from sesame.trust import Doubt, Reason

if TYPE_CHECKING:
    import numpy as np

    from sesame.datasets import DataSet

MOST_FIXED_PS = 86_400 * 10**12  # as in core/sim/scenario.cc
ALL_TOGETHER = 2**31 - 1  # all ranks of a node, likewise
TIMED = ("measured", "recorded")  # modes with times of real computation, now or earlier
POLL = 1  # flag of a call, core/trace/record.h
# How often programs call them depends on the machine.
POLLS = (
    "MPI_Test",
    "MPI_Iprobe",
    "MPI_Improbe",
    "MPI_Request_get_status",
    "MPI_Waitsome",
    "MPI_Wtime",
)


@dataclass(frozen=True)
class Compute:
    """How the simulator obtains the time of computation between two MPI calls."""

    mode: str = "measured"  # measured, none, fixed or recorded
    fixed_ps: int = 0  # time between two calls, ps, where mode is fixed
    recorded: Path | None = None  # a data set
    times: Path | None = None  # file with its times, if already written
    text: str = "measured"  # the option's text
    save: Path | None = None  # file for the measured times, to be reused by other runs
    # How many ranks computed at the same time on a node: what that costs is in the times.
    together: int = 1
    copies: int = 1  # copies of the run that compute at the same time while it is measured
    measuring: Measuring | None = None  # of recorded times that this command measured itself

    @property
    def repeatable(self) -> bool:
        """Whether a second run gives the same times."""
        return self.mode != "measured"

    def to_json(self, recorded_file: Path | None = None) -> dict[str, Any]:
        return {
            "mode": self.mode,
            "fixed_ps": self.fixed_ps,
            "recorded": None if recorded_file is None else str(recorded_file),
            "save": None if self.save is None else str(self.save),
            "together": self.together,
        }

    def __str__(self) -> str:
        return self.text


def parse_compute(text: str) -> Compute:
    """Parses `measured`, `measured:2`, `none`, `fixed:1us` or `recorded:DATASET`.

    `measured:2` measures while 2 copies of the run compute. Raises InputError for anything else.
    """
    mode, colon, value = text.partition(":")
    if mode == "measured" and value.isdecimal() and int(value) > 0:
        check_copies(int(value), text)
        return Compute(mode, text=text, together=int(value), copies=int(value))
    if mode in ("measured", "none") and not colon:
        return Compute(mode, text=text)
    if mode == "fixed" and value:
        try:
            duration = native.parse_duration_ps(value)
        except InputError as error:
            raise InputError(
                f"{setting('compute', text)}: {error.message}", hint=error.hint
            ) from error
        if duration > MOST_FIXED_PS:
            raise InputError(f"{setting('compute', text)}: expected at most a day before each call")
        return Compute(mode, fixed_ps=duration, text=text)
    if mode == "recorded" and value:
        return Compute(mode, recorded=Path(value), text=text)
    raise InputError(
        f"{setting('compute', text)}: expected measured, measured:COPIES, none, fixed:DURATION or "
        "recorded:DATASET",
        hint=f"for instance {setting('compute', 'fixed:1us')}",
    )


def doubts_of_recorded(data_set: DataSet) -> list[Doubt]:
    """The doubts of recorded computation, which predictions made with it inherit."""
    return [
        Doubt(
            Reason.DISTURBED_INPUT,
            f"the computation recorded in {data_set.path.name} is doubtful: "
            f"{doubt['reason']}: {doubt['text']}",
            "record it again on an idle machine",
        )
        for doubt in data_set.info.get("doubts", [])
        if doubt["reason"] in (Reason.BUSY_HOST, Reason.SCATTER, Reason.DISTURBED_INPUT)
    ]


def doubts_of_other_run(
    data_set: DataSet, command: Sequence[str], calls: Mapping[str, int]
) -> list[Doubt]:
    """The doubt of a run of `command` that takes its computation from another run. It is another
    one if its program, its arguments or its `calls` (how often, by name) differ."""
    recorded, here = _words(data_set.info.get("command", [])), _words(command)
    found = []
    if recorded and recorded != here:
        found.append(f"it was recorded from `{recorded}`, and this is `{here}`")
    if data_set.has("call_total"):
        then = {row["name"]: row["count"] for row in data_set.table("call_total").to_pylist()}
        differences = {
            name: abs(then.get(name, 0) - calls.get(name, 0))
            for name in {**then, **calls}
            if not name.startswith(POLLS)
        }
        name = max(differences, key=differences.__getitem__, default="")
        if differences.get(name):
            found.append(
                f"it has {then.get(name, 0):,} calls of {name}, and this run {calls.get(name, 0):,}"
            )
    if not found:
        return []
    text = f"the computation in {data_set.path.name} is that of another run: {'; '.join(found)}"
    return [Doubt(Reason.NOT_COMPARABLE, text, "record this program with these arguments")]


def _words(command: Sequence[str]) -> str:
    """The command without the directories of its program and of a script."""
    return shlex.join(Path(word).name if word[:1] != "-" else word for word in command)


def mode_of(info: Mapping[str, Any]) -> str:
    """Where the times of computation of a predicted run come from: `Compute.mode`; "" if that is
    not known."""
    compute = info.get("scenario", {}).get("compute") or {}
    return str(compute.get("mode", "") if isinstance(compute, dict) else compute)


def computed_together(info: Mapping[str, Any]) -> int:
    """How many ranks computed at the same time on a node while the times of a data set were taken;
    what that costs is in them."""
    compute = info.get("scenario", {}).get("compute", {})
    if not isinstance(compute, dict):
        return 1
    if compute.get("shared"):  # an older data set: by copies, or in a real run
        return ALL_TOGETHER
    return int(info.get("result", {}).get("computed_together", 1))


def recorded_times(data_set: DataSet, ranks: int) -> list[np.ndarray[Any, Any]]:
    """For each rank the computation in ps before each of its calls, and last the computation after
    them. The time t before a poll is stored as ~t.

    `ranks`: the number of ranks at the start of the run. Spawned ranks follow these. Raises
    InputError.
    """
    import numpy as np

    everyone = data_set.info.get("ranks", 0)
    started = everyone - data_set.info.get("result", {}).get("spawned_ranks", 0)
    if started != ranks:
        raise InputError(
            f"computation was recorded with {started} ranks, this run has {ranks}",
            path=str(data_set.path),
            hint="run with the same number of ranks, or record again",
        )
    if not data_set.has("call"):
        raise InputError(
            "no computation is recorded here: there are no records of calls",
            path=str(data_set.path),
            hint="record with `sesame simulate --compute measured -o FILE.sesame`",
        )
    parts: list[list[np.ndarray[Any, Any]]] = [[] for _ in range(everyone)]
    for batch in data_set.batches("call", ["rank", "compute_before_ps", "flags"]):
        rank, time, flags = (column.to_numpy() for column in batch.columns)
        time = np.where(flags & POLL, ~time, time)
        edges = np.flatnonzero(np.diff(rank)) + 1  # records are sorted by rank
        if len(rank) == 0:
            continue
        starts = [0, *edges.tolist()]
        for start, chunk in zip(starts, np.split(time, edges), strict=True):
            parts[int(rank[start])].append(chunk)
    ends = data_set.table("rank", ["rank", "compute_after_calls_ps"])
    after = dict(zip(*(column.to_pylist() for column in ends.columns), strict=True))
    return [
        np.concatenate([*chunks, np.array([after[rank]], np.int64)])
        for rank, chunks in enumerate(parts)
    ]


def write_recorded(times: list[np.ndarray[Any, Any]], path: Path) -> None:
    """Writes times for the simulator, little-endian: the number of ranks (u64), for each rank the
    number of its times (u64), then all times (i64, ps)."""
    import numpy as np

    with path.open("wb") as file:
        np.array([len(times), *map(len, times)], "<u8").tofile(file)
        for rank in times:
            rank.astype("<i8").tofile(file)
