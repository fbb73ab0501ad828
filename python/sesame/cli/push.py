"""`sesame push`"""

from __future__ import annotations

import json
import os
import sys
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from sesame.cli.grouped import grouped
from sesame.errors import InputError

LICENCE = "CC-BY-4.0"
ERASE = "\r\x1b[K"
SHOW_EVERY_S = 0.2
TOKEN = "SESAME_TOKEN"


@click.command(
    cls=grouped(
        Where_to=["address", "token_file"],
        What_it_is=["title", "description", "licence", "library", "version_of", "links"],
        Who_sees_it=["visibility", "public_from"],
    )
)
@click.argument("path", metavar="FILE", type=click.Path(path_type=Path))
@click.option("--to", "address", required=True, metavar="ADDRESS", help="The repository.")
@click.option("--title", help="Default: the title of the data set, or the name of FILE.")
@click.option(
    "--description",
    type=click.Path(path_type=Path),
    metavar="FILE.md",
    help="A text in Markdown about it.",
)
@click.option("--licence", default=LICENCE, show_default=True, help="An SPDX identifier.")
@click.option(
    "--visibility",
    type=click.Choice(["private", "unlisted", "public"]),
    default="private",
    show_default=True,
    help="Who may see it. Unlisted: who knows its address.",
)
@click.option(
    "--public-from",
    type=click.DateTime(["%Y-%m-%d"]),
    metavar="YYYY-MM-DD",
    help="Public from that day (UTC) on.",
)
@click.option(
    "--library",
    type=click.Choice(["data", "tool", "model", "document", "report"]),
    default="data",
    show_default=True,
    help="The library that it goes to.",
)
@click.option("--version-of", metavar="ID", help="Add it as a new version of this.")
@click.option(
    "--link",
    "links",
    multiple=True,
    metavar="RELATION=ADDRESS",
    help="What it was made with or from, such as calibrated_by=3f2k8x0a.",
)
@click.option(
    "--token-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help=f"A file with your token. Default: the variable {TOKEN}, or the terminal is asked.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def push(
    path: Path,
    address: str,
    title: str | None,
    description: Path | None,
    licence: str,
    visibility: str,
    public_from: datetime | None,
    library: str,
    version_of: str | None,
    links: tuple[str, ...],
    token_file: Path | None,
    as_json: bool,
) -> None:
    """Send a data set, or a trace of another tool, to a repository.

    FILE is a data set, or what `sesame import` reads (imported there), or a zip or tar of one. Only
    files that the repository does not have are sent. If it is interrupted, the same command
    continues.

    \b
    sesame push run.sesame --to http://perf.example.org
    sesame push job.darshan --to http://localhost:8080 --visibility public
    """
    from sesame.repository.uploads.pushing import Connection, push

    if not path.exists():
        raise InputError("there is no such file", path=str(path))
    sent: dict[str, Any] = {
        "title": title or _title(path),
        "description": _text(description) if description else "",
        "licence": licence,
        "visibility": visibility,
        "library": library,
        "links": " ".join(links),
    }
    if public_from is not None:
        sent["public_from"] = public_from.strftime("%Y-%m-%d")
    if version_of is not None:
        sent["version_of"] = version_of
    connection = Connection(address, _token(token_file, address))
    with Progress() as progress:
        done = push(path, connection, sent, progress)
    connection.close()
    if as_json:
        click.echo(json.dumps(done))
    else:
        click.echo(f"{connection.address}{done['address']}")
        if done.get("review") == "waiting":
            click.echo("note: it waits for a reviewer; only you see it until then", err=True)


def _title(path: Path) -> str:
    """The title of a data set; else the name of the file."""
    try:
        found = json.loads((path / "info.json").read_text(encoding="utf-8")).get("title")
    except (OSError, ValueError, AttributeError):
        found = None
    return str(found or path.resolve().name)[:200]


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read: {error}", path=str(path)) from error


def _token(file: Path | None, address: str) -> str | None:
    """Never an option: others see the arguments of a program."""
    if file is not None:
        from sesame.web.server.token_file import read_private

        try:
            token = read_private(file).strip()
        except FileNotFoundError:
            raise InputError("there is no such file", path=str(file)) from None
    elif TOKEN in os.environ:
        token = os.environ[TOKEN].strip()
    elif sys.stdin.isatty():
        token = click.prompt(f"Token of {address}", hide_input=True, err=True).strip()
    else:
        return None
    if not token.isascii() or not token.isprintable() or " " in token:
        raise InputError("this is no token", hint="make one at /account of the repository")
    return token or None


class Progress:
    """One line on a terminal's stderr, erased at the end."""

    words = {"hash": "reading", "send": "sending", "import": "importing"}  # noqa: RUF012

    def __init__(self) -> None:
        self._shown_at = 0.0
        self._is_shown = sys.stderr.isatty()

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_shown and self._shown_at:
            sys.stderr.write(ERASE)
            sys.stderr.flush()

    def __call__(self, what: str, done: int, total: int) -> None:
        now = time.monotonic()
        if not self._is_shown or now - self._shown_at < SHOW_EVERY_S:
            return
        self._shown_at = now
        share = f" {100 * done / total:.0f} % of {total / 1e6:,.1f} MB" if total else ""
        sys.stderr.write(f"{ERASE}{self.words[what]}{share}")
        sys.stderr.flush()
