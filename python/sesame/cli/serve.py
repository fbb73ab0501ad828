"""`sesame serve`

Large modules are imported where they are used, so that the command starts quickly.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sesame.cli.serve_user import user
from sesame.errors import InputError
from sesame.extras import require

if TYPE_CHECKING:
    from sesame.repository.store import Repository

FILE = click.Path(path_type=Path)
ADDRESS = "127.0.0.1:7120"
LISTEN = click.option(
    "--listen",
    "address",
    metavar="HOST:PORT",
    help=f"The address of the server of a directory. Default: {ADDRESS}, only from this machine.",
)
CONFIG = click.option("--config", type=FILE, metavar="FILE.toml", help="The file of a site.")
DIRECTORY = click.argument("directory", metavar="[DIR]", required=False, type=FILE)


@click.command("directory", options_metavar="")
@click.argument("directory", metavar="DIR", type=FILE)
@LISTEN
@click.pass_context
def _directory(ctx: click.Context, directory: Path, address: str | None) -> None:
    """What `sesame serve DIR` does."""
    from sesame.repository.process import serve_directory

    given = ctx.parent.params if ctx.parent is not None else {}
    if given.get("config") is not None:
        raise InputError("give either a directory or --config")
    serve_directory(directory, address or given.get("address") or ADDRESS)


class _DirectoryOrCommand(click.Group):
    """A group in which what is no command is the directory to serve."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] in self.commands:
            return super().resolve_command(ctx, args)
        return _directory.name, _directory, args

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return ["[OPTIONS]", "DIR | COMMAND [ARGS]..."]


@click.group(cls=_DirectoryOrCommand, invoke_without_command=True)
@LISTEN
@CONFIG
@click.pass_context
def serve(ctx: click.Context, address: str | None, config: Path | None) -> int | None:
    """Show data sets as pages in a browser: plots, play-back, search and discussion.

    With DIR it serves the data sets below that directory to you; it prints an address that lets
    you in. What it makes is in DIR/.repository. With --config it serves a site.

    \b
    sesame serve ~/perf
    sesame serve --config site.toml
    """
    require("repository", "sesame serve")
    if ctx.invoked_subcommand is not None:
        return None
    if config is None:
        raise InputError("nothing to serve", hint="give a directory, or --config FILE.toml")
    if address is not None:
        raise InputError("--listen is for a directory", hint=f"set `listen` in {config}")
    from sesame.repository.process import serve_site
    from sesame.repository.site import read_site

    return serve_site(read_site(config))


@contextmanager
def opened(directory: Path | None, config: Path | None) -> Iterator[Repository]:
    """The repository of a directory or of a site; one of the two is given."""
    from sesame.repository.process import open_directory, open_site
    from sesame.repository.site import read_site

    if (directory is None) == (config is None):
        raise InputError("give a directory or --config FILE.toml")
    repository = open_directory(directory) if directory else open_site(read_site(config or Path()))
    try:
        yield repository
    finally:
        repository.close()


@serve.command()
@DIRECTORY
@CONFIG
@click.option("-o", "--output", required=True, type=FILE, metavar="FILE.tar", help="The backup.")
def backup(directory: Path | None, config: Path | None, output: Path) -> None:
    """Write everything to one file.

    That is all things, discussions and accounts. It may be served meanwhile.

    \b
    sesame serve backup ~/perf -o perf.tar
    sesame serve backup --config site.toml -o site.tar
    """
    from sesame.cli.outputs import check_file
    from sesame.repository.backup import back_up

    check_file(output)
    with opened(directory, config) as repository:
        things, files = back_up(repository, output)
    click.echo(f"{output}: {things:,} things, {files:,} files", err=True)


@serve.command()
@click.argument("source", metavar="FILE.tar", type=FILE)
@DIRECTORY
@CONFIG
def restore(source: Path, directory: Path | None, config: Path | None) -> None:
    """Fill a new repository from a backup. The database may be another one.

    \b
    mkdir again
    sesame serve restore perf.tar again
    """
    from sesame.repository.backup import restore as fill

    with opened(directory, config) as repository:
        things, files = fill(repository, source)
    click.echo(f"{source}: {things:,} things, {files:,} files restored", err=True)


@serve.command()
@DIRECTORY
@CONFIG
@click.option("--contents", is_flag=True, help="Read every file and compare its hash.")
def check(directory: Path | None, config: Path | None, contents: bool) -> int:
    """Find rows without their files, and files without their rows.

    Prints a line for each; the exit status is 1 if there is one. Uploads that are stored at the
    moment may show as files without rows.

    \b
    sesame serve check ~/perf
    """
    from sesame.repository.check import check as look

    with opened(directory, config) as repository:
        wrong = list(look(repository, contents=contents))
    for line in wrong:
        click.echo(line)
    click.echo(f"{len(wrong):,} faults" if wrong else "no faults", err=True)
    return 1 if wrong else 0


serve.add_command(user)
