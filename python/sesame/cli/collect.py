"""`sesame collect`

Large modules are imported where they are used, so that the command starts quickly.
"""

from __future__ import annotations

from pathlib import Path

import click

from sesame.cli.grouped import grouped
from sesame.errors import InputError
from sesame.extras import require
from sesame.measurement.defaults import DAEMON_PORT

FILE = click.Path(path_type=Path)


@click.command(
    cls=grouped(
        Output=("output", "minutes"),
        Server=("address", "token_file", "certificate", "key"),
        Fetching=("nodes", "from_token_file", "from_ca", "interval"),
    )
)
@click.option(
    "-o", "--output", type=FILE, required=True, metavar="DIR", help="The directory of data sets."
)
@click.option(
    "--listen",
    "address",
    default="127.0.0.1:7118",
    show_default=True,
    metavar="HOST:PORT",
    help="The address at which daemons reach it; by default only from this machine.",
)
@click.option(
    "--token-file",
    type=FILE,
    metavar="FILE",
    help="The token that daemons must present; made if missing. Default: collector-token in the "
    "daemon's state directory.",
)
@click.option(
    "--segment",
    "minutes",
    type=float,
    default=10.0,
    show_default=True,
    metavar="MINUTES",
    help="The time that each data set covers.",
)
@click.option(
    "--from", "nodes", default="", metavar="HOST[:PORT],…", help="Also fetch from these daemons."
)
@click.option("--from-token-file", type=FILE, metavar="FILE", help="The token of those daemons.")
@click.option(
    "--from-ca", default="", metavar="FILE", help="The CA that signed their certificates."
)
@click.option(
    "--interval",
    type=float,
    default=10.0,
    show_default=True,
    metavar="SECONDS",
    help="How often to fetch.",
)
@click.option("--certificate", type=FILE, metavar="FILE", help="Serve HTTPS with it (PEM).")
@click.option("--key", type=FILE, metavar="FILE", help="The certificate's key (PEM).")
def collect(
    output: Path,
    address: str,
    token_file: Path | None,
    minutes: float,
    nodes: str,
    from_token_file: Path | None,
    from_ca: str,
    interval: float,
    certificate: Path | None,
    key: Path | None,
) -> None:
    """Collect the measurements of daemons on many nodes, and write data sets.

    \b
    sesame collect -o measured --listen 0.0.0.0:7118
    """
    require("daemon", "sesame collect")
    from sesame.measurement.collector.server import CollectorOptions
    from sesame.measurement.collector.server import collect as serve
    from sesame.measurement.connection import Connection
    from sesame.measurement.defaults import default_state_directory
    from sesame.web.server.tokens import read_token

    if minutes <= 0 or interval <= 0:
        raise InputError("--segment, --interval: expected more than 0")
    wanted = [node for node in nodes.split(",") if node]
    token = read_token(from_token_file or default_state_directory() / "token") if wanted else ""
    serve(
        CollectorOptions(
            directory=output,
            address=address,
            token_file=token_file or default_state_directory() / "collector-token",
            segment_seconds=60 * minutes,
            certificate=certificate,
            key=key,
            nodes=[Connection(node, token, DAEMON_PORT, from_ca) for node in wanted],
            interval=interval,
        )
    )
