"""The explanation of a predicted time as a data frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sesame.analysis.explain.explanation import PS, explain, why_not
from sesame.analysis.quantities import format_seconds
from sesame.datasets import Kind
from sesame.errors import InputError
from sesame.extras import require

if TYPE_CHECKING:
    import pandas as pd

    from sesame.datasets import DataSet


def frame_of(data_set: DataSet) -> pd.DataFrame:
    """See `sesame.DataSet.explain`."""
    require("notebook", "a data frame", "pandas")
    if data_set.kind is not Kind.SIMULATED:
        raise InputError(
            f"this is a {data_set.kind} data set; the prediction of a simulated run is explained",
            path=str(data_set.path),
        )
    if (reason := why_not(data_set)) is not None:
        raise InputError(f"the prediction is not explained: {reason}", path=str(data_set.path))
    import pandas as pd

    found = explain(data_set)
    whole = max(found.end_ps, 1)
    parts = sorted(found.shares, key=lambda part: -part.time_ps)
    return pd.DataFrame(
        {
            "part": [part.name for part in parts],
            "time_s": [part.time_ps * PS for part in parts],
            "share": [part.time_ps / whole for part in parts],
            "most": [
                ", ".join(f"{name} {format_seconds(ps * PS)}" for name, ps in part.most)
                for part in parts
            ],
        }
    )
