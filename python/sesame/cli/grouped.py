"""Help with options in groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import click

OTHERS = "Other options"


class GroupedCommand(click.Command):
    """A command that shows its options in groups: `groups` maps a title to names of parameters.
    `--help` and parameters in no group come last."""

    groups: Mapping[str, Sequence[str]] = {}

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes one section for each group."""
        records = {
            parameter.name: record
            for parameter in self.get_params(ctx)
            if (record := parameter.get_help_record(ctx)) is not None
        }
        for title, names in self.groups.items():
            with formatter.section(title):
                formatter.write_dl([records.pop(name) for name in names])
        with formatter.section(OTHERS):
            formatter.write_dl(list(records.values()))


def grouped(
    base: type[GroupedCommand] = GroupedCommand, **groups: Sequence[str]
) -> type[GroupedCommand]:
    """A class for click.command(cls=…). `groups`: names of parameters by the title of their group,
    with _ for blanks."""
    titles = {title.replace("_", " "): names for title, names in groups.items()}
    return type(base.__name__, (base,), {"groups": titles})
