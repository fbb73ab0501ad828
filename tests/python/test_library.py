"""`import sesame`: the names that it offers, and data sets as programs and notebooks use them."""

from __future__ import annotations

import json
import pydoc
import subprocess
import sys
from dataclasses import replace

import pyarrow.parquet as pq
import pytest
from tests.python.darshan_writer import LogContents, Record, write_log
from tests.python.traced_run import TracedRun
from tests.some_info import RESULTS, some_info

import sesame as library
from sesame.datasets import DataSet, DataSetWriter, Info, Kind
from sesame.errors import InputError
from sesame.lazy import modules_of

HEAVY = {"click", "duckdb", "numpy", "pandas", "polars", "pyarrow", "rich", "scipy"}


@pytest.fixture
def run(tmp_path):
    made = TracedRun(ranks=2)
    file = made.file("/data/out")
    made.io(0, 1, 3, "write", file=file, size=100, bytes=100)
    made.io(1, 2, 0.25, "write", file=file, size=50, bytes=50)
    return library.open(made.write(tmp_path / "run.sesame"))


def test_importing_loads_nothing_heavy():
    program = f"import sys, sesame; print(*sorted({HEAVY!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "\n"), done.stderr


def test_every_name_is_there():
    assert set(modules_of("sesame")) | {"__version__"} == set(library.__all__)
    for name in library.__all__:
        assert getattr(library, name)


def test_a_data_set_says_what_it_is(run):
    assert run.kind is Kind.TRACED
    assert run.kind == "traced"
    assert run.info.title == run.info["title"] == "a traced run"
    assert "io" in run.tables
    assert run.table("io").column("begin_ns").to_pylist() == [1_000_000, 2_000_000]


def test_a_path_may_be_text(run):
    assert library.open(str(run.path)).tables == run.tables
    assert DataSet(str(run.path)).path == run.path


def test_people_get_seconds_and_may_have_what_is_stored(run):
    frame = run.to_pandas("io")
    assert frame["begin_s"].tolist() == [0.001, 0.002]
    assert frame["duration_s"].tolist() == [0.003, 0.00025]
    assert not [name for name in frame.columns if name.endswith("_ns")]
    assert run.to_pandas("io", exact=True)["begin_ns"].tolist() == [1_000_000, 2_000_000]
    polars = run.to_polars("io")
    assert polars["duration_s"].to_list() == [0.003, 0.00025]
    assert polars.columns == list(frame.columns)


def test_sql_reads_the_tables(run):
    query = "select path, sum(bytes), sum(duration_s) from io join file on io.file = file.index"
    rows = run.sql(f"{query} group by path").fetchall()
    assert rows == [("/data/out", 150, pytest.approx(0.00325))]
    assert run.sql("select max(begin_ns) from io", exact=True).fetchall() == [(2_000_000,)]
    assert run.sql("select * from io").columns == list(run.to_pandas("io").columns)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("select nothing from io", "nothing"),
        ("selec", "syntax error"),
        ("select * from missing", "missing"),
    ],
)
def test_a_wrong_query_is_an_error_in_words(run, query, message):
    with pytest.raises(InputError, match=message):
        run.sql(query)


@pytest.mark.parametrize(
    ("module", "extra", "use"),
    [
        ("duckdb", "sql", lambda run: run.sql("select 1")),
        ("pandas", "notebook", lambda run: run.to_pandas("io")),
        ("polars", "notebook", lambda run: run.to_polars("io")),
    ],
)
def test_what_is_not_installed_is_named_with_the_command(run, monkeypatch, module, extra, use):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(InputError, match=f"needs the Python package {module}") as error:
        use(run)
    assert error.value.hint == f"pip install 'sesame-hpc[{extra}]'"


def test_a_table_that_is_not_there(run):
    with pytest.raises(InputError, match="no records of type kernel_event, there are: "):
        run.to_pandas("kernel_event")


def test_a_log_of_another_tool_is_imported_on_the_way(tmp_path):
    records = [Record("POSIX", 7, 0, {"OPENS": 1})]
    write_log(tmp_path / "job.darshan", LogContents(1, {7: "/data/out"}, records))
    imported = library.open(tmp_path / "job.darshan")
    assert imported.kind is Kind.IMPORTED
    assert imported.info.instrument.name == "Darshan"
    assert imported.table("file").column("path").to_pylist() == ["/data/out"]
    directory = imported.path.parent
    assert directory.is_dir()
    del imported
    assert not directory.exists()


def test_what_is_nothing_that_can_be_opened(tmp_path):
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(InputError, match="in none of the formats"):
        library.open(tmp_path / "notes.txt")
    with pytest.raises(InputError, match="this is no data set"):
        library.open(tmp_path / "nothing")


def test_findings_and_a_page(run, tmp_path):
    assert all(isinstance(sentence, str) for sentence in run.findings())
    assert "a traced run" in run.report(tmp_path / "run.html").read_text()


def test_a_notebook_shows_kind_and_tables_and_escapes(run):
    run.info = replace(run.info, title="<script>")
    shown = run._repr_html_()
    assert "&lt;script&gt;" in shown and "<script>" not in shown
    assert "traced" in shown and "<code>io</code> (2)" in shown
    assert repr(run) == "<sesame.DataSet traced: <script>>"


def test_a_notebook_shows_the_outcome_and_why_to_doubt_it(run):
    doubt = {"reason": "busy host", "text": "others used <1> processor"}
    run.info = replace(run.info, result={"outcome": "deadlock"}, doubts=(doubt,))
    assert "busy host: others used &lt;1&gt; processor" in run._repr_html_()
    assert repr(run).endswith(" (deadlock)>")


@pytest.mark.parametrize("kind", list(Kind))
def test_the_writer_refuses_what_is_incomplete(tmp_path, kind):
    whole = some_info(kind)
    for key in ("title", "instrument"):
        lacking = Info.from_json({**whole, key: None})
        refused = pytest.raises(ValueError, match=f"a {kind} data set lacks .*{key}")
        with refused, DataSetWriter(tmp_path / "a.sesame") as writer:
            writer.finish(lacking)
        assert list(tmp_path.iterdir()) == []
    with DataSetWriter(tmp_path / "a.sesame") as writer:
        writer.finish(whole)
    assert DataSet(tmp_path / "a.sesame").kind is kind


@pytest.mark.parametrize(("kind", "key"), [(k, key) for k, r in RESULTS.items() for key in r])
def test_each_kind_requires_its_own_figures(kind, key):
    whole = some_info(kind)
    without = {name: value for name, value in whole.result.items() if name != key}
    assert whole.missing() == []
    assert replace(whole, result=without).missing() == [f"result.{key}"]


OLD = [
    ({"kind": "bench"}, [], Kind.BENCH),
    ({"kind": "import"}, [], Kind.IMPORTED),
    ({"result": {"predicted_time_s": 1.0}}, ["rank", "io"], Kind.SIMULATED),
    ({"instrument": {"name": "sesame trace", "version": "0"}}, ["io"], Kind.TRACED),
    ({"instrument": {"name": "sesame replay", "version": "0"}}, ["io", "replayed"], Kind.REPLAYED),
    ({"title": "kernel measurement", "begin": "2026-01-01"}, ["kernel_summary"], Kind.MEASURED),
    ({}, ["kernel_event"], Kind.MEASURED),
]


@pytest.mark.parametrize(("info", "tables", "kind"), OLD)
def test_data_sets_of_version_2_have_their_kind_derived(tmp_path, info, tables, kind):
    path = tmp_path / "old.sesame"
    path.mkdir()
    types = {name: {"meaning": "", "rows": 0, "fields": []} for name in tables}
    whole = {"format_version": 2, **info, "record_types": types}
    (path / "info.json").write_text(json.dumps(whole))
    assert DataSet(path).kind is kind


def test_a_kind_of_a_later_version_is_refused(run):
    file = run.path / "info.json"
    file.write_text(file.read_text().replace('"kind": "traced"', '"kind": "dreamt"'))
    with pytest.raises(InputError, match="kind dreamt, expected one of simulated, series"):
        DataSet(run.path)


def test_tables_are_plain_parquet_files(run):
    assert pq.read_table(run.path / "io.parquet").num_rows == 2


def test_tab_and_help_show_the_public_names():
    """In a process of its own: names are globals after their first use."""
    code = "import sesame, pydoc; print(*dir(sesame)); print(pydoc.render_doc(sesame))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    names, _, page = done.stdout.partition("\n")
    assert set(names.split()) == set(library.__all__)
    for name in ("simulate(", "compare(", "class DataSet("):
        assert name in pydoc.plain(page)
