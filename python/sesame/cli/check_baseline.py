"""`sesame check`

Large modules are imported where they are used, so that the command starts quickly.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sesame.cli.grouped import grouped
from sesame.cli.outputs import check_file
from sesame.cli.program_options import (
    environment_option,
    private_library_option,
    read_variables,
    set_option,
)

if TYPE_CHECKING:
    from sesame.comparison.baseline import CheckResult, CheckSettings


@dataclass(frozen=True)
class CheckOptions:
    """What the command line gives."""

    baseline: Path
    at_most: str
    update: bool
    ranks: int | None
    machine: str | None
    overrides: tuple[str, ...]
    compute: str | None
    placement: str | None
    environment: tuple[str, ...]
    private_libraries: tuple[str, ...]
    stack_size: str | None
    output: Path | None
    report: Path | None
    as_json: bool
    force: bool
    command: tuple[str, ...]


@click.command(
    cls=grouped(
        Baseline=("baseline", "at_most", "update"),
        Run=("ranks", "machine", "overrides", "compute", "placement"),
        Program=("environment", "private_libraries", "stack_size"),
        Output=("output", "report", "as_json", "force"),
    ),
    context_settings={"allow_interspersed_args": False},
)
@click.option(
    "--baseline",
    required=True,
    type=click.Path(path_type=Path),
    metavar="NAME.sesame",
    help="The data set to compare with.",
)
@click.option(
    "--at-most",
    default="5%",
    show_default=True,
    metavar="PERCENT",
    help="How much longer than the baseline the run may take.",
)
@click.option("--update", is_flag=True, help="Write the baseline, and compare with the old one.")
@click.option("-n", "--ranks", type=click.IntRange(min=1), metavar="N", help="Number of ranks.")
@click.option("--machine", help="A model of `sesame machine list`, or a machine file.")
@set_option
@click.option(
    "--compute",
    metavar="none|fixed:TIME",
    help="Leave computation out, or charge TIME before each call; by default none for a new "
    "baseline.",
)
@click.option("--placement", metavar="block|cyclic|FILE", help="Which rank runs on which node.")
@environment_option
@private_library_option
@click.option("--stack-size", metavar="SIZE", help="Stack of each rank.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="NAME.sesame",
    help="Keep the data set of this run.",
)
@click.option(
    "--report",
    type=click.Path(path_type=Path),
    metavar="FILE.html",
    help="Write a page on what differs.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
@click.option("--force", is_flag=True, help="Write over an existing data set with -o.")
@click.argument("command", metavar="[PROGRAM [ARGUMENTS]…]", nargs=-1, type=click.UNPROCESSED)
def check(**options: Any) -> int:
    """Fail when a program has become slower than its baseline: for continuous integration.

    PROGRAM is simulated without measuring its computation, so that its time is the same on every
    host, and compared with that of the baseline. Options that you do not give are taken from the
    baseline. The exit status is 0 when the program is fast enough, 1 when it is slower than allowed
    or fails, and 2 for wrong usage.

    \b
    sesame check --baseline app.sesame --update -n 16 --machine infiniband -- ./app input.dat
    sesame check --baseline app.sesame --at-most 5% -- ./app
    """
    return _check(CheckOptions(**options))


def _check(options: CheckOptions) -> int:
    from sesame.analysis.shares import parse_share
    from sesame.comparison.baseline import check as run_check
    from sesame.datasets import check_destination

    at_most = parse_share(options.at_most)
    if options.output is not None:
        check_destination(options.output, force=options.force)
    if options.report is not None:
        check_file(options.report)
    checked = run_check(
        options.baseline,
        _wanted(options),
        at_most=at_most,
        update=options.update,
        output=options.output,
        force=options.force,
    )
    if options.report is not None and checked.difference is not None:
        checked.difference.report(options.report)
    if options.as_json:
        click.echo(json.dumps(checked.as_json()))
    else:
        _print(checked)
    return 0 if checked.passed else 1


def _wanted(options: CheckOptions) -> CheckSettings:
    from sesame.api.preparing import parse_stack_size
    from sesame.comparison.baseline import CheckSettings
    from sesame.simulation.settings import parse_placement

    size, placement = options.stack_size, options.placement
    return CheckSettings(
        command=options.command,
        ranks=options.ranks,
        machine=options.machine,
        overrides=options.overrides,
        compute=options.compute,
        placement=None if placement is None else parse_placement(placement),
        environment=read_variables(options.environment),
        private_libraries=options.private_libraries,
        stack_size_bytes=None if size is None else parse_stack_size(size),
    )


def _print(checked: CheckResult) -> None:
    from sesame.cli.diff_summary import print_difference

    click.echo(checked.in_words(), err=True)
    if not checked.passed and checked.difference is not None:
        print_difference(checked.difference)
