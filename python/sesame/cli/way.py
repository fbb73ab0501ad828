"""`sesame simulate --explain PROGRAM`: how a program will be run, without running it."""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from sesame.api.preparing import is_trace
from sesame.errors import InputError
from sesame.simulation.host import inspect_program

WAYS = {
    "fibers": "ranks are fibers, copies of the program in one process",
    "processes": "each rank is a process",
}
INTERFACES = {
    "mpich": "its MPI has MPICH's interface",
    "mpiabi": "its MPI has the MPI standard's interface",
    "openmpi": "its MPI is Open MPI",
    None: "its MPI is known when it loads it",
}


def print_way(program: str, ranks_as: str | None, *, as_json: bool) -> int:
    """Prints whether ranks of a program will be fibers or processes, and why. `ranks_as` None: as
    it is chosen without being asked for. Returns the exit status.

    Raises InputError with the reason if the program cannot be simulated.
    """
    if is_trace(program):
        raise InputError(
            f"--explain without --machine is for programs, and {program} is a traced run"
        )
    found = inspect_program(program, ranks_as)
    if as_json:
        click.echo(json.dumps({"program": program, **asdict(found)}))
    else:
        click.echo(
            f"{program}: {WAYS[found.ranks_as]} ({found.why}); {INTERFACES[found.interface]}"
        )
    return 0
