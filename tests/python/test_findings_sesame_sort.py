"""sesame-sort's analysis adds up phases."""

from __future__ import annotations

from sesame.analysis.findings import with_findings

ROWS = [
    (0, "read", 0.0, 1.0),
    (0, "sort", 1.0, 3.0),
    (0, "answer", 3.0, 4.0),
    (0, "sort", 4.0, 6.0),
    (0, "donewait", 6.0, 9.0),
    (0, "write", 9.0, 10.0),
    (0, "end", 10.0, 10.0),
    (1, "read", 0.0, 1.0),
    (1, "sort", 1.0, 6.0),
    (1, "ask", 6.0, 7.0),
    (1, "sort", 7.0, 8.0),
    (1, "donewait", 8.0, 9.0),
    (1, "write", 9.0, 10.0),
    (1, "end", 10.0, 10.0),
]


def report_of(rows):
    columns = zip(("rank", "phase", "begin", "end"), zip(*rows, strict=True), strict=True)
    table = {name: {"unit": "", "values": list(values)} for name, values in columns}
    given = {"workload": "sesame-sort", "ranks": 2, "verified": True, "checks": [], "figures": []}
    return {**given, "tables": {"phase": table}}


def test_time_is_shared_out_to_activities():
    found = with_findings(report_of(ROWS))
    assert found["findings"] == [
        "Of 10.0 s, in the mean of the ranks: sorting 50 %, trading 10 %, reading and writing 20 "
        "%, waiting until all are as far 20 %.",
        "Rank 0 waits longest until no rank has more to trade: 30 % of the time.",
    ]
    phases = found["tables"]["phases"]
    assert phases["phase"]["values"][:2] == ["read", "sort"]
    assert phases["longest"]["values"][:2] == [1.0, 6.0]
    assert phases["mean"]["values"][:2] == [1.0, 5.0]


def test_run_without_time_has_no_shares():
    found = with_findings(report_of([(rank, phase, 0.0, 0.0) for rank, phase, _, _ in ROWS]))
    assert found["findings"] == []
    assert found["tables"]["phases"]["mean"]["values"] == [0.0] * 7
