"""`sesame measure daemon`, also called `sesamed`.

Large modules are imported where they are used, so that the command starts quickly.
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
        Measuring=("levels", "interval", "batch", "budget", "counters"),
        Destination=(
            "destination",
            "destination_token_file",
            "destination_ca",
            "destination_certificate",
            "destination_key",
        ),
        Server=("address", "certificate", "key", "node"),
        Process=("settings", "state_directory", "user", "keep_privileges"),
    ),
    short_help="Measure this node, for clients that ask over HTTP.",
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
    help="The address at which it is controlled; by default only from this machine.",
)
@click.option(
    "--state-directory",
    type=FILE,
    metavar="DIR",
    help="The directory of its token and lock. Default: /var/lib/sesame for root, "
    "~/.local/state/sesame for others.",
)
@click.option(
    "--counters",
    type=FILE,
    metavar="DIR",
    help="Where MPI programs keep the counters of their calls, in memory. Default: counters in the "
    "state directory if that is given, else what `sesame measure environment` prints.",
)
@click.option(
    "--node", default="", metavar="NAME", help="Name of this node. Default: its host name."
)
@click.option(
    "--interval",
    type=float,
    metavar="SECONDS",
    help="Time from one reading to the next. Default: 10.",
)
@click.option(
    "--batch",
    type=int,
    metavar="READINGS",
    help="Readings in one batch while the node is idle. Default: 6. With 1 the daemon wakes for "
    "each reading, which takes four times as much processor time.",
)
@click.option(
    "--destination",
    metavar="URL|DIR",
    help="Send readings to this collector, or write data sets to this directory.",
)
@click.option("--destination-token-file", metavar="FILE", help="The collector's token.")
@click.option(
    "--destination-ca", metavar="FILE", help="The CA that signed the collector's certificate."
)
@click.option(
    "--destination-certificate",
    metavar="FILE",
    help="The node's certificate, by which the collector knows it; instead of a token (PEM).",
)
@click.option("--destination-key", metavar="FILE", help="The key of that certificate (PEM).")
@click.option(
    "--level",
    "levels",
    multiple=True,
    metavar="[POINT=]LEVEL",
    help="Set everything, or a subsystem or point, to off, summary or trace: fs.read=trace.",
)
@click.option(
    "--budget",
    callback=budget_of,
    default="0.1%",
    show_default=True,
    metavar="SHARE|none",
    help="The share of each processor that measuring may take; none: no limit.",
)
@click.option("--certificate", type=FILE, metavar="FILE", help="Serve HTTPS with it (PEM).")
@click.option("--key", type=FILE, metavar="FILE", help="The certificate's key (PEM).")
@click.option(
    "--user",
    metavar="NAME",
    help="Become this user once the probes are loaded. Default: sesame, if there is that user; "
    "root: stay root, without its privileges.",
)
@click.option(
    "--keep-privileges", is_flag=True, help="Keep all privileges, to debug Sesame itself."
)
def daemon(
    settings: Path | None,
    address: str,
    state_directory: Path | None,
    counters: Path | None,
    node: str,
    levels: tuple[str, ...],
    certificate: Path | None,
    key: Path | None,
    user: str | None,
    *,
    budget: float | None,
    keep_privileges: bool,
    **given: Any,
) -> None:
    """Load the probes of this node; clients switch and read them over HTTP (also: sesamed).

    \b
    sesame measure daemon --level summary
    """
    require("daemon", "sesame measure daemon")
    from sesame.measurement.daemon import privileges
    from sesame.measurement.daemon.process import DaemonOptions, start
    from sesame.measurement.daemon.settings import Settings, check, read_settings

    # Until the server runs there is nothing to reload, and SIGHUP would end this process.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    if not keep_privileges:
        privileges.restart_without_threads()
    said = {key: value for key, value in given.items() if value is not None}
    said_levels = dict(map(_level, levels))

    def read() -> Settings:
        """The settings of the file. Options take precedence, also when the file is read again."""
        found = read_settings(settings) if settings is not None else Settings()
        found = dataclasses.replace(found, **said)
        found.levels |= said_levels
        check(found)
        return found

    start(
        DaemonOptions(
            read_settings=read,
            settings_file=settings,
            address=address,
            state_directory=state_directory,
            counters=counters,
            node=node,
            certificate=certificate,
            key=key,
            user=user,
            budget=budget,
            keep_privileges=keep_privileges,
        )
    )


def _level(text: str) -> tuple[str, str]:
    point, _, level = text.rpartition("=")
    if level not in ("off", "summary", "trace"):
        raise InputError(f"--level: {text}: expected off, summary or trace, got {level}")
    return point or "all", level


def sesamed() -> NoReturn:
    """The program `sesamed`."""
    from sesame.cli import main

    sys.argv[1:1] = ["measure", "daemon"]
    main()
