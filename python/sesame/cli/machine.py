"""`sesame machine list|show`; its other commands are in files of their own"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from sesame import native
from sesame.analysis.machine_table import assumed_sentence, headline, parameter_rows, ping_pong_rows
from sesame.cli.commands import Commands
from sesame.cli.console import console
from sesame.machines import find_machine, shipped

# Commands in files of their own: each is imported only when it is used.
COMMANDS = {
    "calibrate": "sesame.cli.calibrate:calibrate",
    "check": "sesame.cli.check:check",
    "new": "sesame.cli.machine_new:new",
}


@click.group(commands=Commands(COMMANDS))
def machine() -> None:
    """List, show, check, write and calibrate machine models.

    \b
    sesame machine show infiniband
    sesame machine calibrate --file here.toml
    sesame machine new lab.toml
    """


@machine.command("list")
@click.option("--json", "as_json", is_flag=True, help="One object for each model, on stdout.")
def list_machines(as_json: bool) -> None:
    """List the machine models that come with Sesame.

    \b
    sesame machine list
    """
    machines = {name: native.read_machine(str(path)) for name, path in shipped().items()}
    if as_json:
        click.echo(json.dumps(machines, indent=2))
        return
    table = Table("name", "nodes", "cores", "latency", "bandwidth", "description")
    table.box, table.header_style = None, "bold"
    for name, model in machines.items():
        table.add_row(name, *headline(model), model["description"])
    console(highlight=False).print(table)


@machine.command("show", short_help="Show a machine model and its keys.")
@click.argument("name")
@click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="KEY=VALUE",
    help="Change a key first, for instance network.latency=1us. May be repeated.",
)
@click.option("--json", "as_json", is_flag=True, help="One object in SI units, on stdout.")
@click.option("--keys", is_flag=True, help="Also every key that a machine file may hold.")
def show(name: str, overrides: tuple[str, ...], as_json: bool, keys: bool) -> None:
    """Show a machine model: NAME is one of the list or a machine file.

    \b
    sesame machine show paragon
    sesame machine show paragon --set network.latency=10us
    """
    path = find_machine(name)
    model = native.read_machine(str(path), list(overrides))
    if as_json:
        click.echo(json.dumps(model, indent=2))
        return
    out = console(highlight=False)
    _print_model(out, model)
    _print_ping_pong(out, path, overrides)
    if keys:
        _print_keys(out)


def _print_model(console: Console, model: dict[str, Any]) -> None:
    console.print(f"[bold]{model['name']}[/]  ", end="")
    console.print(model["description"], markup=False)
    table = Table("parameter", "value", box=None, header_style="bold")
    for name, value in parameter_rows(model):
        table.add_row(name, value)
    console.print(table)
    for source in model["sources"]:
        console.print(f"  {source}", markup=False)
    if (assumed := assumed_sentence(model)) is not None:
        console.print(assumed, markup=False, soft_wrap=True)


def _print_ping_pong(console: Console, path: Path, overrides: tuple[str, ...]) -> None:
    table = Table("message", "half round trip", "bandwidth", header_style="bold", box=None)
    table.title, table.title_justify = "ping-pong between neighbours", "left"
    for row in ping_pong_rows(path, overrides):
        table.add_row(*row)
    console.print()
    console.print(table)


def _print_keys(console: Console) -> None:
    table = Table("key", "kind", "needed", "meaning", header_style="bold", box=None)
    for key in native.machine_keys():
        needed = "yes" if key["required"] else ""
        table.add_row(key["key"], key["kind"], needed, key["meaning"])
    console.print()
    console.print(table)
