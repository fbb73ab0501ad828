"""What `sesame simulate` does with a traced run in place of a program.

What is large is imported where it is used, so that the command starts quickly.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from sesame.cli.grouped import GroupedCommand
from sesame.datasets import is_data_set
from sesame.errors import InputError

if TYPE_CHECKING:
    from sesame.cli.simulate_options import SimulateOptions
    from sesame.simulation.trace import TracedRun

# Options of a program; a trace has neither output nor surroundings.
OF_PROGRAMS = {
    "label": "--label",
    "private_libraries": "--private-library",
    "environment": "--env",
    "cwd": "--cwd",
    "files": "--files",
}


def is_trace(program: str) -> bool:
    return program.endswith(".sesame") or is_data_set(Path(program))


class ProgramOrTrace(GroupedCommand):
    """What follows a program is the program's; what follows a traced run are options of ours."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        values, _, _ = self.make_parser(ctx).parse_args(args=list(args))
        program = values.get("program")
        if isinstance(program, str) and is_trace(program):
            ctx.allow_interspersed_args = True
        return super().parse_args(ctx, args)


def check_options(options: SimulateOptions) -> None:
    if options.arguments:
        raise InputError(
            f"{' '.join(options.arguments)}: a traced run takes no arguments",
            hint="the program was traced with its own",
        )
    for name, option in OF_PROGRAMS.items():
        if getattr(options, name):
            raise InputError(f"{option} is for programs, and {options.program} is a traced run")


def check_ranks(asked: list[int] | None, traced: TracedRun) -> list[int]:
    if asked is not None and asked != [traced.ranks]:
        raise InputError(
            f"-n {','.join(map(str, asked))}: {traced.name} was traced with {traced.ranks} ranks",
            hint="leave -n out, or trace the program with another number of ranks",
        )
    return [traced.ranks]
