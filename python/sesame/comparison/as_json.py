"""A difference as plain data for programs; times in seconds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sesame.comparison.side import Side

if TYPE_CHECKING:
    from sesame.comparison.difference import Difference


def difference_as_json(difference: Difference) -> dict[str, Any]:
    """Lists have an entry for each side; those of ratios and changes for each but the first."""
    quantiles = difference.quantiles_s()
    return {
        "sides": [_side(side) for side in difference.sides],
        "without_start": difference.without_start,
        "time": [None if ratio is None else ratio.as_json() for ratio in difference.ratios],
        "changes": [
            {
                "name": change.name,
                "mean_s": change.mean_s,
                "change_s": change.change_s,
                "count": [int(count) for count in change.count],
                "bytes": [int(size) for size in change.bytes],
                "ratios": [None if ratio is None else ratio.as_json() for ratio in change.ratios],
                "rank_of_largest_change": change.rank,
            }
            for change in difference.changes
        ],
        "shares": [{"share": share.name, "time_s": share.seconds} for share in difference.shares],
        "slowest_ranks": list(difference.slowest_ranks),
        "ranks": None if difference.rank_s is None else difference.rank_s.T.tolist(),
        "rank_quantiles_s": quantiles,
        "machine": [{"key": key, "values": values} for key, values in difference.machine_values],
        "settings": [{"name": name, "values": values} for name, values in difference.settings],
        "figures": [
            {"name": figure.name, "unit": figure.unit, "values": figure.values}
            for figure in difference.figures
        ],
        "doubts": [doubt.as_json() for doubt in difference.doubts],
    }


def _side(side: Side) -> dict[str, Any]:
    time = side.time
    return {
        "label": side.label,
        "data_sets": [str(run.path) for run in side.runs],
        "kind": side.run.kind,
        "title": side.run.title,
        "ranks": side.run.ranks,
        "time_s": time.value,
        "low_s": time.low if len(side.samples_s) > 1 else None,
        "high_s": time.high if len(side.samples_s) > 1 else None,
        "samples": len(side.samples_s),
        "exact": side.exact,
    }
