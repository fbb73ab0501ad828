"""What the analysis of the workload sparse says of tables whose truth is known."""

from __future__ import annotations

import pytest

from sesame.analysis.findings import with_findings


def report(static, dynamic, read, messages=(0.0, 0.0)):
    columns = {
        "read size": [65536.0, 131072.0],
        "static read": read,
        "static total": static,
        "dynamic read": read if dynamic else None,
        "dynamic messages": list(messages) if dynamic else None,
        "dynamic total": dynamic,
    }
    table = {name: {"unit": "s", "values": values} for name, values in columns.items() if values}
    given = {"workload": "sparse", "ranks": 4, "verified": True, "checks": [], "figures": []}
    return {**given, "tables": {"passes": table}}


def test_gain_is_that_of_the_time_with_static_work():
    found = with_findings(report([10.0, 8.0], [9.0, 6.0], [5.0, 4.0]))
    assert found["tables"]["gains"]["gain of dynamic work"]["values"] == pytest.approx([10, 25])
    assert [figure["value"] for figure in found["figures"]] == pytest.approx([25, 10])
    expected = (
        "dynamic work gains most with reads of 128 KiB: 25.0 % (3 workers and a manager against"
    )
    assert found["findings"][-1].startswith(expected)


def test_loss_is_called_a_loss():
    found = with_findings(report([10.0, 10.0], [11.0, 12.0], [5.0, 5.0]))
    expected = "dynamic work loses at every read size, least with reads of 64 KiB: 10.0 %"
    assert found["findings"][-1].startswith(expected)


def test_waiting_for_messages_is_reported_when_it_matters():
    found = with_findings(report([10.0, 10.0], [10.0, 10.0], [5.0, 5.0], [0.5, 8.0]))
    assert "workers wait for the manager up to 80 % of the time" in found["findings"][2]
    found = with_findings(report([10.0, 10.0], [10.0, 10.0], [5.0, 5.0], [0.5, 0.8]))
    assert not any("wait for the manager" in sentence for sentence in found["findings"])


def test_reading_is_hidden_or_not():
    found = with_findings(report([10.0, 10.0], None, [5.0, 0.4]))
    assert found["findings"] == ["static work: reading is hidden, 4 % of the time goes to it"]
    found = with_findings(report([10.0, 10.0], None, [5.0, 3.0]))
    assert "30 % of the time goes to reading" in found["findings"][0]


def test_nothing_is_reported_of_times_that_are_zero():
    found = with_findings(report([0.0, 0.0], [0.0, 0.0], [0.0, 0.0]))
    assert found["findings"] == []
