"""`sesame.replay`: the I/O of a traced run, repeated. The verb `replay` calls it, too."""

from __future__ import annotations

import math
import posixpath
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from sesame.api.data_set import DataSet, kept_or_temporary
from sesame.datasets import check_destination
from sesame.errors import InputError
from sesame.settings import setting

if TYPE_CHECKING:
    from sesame.replaying.run import Replayed
    from sesame.replaying.targets import Target


class ReplayedRun(DataSet):
    """The data set of a run that was just replayed. `outcome` has the figures of the replay."""

    outcome: Replayed

    @property
    def exit_status(self) -> int:
        """0 if all operations were replayed and moved data where they did when recorded, else 1."""
        figures = self.outcome.figures
        return int(bool(figures["failed_data_calls"]) or not figures["complete"])


def replay(
    run: str | Path | DataSet,
    directory: str | Path | None = None,
    *,
    mappings: Mapping[str, str | Path] | None = None,
    cold: bool = False,
    direct: bool = False,
    payload: Literal["zero", "compressible", "random"] = "random",
    scale_compute: float = 1.0,
    only_io: bool = False,
    as_fast_as_possible: bool = False,
    keep: bool = False,
    mpi: str | None = None,
    records: bool = True,
    output: str | Path | None = None,
    force: bool = False,
) -> ReplayedRun:
    """Repeats the I/O of a traced run on a real file system; returns the measured times.

    The run's files are at their paths below `directory`; `mappings` puts those below a path
    elsewhere ({"/scratch/run": "/mnt/new"}), and may leave no file for `directory`. `cold` drops
    their caches first, `direct` bypasses the page cache (O_DIRECT), `only_io` lets no rank wait for
    another, `as_fast_as_possible` skips computation, `keep` does not delete the files, `payload` is
    what is written. The data set is of kind `replayed`: `info.result["replayed_time_s"]` beside
    `["recorded_time_s"]`, and without `records` nothing else. `output` keeps it; `force` replaces
    an existing one, and existing files of the replay.

    In the processes of an MPI job, started with the launcher of the compiler wrapper `mpi`, each
    replays some ranks. The first returns the result of all, the others raise ReplayedElsewhere.

    Raises InputError if there is nothing to replay, no such directory, or a mapping that no file
    uses; OutputError if files are in the way or do not fit.
    """
    from sesame.replaying.player import Options
    from sesame.replaying.run import run_replay
    from sesame.replaying.schedule import Style

    target = _target(directory, mappings or {})
    if not 0 <= scale_compute < math.inf:
        raise InputError(f"{setting('scale_compute', scale_compute)}: expected a number from 0")
    if output is not None:
        check_destination(Path(output), force=force)
    source = run.path if isinstance(run, DataSet) else Path(run)
    style = Style(scale_compute, only_io, as_fast_as_possible)
    options = Options(payload, direct, cold, keep, force, mpi)
    replayed: list[Replayed] = []

    def write(path: Path) -> None:
        replayed.append(run_replay(source, target, style, options, path, records=records))

    kept = kept_or_temporary(write, output, ReplayedRun)
    kept.outcome = replayed[0]
    return kept


def _target(directory: str | Path | None, mappings: Mapping[str, str | Path]) -> Target:
    """Where the files are. Raises InputError for a path that cannot be."""
    from sesame.replaying.targets import Target

    if directory is not None and not Path(directory).is_dir():
        raise InputError(f"{setting('directory', Path(directory))}: there is no such directory")
    for old, new in mappings.items():
        given = setting("mappings", {old: str(new)})
        if not old.startswith("/"):
            raise InputError(
                f"{given}: expected an absolute path of the traced run first, got {old}"
            )
        if not (Path(new).is_dir() or Path(new).resolve().parent.is_dir()):
            raise InputError(
                f"{given}: there is no directory {Path(new).resolve().parent}",
                hint="make it, or name one that exists",
            )
    moved = {posixpath.normpath(old): str(Path(new).resolve()) for old, new in mappings.items()}
    return Target(None if directory is None else Path(directory).resolve(), tuple(moved.items()))
