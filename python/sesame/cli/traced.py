"""What `sesame simulate` does with a traced run in place of a program."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from sesame.analysis.quantities import format_seconds
from sesame.datasets import is_data_set
from sesame.errors import InputError
from sesame.simulation import Compute, Scenario, TracedRun, find_player

# Options of a program; a trace has neither output nor surroundings.
OF_PROGRAMS = {
    "label": "--label",
    "private_libraries": "--private-library",
    "environment": "--env",
    "cwd": "--cwd",
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
            ctx.ignore_unknown_options = False
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
    return Compute("recorded", times=times, text=text if scale == 1 else f"{text}, times {scale:g}")


def played(scenario: Scenario, traced: TracedRun, folder: Path) -> Scenario:
    return replace(
        scenario,
        program=str(find_player()),
        arguments=(str(folder / "plan"),),
        stack_size_bytes=STACK_BYTES,
        trace=traced.name,
        notes=(*_note_of_io(traced), *traced.notes),
    )


def _note_of_io(traced: TracedRun) -> list[str]:
    most = float(traced.io_s.max())
    if most == 0:
        return []
    mean = format_seconds(float(traced.io_s.mean()))
    return [
        f"I/O takes the time it took when traced: {mean} per rank, {format_seconds(most)} at most"
    ]
