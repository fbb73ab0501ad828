"""A figure as plain data for plotly.js.

plotly's own objects check every setting and take longer for it than the analysis of a large run;
what is drawn is the same.
"""

from __future__ import annotations

import base64
import itertools
import json
from typing import Any

import numpy as np

from sesame.analysis.plots import CONFIG, GRID, LAYOUT

_NUMBERS = itertools.count()
# Names that plotly.js has for arrays in base64.
_TYPES = {"int8": "i1", "int32": "i4", "float32": "f4", "float64": "f8"}


class Chart:
    """`add` traces and set axes; `html` is a piece of a page that has plotly.js."""

    def __init__(self, height: int, **layout: Any) -> None:
        self.traces: list[dict[str, Any]] = []
        self.layout: dict[str, Any] = {
            **LAYOUT,
            "height": height,
            "xaxis": {**GRID},
            "yaxis": {**GRID},
            **layout,
        }

    def add(self, kind: str, **trace: Any) -> None:
        self.traces.append({"type": kind, **trace})

    def legend_square(self, name: str, colour: str) -> None:
        """An entry in the legend for what is drawn without a trace of its own."""
        marker = {"symbol": "square", "size": 12, "color": colour}
        self.add("scatter", x=[None], y=[None], mode="markers", marker=marker, name=name)

    def x(self, title: str, **settings: Any) -> None:
        self.layout["xaxis"] |= {"title": {"text": title}, **settings}

    def y(self, title: str, **settings: Any) -> None:
        self.layout["yaxis"] |= {"title": {"text": title}, **settings}

    def html(self) -> str:
        name = f"chart{next(_NUMBERS)}"
        parts = ", ".join(_json(part) for part in (self.traces, self.layout, CONFIG))
        return (
            f'<div id="{name}" class="plotly-graph-div" style="height:{self.layout["height"]}px">'
            f'</div><script>Plotly.newPlot("{name}", {parts});</script>'
        )


def _json(value: Any) -> str:
    """No text of the user's can end the script that it stands in."""
    return json.dumps(value, default=_array).replace("<", "\\u003c")


def _array(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if not isinstance(value, np.ndarray):
        raise TypeError(f"{type(value)} in a chart")
    narrow = _narrowed(value)
    kind = _TYPES.get(narrow.dtype.name)
    if kind is None:
        return value.tolist()
    data = base64.b64encode(narrow.tobytes()).decode()
    shape = {"shape": ", ".join(map(str, value.shape))} if value.ndim > 1 else {}
    return {"dtype": kind, "bdata": data, **shape}


def _narrowed(value: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """JavaScript has no 64-bit integers in arrays."""
    if value.dtype.kind not in "iu" or value.dtype.itemsize == 1:
        return value
    fits = len(value) == 0 or abs(value).max() < 1 << 31
    return value.astype(np.int32 if fits else np.float64)
