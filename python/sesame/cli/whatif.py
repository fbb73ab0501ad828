"""`sesame whatif`: calls `sesame.what_if` and prints what it returns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.table import Table

from sesame.cli.console import console
from sesame.errors import InputError

if TYPE_CHECKING:
    from sesame.analysis.sensitivity import Effect, Sensitivity
    from sesame.api.what_if import WhatIf


@click.command()
@click.argument("path", metavar="RUN.sesame", type=click.Path(path_type=Path))
@click.argument("changes", metavar="[KEY=CHANGE]…", nargs=-1)
@click.option("--check", is_flag=True, help="Simulate both ends, and print what they give.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def whatif(path: Path, changes: tuple[str, ...], check: bool, as_json: bool) -> None:
    """Predict what a change of the machine would do to a run, without simulating it again.

    RUN.sesame was simulated with --sensitivity. CHANGE is relative (-50%, x2) or a new value (2us).
    Without changes: what each key of the machine contributes to the time.

    \b
    sesame simulate -n 64 --machine lumi-c --sensitivity -o run.sesame -- ./app
    sesame whatif run.sesame network.latency=-50%
    sesame whatif run.sesame network.latency=1us network.bandwidth=x2 --check
    """
    from sesame.analysis.sensitivity import sensitivity_of
    from sesame.api.what_if import what_if
    from sesame.datasets import DataSet

    if not changes:
        if check:
            raise InputError("--check needs a change", hint="for instance network.latency=-50%")
        _print_sensitivity(sensitivity_of(DataSet(path)), as_json)
        return
    answer = what_if(path, _parsed(changes), check=check)
    if as_json:
        click.echo(json.dumps(answer.as_json()))
    else:
        _print_answer(console(highlight=False), answer)


def _parsed(changes: tuple[str, ...]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in changes:
        key, equals, change = text.partition("=")
        if not (key and equals and change):
            raise InputError(
                f"{text}: expected KEY=CHANGE", hint="for instance network.latency=-50%"
            )
        if key in found:
            raise InputError(f"{text}: {key} is changed twice")
        found[key] = change
    return found


def _print_sensitivity(sensitivity: Sensitivity, as_json: bool) -> None:
    if as_json:
        effects = {
            effect.key: {
                "value": effect.value,
                "path_s": effect.seconds,
                "holds_from_factor": effect.lowest,
                "holds_to_factor": effect.highest,
            }
            for effect in sensitivity.effects
        }
        click.echo(
            json.dumps(
                {
                    "run_s": sensitivity.predicted_s,
                    "effects": effects,
                    "other_s": dict(sensitivity.other),
                }
            )
        )
        return
    from sesame.analysis.quantities import format_seconds
    from sesame.analysis.sensitivity import range_in_words

    out = console(highlight=False)
    whole = sensitivity.predicted_s or 1.0
    out.print(f"[bold]what causes the predicted {format_seconds(sensitivity.predicted_s)}[/]")
    table = Table("key", "value", "time", "of all", "slope holds for", box=None, pad_edge=False)
    for column in table.columns[2:4]:
        column.justify = "right"
    rows = [(one.key, one.value, one.seconds, range_in_words(one)) for one in sensitivity.effects]
    rows += [(name, "", seconds, "") for name, seconds in sensitivity.other.items()]
    for key, value, seconds, holds in rows:
        table.add_row(key, value, format_seconds(seconds), f"{100 * seconds / whole:.1f} %", holds)
    out.print(table)


def _print_answer(out: Console, answer: WhatIf) -> None:
    from sesame.analysis.quantities import format_seconds
    from sesame.comparison.in_words import signed_seconds

    table = Table("key", "from", "to", "change of the time", box=None, pad_edge=False)
    table.columns[3].justify = "right"
    for change in answer.changes:
        difference = signed_seconds(change.difference_s)
        table.add_row(change.effect.key, change.effect.value, change.value, difference)
    out.print(table)
    run, predicted = format_seconds(answer.run_s), format_seconds(answer.predicted_s)
    relative = 100 * (answer.predicted_s / answer.run_s - 1) if answer.run_s else 0.0
    out.print(f"[bold]predicted: {run} becomes {predicted}[/] ({relative:+.1f} %)")
    if not answer.is_in_range:
        out.print(f"estimate: {_doubt(answer)}", soft_wrap=True)
    if answer.simulated_s is not None and answer.simulated_run_s is not None:
        run, changed = format_seconds(answer.simulated_run_s), format_seconds(answer.simulated_s)
        error = 100 * (answer.predicted_s / answer.simulated_s - 1) if answer.simulated_s else 0.0
        out.print(
            f"[bold]simulated: {run} becomes {changed}[/]; the prediction is {error:+.2f} % off"
        )


def _doubt(answer: WhatIf) -> str:
    from sesame.analysis.sensitivity import range_in_words

    def limited(effect: Effect) -> str:
        return f"{effect.key} {range_in_words(effect)}"

    ranges = ", ".join(limited(change.effect) for change in answer.changes)
    return (
        f"the change goes beyond the range in which the slopes are known to hold ({ranges}): "
        "another path may be the longest then"
        + ("; --check simulates it" if answer.simulated_s is None else "")
    )
