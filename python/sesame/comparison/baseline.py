"""Performance tests without noise: a program is simulated and compared with a stored run of it.

Computation is left out or fixed, so the same program gives the same time on any host. If the time
changes, the program's communication or file access has changed, or the machine model. The baseline
is a data set of sums, of some ten kilobytes, which a repository can keep.
"""

from __future__ import annotations

import json
import shlex
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sesame.analysis.quantities import format_seconds
from sesame.comparison.difference import Difference, compare_sides
from sesame.comparison.in_words import percent
from sesame.comparison.ratio import Ratio
from sesame.comparison.side import read_sides
from sesame.datasets import DataSet, DataSetWriter, Kind, check_destination, is_data_set
from sesame.datasets.destination import move_into_place
from sesame.errors import InputError, SimulationError
from sesame.machines import as_file, find_machine
from sesame.machines.values import machine_key
from sesame.settings import setting
from sesame.simulation import Compute, Host, Keep, Scenario, parse_compute, simulate_into
from sesame.simulation.host import inspect_program

DETERMINISTIC = ("none", "fixed")
NEEDED = ("program", "arguments", "ranks", "overrides", "placement")
AT_MOST = 0.05
STACK_BYTES = 8 << 20


@dataclass(frozen=True)
class CheckSettings:
    """What to simulate; settings that are empty or None are taken from the baseline. `machine` is a
    name or a file, `compute` is `none` or `fixed:TIME`, as for `simulate --compute`."""

    command: tuple[str, ...] = ()
    ranks: int | None = None
    machine: str | None = None
    overrides: tuple[str, ...] = ()
    compute: str | None = None
    placement: str | None = None
    environment: tuple[tuple[str, str], ...] = ()
    private_libraries: tuple[str, ...] = ()
    stack_size_bytes: int | None = None


@dataclass(frozen=True)
class CheckResult:
    """The result of `check`. `difference` is None if there was no baseline to compare with."""

    baseline: Path
    at_most: float  # allowed share by which the time may be longer
    difference: Difference | None
    updated: bool = False

    @property
    def ratio(self) -> Ratio | None:
        """Time now over that of the baseline."""
        return None if self.difference is None else self.difference.ratios[0]

    @property
    def passed(self) -> bool:
        if self.updated or self.difference is None:
            return True
        old, new = (side.time.value for side in self.difference.sides)
        return new <= old * (1 + self.at_most)

    def in_words(self) -> str:
        """One line: the verdict and the times."""
        if self.difference is None:
            return f"baseline: {self.baseline}"
        old, new = self.difference.sides
        change = "" if self.ratio is None else f", {percent(self.ratio.value)}"
        times = f"{format_seconds(new.time.value)}, baseline {format_seconds(old.time.value)}"
        allowed = f"at most +{100 * self.at_most:g} %"
        if self.updated:
            return f"updated {self.baseline}: {times}{change}"
        if not self.passed:
            return f"slower than {self.baseline} allows: {times}{change}, {allowed}"
        faster = new.time.value < old.time.value * (1 - self.at_most)
        hint = f"; {setting('update', True)} makes this the baseline" if faster else ""
        return f"passed: {times}{change}, {allowed}{hint}"

    def as_json(self) -> dict[str, Any]:
        return {
            "passed": self.passed,
            "updated": self.updated,
            "baseline": str(self.baseline),
            "at_most": self.at_most,
            "difference": None if self.difference is None else self.difference.as_json(),
        }


@dataclass(frozen=True)
class _BaselineSettings:
    """How the baseline was made, from its info.json."""

    scenario: dict[str, Any] = field(default_factory=dict)
    machine_file: str = ""
    machine: str = ""
    compute: str = "none"


def check(
    baseline: str | Path,
    wanted: CheckSettings | None = None,
    *,
    at_most: float = AT_MOST,
    update: bool = False,
    output: Path | None = None,
    force: bool = False,
    start: Callable[[Path], Host] = Host,
) -> CheckResult:
    """Simulates the program of `wanted` and compares its time with that of `baseline`.

    `update` writes a new baseline. `output` is a path at which the data set of the run is kept;
    `force` replaces an existing one. `start` makes a Host from the simulator's path; pass your own
    to redirect the program's output. Raises InputError if `wanted` disagrees with the baseline, or
    there is none; SimulationError if the program fails.
    """
    baseline, wanted = Path(baseline), wanted or CheckSettings()
    _check_wanted(wanted)
    if output is not None and output.resolve() == baseline.resolve():
        raise InputError(
            f"{setting('output')} is the baseline", path=str(output), hint=_update_hint()
        )
    known = _known(baseline, update)
    if known is None and not update:
        raise InputError("there is no baseline", path=str(baseline), hint=_update_hint())
    if known is not None and not update:
        _refuse_others(wanted, known, baseline)
    if update:
        check_destination(baseline, force=True)
    with _machine_file(wanted, known) as machine, tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "run.sesame" if output is None else output
        scenario = _scenario(wanted, known or _BaselineSettings(), machine)
        _run(scenario, path, force, start)
        difference = None if known is None else _compared(baseline, path)
        if update:
            _put(path, baseline)
    return CheckResult(baseline, at_most, difference, updated=update)


def _check_wanted(wanted: CheckSettings) -> None:
    """Raises InputError for a list that is none: a text would be split into letters."""
    for name in ("command", "overrides", "private_libraries"):
        value = getattr(wanted, name)
        if isinstance(value, str):
            raise InputError(
                f"{name}: expected a list of text, got {value!r}", hint=f'for instance ("{value}",)'
            )


def _known(baseline: Path, update: bool) -> _BaselineSettings | None:
    """How the baseline was made. None if there is no baseline, or if it cannot be used and `update`
    replaces it."""
    if not is_data_set(baseline):
        return None
    try:
        return _read(baseline)
    except InputError as error:
        if not update:
            raise
        if not _says_simulated(baseline):
            text = str(error).splitlines()[0]
            raise InputError(text, hint="remove it, or name another baseline") from error
        return None


def _says_simulated(path: Path) -> bool:
    """Whether info.json says that this is a simulated run, in any format version."""
    try:
        info = json.loads((path / "info.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(info, dict) and info.get("kind") == Kind.SIMULATED


def _read(path: Path) -> _BaselineSettings:
    data_set = DataSet(path)
    info = data_set.info
    if data_set.kind != Kind.SIMULATED:
        raise InputError(
            f"a {data_set.kind} data set, expected one of `sesame check --update`", path=str(path)
        )
    target = info["target_system"]
    compute = str(info["compute"])
    if compute.partition(":")[0] not in DETERMINISTIC:
        raise InputError(
            f"its computation is {compute}, which is not the same on every host; expected none or "
            "fixed:TIME",
            path=str(path),
            hint=_update_hint(),
        )
    scenario = dict(info["scenario"])
    if missing := [key for key in NEEDED if key not in scenario]:
        raise InputError(
            f"it does not say how it was made: there is no {missing[0]} in its scenario",
            path=str(path),
            hint=_update_hint(),
        )
    return _BaselineSettings(scenario, target["machine_file"], target["name"], compute)


def _refuse_others(wanted: CheckSettings, known: _BaselineSettings, baseline: Path) -> None:
    """Raises InputError if a given setting is not that of the baseline."""
    for what, given, of_baseline in _both(wanted, known):
        if given is not None and given != of_baseline:
            raise InputError(
                f"{what} {given}: the baseline has {of_baseline}",
                path=str(baseline),
                hint=f"leave it out; {_update_hint()}",
            )


def _both(wanted: CheckSettings, known: _BaselineSettings) -> Iterator[tuple[str, object, object]]:
    """(setting, the value that is wanted or None, the value of the baseline)"""
    scenario = known.scenario
    if wanted.command:
        yield "program", Path(wanted.command[0]).name, Path(scenario["program"]).name
    if wanted.command[1:]:
        old = shlex.join(scenario["arguments"])
        yield "arguments", shlex.join(wanted.command[1:]), old or "(none)"
    yield "ranks", wanted.ranks, scenario["ranks"]
    yield "compute", wanted.compute, known.compute
    yield "placement", wanted.placement, scenario["placement"]
    if wanted.environment:
        old = _assignments(dict(scenario.get("environment") or {}))
        yield "environment", _assignments(dict(wanted.environment)), old or "(none)"
    if wanted.private_libraries:
        old = ", ".join(sorted(scenario.get("private_libraries") or ()))
        yield "private libraries", ", ".join(sorted(wanted.private_libraries)), old or "(none)"
    old_bytes = scenario.get("stack_size_bytes", STACK_BYTES)
    yield "stack size in bytes", wanted.stack_size_bytes, old_bytes
    if wanted.machine is not None or wanted.overrides:
        text = known.machine_file
        if wanted.machine is not None:
            text = find_machine(wanted.machine).read_text(encoding="utf-8")
        given = machine_key(text, wanted.overrides)
        if given != machine_key(known.machine_file, scenario["overrides"]):
            name = wanted.machine or known.machine
            words = " ".join([name, *wanted.overrides])
            old = " ".join([known.machine, *scenario["overrides"]])
            yield "machine", f"{words} (other values)" if words == old else words, old


def _update_hint() -> str:
    return f"{setting('update', True)} makes a new baseline"


def _assignments(variables: dict[str, str]) -> str:
    return shlex.join(f"{name}={value}" for name, value in sorted(variables.items()))


@contextmanager
def _machine_file(wanted: CheckSettings, known: _BaselineSettings | None) -> Iterator[Path]:
    if wanted.machine is not None:
        yield find_machine(wanted.machine).resolve()
    elif known is None:
        raise InputError(f"{setting('machine')} is missing: there is no baseline to take it from")
    else:
        with as_file(known.machine_file) as path:
            yield path


def _scenario(wanted: CheckSettings, known: _BaselineSettings, machine: Path) -> Scenario:
    """The baseline's scenario, with the settings that are given."""
    old = known.scenario
    program = wanted.command[0] if wanted.command else old.get("program")
    if program is None:
        raise InputError("expected a program to simulate, as sesame check … -- ./app")
    overrides = wanted.overrides or (() if wanted.machine else tuple(old.get("overrides", ())))
    environment = wanted.environment or tuple((old.get("environment") or {}).items())
    directory = old.get("working_directory")
    return Scenario(
        program=program,
        arguments=wanted.command[1:] or tuple(old.get("arguments", ())),
        ranks=wanted.ranks or int(old.get("ranks", 1)),
        machine=machine,
        overrides=overrides,
        placement=wanted.placement or old.get("placement", "block"),
        compute=_compute(wanted.compute or known.compute),
        program_stdout="stderr",
        stack_size_bytes=wanted.stack_size_bytes or old.get("stack_size_bytes", STACK_BYTES),
        private_libraries=wanted.private_libraries or tuple(old.get("private_libraries", ())),
        environment=environment,
        working_directory=Path(directory) if directory else None,
        discard_data=bool(old.get("discard_data")),
        seed=int(old.get("seed", 1)),
    )


def _compute(text: str) -> Compute:
    compute = parse_compute(text)
    if compute.mode not in DETERMINISTIC:
        raise InputError(
            f"{setting('compute', text)}: it varies from host to host, expected none or fixed:TIME",
            hint="measured times need several runs: sesame diff compares them",
        )
    return compute


def _compared(baseline: Path, path: Path) -> Difference:
    old, new = read_sides([baseline, path])
    return compare_sides([old, replace(new, runs=(replace(new.run, path=Path("this run")),))])


def _run(scenario: Scenario, path: Path, force: bool, start: Callable[[Path], Host]) -> None:
    host = start(inspect_program(scenario.program).simulator)
    with DataSetWriter(path, force=force) as writer:
        outcome = simulate_into(writer, scenario, host, Keep(records=False))
    if outcome.exit_status != 0 or outcome.result["outcome"] != "completed":
        raise SimulationError(
            f"{scenario.name} ended with exit status {outcome.exit_status} "
            f"({outcome.result['outcome']}), so its time is not compared",
        )
    if outcome.predicted_s == 0:
        raise InputError(
            f"{scenario.name}: its predicted time is 0, since nothing of it takes time there",
            hint=f"{setting('compute', 'fixed:1us')} gives each MPI call a time",
        )


def _put(path: Path, baseline: Path) -> None:
    """Replaces the baseline by a copy of the data set; a failure leaves the old one."""
    beside = Path(tempfile.mkdtemp(prefix=f".{baseline.name}.", dir=baseline.parent))
    try:
        shutil.copytree(path, beside / "new")
        move_into_place(beside / "new", baseline)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
