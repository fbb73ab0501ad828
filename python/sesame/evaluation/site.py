"""The site file: what is probed, where, how often, and what a probe's answer has to be (TOML).

docs/formats/site.md describes it. `site_targets` and `site_probes` read its tables.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sesame.errors import InputError
from sesame.evaluation.database import is_url
from sesame.evaluation.toml_lines import Lines

if TYPE_CHECKING:
    from sesame.evaluation.site_probes import ProbeTables

UNITS = frozenset(
    ["1", "%", "ns", "us", "ms", "s", "B", "kB", "MB", "GB", "KiB", "MiB", "GiB"]
    + [f"{unit}/s" for unit in ("1", "B", "kB", "MB", "GB", "KiB", "MiB", "GiB", "flop")]
    + ["Mflop/s", "Gflop/s"]
)
ASPECTS = ("availability", "utilisation", "functionality", "performance")
MOST_BYTES = 1 << 20


@dataclass(frozen=True)
class Queue:
    """Commands of a batch system. In them {job}, {script}, {name}, {ranks}, {nodes}, {minutes} and
    {seconds} are filled in. Patterns are searched in what `state` prints."""

    submit: tuple[str, ...]
    job: re.Pattern[str]  # group 1 of what `submit` prints
    state: tuple[str, ...]
    waiting: re.Pattern[str]
    running: re.Pattern[str]
    unavailable: re.Pattern[str] | None  # why a job waits: the machine is to blame
    cancel: tuple[str, ...]
    start: tuple[str, ...]  # before the command, in the job
    limit: float  # seconds that a job may wait
    gone: re.Pattern[str] | None = None  # in a refused answer of `state`: the job is no more
    nodes: tuple[str, ...] = ()  # prints the states of nodes, where the reason leaves it open


@dataclass(frozen=True)
class Maintenance:
    """A command that tells whether a target is in maintenance: status 0, and a match."""

    command: tuple[str, ...]
    pattern: re.Pattern[str]


@dataclass(frozen=True)
class Target:
    """Where commands run: after a prefix, in which {ranks}, {nodes} and {target} are filled in, by
    ssh on another host, or as jobs of a batch system."""

    name: str
    launcher: tuple[str, ...]
    ranks: int
    nodes: int = 1
    quotes: bool = False  # a shell of another host reads the command
    queue: Queue | None = None
    maintenance: Maintenance | None = None
    directory: Path | None = None  # where the directories of probes are made
    directory_is_given: bool = False  # by the site file: the target answers for it

    @property
    def is_here(self) -> bool:
        """Whether its commands run on the machine that probes."""
        if self.quotes or self.queue is not None:
            return False
        return not self.launcher or self.launcher[0] == "mpiexec"

    @property
    def machine(self) -> str:
        """The same for targets on the same machine, as far as that is known."""
        if self.is_here:
            return "here"
        return f"host {self.launcher[-1]}" if self.quotes else f"target {self.name}"

    def command(self, words: Sequence[str], timeout: float) -> list[str]:
        """What to start. On another host timeout(1) ends the command, also if the connection is
        lost."""
        if self.quotes:
            import shlex

            limit = ("exec", "timeout", "-k", "5", f"{timeout:g}")
            return [*self.filled(self.launcher), shlex.join((*limit, *self.filled(words)))]
        return self.filled((*self.launcher, *words))

    def filled(self, words: Sequence[str], **more: str) -> list[str]:
        values = {"ranks": str(self.ranks), "nodes": str(self.nodes), "target": self.name, **more}
        return [
            re.sub(r"\{(\w+)\}", lambda found: values.get(found[1], found[0]), word)
            for word in words
        ]


@dataclass(frozen=True)
class Number:
    """A figure of a step's output: group 1 of `pattern`; a group named `unit` must be `unit`."""

    name: str
    pattern: re.Pattern[str]
    unit: str


@dataclass(frozen=True)
class Step:
    """A command and what it has to answer."""

    name: str
    command: tuple[str, ...]
    timeout: float
    launch: bool  # with the target's launcher
    exit_status: int | None  # None: `reads` decides
    pattern: re.Pattern[str] | None = None
    numbers: tuple[Number, ...] = ()
    reads: str = ""  # a format of `answers`, or none
    prefix: str = ""  # of the names of the figures read
    file: str = ""  # that has it; the output if it is empty
    ranks: int = 0  # of a job, if they are not those of the target
    boot: bool = False  # the output has boot_id and /proc/stat of the target's host


@dataclass(frozen=True)
class Probe:
    """Steps that run in order, in a new directory that first holds `files`."""

    name: str
    target: Target
    interval: float
    availability: bool  # its failures mean that the target is down
    aspect: str  # one of ASPECTS: where the report has it
    user: str | None
    files: Mapping[str, str]
    steps: tuple[Step, ...]
    needs: tuple[str, ...] = ()  # probes without which its answer would mean nothing
    shift: float = 0.0  # seconds by which it is due later than the interval of the clock begins

    def turn(self, time: float) -> int:
        """The number of the interval of the clock that a time belongs to."""
        return math.floor((time - self.shift) / self.interval)

    def next_turn(self, time: float) -> float:
        """When the next one begins."""
        return (self.turn(time) + 1) * self.interval + self.shift


@dataclass(frozen=True)
class Site:
    """A site file. `database` is a file, beside it unless it names another directory, or a URL."""

    path: Path
    name: str
    database: Path | str
    maintenance_is_available: bool
    probes: Mapping[str, Probe] = field(default_factory=dict)
    targets: Mapping[str, Target] = field(default_factory=dict)


def read_site(path: Path) -> Site:
    """Raises InputError."""
    text = _text(path)
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"\(at line (\d+)", str(error))
        line_number = int(found[1]) if found else text.count("\n") + 1
        raise InputError(str(error), path=str(path), line=line_number) from error
    return _site(path, Lines(text), table)


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
        text = data.decode()
    except OSError as error:
        raise InputError(
            f"cannot read: {error.strerror}",
            path=str(path),
            hint="`sesame evaluate init FILE` writes one",
        ) from error
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise InputError("this is no UTF-8 text", path=str(path), line=line) from error
    if len(data) > MOST_BYTES:
        raise InputError(f"longer than {MOST_BYTES:,} bytes", path=str(path))
    return text


def _site(path: Path, lines: Lines, table: dict[str, Any]) -> Site:
    from sesame.evaluation.site_probes import ProbeTables
    from sesame.evaluation.site_targets import TargetTables

    tables = ProbeTables(path, lines)
    tables.check_keys(table, (), ("name", "database", "maintenance", "target", "probe"))
    targets = TargetTables(path, lines).targets(table)
    probes = tables.probes(table, targets)
    if not probes:
        raise tables.wrong((), "there is no [probe.NAME]")
    probes = _spread(probes)
    maintenance = tables.one_of(table, (), "maintenance", ("available", "unavailable"))
    return Site(
        path,
        tables.text(table, (), "name", path.stem),
        _database(path, tables, tables.text(table, (), "database", f"{path.stem}.db")),
        maintenance == "available",
        probes,
        targets,
    )


def _spread(probes: Mapping[str, Probe]) -> dict[str, Probe]:
    """Targets on one machine begin at different times, as they would measure each other. They share
    the shortest interval of their probes."""
    shortest: dict[str, dict[str, float]] = {}  # of each target, by machine
    for one in probes.values():
        targets = shortest.setdefault(one.target.machine, {})
        targets[one.target.name] = min(targets.get(one.target.name, math.inf), one.interval)
    shifts = {
        name: min(targets.values()) * place / len(targets)
        for targets in shortest.values()
        for place, name in enumerate(targets)
    }
    return {name: replace(one, shift=shifts[one.target.name]) for name, one in probes.items()}


def _database(path: Path, tables: ProbeTables, text: str) -> Path | str:
    if "://" not in text:
        return path.absolute().parent / text
    if not is_url(text):
        hint = "for instance postgresql://sesame@db.example.org/evaluation"
        said = f"expected a file or a URL of PostgreSQL, got {text!r}"
        raise tables.wrong(("database",), said, hint)
    return text
