"""`sesame serve`

Large modules are imported where they are used, so that the command starts quickly.
"""

from __future__ import annotations

from pathlib import Path

import click

from sesame.extras import require


@click.command()
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--listen",
    "address",
    metavar="HOST:PORT",
    default="127.0.0.1:7120",
    show_default=True,
    help="The address of the server.",
)
def serve(directory: Path, address: str) -> None:
    """Show the data sets of a directory as pages in a browser.

    Its pages, uploads and discussion are kept in DIR/.repository.

    \b
    sesame serve ~/perf
    """
    require("repository", "sesame serve")
    from sesame.repository.process import serve_directory

    serve_directory(directory, address)
