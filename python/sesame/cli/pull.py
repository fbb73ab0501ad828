"""`sesame pull`"""

from __future__ import annotations

from pathlib import Path

import click

from sesame.errors import InputError


@click.command()
@click.argument("address", metavar="ADDRESS")
@click.argument("output", metavar="[DIR]", required=False, type=click.Path(path_type=Path))
def pull(address: str, output: Path | None) -> None:
    """Download a data set, a tool or a model from a repository.

    What is not public needs a token in the variable SESAME_TOKEN. Other verbs take an address in
    place of a data set or a machine model, too.

    \b
    sesame pull perf.example.org/d/3f2k8x0a run.sesame
    sesame report perf.example.org/d/3f2k8x0a run.html
    """
    from sesame.repository.client import Client, parse_address

    place = parse_address(address)
    if place is None:
        raise InputError(f"{address}: expected an address such as host/d/3f2k8x0a")
    target = output or Path(f"{place.thing}.sesame" if place.letter == "d" else place.thing)
    if target.exists():
        raise InputError("it exists already", path=str(target), hint="name another directory")
    client = Client(place.server)
    version = client.version(place.thing, place.version)
    client.download(version, target)
    click.echo(f"{target}: version {version['number']}, {version['size']:,} bytes", err=True)
