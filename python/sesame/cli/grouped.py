"""Help with options and commands in groups."""

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
            if isinstance(parameter, click.Option)
            and (record := parameter.get_help_record(ctx)) is not None
        }
        for title, names in self.groups.items():
            with formatter.section(title):
                formatter.write_dl([records.pop(name) for name in names])
        with formatter.section(OTHERS):
            formatter.write_dl(list(records.values()))


class GroupedCommands(click.Group):
    """A group that shows its commands by job: `sections` maps a title to commands with what each
    does. Its help imports no command."""

    sections: Mapping[str, Mapping[str, str]] = {}

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes one list for each section, all with columns of the same width."""
        width = max(map(len, self.commands))
        for title, summaries in self.sections.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), text) for name, text in summaries.items()])


def grouped(
    base: type[GroupedCommand] = GroupedCommand, **groups: Sequence[str]
) -> type[GroupedCommand]:
    """A class for click.command(cls=…). `groups`: names of parameters by the title of their group,
    with _ for blanks."""
    titles = {title.replace("_", " "): names for title, names in groups.items()}
    return type(base.__name__, (base,), {"groups": titles})
