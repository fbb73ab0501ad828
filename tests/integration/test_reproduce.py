"""`sesame reproduce`: experiments on the simulator, and its tutorial."""

from __future__ import annotations

import json
import shlex

from conftest import SESAME, run
from tutorials import commands_of


def test_table_8_3_comes_out(cache, program, tmp_path):
    outcome = run([*SESAME, "reproduce", "table-8-3", "--json"], tmp_path)
    assert outcome.status == 0, outcome.stderr
    (table,) = json.loads(outcome.stdout)
    missed = [f["text"] for f in table["findings"] if not f["comes_out"]]
    assert missed == ["The counts of two-phase on 16 ranks are those of the table."]
    assert list(tmp_path.iterdir()) == []


def test_collective_strategies_come_out(cache, program, tmp_path):
    outcome = run([*SESAME, "reproduce", "figure-8-8", "--json"], tmp_path)
    assert outcome.status == 0, outcome.stderr
    (figure,) = json.loads(outcome.stdout)
    assert all(finding["comes_out"] for finding in figure["findings"])


def test_an_unknown_experiment_is_refused(tmp_path):
    outcome = run([*SESAME, "reproduce", "figure-1-1"], tmp_path)
    assert outcome.status == 2
    assert "table-8-3" in outcome.stderr


def test_the_tutorial_runs(cache, program, tmp_path):
    for line in commands_of("tutorial-reproduce.md"):
        outcome = run(shlex.split(line.replace("sesame", shlex.join(SESAME), 1)), tmp_path)
        assert outcome.status == 0, f"{line}\n{outcome.stdout}{outcome.stderr}"
    assert "Comes out" in (tmp_path / "table-8-3.html").read_text()
