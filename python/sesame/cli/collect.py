"""`sesame collect`

Large modules are imported where they are used, so that the command starts quickly.
"""

from __future__ import annotations

import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sesame.cli.grouped import grouped
from sesame.extras import require

if TYPE_CHECKING:
    from sesame.measurement.collector.settings import Settings

FILE = click.Path(path_type=Path)


@click.command(
    cls=grouped(
        Output=("output", "segment", "keep", "keep_size", "node_size"),
        Server=("listen", "token_file", "certificate", "key", "client_ca", "settings_file"),
        Relay=(
            "forward_to",
            "forward_token_file",
            "forward_ca",
            "forward_certificate",
            "forward_key",
        ),
        Fetching=("nodes", "nodes_token_file", "nodes_ca", "interval"),
    ),
)
@click.option(
    "-o",
    "--output",
    metavar="DIR",
    help="The directory of data sets; of a relay, of what waits to be forwarded.",
)
@click.option(
    "--listen",
    metavar="HOST:PORT",
    help="The address at which daemons reach it. Default: 127.0.0.1:7118, only from this machine.",
)
@click.option(
    "--token-file",
    metavar="FILE",
    help="Its own token, which permits everything; made if there are no tokens. Default: "
    "collector-token in the daemon's state directory. `sesame token` writes others beside it.",
)
@click.option(
    "--segment",
    type=float,
    metavar="MINUTES",
    help="The time that each data set covers. Default: 10.",
)
@click.option("--keep", metavar="TIME", help="Remove data sets older than this: 90m, 12h, 30d, 1y.")
@click.option(
    "--keep-size", metavar="SIZE", help="Remove the oldest data sets above this size: 50GB."
)
@click.option(
    "--node-size",
    metavar="SIZE",
    help="What a node may add in the time of a data set; of more, events are discarded first. "
    "Default: 256MB.",
)
@click.option(
    "--settings",
    "settings_file",
    type=FILE,
    metavar="FILE",
    help="Read these settings (TOML); options take precedence. At SIGHUP segment, keep, "
    "keep_size and node_size are read again.",
)
@click.option(
    "--forward-to",
    metavar="[https://]HOST[:PORT]",
    help="Be a relay: send everything to this collector, and write no data sets.",
)
@click.option("--forward-token-file", metavar="FILE", help="The relay's token of that collector.")
@click.option("--forward-ca", metavar="FILE", help="The CA that signed its certificate.")
@click.option(
    "--forward-certificate",
    metavar="FILE",
    help="The relay's certificate, in place of a token (PEM).",
)
@click.option("--forward-key", metavar="FILE", help="The key of that certificate (PEM).")
@click.option("--from", "nodes", metavar="HOST[:PORT],…", help="Also fetch from these daemons.")
@click.option(
    "--from-token-file", "nodes_token_file", metavar="FILE", help="The token of those daemons."
)
@click.option(
    "--from-ca", "nodes_ca", metavar="FILE", help="The CA that signed their certificates."
)
@click.option("--interval", type=float, metavar="SECONDS", help="How often to fetch. Default: 10.")
@click.option("--certificate", metavar="FILE", help="Serve HTTPS with it (PEM).")
@click.option("--key", metavar="FILE", help="The certificate's key (PEM).")
@click.option(
    "--client-ca",
    metavar="FILE",
    help="Nodes may present certificates of this CA instead of tokens (PEM).",
)
def collect(settings_file: Path | None, nodes: str | None, **given: Any) -> None:
    """Collect the measurements of daemons on many nodes, and write data sets or forward them.

    \b
    sesame collect -o measured --listen 0.0.0.0:7118
    """
    require("daemon", "sesame collect")
    from sesame.measurement.collector.process import collect as serve
    from sesame.measurement.collector.settings import Settings, read_settings

    # Until the server runs there is nothing to reload, and SIGHUP would end this process.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    options = {key: value for key, value in given.items() if value is not None}
    if nodes is not None:
        options["nodes"] = [node for node in nodes.split(",") if node]

    def read() -> Settings:
        """The settings of the file. Options take precedence."""
        found = read_settings(settings_file) if settings_file is not None else {}
        settings = Settings(**found | options)
        settings.check()
        return settings

    serve(read(), read)
