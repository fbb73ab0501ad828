"""A traced run in place of a program: its files on the machine, its plan, its computation.

The program is then the player (docs/models/trace-driven.md), which repeats the recorded calls.
"""

from __future__ import annotations

import math
import posixpath
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from sesame import native
from sesame.analysis.quantities import format_seconds
from sesame.errors import InputError
from sesame.settings import setting
from sesame.simulation import Compute, Scenario, find_player
from sesame.simulation.compute import ALL_TOGETHER
from sesame.traced.launched import program_of

if TYPE_CHECKING:
    from sesame.datasets.reader import DataSet
    from sesame.simulation.trace import FilePlacement, TracedRun

STACK_BYTES = 256 << 10  # the player needs little, and there may be thousands of ranks


@dataclass(frozen=True)
class MachineStorage:
    """The machine's file systems, on which files of a traced run may be."""

    machine: str
    mounts: tuple[str, ...]


def storage_of(machine: Path, overrides: Sequence[str]) -> MachineStorage:
    """The file systems of a machine file with `overrides` (KEY=VALUE). Raises InputError."""
    model = native.read_machine(str(machine), list(overrides))
    tables = [table for table in (model["storage"], model["node_storage"]) if table]
    return MachineStorage(
        model["name"], tuple(mount for table in tables for mount in table["mounts"])
    )


def place(
    data_set: DataSet, machine: Path, overrides: Sequence[str], mapped: Sequence[str]
) -> FilePlacement:
    """Which files of the run lie on file systems of the machine. `mapped` are OLD=NEW."""
    from sesame.simulation.trace import place_files

    storage = storage_of(machine, overrides)
    mappings = [_mapping(text) for text in mapped]
    if mappings and not storage.mounts:
        raise InputError(
            f"{setting('mappings')} is for machines with file systems, and {storage.machine} has "
            "none",
            path=str(machine),
            hint="add [storage] to the machine file; docs/formats/machine.md has its keys",
        )
    return place_files(data_set, storage.mounts, mappings, str(Path.cwd()))


def _mapping(text: str) -> tuple[str, str]:
    old, equals, new = text.partition("=")
    if not (equals and old.startswith("/") and new):
        raise InputError(
            f"{setting('mappings', {old: new})}: expected a directory from the root first",
            hint=f"for instance {setting('mappings', {'/scratch/run': '.'})}",
        )
    return posixpath.normpath(old), new


def write_inputs(
    traced: TracedRun, compute: str | None, scale_compute: float | None, directory: Path
) -> Compute:
    """Writes the plan and the times of computation into `directory`, once for all runs of a series.

    `compute` is "recorded" (default) or "none"; `scale_compute` multiplies recorded times. Raises
    InputError for other values.
    """
    text = compute or "recorded"
    scale = 1.0 if scale_compute is None else scale_compute
    if math.isnan(scale):
        raise InputError(f"{setting('scale_compute', scale)}: expected a factor from 0 to 1e6")
    if text not in ("recorded", "none"):
        raise InputError(
            f"{setting('compute', text)}: of a traced run the computation is recorded, expected "
            "recorded or none"
        )
    traced.write_plan(directory / "plan")
    if text == "none":
        return Compute("none", text="none")
    times = directory / "times"
    traced.write_times(times, scale)
    text = text if scale == 1 else f"{text}, times {scale:g}"
    return Compute("recorded", times=times, text=text, together=ALL_TOGETHER)


def played(
    scenario: Scenario, traced: TracedRun, directory: Path, storage: MachineStorage
) -> Scenario:
    """The scenario with the player as its program, and the plan in `directory` as its input."""
    return replace(
        scenario,
        program=str(find_player()),
        arguments=(str(directory / "plan"),),
        stack_size_bytes=STACK_BYTES,
        trace=traced.name,
        traced_program=program_of(traced.data_set.info.command)[0],
        discard_data=True,
        initial_files=tuple(traced.placed.initial.items()),
        traced_open_mpi=traced.has_open_mpi,
        notes=(*_note_of_io(traced, storage), *traced.notes),
        doubts=traced.doubts,
    )


def _note_of_io(traced: TracedRun, storage: MachineStorage) -> list[str]:
    most = float(traced.io_s.max())
    if most == 0:
        return []
    mean = format_seconds(float(traced.io_s.mean()))
    what = "I/O"
    if any(traced.placed.known):
        what = "I/O on files elsewhere than on the machine's file systems"
    taken = (
        f"{what} takes the time it took when traced: {mean} per rank, {format_seconds(most)} at "
    )
    return [f"{taken}most{_remedy(traced, storage)}"]


def _remedy(traced: TracedRun, storage: MachineStorage) -> str:
    """What to do to have this I/O predicted, too; empty if it is on no files."""
    from sesame.simulation.trace import mappings_for, time_elsewhere

    seconds = time_elsewhere(traced.data_set, traced.placed)
    if not seconds:
        return ""
    if not storage.mounts:
        return (
            f"; {storage.machine} has no file systems: to have it predicted, choose a machine that "
            "has, or add [storage] to the machine file"
        )
    mappings = mappings_for(seconds, storage.mounts) or {"OLD": storage.mounts[0]}
    return f"; to have it predicted: {setting('mappings', mappings)}"
