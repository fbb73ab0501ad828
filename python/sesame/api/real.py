"""`sesame.trace`, `sesame.replay` and `sesame.measure`: real runs."""

from __future__ import annotations

import math
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Literal

from sesame import native
from sesame.api.arguments import words_of
from sesame.api.data_set import DataSet, kept_or_temporary
from sesame.datasets import check_destination
from sesame.errors import InputError

Command = Sequence[str | Path]


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


def replay(
    run: str | Path | DataSet,
    directory: str | Path,
    *,
    mappings: Mapping[str, str] | None = None,
    cold: bool = False,
    direct: bool = False,
    payload: Literal["zero", "compressible", "random"] = "random",
    scale_compute: float = 1.0,
    only_io: bool = False,
    as_fast_as_possible: bool = False,
    keep: bool = False,
    output: str | Path | None = None,
    force: bool = False,
) -> DataSet:
    """Repeats the I/O of a traced run on a real file system; returns the measured times.

    The run's files are at their paths below `directory`; `mappings` puts those below a path
    elsewhere. `cold` drops their caches first, `direct` bypasses the page cache (O_DIRECT),
    `only_io` lets no rank wait for another, `as_fast_as_possible` skips computation, `keep` does
    not delete the files. The data set is of kind `replayed`: `info.result["replayed_time_s"]`
    beside `["recorded_time_s"]`.

    Raises InputError if there is nothing to replay, or no such directory.
    """
    from sesame.replaying.player import Options
    from sesame.replaying.run import run_replay
    from sesame.replaying.schedule import Style
    from sesame.replaying.targets import Target

    where = Path(directory)
    if not where.is_dir():
        raise InputError(f"{where}: there is no such directory")
    if not 0 <= scale_compute < math.inf:
        raise InputError(f"scale_compute={scale_compute}: expected a number from 0")
    if output is not None:
        check_destination(Path(output), force=force)
    source = run.path if isinstance(run, DataSet) else Path(run)
    moved = tuple((old, str(Path(new).resolve())) for old, new in (mappings or {}).items())
    target = Target(where.resolve(), moved)
    style = Style(scale_compute, only_io, as_fast_as_possible)
    options = Options(payload=payload, direct=direct, cold=cold, keep=keep, force=force)
    return kept_or_temporary(
        lambda path: run_replay(source, target, style, options, path), output, DataSet
    )


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
) -> DataSet:
    """Counts kernel events of all processes while a command runs; needs root.

    `points` are subsystems or points of `sesame measure list` (["fs", "vm.total"]), by default all;
    `traced` ones also record every event. `budget` is the share of a processor that measuring may
    take (0.01); None: whatever it takes. The data set is of kind `measured`; the command's own use
    of resources is `info["command_usage"]`, its exit status `info.result["exit_status"]`.

    Raises InputError for an unknown point, SesameError without permission.
    """
    from sesame.measurement import (
        Detail,
        Wanted,
        everything_for,
        find_points,
        find_traced_points,
        record_kernel,
    )

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

    def work(environment: Mapping[str, str]) -> int:
        try:
            return subprocess.call(words, env={**os.environ, **environment})
        except OSError as error:
            raise InputError(f"{words[0]}: {error.strerror}") from error

    return kept_or_temporary(
        lambda path: record_kernel(path, wanted, work, command=words, force=force), output, DataSet
    )


def _words(command: Command) -> list[str]:
    example = '["mpiexec", "-n", "4", "./app"]'
    words = words_of("command", command, example)
    if not words:
        raise InputError(
            f"command {command!r}: expected a list of words",
            hint=f"for instance {example}",
        )
    return words
