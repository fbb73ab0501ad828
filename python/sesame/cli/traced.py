"""What `sesame simulate` does with a traced run in place of a program.

What is large is imported where it is used, so that the command starts quickly.
"""

from __future__ import annotations

import math
import posixpath
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sesame import native
from sesame.analysis.quantities import format_seconds
from sesame.datasets import is_data_set
from sesame.errors import InputError
from sesame.simulation import Compute, Scenario, find_player

if TYPE_CHECKING:
    from sesame.datasets.reader import DataSet
    from sesame.simulation.trace import Placed, TracedRun

# Options of a program; a trace has neither output nor surroundings.
OF_PROGRAMS = {
    "label": "--label",
    "private_libraries": "--private-library",
    "environment": "--env",
    "cwd": "--cwd",
    "files": "--files",
}
STACK_BYTES = 256 << 10  # the player needs little, and there may be thousands of ranks


def is_trace(program: str) -> bool:
    return program.endswith(".sesame") or is_data_set(Path(program))


class ProgramOrTrace(click.Command):
    """What follows a program is the program's; what follows a traced run are options of ours."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        values, _, _ = self.make_parser(ctx).parse_args(args=list(args))
        program = values.get("program")
        if isinstance(program, str) and is_trace(program):
            ctx.allow_interspersed_args = True
        return super().parse_args(ctx, args)


def check_options(options: dict[str, Any]) -> None:
    if options["arguments"]:
        raise InputError(
            f"{' '.join(options['arguments'])}: a traced run takes no arguments",
            hint="the program was traced with its own",
        )
    for name, option in OF_PROGRAMS.items():
        if options[name]:
            raise InputError(f"{option} is for programs, and {options['program']} is a traced run")


@dataclass(frozen=True)
class Surroundings:
    """What of the machine a trace's files may meet."""

    machine: str
    mounts: tuple[str, ...]


def surroundings(options: dict[str, Any], machine: Path) -> Surroundings:
    model = native.read_machine(str(machine), list(options["overrides"]))
    tables = [table for table in (model["storage"], model["node_storage"]) if table]
    return Surroundings(
        model["name"], tuple(mount for table in tables for mount in table["mounts"])
    )


def place(data_set: DataSet, options: dict[str, Any], machine: Path) -> Placed:
    """Which files of the run lie on file systems of the machine."""
    from sesame.simulation.trace import place_files

    around = surroundings(options, machine)
    mappings = [_mapping(text) for text in options["mappings"]]
    if mappings and not around.mounts:
        raise InputError(
            f"--map is for machines with file systems, and {around.machine} has none",
            path=str(machine),
            hint="add [storage] to the machine file; docs/formats/machine.md has its keys",
        )
    return place_files(data_set, around.mounts, mappings, str(Path.cwd()))


def _mapping(text: str) -> tuple[str, str]:
    old, equals, new = text.partition("=")
    if not (equals and old.startswith("/") and new):
        raise InputError(
            f"--map {text}: expected OLD=NEW, OLD from the root",
            hint="for instance --map /scratch/run=.",
        )
    return posixpath.normpath(old), new


def check_ranks(asked: list[int] | None, traced: TracedRun) -> list[int]:
    if asked is not None and asked != [traced.ranks]:
        raise InputError(
            f"-n {','.join(map(str, asked))}: {traced.name} was traced with {traced.ranks} ranks",
            hint="leave -n out, or trace the program with another number of ranks",
        )
    return [traced.ranks]


def write_inputs(traced: TracedRun, options: dict[str, Any], folder: Path) -> Compute:
    """The plan and the times, once for all runs of a series."""
    text = options["compute"] or "recorded"
    scale = 1.0 if options["scale_compute"] is None else options["scale_compute"]
    if math.isnan(scale):
        raise InputError("--scale-compute nan: expected a factor from 0 to 1e6")
    if text not in ("recorded", "none"):
        raise InputError(
            f"--compute {text}: of a traced run the computation is recorded, expected recorded or "
            "none"
        )
    traced.write_plan(folder / "plan")
    if text == "none":
        return Compute("none", text="none")
    times = folder / "times"
    traced.write_times(times, scale)
    text = text if scale == 1 else f"{text}, times {scale:g}"
    return Compute("recorded", times=times, text=text, shared=True)


def played(scenario: Scenario, traced: TracedRun, folder: Path, around: Surroundings) -> Scenario:
    return replace(
        scenario,
        program=str(find_player()),
        arguments=(str(folder / "plan"),),
        stack_size_bytes=STACK_BYTES,
        trace=traced.name,
        discard_data=True,
        initial_files=tuple(traced.placed.initial.items()),
        notes=(*_note_of_io(traced, around), *traced.notes),
        doubts=traced.doubts,
    )


def _note_of_io(traced: TracedRun, around: Surroundings) -> list[str]:
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
    return [f"{taken}most{_remedy(traced, around)}"]


def _remedy(traced: TracedRun, around: Surroundings) -> str:
    """What to do for a prediction of this I/O too; nothing where it is on no files."""
    from sesame.simulation.trace import mappings_for, time_elsewhere

    seconds = time_elsewhere(traced.data_set, traced.placed)
    if not seconds:
        return ""
    if not around.mounts:
        return (
            f"; {around.machine} has no file systems: to have it predicted, choose a machine that "
            "has, or add [storage] to the machine file"
        )
    options = mappings_for(seconds, around.mounts) or [f"--map OLD={around.mounts[0]}"]
    return f"; to have it predicted: {' '.join(options)}"
