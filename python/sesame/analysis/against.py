"""How well a machine model predicts what was measured: one comparison for each data set."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sesame.datasets import DataSet, Kind
from sesame.errors import InputError

CURVES = {"messages": ("ping_pong", "size", "median")}  # table, axis, value


@dataclass(frozen=True)
class Recorded:
    """What a data set of `sesame bench run` says of its run."""

    data_set: DataSet
    workload: str
    options: list[str]
    ranks: int
    time_s: float

    @property
    def curve(self) -> dict[str, Any] | None:
        """The columns of the curve to compare; None if only the time of the run is compared."""
        if self.workload not in CURVES:
            return None
        table, axis, value = CURVES[self.workload]
        return dict(self.data_set.table(table, [axis, value]).to_pydict())


@dataclass(frozen=True)
class Comparison:
    data_set: str
    workload: str
    options: list[str]
    ranks: int
    measured_s: float
    predicted_s: float
    error: float  # predicted / measured - 1; of a curve the median of its magnitudes
    worst_error: float  # of a curve; else the error
    points: int  # of a curve; else 1

    @property
    def is_curve(self) -> bool:
        return self.points > 1


def read_recorded(path: Path) -> Recorded:
    data_set = DataSet(path)
    result = data_set.info.result
    if data_set.kind is not Kind.BENCH:
        raise InputError("expected a data set of `sesame bench run`", path=str(path / "info.json"))
    if "options" not in result:
        raise InputError(
            "it does not say which options its program had", path=str(path), hint="record it again"
        )
    if result.get("verified") is False:
        raise InputError("the answer of this run was wrong, its time means nothing", path=str(path))
    ranks, time_s = int(data_set.info["ranks"]), float(result["time_s"])
    recorded = Recorded(data_set, result["workload"], list(result["options"]), ranks, time_s)
    if recorded.curve is None and time_s <= 0:
        raise InputError("no time was measured in this run", path=str(path))
    return recorded


def compare(recorded: Recorded, report: dict[str, Any]) -> Comparison:
    """`report` is that of the same program under the simulator."""
    errors = _curve_errors(recorded, report)
    if errors is None:
        errors = np.array([report["time_s"] / recorded.time_s - 1])
    magnitudes = np.abs(errors)
    return Comparison(
        data_set=str(recorded.data_set.path),
        workload=recorded.workload,
        options=recorded.options,
        ranks=recorded.ranks,
        measured_s=recorded.time_s,
        predicted_s=float(report["time_s"]),
        error=float(errors[0]) if len(errors) == 1 else float(np.median(magnitudes)),
        worst_error=float(errors[np.argmax(magnitudes)]),
        points=len(errors),
    )


def _curve_errors(recorded: Recorded, report: dict[str, Any]) -> Any:
    curve = recorded.curve
    if curve is None:
        return None
    table, axis, value = CURVES[recorded.workload]
    predicted = report["tables"][table]
    at, measured = np.array(curve[axis]), np.array(curve[value])
    # A run chooses the sizes around a step itself, so the two runs may have different ones.
    times = np.interp(at, predicted[axis]["values"], predicted[value]["values"])
    return times / measured - 1
