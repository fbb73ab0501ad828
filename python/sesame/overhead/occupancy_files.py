"""Occupancy from files of other tools: `perf script` of the scheduler, and tables of numbers."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import numpy as np

from sesame.errors import InputError
from sesame.overhead.csv_rows import rows_of
from sesame.overhead.occupancy import (
    DAEMON,
    INTERARRIVAL,
    MAIN,
    QUANTITIES,
    Lengths,
    Stays,
)

MOST_LINES = 20_000_000
MOST_LINE = 4096  # characters
MOST_CLASSES = 1000
# Command, thread, time, event, arguments.
EVENT = re.compile(
    r" *(?P<command>\S.*?) +(?:\d+/)?(?P<thread>-?\d+) +(?:\[(?P<cpu>\d+)\] +)?"
    r"(?:[.a-zA-Z]{4,5} +)?(?P<time>\d+\.\d{6,9}): +(?:\d+ +)?sched:sched_(?P<event>switch|wakeup"
    r"|wakeup_new): +(?P<rest>.*)"
)
# Both forms of perf: "prev_comm=a prev_pid=1 …" and "a:1 [120] S ==> b:2 [120]".
NAMED = re.compile(
    r"prev_comm=(?P<before>.*?) prev_pid=(?P<left>\d+) prev_prio=-?\d+ prev_state=(?P<state>\S+) "
    r"==> next_comm=(?P<after>.*?) next_pid=(?P<got>\d+) "
)
SHORT = re.compile(
    r"(?P<before>.*?):(?P<left>\d+) \[-?\d+\] (?P<state>\S+) ==> "
    r"(?P<after>.*?):(?P<got>\d+) \[-?\d+\]"
)
WOKEN = re.compile(r"(?:comm=.*? pid=|.*?:)(\d+)\b")
COLUMNS = ("class", "quantity", "seconds")
NAMES = f"{COLUMNS[0]}, {COLUMNS[1]} and {COLUMNS[2]}"
HINT = "`perf sched record COMMAND`, then `perf script --ns > trace.txt`, makes such a file"


def read_lengths(path: Path, application: str | None = None, daemon: str | None = None) -> Lengths:
    """The lengths in a data set, the text of `perf script`, or a CSV table with the columns class,
    quantity and seconds. Raises InputError."""
    from sesame.overhead.occupancy import lengths_of, stays_of

    if path.is_dir():
        from sesame.datasets import DataSet

        return lengths_of(stays_of(DataSet(path)), application, daemon)
    try:
        with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
            head = file.readline(MOST_LINE)
            if not head:
                raise InputError("it is empty", path=str(path), hint=HINT)
            file.seek(0)
            if set(COLUMNS) <= set(next(csv.reader([head]))):
                return read_table(file, str(path))
            return lengths_of(read_perf(file, str(path)), application, daemon)
    except OSError as error:
        raise InputError(f"cannot read it: {error.strerror}", path=str(path)) from error


def read_perf(file: TextIO, path: str) -> Stays:
    """The stays in the text of `perf script` with the events sched:sched_switch and, for waits,
    sched:sched_wakeup. Other events are ignored. Raises InputError."""
    reader = _Switches()
    for number, line in enumerate(_lines(file, path), 1):
        found = EVENT.match(line)
        if found is None:
            continue
        if found["cpu"]:
            reader.processors.add(int(found["cpu"]))
        time_ns = round(float(found["time"]) * 1e9)
        if found["event"] != "switch":
            woken = WOKEN.match(found["rest"])
            if woken:
                reader.woken.setdefault(int(woken[1]), time_ns)
            continue
        switch = NAMED.match(found["rest"]) or SHORT.match(found["rest"])
        if switch is None:
            raise InputError(
                f"expected the threads of sched_switch, got {found['rest'][:80]!r}",
                path=path,
                line=number,
                hint=HINT,
            )
        reader.add(switch, time_ns)
    if not reader.rows:
        neither = f"neither an event sched:sched_switch nor the columns {NAMES} in it"
        raise InputError(neither, path=path, hint=HINT)
    if not reader.processors:
        hint = "`perf script -F comm,tid,cpu,time,event,trace` writes them"
        raise InputError("no line says on which processor, as in [000]", path=path, hint=hint)
    return reader.stays()


class _Switches:
    """Makes stays of switches."""

    def __init__(self) -> None:
        self.running: dict[int, tuple[int, int]] = {}  # since when, and how long it waited before
        self.woken: dict[int, int] = {}
        self.names: dict[str, int] = {}
        self.processors: set[int] = set()
        self.rows: list[tuple[int, int, int, int, int, bool]] = []

    def add(self, switch: re.Match[str], time_ns: int) -> None:
        left, got = int(switch["left"]), int(switch["got"])
        is_preempted = switch["state"].startswith("R")
        if left and left in self.running:
            since, wait = self.running.pop(left)
            name = self.names.setdefault(switch["before"], len(self.names))
            if time_ns > since:
                self.rows.append((since, time_ns - since, wait, left, name, is_preempted))
        if is_preempted:
            self.woken[left] = time_ns  # it is ready from now on
        else:
            self.woken.pop(left, None)  # it was woken while it ran, which it does not wait for
        if got:
            ready = self.woken.pop(got, time_ns)
            self.running[got] = (time_ns, max(time_ns - ready, 0))

    def stays(self) -> Stays:
        begin, length, wait, thread, names, preempted = np.array(self.rows, np.int64).T
        processors = max(self.processors) + 1
        is_preempted, commands = preempted.astype(bool), tuple(self.names)
        return Stays(begin, length, wait, thread, names, is_preempted, commands, processors)


def read_table(file: TextIO, path: str) -> Lengths:
    """A CSV table: each line a length in seconds, with its class and what it is: cpu, network,
    disk, pause or interarrival. Raises InputError with the line."""
    found = Lengths()
    rows: dict[str, dict[str, list[float]]] = {}
    for number, row in rows_of(csv.DictReader(_lines(file, path), strict=True), path):
        name, quantity, text = row.get("class"), row.get("quantity"), row.get("seconds")
        if not name or quantity is None or quantity not in QUANTITIES:
            expected = f"expected a class and one of {', '.join(QUANTITIES)}"
            raise InputError(f"{expected}, got {name!r} and {quantity!r}", path=path, line=number)
        try:
            seconds = float(text or "")
        except ValueError:
            seconds = math.nan
        if not 0 <= seconds < math.inf:
            raise InputError(f"expected seconds, got {text!r:.80}", path=path, line=number)
        rows.setdefault(name, {}).setdefault(quantity, []).append(seconds)
        if len(rows) > MOST_CLASSES:
            raise InputError(f"more than {MOST_CLASSES} classes", path=path, line=number)
    if not rows:
        raise InputError("no lengths in it", path=path)
    for name, quantities in rows.items():
        if not {"cpu", "network", "disk"} & quantities.keys():
            raise InputError(f"{name}: no cpu, network or disk lengths", path=path)
        found.classes[name] = {key: np.array(values) for key, values in quantities.items()}
        if name not in (DAEMON, MAIN) and INTERARRIVAL not in quantities:
            found.counts[name] = 1
    return found


def _lines(file: TextIO, path: str) -> Iterator[str]:
    number = 0
    while line := file.readline(MOST_LINE):
        number += 1
        if number > MOST_LINES:
            raise InputError(f"more than {MOST_LINES:,} lines", path=path)
        yield line
