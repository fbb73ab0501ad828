"""The critical path of a simulated run: where its time is, and its line over the ranks.

The path is a chain of steps from the begin of the run to its end. While it is on a rank, time there
is time of the whole run; what other ranks do meanwhile could take longer without effect.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sesame.analysis.plots import Plot, bar_list, timeline_chart, timeline_plot
from sesame.analysis.sensitivity import range_in_words, sensitivity_of
from sesame.datasets import DataSet
from sesame.web.chart import time_unit

Array = np.ndarray[Any, Any]
MOST_POINTS = 4_000  # of the line; more do not fit a screen
MOST_BARS = 16
LONG_PARAMETERS = 20  # characters of a function's parameters that a table does not show
MOST_BOLD_STEPS = 1_000  # of the line that is drawn with 2 pixels


@dataclass(frozen=True)
class PathShare:
    """The time of the critical path in one place."""

    name: str
    seconds: float
    steps: int


@dataclass(frozen=True)
class CriticalPath:
    """The steps of the path, as columns."""

    rank: Array
    begin_s: Array
    end_s: Array
    kind: list[str]
    call: list[str]
    place: list[str]  # "main (heat.c:34)"; empty for none

    @property
    def seconds(self) -> Array:
        return self.end_s - self.begin_s

    def by_rank(self) -> list[PathShare]:
        return self._shares(lambda i: f"rank {self.rank[i]}")

    def by_kind(self) -> list[PathShare]:
        """Computation, files, and of each MPI call the time inside it and on the way to it."""
        return self._shares(self._kind)

    def by_place(self) -> list[PathShare]:
        """By the call in the program at which a step ends."""
        return self._shares(lambda i: f"{self.call[i]} in {self.place[i]}" if self.place[i] else "")

    def _kind(self, i: int) -> str:
        if self.kind[i] == "computation":
            return "computation"
        if self.kind[i] == "file":
            return f"files in {self.call[i]}" if self.call[i] else "files"
        if self.kind[i] == "message":
            return f"message to {self.call[i]}" if self.call[i] else "message"
        return self.call[i] or "calls"

    def _shares(self, name_of: Callable[[int], str]) -> list[PathShare]:
        seconds: dict[str, float] = {}
        steps: dict[str, int] = {}
        for i, length in enumerate(self.seconds):
            name = name_of(i)
            seconds[name] = seconds.get(name, 0.0) + float(length)
            steps[name] = steps.get(name, 0) + 1
        found = [PathShare(name, time, steps[name]) for name, time in seconds.items()]
        return sorted(found, key=lambda share: (-share.seconds, share.name))

    def line(self) -> tuple[Array, Array]:
        """The path as a line of points (time, rank), in order of time, with at most MOST_POINTS."""
        changes = np.flatnonzero(np.diff(self.rank)) + 1  # steps on another rank than before
        if len(changes) * 2 > MOST_POINTS:
            changes = changes[:: -(-len(changes) * 2 // MOST_POINTS)]
        starts = np.concatenate([[0], changes])
        ends = np.concatenate([changes, [len(self.rank)]]) - 1
        # A message is on the way from the end of the step before to its own end.
        is_message = np.array([self.kind[i] in ("message", "file") for i in starts])
        begin = np.where(is_message, self.end_s[starts], self.begin_s[starts])
        times = np.column_stack([begin, self.end_s[ends]]).ravel()
        ranks = np.column_stack([self.rank[starts], self.rank[starts]]).ravel()
        return np.maximum.accumulate(times), ranks


def critical_path_of(data_set: DataSet) -> CriticalPath:
    """The path of a run that has its table."""
    table = data_set.table("critical_path")
    columns = {name: table.column(name) for name in table.column_names}
    functions, lines = columns["function"].to_pylist(), columns["line"].to_pylist()
    return CriticalPath(
        columns["rank"].to_numpy().astype(np.int64),
        columns["begin_s"].to_numpy(),
        columns["end_s"].to_numpy(),
        columns["kind"].to_pylist(),
        columns["call"].to_pylist(),
        [_place(*one) for one in zip(functions, lines, strict=True)],
    )


def _place(function: str, line: str) -> str:
    function = _without_parameters(function)
    if function and line:
        return f"{function} ({line})"
    return function or line


def _without_parameters(function: str) -> str:
    """The name of a C++ function with "…" for its parameters, unless they are short. Other
    parentheses stay: "(anonymous namespace)"."""
    end = function.rfind(")")
    if end < 0 or function[end + 1 :] not in ("", " const"):
        return function
    depth = 0
    for begin in range(end, -1, -1):
        depth += (function[begin] == ")") - (function[begin] == "(")
        if depth == 0:
            long = end - begin > LONG_PARAMETERS
            return f"{function[:begin]}(…){function[end + 1 :]}" if long else function
    return function


def path_plot(data_set: DataSet) -> Plot:
    """The path on the time line."""
    path = critical_path_of(data_set)
    end_s = float(path.end_s[-1])
    factor, unit = time_unit(end_s)
    if data_set.has("call"):
        plot = timeline_plot(data_set)
        chart, note = plot.chart, f" {plot.note}"
    else:
        ranks = int(data_set.info["ranks"])
        chart, note = timeline_chart(ranks, f"simulated time ({unit})", end_s * factor), ""
    times, ranks_of = path.line()
    width = 2 if len(times) <= MOST_BOLD_STEPS else 0.7  # the calls below it are to be seen
    chart.settings["dimBelowLines"] = True
    chart.line("critical path", times * factor, ranks_of, "ink", width=width)
    most = path.by_rank()
    on = f"{len(most)} ranks" if len(most) > 1 else most[0].name
    share = 100 * most[0].seconds / end_s if end_s else 100.0
    where = f"The path is on {on}; {share:.0f} % of its time is on {most[0].name}."
    return Plot(chart, f"{where}{note}")


def help_plot(data_set: DataSet) -> Plot:
    """The time that each key of the machine causes, as bars."""
    sensitivity = sensitivity_of(data_set)
    effects = sensitivity.effects[:MOST_BARS]
    names = [*(effect.key for effect in effects), *sensitivity.other]
    seconds = [*(effect.seconds for effect in effects), *sensitivity.other.values()]
    texts = [*(f"slope holds for {range_in_words(effect)}" for effect in effects)]
    texts += ["cannot be changed in the machine"] * len(sensitivity.other)
    factor, unit = time_unit(max(seconds, default=0.0))
    chart = bar_list(
        names,
        [value * factor for value in seconds],
        f"time of the critical path that it causes ({unit})",
        "key of the machine",
        texts=texts,
    )
    left_out = len(sensitivity.effects) - len(effects)
    return Plot(chart, f"{left_out} keys with less time are not shown." if left_out > 0 else "")
