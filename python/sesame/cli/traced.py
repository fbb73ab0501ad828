"""A verb with a program, or a traced run, as its first argument."""

from __future__ import annotations

import click

from sesame.api.preparing import is_trace
from sesame.cli.grouped import GroupedCommand


class ProgramOrTrace(GroupedCommand):
    """Words after a program are its arguments; words after a traced run are options of the verb."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        values, _, _ = self.make_parser(ctx).parse_args(args=list(args))
        program = values.get("program")
        if isinstance(program, str) and is_trace(program):
            ctx.allow_interspersed_args = True
        return super().parse_args(ctx, args)
