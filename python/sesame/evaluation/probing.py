"""Runs a probe: its steps in order, in a new directory, and judges their answers."""

from __future__ import annotations

import math
import os
import shutil
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from sesame.evaluation.processes import Ended, run_command
from sesame.evaluation.site import Number, Probe, Step

KEPT_CHARACTERS = 4000  # of a failed step's output, in the database
# What the prober, not the machine, is to blame for.
NOT_THE_MACHINE = ("the prober was ended", "there is no user", " cannot be started as ")


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
class Result:
    """What a probe found. Times are seconds since 1970, UTC."""

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


def run_probe(probe: Probe, release: Mapping[str, str]) -> Result:
    """Never raises for what a probe does."""
    began, clock = time.time(), time.monotonic()
    figures: list[Figure] = []
    step, reason, output = "", "", ""
    outcome = Outcome.PASS
    try:
        with _directory(probe) as directory:
            for one in probe.steps:
                ended = _run_step(probe, one, directory)
                reason = ended.problem or _wrong_answer(one, ended, figures)
                if reason:
                    step, output = one.name, _shortened(ended.output)
                    is_ours = any(text in reason for text in NOT_THE_MACHINE)
                    outcome = Outcome.NOT_OBSERVED if is_ours else Outcome.FAIL
                    break
    except OSError as error:
        outcome = Outcome.NOT_OBSERVED
        reason = f"the prober cannot make its directory: {error.strerror}"
    except KeyError as error:
        outcome, reason = Outcome.NOT_OBSERVED, str(error.args[0])
    return Result(
        os.urandom(16).hex(),
        probe.name,
        probe.target.name,
        began,
        time.monotonic() - clock,
        outcome,
        step,
        reason,
        output,
        tuple(figures) if outcome is Outcome.PASS else (),
        release,
    )


class _directory:  # noqa: N801  (used as a function)
    """The new directory of a probe with its files, owned by the probe's user; removed at the end,
    as far as that is possible."""

    def __init__(self, probe: Probe) -> None:
        self._probe = probe

    def __enter__(self) -> Path:
        self._path = Path(tempfile.mkdtemp(prefix="sesame-probe-"))
        try:
            for name, text in self._probe.files.items():
                (self._path / name).write_text(text, encoding="utf-8")
            if self._probe.user is not None:
                self._give_to(self._probe.user)
        except BaseException:
            self.__exit__()
            raise
        return self._path

    def _give_to(self, user: str) -> None:
        import pwd

        try:
            entry = pwd.getpwnam(user)
        except KeyError:
            raise KeyError(f"there is no user {user}") from None
        if entry.pw_uid != os.geteuid():
            for path in (self._path, *self._path.iterdir()):
                os.chown(path, entry.pw_uid, entry.pw_gid)

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            shutil.rmtree(self._path, ignore_errors=True)


def _run_step(probe: Probe, step: Step, directory: Path) -> Ended:
    command = probe.target.command(step.command) if step.launch else list(step.command)
    environment = {**os.environ, "LC_ALL": "C"}
    return run_command(command, directory, step.timeout, environment, probe.user)


def _wrong_answer(step: Step, ended: Ended, figures: list[Figure]) -> str:
    """What is wrong with a command that ended by itself; "" if nothing is. Adds its figures."""
    if ended.exit_status != step.exit_status:
        status = ended.exit_status or 0
        ended_by = f"signal {-status}" if status < 0 else f"exit status {status}"
        return f"{ended_by}, expected exit status {step.exit_status}"
    if step.pattern is not None and not step.pattern.search(ended.output):
        return f"nothing in its output matches {step.pattern.pattern!r}"
    for number in step.numbers:
        found = _figure(number, ended.output)
        if isinstance(found, str):
            return found
        figures.append(found)
    if ended.left_behind:
        figures.append(Figure(f"{step.name}: processes left behind", ended.left_behind, "1"))
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


def _shortened(output: str) -> str:
    if len(output) <= KEPT_CHARACTERS:
        return output
    half = KEPT_CHARACTERS // 2
    return f"{output[:half]}\n… {len(output) - 2 * half:,} characters …\n{output[-half:]}"
