"""Runs of sesamed, the file that they are kept in, and the costs that are fitted to them.

runs = read_runs(path)                # what `sesame overhead validate -o` has measured
model = fit_costs(runs).in_model(model)
"""

from __future__ import annotations

import csv
import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sesame.errors import InputError, OutputError
from sesame.measurement.defaults import DEFAULT_INTERVAL_S
from sesame.overhead.csv_rows import rows_of
from sesame.overhead.distributions import constant
from sesame.overhead.model import MainProcess, NodeModel


@dataclass(frozen=True)
class DaemonSetting:
    """A reading in each period, in messages of `batch` readings."""

    period_s: float
    batch: int


@dataclass(frozen=True)
class DaemonRun:
    """What was measured under a setting, in whole batches: processor time of daemon and collector,
    and latencies from the end of a reading's interval until the collector has stored it."""

    setting: DaemonSetting
    beside: str  # the program that ran meanwhile, or "nothing"
    seconds: float
    readings: int
    messages: int
    daemon_cpu_s: float
    main_cpu_s: float
    latency_mean_s: float
    latency_p99_s: float

    @property
    def daemon_share(self) -> float:
        """Processor time of the daemon, as a share of one processor."""
        return self.daemon_cpu_s / self.seconds

    @property
    def main_share(self) -> float:
        return self.main_cpu_s / self.seconds


COLUMNS = (
    "sampling_period",
    "batch_size",
    *(field.name for field in dataclasses.fields(DaemonRun) if field.name != "setting"),
)
MOST_RUNS = 10_000


# ---- The file of runs ----


def append_run(path: Path, run: DaemonRun) -> None:
    """Adds a run to a CSV file, which is made if need be. Raises OutputError."""
    values = dataclasses.asdict(run)
    del values["setting"]
    row = [f"{run.setting.period_s:.9g}", run.setting.batch, *values.values()]
    try:
        is_new = not path.exists()
        with path.open("a", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            if is_new:
                writer.writerow(COLUMNS)
            writer.writerow([f"{one:.9g}" if isinstance(one, float) else one for one in row])
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror}") from error


def read_runs(path: Path) -> list[DaemonRun]:
    """The runs in such a file. Raises InputError with the line."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file, strict=True)
            if tuple(reader.fieldnames or ()) != COLUMNS:
                raise InputError(f"expected the columns {', '.join(COLUMNS)}", path=str(path))
            runs = []
            for number, row in rows_of(reader, str(path)):
                if number > MOST_RUNS:
                    raise InputError(f"more than {MOST_RUNS} runs", path=str(path))
                runs.append(_run(row, str(path), number))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"cannot read it: {error}", path=str(path)) from error
    return runs


def _run(row: dict[str, Any], path: str, line: int) -> DaemonRun:
    try:
        numbers = {name: float(row[name]) for name in COLUMNS if name != "beside"}
    except (TypeError, ValueError) as error:
        raise InputError(
            f"expected {len(COLUMNS)} values: {error}", path=path, line=line
        ) from error
    for name, value in numbers.items():
        if not 0 < value < math.inf:
            raise InputError(f"{name}: expected a number above 0", path=path, line=line)
    counts = {name: int(numbers.pop(name)) for name in ("batch_size", "readings", "messages")}
    setting = DaemonSetting(numbers.pop("sampling_period"), counts.pop("batch_size"))
    return DaemonRun(setting, str(row["beside"]), **counts, **numbers)  # type: ignore[arg-type]


# ---- Costs of a reading and of a message ----


@dataclass(frozen=True)
class DaemonCosts:
    """Processor time in s: of the daemon for a reading and for a message, of the collector
    likewise."""

    collect: float
    forward: float
    main: float
    main_per_sample: float

    def in_model(self, model: NodeModel) -> NodeModel:
        """The model with a daemon like sesamed that has these costs. Its other parts stay."""
        daemon = dataclasses.replace(
            model.daemon,
            source="timer",
            collect=constant(self.collect),
            forward=constant(self.forward),
        )
        main = MainProcess(constant(self.main), constant(self.main_per_sample), model.main.network)
        period = model.instrumentation.sampling_period or DEFAULT_INTERVAL_S
        sampled = dataclasses.replace(model.instrumentation, sampling_period=period)
        return dataclasses.replace(model, instrumentation=sampled, daemon=daemon, main=main)


def fit_costs(runs: Sequence[DaemonRun]) -> DaemonCosts:
    """Non-negative costs with the least relative errors. Raises InputError unless there are two
    sizes of batches, without which a reading and a message cannot be distinguished."""
    if len({run.setting.batch for run in runs}) < 2:
        raise InputError(
            "the runs have one batch size, so what a reading and what a message needs cannot be "
            "distinguished",
            hint="`sesame overhead validate NODE.toml --batches 1,6 -o runs.csv` measures two",
        )
    collect, forward = _two_costs(runs, [run.daemon_cpu_s for run in runs])
    per_sample, main = _two_costs(runs, [run.main_cpu_s for run in runs])
    return DaemonCosts(collect, forward, main, per_sample)


def _two_costs(runs: Sequence[DaemonRun], seconds: Sequence[float]) -> tuple[float, float]:
    """Of a reading and of a message."""
    from scipy.optimize import nnls

    counts = np.array([[run.readings, run.messages] for run in runs], float)
    scaled = counts / np.array(seconds)[:, None]
    found, _ = nnls(scaled, np.ones(len(runs)))
    return float(found[0]), float(found[1])
