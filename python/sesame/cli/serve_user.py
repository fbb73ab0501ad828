"""`sesame serve user`: the accounts of a repository, without its pages."""

from __future__ import annotations

import json
import secrets
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sesame.cli.console import console, new_table
from sesame.web.server.roles import OF_REPOSITORY, Role

if TYPE_CHECKING:
    from sesame.repository.accounts.store import Accounts
    from sesame.repository.store import Repository

FILE = click.Path(path_type=Path)
ROLE = click.Choice([one.value for one in OF_REPOSITORY])
Command = Callable[..., Any]


@click.group()
def user() -> None:
    """Add and change accounts of a repository. A running server follows at once.

    \b
    sesame serve user add ~/perf ada --role reviewer
    sesame serve user list ~/perf
    """


@contextmanager
def _repository(place: Path) -> Iterator[Repository]:
    """Of a directory that is served, or of the file of a site."""
    from sesame.cli.serve import opened

    is_site = place.suffix == ".toml"
    with opened(None if is_site else place, place if is_site else None) as repository:
        yield repository


@contextmanager
def _accounts(place: Path) -> Iterator[Accounts]:
    from sesame.repository.accounts.store import Accounts

    with _repository(place) as repository:
        yield Accounts(repository.engine)


def _new_password(given: bool) -> tuple[str, bool]:
    """From a pipe or the terminal; a random one with `given`. And whether it is to be shown."""
    if given:
        return secrets.token_urlsafe(12), True
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\n"), False
    return click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True), False


with_directory = click.argument("directory", metavar="DIR|SITE.toml", type=FILE)
with_random = click.option(
    "--random", is_flag=True, help="Make a random password and print it; else it is asked for."
)


@user.command(short_help="Add an account.")
@with_directory
@click.argument("name")
@click.option("--role", type=ROLE, default="contributor", show_default=True, help="What it may do.")
@click.option("--mail", default="", help="Where mail about its uploads goes.")
@click.option("--shown", default="", help="The name that others see. Default: NAME.")
@click.option("--trusted", is_flag=True, help="Its uploads need no review.")
@with_random
def add(
    directory: Path, name: str, role: str, mail: str, shown: str, trusted: bool, random: bool
) -> None:
    """Add the account NAME. The password is asked for, or read from a pipe.

    \b
    sesame serve user add ~/perf ada --role reviewer --mail ada@example.org
    """
    given, is_new = _new_password(random)
    with _accounts(directory) as accounts:
        made = accounts.add(
            name, given, Role(role), display_name=shown, email=mail, trusted=trusted
        )
    if is_new:
        click.echo(given)
    click.echo(f"{made.name}: {made.role}", err=True)


@user.command("list", short_help="Show the accounts.")
@with_directory
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def list_(directory: Path, as_json: bool) -> None:
    """Show the accounts.

    \b
    sesame serve user list ~/perf
    """
    with _accounts(directory) as accounts:
        known = accounts.all()
    found = [
        {
            "name": one.name,
            "role": str(one.role),
            "trusted": one.trusted,
            "disabled": one.disabled,
            "mail": one.email,
        }
        for one in known
    ]
    if as_json:
        click.echo(json.dumps({"accounts": found}))
        return
    table = new_table("name", "role", "trusted", "disabled", "mail")
    for one in found:
        words = ["yes" if one[key] else "" for key in ("trusted", "disabled")]
        table.add_row(str(one["name"]), str(one["role"]), *words, str(one["mail"]))
    console().print(table)


@user.command(short_help="Change role, trust, or whether it may sign in.")
@with_directory
@click.argument("name")
@click.option("--role", type=ROLE, help="What it may do from now on.")
@click.option("--trusted/--not-trusted", default=None, help="Its uploads need no review.")
@click.option("--disable/--enable", default=None, help="Disabled: no sign-in, no token works.")
def change(
    directory: Path, name: str, role: str | None, trusted: bool | None, disable: bool | None
) -> None:
    """Change the account NAME.

    \b
    sesame serve user change ~/perf ada --role administrator
    sesame serve user change ~/perf eve --disable
    """
    with _accounts(directory) as accounts:
        made = accounts.change(
            name, role=None if role is None else Role(role), trusted=trusted, disabled=disable
        )
    states = [
        word for word, is_so in (("trusted", made.trusted), ("disabled", made.disabled)) if is_so
    ]
    click.echo(f"{made.name}: {', '.join([made.role, *states])}", err=True)


@user.command(short_help="Set a new password.")
@with_directory
@click.argument("name")
@with_random
def password(directory: Path, name: str, random: bool) -> None:
    """Set a new password for NAME and end its sessions.

    \b
    sesame serve user password ~/perf ada
    """
    with _accounts(directory) as accounts:
        accounts.required(name)
        given, is_new = _new_password(random)
        accounts.set_password(name, given)
    if is_new:
        click.echo(given)


@user.command(short_help="Make a token for a program.")
@with_directory
@click.argument("name")
@click.option(
    "--scope", type=ROLE, default="contributor", show_default=True, help="What it may do."
)
@click.option(
    "--days",
    type=click.IntRange(1, 3650),
    default=90,
    show_default=True,
    help="How long it is valid.",
)
def token(directory: Path, name: str, scope: str, days: int) -> None:
    """Make a token of the account NAME and print it; only its hash is kept.

    \b
    sesame serve user token ~/perf ada --days 30
    """
    from sesame.repository.accounts.sessions import AccessTokens
    from sesame.repository.accounts.store import Accounts

    with _repository(directory) as repository:
        account = Accounts(repository.engine).required(name)
        tokens = AccessTokens(repository.engine)
        click.echo(tokens.add(account, "made by an administrator", Role(scope), days))
