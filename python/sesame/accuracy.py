"""Pairs of predicted and measured runs, kept for the user: how wrong a machine model has been.

The pairs are lines of JSON in one file that is only appended to, below $XDG_DATA_HOME. Writers
lock it. A damaged line loses only its own pair. Pairs are found by the key of the machine model's
values (`machines.values.machine_key`), so a changed model starts without pairs.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from sesame.errors import InputError, OutputError

FILE = "sesame/accuracy.jsonl"
_INTERPRETER = re.compile(r"(python|pypy|julia|perl|ruby|sh|bash|dash)[\d.]*")
# Options that take a value, or code, in one of these languages.
_WITH_VALUE = frozenset(["-c", "-e", "-E", "-o", "-O", "-I", "-M", "-W", "-X", "-p", "-r", "-t"])


@dataclass(frozen=True)
class Pair:
    """One prediction and what was measured then. Times in seconds."""

    number: int  # of the pair in its file, from 1; never reused
    added: str  # ISO 8601, UTC
    machine: str  # name of the model
    machine_key: str
    program: str
    arguments: tuple[str, ...]
    ranks: int
    predicted_s: float
    measured_s: float
    predicted: str  # path of the data set
    measured: str
    doubts: tuple[str, ...] = ()  # reasons to doubt the prediction or the measurement

    @property
    def error(self) -> float:
        """Predicted over measured time, less 1: 0.04 if the predicted time is 4 % too long."""
        return self.predicted_s / self.measured_s - 1

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "error": self.error}


@dataclass(frozen=True)
class PastError:
    """How far off the predictions of several pairs were."""

    pairs: int
    median: float  # of the magnitudes of the errors
    worst: float  # the error of largest magnitude, with its sign

    def in_words(self) -> str:
        """`3 pairs, median error 4 %, worst -12 %`"""
        many = "1 pair" if self.pairs == 1 else f"{self.pairs} pairs"
        median, worst = _percent(self.median), _percent(self.worst)
        sign = "+" if self.worst > 0 else ""
        if self.pairs == 1:
            return f"{many}, error {sign}{worst} %"
        return f"{many}, median error {median} %, worst {sign}{worst} %"

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def _percent(share: float) -> str:
    return f"{100 * share:.0f}" if abs(share) >= 0.0995 else f"{100 * share:.1f}"


def past_error(pairs: Iterable[Pair]) -> PastError | None:
    """The error of all these pairs; None if there are none."""
    errors = [pair.error for pair in pairs]
    if not errors:
        return None
    import statistics

    median = statistics.median(map(abs, errors))
    return PastError(len(errors), median, max(errors, key=abs))


def default_file() -> Path:
    """The file of pairs of the current user."""
    home = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local/share")
    return Path(home) / FILE


class Pairs:
    """The file of pairs. Each method opens it anew and locks it meanwhile."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or default_file()

    def read(self) -> tuple[list[Pair], int]:
        """The pairs in the order in which they were added, and how many lines are damaged."""
        try:
            with self.path.open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_SH)
                return _pairs_of(file)
        except FileNotFoundError:
            return [], 0
        except OSError as error:
            raise InputError(f"cannot read: {error.strerror}", path=str(self.path)) from error

    def of_machine(self, machine_key: str) -> list[Pair]:
        """The pairs of one machine model."""
        return [pair for pair in self.read()[0] if pair.machine_key == machine_key]

    def add(self, pair: Pair) -> Pair:
        """Appends the pair and returns it with its number and the time.

        Raises InputError if the file has this pair already.
        """
        with self._locked() as file:
            number = 1
            for line in _lines(file):
                number = max(number, int(line.get("number", line.get("removed", 0))) + 1)
            known, _ = _pairs_of(file)
            for other in known:
                if _same(other, pair):
                    raise InputError(
                        f"this pair is kept already, as number {other.number}", path=str(self.path)
                    )
            now = datetime.now(UTC).isoformat(timespec="seconds")
            numbered = replace(pair, number=number, added=now)
            _append(file, asdict(numbered))
        return numbered

    def remove(self, number: int) -> Pair:
        """Removes the pair and returns it. Raises InputError if no pair has this number."""
        with self._locked() as file:
            known, _ = _pairs_of(file)
            found = next((pair for pair in known if pair.number == number), None)
            if found is None:
                raise InputError(
                    f"there is no pair {number}",
                    path=str(self.path),
                    hint="`sesame accuracy list` has the numbers",
                )
            _append(file, {"removed": number})
        return found

    @contextmanager
    def _locked(self) -> Iterator[IO[bytes]]:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a+b", buffering=0) as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                yield file
        except OSError as error:
            raise OutputError(f"{self.path}: cannot write: {error.strerror}") from error


def _same(one: Pair, other: Pair) -> bool:
    return replace(one, number=0, added="") == replace(other, number=0, added="")


def _append(file: IO[bytes], line: dict[str, Any]) -> None:
    """Appends a line, completely or not at all; starts a new one after an incomplete line."""
    end = file.seek(0, os.SEEK_END)
    torn = False
    if end:
        file.seek(end - 1)
        torn = file.read(1) != b"\n"
    data = (b"\n" if torn else b"") + json.dumps(line).encode() + b"\n"
    try:
        if file.write(data) != len(data):
            raise OSError(28, os.strerror(28))
        os.fsync(file.fileno())
    except OSError:
        file.truncate(end)
        raise


def _lines(file: IO[bytes]) -> Iterator[dict[str, Any]]:
    """The object of each line; an empty dictionary for a damaged line."""
    file.seek(0)
    for line in file.read().splitlines():
        if not line:
            continue
        try:
            found = json.loads(line)
        except ValueError:
            found = {}
        yield found if isinstance(found, dict) and _numbered(found) else {}


def _numbered(line: dict[str, Any]) -> bool:
    return isinstance(line.get("number", line.get("removed")), int)


def _pairs_of(file: IO[bytes]) -> tuple[list[Pair], int]:
    found: dict[int, Pair] = {}
    damaged = 0
    for line in _lines(file):
        if "removed" in line:
            found.pop(line["removed"], None)
        elif (pair := _pair_of(line)) is not None:
            found[pair.number] = pair
        else:
            damaged += 1
    return list(found.values()), damaged


def _pair_of(line: dict[str, Any]) -> Pair | None:
    try:
        known = {one.name: line[one.name] for one in fields(Pair) if one.name in line}
        pair = Pair(**known)
        times = float(pair.predicted_s), float(pair.measured_s)
        arguments, doubts = (tuple(map(str, each)) for each in (pair.arguments, pair.doubts))
        if not 0 < times[1] < float("inf") or not 0 <= times[0] < float("inf"):
            return None
    except (TypeError, ValueError):
        return None
    return replace(
        pair, predicted_s=times[0], measured_s=times[1], arguments=arguments, doubts=doubts
    )


@dataclass(frozen=True)
class Past:
    """The past errors of a prediction's machine model, and of its program on that model."""

    machine: PastError
    program: PastError | None

    def in_words(self) -> str:
        words = f"past error of this machine model: {self.machine.in_words()}"
        if self.program is None:
            return f"{words}; none of this program"
        if self.program.pairs == self.machine.pairs:
            return f"{words}; all of this program"
        return f"{words}; of this program: {self.program.in_words()}"

    def as_json(self) -> dict[str, Any]:
        """In the form of `past_error` in a prediction's info.json."""
        of_program = None if self.program is None else self.program.as_json()
        return {**self.machine.as_json(), "of_program": of_program}

    @staticmethod
    def from_json(found: Mapping[str, Any]) -> Past:
        """What `as_json` wrote. Raises KeyError or TypeError for anything else."""

        def error_of(figures: Mapping[str, Any]) -> PastError:
            return PastError(*(figures[one.name] for one in fields(PastError)))

        of_program = found.get("of_program")
        return Past(error_of(found), None if of_program is None else error_of(of_program))


def known_by(command: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """The name of the program that a command runs, and its arguments: `python3 -u heat.py 10` is
    known as `heat.py` with `10`, `python3 -m heat` as `heat`."""
    name, arguments = Path(command[0]).name, tuple(command[1:])
    if not _INTERPRETER.fullmatch(name):
        return name, arguments
    for at, argument in enumerate(arguments):
        if argument in ("-m", "--"):
            continue
        if argument in _WITH_VALUE:
            break
        if not argument.startswith("-"):
            return Path(argument).name, arguments[at + 1 :]
    return name, arguments


def past_of(
    machine_file: str,
    overrides: Sequence[str],
    program: str,
    pairs: Pairs | None = None,
) -> Past | None:
    """The past error of the model that is the text `machine_file` with `overrides`, and of
    `program` (a path or name) on it.

    Returns None if the model has no pairs, or they cannot be read: a prediction does not fail
    because of that. Every prediction keeps the answer in its info.json (`past_error`).
    """
    try:
        pairs = pairs or Pairs()
        if not pairs.path.exists():
            return None
        from sesame.machines.values import machine_key

        found = pairs.of_machine(machine_key(machine_file, overrides))
    except (InputError, OSError, RuntimeError):  # there may be no home
        return None
    of_all = past_error(found)
    if of_all is None:
        return None
    name = Path(program).name
    return Past(of_all, past_error(pair for pair in found if pair.program == name))


def by_machine_and_program(
    pairs: Sequence[Pair],
) -> list[tuple[str, str, str, PastError]]:
    """Rows (machine, its key, program, error). The first row of each model is for all programs
    together, and its program is empty. Then there is a row for each program."""
    groups: dict[tuple[str, str, str], list[Pair]] = {}
    for pair in pairs:
        groups.setdefault((pair.machine, pair.machine_key, ""), []).append(pair)
    for pair in pairs:
        groups.setdefault((pair.machine, pair.machine_key, pair.program), []).append(pair)
    found = ((group, past_error(groups[group])) for group in sorted(groups))
    return [(*group, error) for group, error in found if error is not None]
