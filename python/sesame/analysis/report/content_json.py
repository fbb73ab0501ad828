"""The content of a page as one JSON object for programs, for kinds without an object of their own
(`traced_json`)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sesame.analysis.reports import sentences_of
from sesame.analysis.views import views_of
from sesame.datasets import DataSet


def content_json(data_set: DataSet) -> dict[str, Any]:
    """Facts, findings, and the values of every chart in the units of its axes; null stands for
    values that are unknown. Raises InputError if the tables that its kind needs are missing."""
    info = data_set.info
    findings = sentences_of(data_set)
    return {
        "title": info.get("title"),
        "kind": str(data_set.kind),
        "doubts": info.get("doubts") or [],
        "result": info.get("result", {}),
        "findings": findings,
        "charts": {
            view.name: _chart(view.drawn(data_set), view.about) for view in views_of(data_set)
        },
    }


def _chart(plot: Any, about: str) -> dict[str, Any]:
    axes = {name: axis.get("title", "") for name, axis in plot.chart.axes.items()}
    return {"about": about, "note": plot.note, "axes": axes, "marks": _plain(plot.chart.marks)}


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
