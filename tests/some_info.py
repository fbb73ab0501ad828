"""An info.json for data sets that tests make up: whole, with the keys that a test gives."""

from __future__ import annotations

from typing import Any

from sesame.datasets import Info

WHOLE: dict[str, Any] = {
    "title": "made up",
    "instrument": {"name": "a test", "version": "1"},
    "importer": {"name": "a test", "version": "1"},
    "host": {"name": "here", "system": "Linux"},
    "target_system": {"name": "a machine", "machine_file": 'name = "a machine"'},
    "begin_time": "2026-01-01T00:00:00+00:00",
    "ranks": 1,
    "compute": "none",
    "scenario": {},
    "raw": {},
}
RESULTS: dict[str, dict[str, Any]] = {
    "simulated": {"predicted_time_s": 1.0, "outcome": "completed"},
    "series": {"varied": ["ranks"]},
    "traced": {"outcome": "completed"},
    "imported": {"outcome": "completed"},
    "replayed": {"outcome": "completed"},
    "bench": {"workload": "ep", "time_s": 1.0},
    "reproduced": {"experiments": []},
}


def some_info(kind: str = "traced", **keys: Any) -> Info:
    """`result` is added to what the kind needs; other keys replace those of WHOLE."""
    result = RESULTS.get(kind, {}) | keys.pop("result", {})
    return Info.from_json({**WHOLE, **keys, "kind": kind, "result": result})
