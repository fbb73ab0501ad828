"""`sesame measure daemon`, also called `sesamed`.

What is large is imported where it is used, so that the command starts quickly.
"""

from __future__ import annotations

import dataclasses
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from sesame.cli.budget import budget_of
from sesame.cli.grouped import grouped
from sesame.errors import InputError
from sesame.extras import require
from sesame.measurement.defaults import DEFAULT_ADDRESS

if TYPE_CHECKING:
    from sesame.measurement.daemon.settings import Settings

FILE = click.Path(path_type=Path)


@click.command(
    cls=grouped(
        Measuring=("levels", "interval", "together", "budget", "cells"),
        Destination=("destination", "destination_token_file", "destination_ca"),
        Server=("address", "certificate", "key", "node"),
        Process=("settings", "folder", "user", "keep_privileges"),
    )
)
@click.option(
    "--settings", type=FILE, metavar="FILE", help="Read these settings, and again at SIGHUP (TOML)."
)
@click.option(
    "--listen",
    "address",
    default=DEFAULT_ADDRESS,
    show_default=True,
    metavar="HOST:PORT",
    help="Where it is controlled; this machine only, unless you say otherwise.",
)
@click.option(
    "--folder",
    type=FILE,
    metavar="DIR",
    help="Its token and lock; /var/lib/sesame for root, ~/.local/state/sesame for others.",
)
@click.option(
    "--cells",
    type=FILE,
    metavar="DIR",
    help="Where MPI programs count their calls; `sesame measure environment` says where if not "
    "given, with --folder DIR it is DIR/cells.",
)
@click.option("--node", default="", metavar="NAME", help="Name of this node; its host name if not.")
@click.option(
    "--interval", type=float, metavar="SECONDS", help="From pull to pull; 10 if not given."
)
@click.option(
    "--together",
    type=int,
    metavar="PULLS",
    help="While there is nothing to decide, so many pulls are made and delivered at one time, 6 if "
    "not given; 1: each when it is due, which takes four times as much processor time.",
)
@click.option(
    "--destination",
    metavar="URL|DIR",
    help="A reception that pulls go to, or a directory of this machine for data sets.",
)
@click.option(
    "--destination-token-file", metavar="FILE", help="The token that the reception has made."
)
@click.option(
    "--destination-ca", metavar="FILE", help="Who has signed the reception's certificate."
)
@click.option(
    "--level",
    "levels",
    multiple=True,
    metavar="[POINT=]LEVEL",
    help="off, summary or trace, of everything, or of a subsystem or point: fs.read=trace.",
)
@click.option(
    "--budget",
    callback=budget_of,
    default="0.1%",
    show_default=True,
    metavar="SHARE|none",
    help="What measuring may cost of each processor.",
)
@click.option("--certificate", type=FILE, metavar="FILE", help="Serve HTTPS with it (PEM).")
@click.option("--key", type=FILE, metavar="FILE", help="The certificate's key (PEM).")
@click.option("--user", default="", help="Become this user once the probes are loaded.")
@click.option(
    "--keep-privileges", is_flag=True, help="Give up none; for looking for faults in sesame itself."
)
def daemon(
    settings: Path | None,
    address: str,
    folder: Path | None,
    cells: Path | None,
    node: str,
    levels: tuple[str, ...],
    certificate: Path | None,
    key: Path | None,
    user: str,
    *,
    budget: float | None,
    keep_privileges: bool,
    **given: Any,
) -> None:
    """Have the probes of this node, to be switched and read over HTTP (also: sesamed).

    \b
    sesame measure daemon --level summary
    """
    require("daemon", "sesame measure daemon")
    from sesame.measurement.daemon import privileges
    from sesame.measurement.daemon.process import Start, start
    from sesame.measurement.daemon.settings import Settings, check, read_settings

    # Until it serves there is nothing to read again, and nobody to end for.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    if not keep_privileges:
        privileges.begin_again_without_threads()
    said = {key: value for key, value in given.items() if value is not None}
    said_levels = dict(map(_level, levels))

    def read() -> Settings:
        """Options win over the file, also when it is read again."""
        found = read_settings(settings) if settings is not None else Settings()
        found = dataclasses.replace(found, **said)
        found.levels |= said_levels
        check(found)
        return found

    start(
        Start(
            read_settings=read,
            settings_file=settings,
            address=address,
            folder=folder,
            cells=cells,
            node=node,
            certificate=certificate,
            key=key,
            user=user,
            budget=budget,
            keep_privileges=keep_privileges,
        )
    )


def _level(text: str) -> tuple[str, str]:
    place, _, level = text.rpartition("=")
    if level not in ("off", "summary", "trace"):
        raise InputError(f"--level: {text}: expected off, summary or trace, got {level}")
    return place or "all", level


def sesamed() -> NoReturn:
    from sesame.cli import main

    sys.argv[1:1] = ["measure", "daemon"]
    main()
