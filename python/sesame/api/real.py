"""`sesame.trace` and `sesame.measure`: real runs. The verbs call them, too."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Literal

from sesame import native
from sesame.api.arguments import words_of
from sesame.api.data_set import DataSet, kept_or_temporary
from sesame.datasets import check_destination
from sesame.errors import InputError

if TYPE_CHECKING:
    from sesame.measurement.recording import Recorded

Command = Sequence[str | Path]


class MeasuredRun(DataSet):
    """The data set of a command that was just measured. `outcome` has its figures as they were
    read."""

    outcome: Recorded

    @property
    def exit_status(self) -> int:
        """The exit status of the command."""
        return self.outcome.status


def trace(
    command: Command,
    *,
    only: Literal["io", "mpi"] | None = None,
    prune: Literal["none", "thesis", "causal"] = "none",
    max_size: str | None = None,
    keep_raw: bool = False,
    output: str | Path | None = None,
    force: bool = False,
    stdout: IO[str] | None = None,
    progress: Callable[[float], None] | None = None,
) -> DataSet:
    """Runs a command and records the file and MPI calls of it and of all processes that it starts.

    `command` is a list of words (["mpiexec", "-n", "8", "./app"]); its output is passed on.
    `only` records calls on files or MPI calls alone; `max_size` ("2 GiB") bounds the raw records;
    `prune` leaves out messages that cannot change when I/O is issued. The data set is of kind
    `traced`; `output` keeps it, else it goes with the last reference to it; `keep_raw` keeps the
    raw streams in it. The command's exit status is `info.result["exit_status"]`; its output goes to
    `stdout`, where that is given. `progress` is called with the share of the data set that is made.

    Raises InputError if the command cannot be run, TracingError if nothing was recorded.
    """
    from sesame.tracing import Making, TraceOptions, record

    words = _words(command)
    if output is not None:
        check_destination(Path(output), force=force)
    most = None if max_size is None else native.parse_size_bytes(max_size)
    options = TraceOptions(only, most)

    def write(path: Path) -> None:
        making = Making(prune, keep_raw, force, progress)
        record(words, path, options, making, stdout=stdout)

    return kept_or_temporary(write, output, DataSet)


def measure(
    command: Command,
    *,
    points: Sequence[str] = (),
    traced: Sequence[str] = (),
    detail: Literal["count", "sampled", "duration"] = "duration",
    interval_s: float = 10.0,
    budget: float | None = None,
    output: str | Path | None = None,
    force: bool = False,
    say: Callable[[str], None] = lambda _: None,
) -> MeasuredRun:
    """Counts kernel events of all processes while a command runs; needs root.

    `points` are subsystems or points of `sesame measure list` (["fs", "vm.total"]), by default all;
    `traced` ones also record every event. `budget` is the share of a processor that measuring may
    take (0.01); None: whatever it takes. `say` is called with the predicted cost before the command
    begins, and with each point that is left out, and why.
    The data set is of kind `measured`; the command's own use of resources is
    `info["command_usage"]`, its exit status `exit_status`.

    Raises InputError for an unknown point, SesameError without permission.
    """
    from sesame.measurement import (
        Detail,
        Wanted,
        everything_for,
        find_points,
        find_traced_points,
        kept_costs,
        record_kernel,
    )
    from sesame.measurement.expected import expected_cost, keep_rates, kept_rates

    words = tuple(_words(command))
    if output is not None:
        check_destination(Path(output), force=force)
    wanted = Wanted(
        find_points("points", words_of("points", points, '["fs", "vm"]', numbers=False))
        or everything_for(words),
        find_traced_points("traced", words_of("traced", traced, '["block"]', numbers=False)),
        Detail[detail.upper()],
        interval_s,
        budget,
    )
    say(str(expected_cost(wanted, kept_costs(), kept_rates())))

    recorded: list[Recorded] = []

    def write(path: Path) -> None:
        work = partial(_run_with, words)
        recorded.append(record_kernel(path, wanted, work, command=words, force=force, say=say))

    run = kept_or_temporary(write, output, MeasuredRun)
    run.outcome = recorded[0]
    keep_rates(run.outcome.rows["measurement_cost"])
    return run


def _run_with(words: Sequence[str], environment: Mapping[str, str]) -> int:
    """The exit status of the command in our environment with these variables."""
    try:
        return subprocess.call(words, env={**os.environ, **environment})
    except OSError as error:
        raise InputError(f"{words[0]}: {error.strerror}") from error


def _words(command: Command) -> list[str]:
    example = '["mpiexec", "-n", "4", "./app"]'
    words = words_of("command", command, example)
    if not words:
        raise InputError(
            f"command {command!r}: expected a list of words",
            hint=f"for instance {example}",
        )
    return words
