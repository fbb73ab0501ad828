"""Every verb that reads a data set answers for every kind, or says in a sentence why it cannot."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from test_replay import in_this_process
from tests.built_workloads import CACHE
from tests.python.every_kind import OUTCOME, write_every_kind

import sesame as library
from sesame.analysis.reports import REPORTS
from sesame.datasets import DataSet, Kind
from sesame.errors import InputError
from sesame.exchange import EXPORTS
from sesame.reproduction.stored import read_outcomes
from sesame.simulation.series import read_series

EMPTY = ("simulated", "traced", "measured", "bench", "series", "characterised")
KINDS = [
    *(kind.value for kind in Kind),
    "traced, nothing done",
    *(f"{kind}, no tables" for kind in EMPTY),
]
# Words behind `sesame`; IN is the data set, OUT a path to write.
VERBS = [
    ("info", "IN"),
    ("info", "IN", "--fields"),
    ("info", "IN", "--json"),
    ("report", "IN", "OUT.html"),
    ("report", "IN", "OUT.html", "--json"),
    ("diff", "IN", "IN", "--report", "OUT.html"),
    ("accuracy", "add", "IN", "IN"),
    ("check", "--baseline", "IN", "-o", "OUT"),
    *(("export", "IN", "--to", name, "--file", "OUT") for name in EXPORTS),
    ("export", "IN", "--to", "chrome", "--file", "OUT", "--kernel", "IN"),
    ("characterize", "IN"),
    ("characterize", "IN", "-o", "OUT"),
    ("characterize", "--baseline", "IN", "--compare", "IN"),
    ("replay", "IN", "--dir", "target", "--json"),
    ("simulate", "--machine", "paragon", "IN"),
    ("simulate", "--machine", "paragon", "--compute", "recorded:IN", "/bin/true"),
    ("machine", "check", "paragon", "--against", "IN"),
]
# Where an answer is expected; everywhere else one may be refused.
ANSWERED = {
    "info": set(KINDS),
    "report": {kind for kind in KINDS if "no tables" not in kind},
}


@pytest.fixture(scope="module")
def every_kind(fake_bin, tmp_path_factory) -> dict[str, Path]:
    return write_every_kind(tmp_path_factory.mktemp("kinds"), fake_bin)


def test_there_is_one_of_every_kind(every_kind):
    assert list(every_kind) and set(every_kind) == set(KINDS)
    for name, path in every_kind.items():
        assert DataSet(path).kind == name.partition(",")[0]
    assert set(REPORTS) == set(Kind)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_every_verb_on_every_kind(every_kind, tmp_path, monkeypatch, verb, kind):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(CACHE))  # a check of a machine runs a workload
    Path("target").mkdir()
    shutil.copytree(every_kind[kind], "in.sesame")
    words = [word.replace("IN", "in.sesame").replace("OUT", "out") for word in verb]
    done = in_this_process(*words)  # raises what is no error of ours
    left = {path.name for path in tmp_path.iterdir()} - {"target", "in.sesame"}
    if done.status in (None, 0):
        assert left == ({"out.html"} if "OUT.html" in verb else {"out"} if "OUT" in verb else set())
        return
    assert done.status == 2, done.stderr
    assert left == set()
    assert done.stdout == ""
    sentence = done.stderr.partition("\nhint: ")[0]
    assert sentence and "\n" not in sentence.strip(), done.stderr
    if verb == ("info", "IN") or verb[0] == "report":
        assert kind not in ANSWERED[verb[0]], done.stderr


@pytest.mark.parametrize("kind", KINDS)
def test_every_method_on_every_kind(every_kind, tmp_path, kind):
    data_set = library.open(every_kind[kind])
    assert "<table>" in data_set._repr_html_()
    for name in data_set.tables:
        frame = data_set.to_pandas(name)
        assert len(frame) == data_set.sql(f'select * from "{name}"').shape[0]
        added = ["speed_up", "efficiency"] if (kind, name) == ("series", "point") else []
        assert list(frame.columns) == [*data_set.to_polars(name).columns, *added]
    for use in (data_set.findings, lambda: data_set.report(tmp_path / "page.html")):
        try:
            use()
        except InputError as error:
            assert str(data_set.path) in error.message
            assert kind not in ANSWERED["report"], error


def test_a_series_is_read_as_it_was_written(every_kind):
    runs = read_series(DataSet(every_kind["series"]))
    assert [point.ranks for point, _ in runs] == [1, 2]
    table = DataSet(every_kind["series"]).table("point")
    times = table.column("predicted_time_s").to_pylist()
    assert [run.predicted_s for _, run in runs] == times
    assert all(run.result["outcome"] == "completed" for _, run in runs)


def test_reproduced_experiments_are_read_as_they_were_written(every_kind):
    [read] = read_outcomes(DataSet(every_kind["reproduced"]))
    assert json.dumps(asdict(read)) == json.dumps(asdict(OUTCOME))


def test_findings_of_older_data_sets_are_read(every_kind, tmp_path):
    """`is_reproduced` had the name `comes_out`."""
    older = tmp_path / "older.sesame"
    shutil.copytree(every_kind["reproduced"], older)
    (table,) = older.rglob("finding.parquet")
    found = pq.read_table(table)
    names = ["comes_out" if name == "is_reproduced" else name for name in found.column_names]
    pq.write_table(found.rename_columns(names), table)
    info = older / "info.json"
    info.write_text(info.read_text().replace('"is_reproduced"', '"comes_out"'))
    [read] = read_outcomes(DataSet(older))
    assert [one.is_reproduced for one in read.judgements] == [
        one.is_reproduced for one in OUTCOME.judgements
    ]
