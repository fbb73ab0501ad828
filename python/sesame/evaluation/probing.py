"""Runs a probe: its steps in order, in a new directory, and judges their answers."""

from __future__ import annotations

import errno
import math
import os
import re
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path

from sesame.evaluation.load import Load, LoadMeter
from sesame.evaluation.processes import Ended, run_command
from sesame.evaluation.site import Number, Probe, Step

KEPT_CHARACTERS = 4000  # of a failed step's output, in the database
MOST_SAID = 200  # characters of an error in a reason
# A line of an output that tells an error: as most programs do, or with the text of an error number
# or of a signal.
KILLED_BY = map(signal.strsignal, (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGABRT))
ERRORS = [*map(os.strerror, errno.errorcode), *filter(None, KILLED_BY)]
TELLS_AN_ERROR = re.compile(
    r"error:|\b(?:fatal|panic|abort)\b|"
    + "|".join(map(re.escape, sorted(ERRORS, key=len, reverse=True))),
    re.IGNORECASE,
)
# One that may: by a usual word.
NAMES_AN_ERROR = re.compile(
    r"error\b|\b(?:errno|fail|failed|failure|cannot|can't|could not|unable to|not found)\b",
    re.IGNORECASE,
)
# What names errors that there are none of, or the error of a number.
NO_ERROR = re.compile(
    r"\b(?:no|0|zero|without) (?:errors?|fail\w*|fatal)\b|"
    r"\b(?:errors?|failed|failures?)\b *[:=]? *[-+]?(?:0\b|\d*\.\d|\d+e[-+]?\d)",
    re.IGNORECASE,
)
# Of making a directory where the site file says: the file system is to blame, not the prober.
OF_THE_FILE_SYSTEM = (errno.ENOSPC, errno.EROFS, errno.EIO, errno.EDQUOT)
MOST_NAME = 200  # characters of a figure's name and unit; a database's index has a limit
LARGEST = 1e100  # of a figure, so that sums and squares of figures stay finite
MAINTENANCE = "maintenance: "  # begins the reason of a result that was not observed for it


class Outcome(StrEnum):
    PASS = "pass"
    FAIL = "fail"
    NOT_OBSERVED = "not observed"


@dataclass(frozen=True)
class Figure:
    """A number that a probe measured."""

    name: str
    value: float
    unit: str


@dataclass(frozen=True)
class Curve:
    """Figures over a size, of one run. Points that are not finite, or whose values no sum can have,
    are left out."""

    name: str
    unit: str
    x_unit: str
    x: tuple[float, ...]
    y: tuple[float, ...]

    def __post_init__(self) -> None:
        for name in ("name", "unit", "x_unit"):
            object.__setattr__(self, name, _storable(getattr(self, name))[:MOST_NAME])
        pairs = [
            (float(x), float(y))
            for x, y in zip(self.x, self.y, strict=True)
            if abs(x) < LARGEST and abs(y) < LARGEST
        ]
        object.__setattr__(self, "x", tuple(x for x, _ in pairs))
        object.__setattr__(self, "y", tuple(y for _, y in pairs))


@dataclass(frozen=True)
class Result:
    """What a probe found. Times are seconds since 1970, UTC. Programs write what they like, so what
    no database stores is replaced or left out: numbers that are not finite or that no sum can
    have, and characters that are none."""

    key: str  # of this result alone, so that it is stored once
    probe: str
    target: str
    began: float
    took: float
    outcome: Outcome
    step: str = ""  # that failed
    reason: str = ""
    output: str = ""
    figures: tuple[Figure, ...] = ()
    release: Mapping[str, str] = field(default_factory=dict)
    load: Load | None = None  # of the machine that probes, if the target is that
    curves: tuple[Curve, ...] = ()

    def __post_init__(self) -> None:
        for name in ("probe", "step", "reason", "output"):
            object.__setattr__(self, name, _storable(getattr(self, name)))
        if not math.isfinite(self.took):
            object.__setattr__(self, "took", 0.0)
        figures = (
            Figure(_storable(one.name)[:MOST_NAME], one.value, _storable(one.unit)[:MOST_NAME])
            for one in self.figures
            if abs(one.value) < LARGEST
        )
        object.__setattr__(self, "figures", tuple(figures))


def _storable(text: str) -> str:
    """PostgreSQL has no texts with a zero byte, and UTF-8 has no halves of characters."""
    return text.replace("\0", "\ufffd").encode(errors="replace").decode()


@dataclass(frozen=True)
class Boot:
    """A boot of a target's host: its id, and when it was by the host's clock."""

    target: str
    boot: str
    booted: float


@dataclass(frozen=True)
class Case:
    """A case of a suite."""

    name: str
    outcome: Outcome
    reason: str = ""
    took: float = 0.0
    figures: tuple[Figure, ...] = ()


@dataclass
class Answers:
    """What the steps of a probe answered beside passing and failing."""

    figures: list[Figure] = field(default_factory=list)
    curves: list[Curve] = field(default_factory=list)
    cases: list[Case] = field(default_factory=list)
    boots: list[Boot] = field(default_factory=list)


@dataclass(frozen=True)
class Observed:
    """All that a run of a probe found: its own result comes first, then those of its cases."""

    results: list[Result]
    boots: list[Boot] = field(default_factory=list)


class _NotObserved(Exception):
    """The prober cannot look."""


def run_probe(probe: Probe, release: Mapping[str, str]) -> Observed:
    """Never raises for what a probe does."""
    meter = LoadMeter() if probe.target.is_here else None
    began, clock = time.time(), time.monotonic()
    answers = Answers()
    step, reason, output = "", "", ""
    outcome = Outcome.PASS
    try:
        with _directory(probe) as directory:
            for one in probe.steps:
                ended = _run_step(probe, one, directory, answers)
                reason = ended.problem or _wrong_answer(probe, one, ended, directory, answers)
                if reason:
                    step, output = one.name, _shortened(ended.output)
                    outcome = Outcome.NOT_OBSERVED if ended.is_ours else Outcome.FAIL
                    break
    except OSError as error:
        outcome = Outcome.NOT_OBSERVED
        reason = f"the prober cannot make its directory: {error.strerror}"
        if probe.target.directory_is_given and error.errno in OF_THE_FILE_SYSTEM:
            outcome, reason = Outcome.FAIL, error.strerror or ""
            step = f"make a directory in {probe.target.directory}"
    except _NotObserved as error:
        outcome, reason = Outcome.NOT_OBSERVED, str(error)
    own = Result(
        new_key(),
        probe.name,
        probe.target.name,
        began,
        time.monotonic() - clock,
        outcome,
        step,
        reason,
        output,
        tuple(answers.figures) if outcome is Outcome.PASS else (),
        release,
        meter.load() if meter else None,
        tuple(answers.curves) if outcome is Outcome.PASS else (),
    )
    return Observed([own, *(_of_case(own, case) for case in answers.cases)], answers.boots)


def new_key() -> str:
    return os.urandom(16).hex()


def not_observed(probe: Probe, reason: str, release: Mapping[str, str]) -> Result:
    """The result of a probe that is not run."""
    about = (new_key(), probe.name, probe.target.name, time.time(), 0.0)
    return Result(*about, Outcome.NOT_OBSERVED, "", reason, release=release)


def _of_case(own: Result, case: Case) -> Result:
    return Result(
        new_key(),
        f"{own.probe}/{case.name}",
        own.target,
        own.began,
        case.took,
        case.outcome,
        reason=case.reason,
        figures=case.figures if case.outcome is Outcome.PASS else (),
        release=own.release,
        load=own.load,
    )


@contextmanager
def _directory(probe: Probe) -> Iterator[Path]:
    """The new directory of a probe with its files, owned by the probe's user; removed at the end,
    as far as that is possible."""
    path = Path(tempfile.mkdtemp(prefix="sesame-probe-", dir=probe.target.directory))
    try:
        for name, text in probe.files.items():
            (path / name).write_text(text, encoding="utf-8")
        if probe.user is not None:
            _give_to(probe.user, path)
        yield path
    finally:
        with suppress(OSError):
            shutil.rmtree(path, ignore_errors=True)


def _give_to(user: str, directory: Path) -> None:
    import pwd

    try:
        entry = pwd.getpwnam(user)
    except KeyError:
        raise _NotObserved(f"there is no user {user}") from None
    if entry.pw_uid != os.geteuid():
        for path in (directory, *directory.iterdir()):
            os.chown(path, entry.pw_uid, entry.pw_gid)


def _run_step(probe: Probe, step: Step, directory: Path, answers: Answers) -> Ended:
    environment = {**os.environ, "LC_ALL": "C"}
    target = probe.target
    if step.launch and target.queue is not None:
        from sesame.evaluation.launchers import run_job

        return run_job(probe, step, directory, environment, answers.figures)
    if step.ranks:
        target = replace(target, ranks=step.ranks)
    words = (
        target.command(step.command, step.timeout) if step.launch else target.filled(step.command)
    )
    return run_command(words, directory, step.timeout, environment, probe.user)


def _wrong_answer(probe: Probe, step: Step, ended: Ended, directory: Path, answers: Answers) -> str:
    """What is wrong with a command that ended by itself; "" if nothing is. Adds its answers."""
    if step.exit_status not in (None, ended.exit_status):
        status = ended.exit_status or 0
        ended_by = f"signal {-status}" if status < 0 else f"exit status {status}"
        said = _error_of(ended.output)
        return f"{ended_by}, expected exit status {step.exit_status}" + (
            f": {said}" if said else ""
        )
    if step.pattern is not None and not step.pattern.search(ended.output):
        return f"nothing in its output matches {step.pattern.pattern!r}"
    for number in step.numbers:
        found = _figure(number, ended.output)
        if isinstance(found, str):
            return found
        answers.figures.append(found)
    if ended.left_behind:
        name = f"{step.name}: processes left behind"
        answers.figures.append(Figure(name, ended.left_behind, "1"))
    if step.reads or step.boot:
        from sesame.evaluation.answers import add_answers

        return add_answers(answers, step, ended, directory, probe.target.name)
    return ""


def _figure(number: Number, output: str) -> Figure | str:
    found = number.pattern.search(output)
    if found is None:
        return f"{number.name}: nothing in its output matches {number.pattern.pattern!r}"
    unit = found.groupdict().get("unit", number.unit)
    if unit != number.unit:
        return f"{number.name}: the unit is {unit}, expected {number.unit}"
    try:
        value = float(found[1])
    except (TypeError, ValueError):
        return f"{number.name}: {found[1]!r} is no number"
    if not math.isfinite(value):
        return f"{number.name}: {found[1]!r} is not finite"
    return Figure(number.name, value, number.unit)


def _error_of(output: str) -> str:
    """The first line of an output that tells an error, or the last that names one, or "". Indented
    lines are those of a program, as in a traceback."""
    lines = [line for line in output.splitlines() if not line[:1].isspace()]
    known = [(line, NO_ERROR.sub("", line)) for line in lines]
    clear = [line for line, rest in known if TELLS_AN_ERROR.search(rest)]
    named = [line for line, rest in known if NAMES_AN_ERROR.search(rest)]
    said = (clear[:1] or named[-1:] or [""])[0].removeprefix("error: ").strip()
    escaped = "".join(
        one if one.isprintable() else one.encode("unicode_escape").decode() for one in said
    )
    return escaped if len(escaped) <= MOST_SAID else f"{escaped[: MOST_SAID - 1]}…"


def _shortened(output: str) -> str:
    if len(output) <= KEPT_CHARACTERS:
        return output
    half = KEPT_CHARACTERS // 2
    return f"{output[:half]}\n… {len(output) - 2 * half:,} characters …\n{output[-half:]}"
