"""The content of a traced run's report, as one JSON object for programs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sesame.analysis.report.traced_tables import (
    call_columns,
    file_columns,
    rank_columns,
    request_rows,
)
from sesame.analysis.study import Study
from sesame.analysis.traced.totals import sizes


def traced_json(study: Study) -> dict[str, Any]:
    """Times are seconds, sizes bytes; tables are columns; null stands for unknown values."""
    file_waits = study.file_waits
    waits, bottom = study.waits, study.totals.bottom
    return {
        "title": study.run.data_set.info.get("title"),
        **study.headline,
        "damage": study.damage,
        "findings": [
            {
                "topic": finding.topic,
                "sentence": finding.sentence,
                "hint": finding.hint,
                "time_s": finding.seconds,
                "share_of_time": study.share_of(finding),
                "evidence": {name: _plain(value) for name, value in finding.evidence.items()},
            }
            for finding in study.findings
        ],
        "ranks": _columns(rank_columns(study)),
        "file_table": _columns(file_columns(study)),
        "calls": _columns(call_columns(study)),
        "requests": _columns(request_rows(bottom)),
        "request_sizes": {
            word: [int(bottom.sum(name)) for name in sizes(word)] for word in ("read", "write")
        },
        "wait_s": None if waits is None else waits.seconds,
        "wait_in_collective_io_s": None if file_waits is None else file_waits.seconds,
        "wait_behind_io_s": None if waits is None else waits.behind_io,
    }


def _columns(table: dict[str, Any]) -> dict[str, list[Any]]:
    return {name: [_plain(value) for value in values] for name, values in table.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return None if math.isnan(value) else int(value) if value.is_integer() else value
    return value
