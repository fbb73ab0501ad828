"""The cost that is predicted before a measurement begins."""

from __future__ import annotations

import pytest

from sesame.measurement import expected
from sesame.measurement.cost import Cost
from sesame.measurement.expected import expected_cost, keep_rates, kept_rates
from sesame.measurement.session import Wanted


def cost(subsystem: str, ns: float, detail: str = "duration") -> Cost:
    return Cost(subsystem, "a,b", detail, ns, 0.9 * ns, 1.1 * ns, 1000.0)


def test_rates_times_calibrated_costs(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert kept_rates() == {}
    row = {"active_ns": 2_000_000_000, "events": 50_000, "subsystem": "sched"}
    keep_rates([row, {**row, "events": 10_000}, {**row, "subsystem": "vm", "active_ns": 5}])
    assert kept_rates() == {"sched": 15_000.0}
    wanted = Wanted({("sched", 0), ("vm", 0)}, budget=0.001)
    found = expected_cost(wanted, [cost("sched", 200), cost("sched", 9, "count")], kept_rates())
    assert found.share == pytest.approx(15_000 * 200e-9)
    assert str(found) == (
        "predicted cost: 0.3 % of a processor for sched at the rates of the last measurement; "
        "unknown for vm (no `sesame measure cost` or run yet); at most 0.1 % of each "
        "processor, the budget"
    )


def test_what_is_unknown_is_not_guessed(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    wanted = Wanted({("sched", 0)}, budget=None)
    assert str(expected_cost(wanted, None, {"sched": 1e4})) == (
        "predicted cost: unknown for sched (no `sesame measure cost` or run yet)"
    )
    uncertain = Cost("sched", "a", "duration", 200, -50, 900, 1000.0)
    assert expected_cost(wanted, [uncertain], {"sched": 1e4}).known == ()
    (tmp_path / "sesame").mkdir()
    for damaged in ("[1]", "{", '{"a": null}'):
        expected._file().write_text(damaged)
        assert kept_rates() == {}
