"""`sesame token`

Large modules are imported where they are used, so that the command starts quickly.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import click

from sesame.cli.console import console, new_table
from sesame.errors import InputError
from sesame.measurement.defaults import default_state_directory
from sesame.web.server.roles import OF_NODES, Role
from sesame.web.server.token_file import Token, add_token, list_tokens, revoke_tokens, utc_today
from sesame.web.server.tokens import write_token

FILE = click.Path(path_type=Path)
LONGEST_DAYS = 3650
Command = Callable[..., Any]


@click.group()
def token() -> None:
    """Give clients of a daemon or collector tokens of their own, each with a role and an end.

    A running server follows changes at once.

    \b
    sesame token add prometheus --role reader
    sesame token list
    """


def with_file(command: Command) -> Command:
    """Adds the options that name the file of tokens."""
    for option in (
        click.option(
            "--tokens",
            type=FILE,
            metavar="FILE",
            help="The file of tokens. Default: tokens in the daemon's state directory; with "
            "--collector, collector-tokens there.",
        ),
        click.option("--collector", is_flag=True, help="Tokens of the collector."),
    ):
        command = option(command)
    return command


def _file(tokens: Path | None, *, collector: bool) -> Path:
    return tokens or default_state_directory() / ("collector-tokens" if collector else "tokens")


@token.command(short_help="Make a token for each name.")
@click.argument("names", nargs=-1, required=True, metavar="NAME…")
@click.option(
    "--role",
    type=click.Choice([one.value for one in OF_NODES]),
    required=True,
    help="What the token permits. Of a daemon: reader, phases, operator, administrator. Of a "
    "collector: node, relay, reader, administrator.",
)
@click.option(
    "--days",
    type=click.IntRange(1, LONGEST_DAYS),
    default=365,
    show_default=True,
    help="How many days it is valid.",
)
@click.option(
    "--until",
    type=click.DateTime(["%Y-%m-%d"]),
    metavar="YYYY-MM-DD",
    help="The last day on which it is valid (UTC), in place of --days.",
)
@click.option(
    "--directory",
    type=FILE,
    metavar="DIR",
    help="Write each token to DIR/NAME, for several names.",
)
@with_file
def add(
    names: tuple[str, ...],
    role: str,
    days: int,
    until: datetime | None,
    directory: Path | None,
    tokens: Path | None,
    *,
    collector: bool,
) -> None:
    """Make a token for each NAME and print it; only its hash is kept.

    The token of a node must have the node's name, as the node writes as itself only. A name may
    have several tokens: to replace one, add a new one, install it, and revoke the old one.

    \b
    sesame token add prometheus --role reader
    sesame token add node1 node2 --role node --collector --directory node-tokens
    """
    if len(names) > 1 and directory is None:
        raise InputError("several names: give --directory DIR, which gets a file for each")
    path = _file(tokens, collector=collector)
    last_day = until.date() if until is not None else utc_today() + timedelta(days)
    if last_day < utc_today():
        raise InputError(f"--until: {last_day} is over")
    if directory is not None:
        _check_directory(directory, names)
    for name in names:
        made = add_token(path, name, Role(role), last_day)
        if directory is None:
            click.echo(made)
        else:
            write_token(directory / name, made)
    click.echo(f"{path}: {', '.join(names)}: {role}, until {last_day}", err=True)


def _check_directory(directory: Path, names: tuple[str, ...]) -> None:
    try:
        directory.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise InputError(f"{directory}: {error.strerror}") from error
    for name in names:
        if (directory / name).exists():
            raise InputError(
                f"{directory / name} exists", hint="remove it, or give another --directory"
            )


@token.command("list", short_help="Show the tokens.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
@with_file
def list_(tokens: Path | None, *, collector: bool, as_json: bool) -> None:
    """Show the tokens: name, role, last day and the first digits of its hash (id).

    \b
    sesame token list
    """
    found, today = list_tokens(_file(tokens, collector=collector)), utc_today()
    if as_json:
        click.echo(json.dumps({"tokens": [_described(one, today) for one in found]}))
        return
    table = new_table("name", "role", "until", "id")
    for one in found:
        ended = " (ended)" if one.has_ended(today) else ""
        table.add_row(one.name, one.role, f"{one.last_day}{ended}", one.id)
    console().print(table)


def _described(one: Token, today: date) -> dict[str, Any]:
    return {
        "name": one.name,
        "role": one.role,
        "until": one.last_day.isoformat(),
        "has_ended": one.has_ended(today),
        "id": one.id,
    }


@token.command(short_help="Make tokens invalid.")
@click.argument("names", nargs=-1, metavar="[NAME|ID]…")
@click.option("--ended", is_flag=True, help="Remove the tokens that have ended.")
@with_file
def revoke(names: tuple[str, ...], tokens: Path | None, *, ended: bool, collector: bool) -> None:
    """Make tokens invalid: all of a name, or one by its id (sesame token list).

    \b
    sesame token revoke prometheus
    """
    if not names and not ended:
        raise InputError("no token to revoke: give a name, an id or --ended")
    path, today = _file(tokens, collector=collector), utc_today()
    known = list_tokens(path)
    for name in names:
        if not any(name in (one.name, one.id) for one in known):
            raise InputError(f"{path}: there is no token {name}", hint="sesame token list")

    def is_revoked(one: Token) -> bool:
        return one.name in names or one.id in names or (ended and one.has_ended(today))

    for one in revoke_tokens(path, is_revoked):
        click.echo(f"{one.name}: {one.id} revoked", err=True)
