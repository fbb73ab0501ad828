"""Predictions for sesamed beside what it really takes, and the costs that are fitted to such runs.

runs = read_runs(path)                # what `sesame overhead validate -o` has measured
costs = fit_costs(runs)               # of a reading and of a message
found = compare(costs.in_model(model), runs, Run())
"""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sesame.errors import InputError
from sesame.overhead.daemon_runs import DaemonRun, DaemonSetting
from sesame.overhead.distributions import format_seconds, parse_seconds
from sesame.overhead.experiments import Analysis, Factor, analyse, full_design
from sesame.overhead.model import BATCH, FORWARD, NodeModel
from sesame.overhead.studies import Run
from sesame.trust import Estimate

# What is compared: names here, and of figures of a prediction.
FIGURES = ("daemon_cpu", "main_cpu", "latency_mean", "latency_p99")


# ---- Comparison ----


@dataclass(frozen=True)
class Compared:
    """A run, and what the model predicts: processor time as a share of one processor, latency in
    s."""

    run: DaemonRun
    predicted: dict[str, Estimate]

    def measured(self, figure: str) -> float:
        run = self.run
        shares = {"daemon_cpu": run.daemon_share, "main_cpu": run.main_share}
        latencies = {"latency_mean": run.latency_mean_s, "latency_p99": run.latency_p99_s}
        return (shares | latencies)[figure]

    def error(self, figure: str) -> float:
        """Relative: 0.1 where the prediction is 10 % too high."""
        return self.predicted[figure].value / self.measured(figure) - 1

    def as_json(self) -> dict[str, Any]:
        run = dataclasses.asdict(self.run)
        figures = {
            name: {
                "measured": self.measured(name),
                "predicted": self.predicted[name].as_json(),
                "error": self.error(name),
            }
            for name in FIGURES
        }
        return {**run, "figures": figures}


def settings_of(setting: DaemonSetting) -> dict[str, str]:
    """The settings of a node model that mean this setting of sesamed."""
    return {
        "sampling_period": format_seconds(setting.period_s),
        "policy": FORWARD if setting.batch == 1 else BATCH,
        "batch_size": str(setting.batch),
        "batch_age": "none",
    }


def compare(model: NodeModel, runs: Iterable[DaemonRun], how: Run) -> list[Compared]:
    """Predicts each run. Raises InputError if the model's daemon is not like sesamed."""
    check_model(model)
    known: dict[DaemonSetting, dict[str, Estimate]] = {}
    found = []
    for run in runs:
        if run.setting not in known:
            known[run.setting] = _predict(model, run.setting, how)
        found.append(Compared(run, known[run.setting]))
    return found


def check_model(model: NodeModel) -> None:
    if model.daemon.source != "timer":
        raise InputError(
            f"{model.name}: its daemon reads pipes of processes; sesamed has a timer of its own",
            hint="the shipped model sesamed has such a daemon, and so has what `sesame overhead "
            "characterize` makes of a measurement during which sesamed ran",
        )


def _predict(model: NodeModel, setting: DaemonSetting, how: Run) -> dict[str, Estimate]:
    prediction = how.predict(model.with_settings(settings_of(setting)), slowdown=False)
    found = {name: prediction.estimate(name) for name in FIGURES}
    for name in ("daemon_cpu", "main_cpu"):
        one, seconds = found[name], prediction.seconds
        ends = one.value / seconds, one.low / seconds, one.high / seconds
        found[name] = Estimate(*ends, one.samples, one.doubts)
    return found


def median_and_worst(found: Sequence[Compared], figure: str) -> tuple[float, float]:
    """Of the absolute errors."""
    errors = [abs(one.error(figure)) for one in found]
    return statistics.median(errors), max(errors)


# ---- Allocation of variation ----


def variation(found: Sequence[Compared], figure: str) -> dict[str, tuple[Analysis, Analysis]]:
    """By the experiment's title: effects on measured and on predicted values of the batch size and
    the period beside each program, and of batch size and program at the shortest period (tables 4
    and 5 of the paper). Without those for which runs are missing."""
    values: dict[tuple[float, int, str], Compared] = {
        (one.run.setting.period_s, one.run.setting.batch, one.run.beside): one for one in found
    }
    periods = sorted({key[0] for key in values})
    batches = sorted({key[1] for key in values})
    programs = list(dict.fromkeys(key[2] for key in values))
    batch = Factor("batch size", str(batches[0]), str(batches[-1]))
    designs: dict[str, tuple[Factor, list[tuple[float, int, str]]]] = {}
    for program in programs:
        factor = Factor("sampling period", *map(format_seconds, (periods[0], periods[-1])))
        levels = (periods[0], periods[-1])
        keys = [(period, size, program) for period in levels for size in (batches[0], batches[-1])]
        designs[f"beside {program}"] = factor, keys
    if len(programs) > 1:
        pair = programs[-2:]
        factor = Factor("program", *pair)
        keys = [(periods[0], size, one) for one in pair for size in (batches[0], batches[-1])]
        designs[f"at {format_seconds(periods[0])}"] = factor, keys
    return {
        title: _both(full_design((batch, factor)), [values[key] for key in keys], figure)
        for title, (factor, keys) in designs.items()
        if batch.low != batch.high and factor.low != factor.high and set(keys) <= set(values)
    }


def _both(design: Any, runs: Sequence[Compared], figure: str) -> tuple[Analysis, Analysis]:
    measured = [[one.measured(figure)] for one in runs]
    predicted = [[one.predicted[figure].value] for one in runs]
    return analyse(design, measured), analyse(design, predicted)


def parse_periods(text: str) -> list[float]:
    """Of "100ms,400ms". Raises InputError."""
    found = [parse_seconds(one) for one in text.split(",") if one]
    return _different(found, text, "sampling periods such as 100ms,400ms")


def parse_batches(text: str) -> list[int]:
    """Of "1,6". Raises InputError."""
    words = [one.strip() for one in text.split(",") if one]
    found = [int(one) for one in words if one.isdecimal() and int(one) > 0]
    if len(found) < len(words):
        found = []
    return _different(found, text, "numbers of readings such as 1,6")


def _different(found: list[Any], text: str, expected: str) -> list[Any]:
    if not found or len(set(found)) < len(found):
        raise InputError(f'expected different {expected}, got "{text}"')
    return found
