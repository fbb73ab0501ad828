"""The clock of a traced process is drawn anew about once a second, also while a call is made."""

from __future__ import annotations

from tests.command_line import SESAME, run

from sesame.datasets import DataSet


def test_a_call_longer_than_the_clocks_line_keeps_its_time(tmp_path):
    """`cat` waits for its first bytes longer than a line of the clock lasts."""
    command = ["sh", "-c", "(sleep 1.3; echo done) | cat"]
    outcome = run([*SESAME, "trace", "-o", "run.sesame", "--", *command], tmp_path)
    assert outcome.status == 0, outcome.stderr
    data_set = DataSet(tmp_path / "run.sesame")
    assert 1.2 < data_set.info["result"]["duration_s"] < 60
    times = data_set.table("io", ["begin_ns", "duration_ns"]).to_pydict()
    ends = [b + d for b, d in zip(times["begin_ns"], times["duration_ns"], strict=True)]
    assert 1.2e9 < max(ends) < 60e9
    assert min(times["begin_ns"]) >= 0
