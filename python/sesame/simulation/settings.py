"""Checks settings of a simulation before it starts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from sesame import native
from sesame.errors import InputError
from sesame.settings import setting
from sesame.simulation.compute import Compute
from sesame.simulation.scenario import Scenario

MOST_RANKS = 1 << 24
MOST_WORKERS = 64  # kMostWorkers of core/pdes/workers.h
# Of workers, the default first (docs/models/parallel.md).
PROTOCOLS = ("quantum", "null", "conditional", "null+conditional")
LAUNCHER = "ssh -o BatchMode=yes {host}"  # what starts a command on a host
STRATEGY = "storage.collective.strategy"
# With these, a strategy that the user chose is used even if the machine's default is independent
# access.
ALWAYS = ("storage.collective.cb_read=enable", "storage.collective.cb_write=enable")


def parse_placement(text: str) -> str:
    """The placement for `Scenario.placement`. Raises InputError."""
    if text in ("block", "cyclic"):
        return text
    if not Path(text).is_file():
        raise InputError(f"{setting('placement', text)}: expected block, cyclic or a file")
    return f"file:{Path(text).resolve()}"


def check_rank_counts(counts: Iterable[int]) -> None:
    """Raises InputError if a number of ranks is out of range."""
    for count in counts:
        if not 1 <= count <= MOST_RANKS:
            raise InputError(
                f"{setting('ranks', count)}: expected a number from 1 to {MOST_RANKS}",
                hint="for instance 64",
            )


def check_workers(workers: int, protocol: str) -> None:
    """Raises InputError for a number of workers or a protocol that there is not, TypeError for
    what is not a number."""
    if isinstance(workers, bool) or not isinstance(workers, int):
        raise TypeError(f"{setting('workers', workers)}: expected a whole number")
    if not 1 <= workers <= MOST_WORKERS:
        raise InputError(
            f"{setting('workers', workers)}: expected a number from 1 to {MOST_WORKERS}"
        )
    if protocol not in PROTOCOLS:
        raise InputError(f"{setting('protocol', protocol)}: expected {' or '.join(PROTOCOLS)}")


def check_repeat(repeat: int, compute: Compute) -> None:
    """Raises InputError if a run cannot be repeated so often."""
    if repeat < 1:
        raise InputError(f"{setting('repeat', repeat)}: expected a number from 1")
    if repeat > 1 and compute.repeatable:
        raise InputError(
            f"{setting('repeat', repeat)}: with computation {compute} every run predicts the same "
            "time",
            hint=f"leave {setting('repeat')} out; it is for measured computation",
        )


def with_strategy(scenario: Scenario, strategy: str | None) -> Scenario:
    """The scenario with `strategy` for collective file accesses, whatever the machine's default."""
    if strategy is None:
        return scenario
    return replace(scenario, overrides=(*ALWAYS, *scenario.overrides, f"{STRATEGY}={strategy}"))


def check_storage(
    scenario: Scenario, *, keeps_files: bool, discards: bool, strategy: str | None
) -> None:
    """Raises InputError if options about simulated files are given for a machine without any."""
    model = native.read_machine(str(scenario.machine), list(scenario.overrides))
    has_any = bool(model["storage"] or model["node_storage"])
    given = {
        "files": keeps_files and not has_any,
        "discard_data": discards and not has_any,
        "collective": strategy is not None and not model["storage"],
    }
    for name, lacks in given.items():
        if lacks:
            raise InputError(
                f"{setting(name)} is for machines with file systems, and {model['name']} has no "
                "[storage]",
                path=str(scenario.machine),
                hint="add the table to the machine file; docs/formats/machine.md has its keys",
            )
