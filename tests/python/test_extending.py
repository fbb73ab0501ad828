"""The examples of docs/extending.md run as they stand there."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

import sesame as library
from sesame.analysis import views as registry
from sesame.datasets import Kind

PAGE = Path(__file__).resolve().parents[2] / "docs/extending.md"


@pytest.fixture
def namespace(tmp_path, monkeypatch, run_path):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(run_path, "run.sesame")
    names: dict[str, object] = {}
    for code in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S):
        exec(code, names)
    yield names
    registry._added.clear()


def test_the_examples_of_the_page_work(namespace):
    assert list(library.open("run.sesame").views())[-1] == "waiting"
    assert Path("waiting.png").stat().st_size > 1000
    assert "Waiting</h2>" in Path("run.html").read_text()
    made = library.open("machine.sesame")
    assert made.kind is Kind.MEASURED
    frame = made.to_pandas("temperature")
    assert list(frame.columns) == ["time_s", "sensor", "celsius"]
    assert frame["time_s"].tolist() == [0.0, 1.0]


def test_the_example_for_series_draws_the_time_of_all_ranks(namespace, sesame):
    target = ("--machine", "paragon", "-o", "s.sesame")
    made = sesame("simulate", "-n", "1,2", "--compute", "none", *target, "--", "ring", "5")
    assert made.status == 0, made.stderr
    series = library.open("s.sesame")
    (mark,) = series.plot(view="cost").chart.marks
    assert mark["y"] == [
        n * run.predicted_s for n, (_, run) in zip((1, 2), series.runs, strict=True)
    ]
    assert "<h2>Cost</h2>" in series.report("s.html").read_text()
