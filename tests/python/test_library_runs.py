"""Runs that are started from Python: simulated ones with the stand-in of the simulator, real ones
where they need no rights."""

from __future__ import annotations

import html
import math

import numpy as np
import pytest
from test_replay import writer

import sesame as library
from sesame import native
from sesame.analysis.curve import curves_of
from sesame.comparison.baseline import CheckSettings
from sesame.datasets import Kind
from sesame.errors import InputError, OutputError, SimulationError
from sesame.machines import shipped
from sesame.simulation.compute import doubts_of_other_run


@pytest.fixture(autouse=True)
def simulators(fake_bin, monkeypatch):
    monkeypatch.setenv("SESAME_BIN", str(fake_bin))


def test_a_simulated_run_is_that_of_the_command_line(run_path):
    run = library.simulate("ring", ["20"], machine="paragon", ranks=8)
    same = library.open(run_path)
    assert run.tables == same.tables
    assert run.table("call").equals(same.table("call"))
    assert run.info.scenario == same.info.scenario
    assert run.info.title == same.info.title


def test_a_simulated_run_says_what_it_was():
    run = library.simulate("ring", ["3"], machine="paragon", ranks=4, compute="none")
    assert run.kind is Kind.SIMULATED
    assert run.info.command == ["ring", "3"]
    assert run.info.ranks == 4
    assert run.info.target_system["machine_file"].startswith("# Intel Paragon")
    assert run.info.result["outcome"] == "completed"
    assert run.table("rank").num_rows == 4
    assert "predicted time" in run._repr_html_()


def test_output_keeps_a_data_set_and_without_it_none_stays(tmp_path):
    kept = library.simulate("ring", ["3"], machine="paragon", output=tmp_path / "run.sesame")
    assert kept.path == tmp_path / "run.sesame"
    with pytest.raises(OutputError, match="already there"):
        library.simulate("ring", ["3"], machine="paragon", output=tmp_path / "run.sesame")
    passing = library.simulate("ring", ["3"], machine="paragon")
    directory = passing.path.parent
    assert directory.is_dir()
    del passing
    assert not directory.exists()


def test_settings_reach_the_machine():
    run = library.simulate("ring", ["3"], machine="paragon", settings={"network.latency": "900us"})
    assert run.info.scenario["overrides"] == ["network.latency=900us"]


def test_a_series_is_one_object(tmp_path):
    series = library.series("ring", ["3"], machine="paragon", ranks=[1, 2, 4])
    assert series.kind is Kind.SERIES
    frame = series.to_pandas()
    assert frame["ranks"].tolist() == [1, 2, 4]
    assert (frame["predicted_time_s"] > 0).all()
    assert frame["speed_up"][0] == 1
    expected = frame["predicted_time_s"][0] / frame["predicted_time_s"]
    assert frame["speed_up"].tolist() == pytest.approx(expected.tolist())
    series.plot(tmp_path / "curve.svg")
    assert (tmp_path / "curve.svg").read_text().startswith("<?xml")
    assert "Speed-up" in series.report(tmp_path / "page.html").read_text()
    assert any("speed-up" in sentence for sentence in series.findings())


def test_a_series_takes_the_settings_of_a_run():
    settings = {"placement": "cyclic", "environment": {"A": "1"}, "seed": 7}
    series = library.series("ring", ["3"], machine="paragon", ranks=[1, 2], cwd="/", **settings)
    run = library.simulate("ring", ["3"], machine="paragon", ranks=1, cwd="/", **settings)
    for key in ("placement", "environment", "seed", "working_directory"):
        assert series.info.scenario.get(key) == run.info.scenario.get(key), key
    assert series.info.scenario["placement"] == "cyclic"
    assert series.info.scenario["seed"] == 7


def test_what_a_killed_simulator_said_is_not_lost(capsys):
    with pytest.raises(SimulationError):
        library.simulate("crashing-host", machine="paragon")
    assert "assertion failed" in capsys.readouterr().err


def test_a_series_varies_keys_of_the_machine_and_is_found_again(tmp_path):
    sweep = {"network.latency": ["200us", "300us"], "node.compute_ratio": [1, 2]}
    path = tmp_path / "s.sesame"
    library.series("ring", ["3"], machine="paragon", ranks=2, sweep=sweep, output=path)
    series = library.open(path)
    assert isinstance(series, library.Series)
    rows = series.to_pandas()[["network.latency", "node.compute_ratio"]].to_numpy().tolist()
    assert rows == [[a, b] for a in ("200us", "300us") for b in (1, 2)]
    assert series.info.result["varied"] == ["network.latency", "node.compute_ratio"]


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda: library.simulate("ring", machine="paragn"), "did you mean paragon"),
        (lambda: library.simulate("ring", machine="paragon", ranks=0), "expected a number from 1"),
        (
            lambda: library.simulate("ring", machine="paragon", workers=0),
            "workers=0: expected a number from 1 to 64",
        ),
        (lambda: library.simulate("ring", machine="paragon", workers=65), "from 1 to 64"),
        (lambda: library.simulate("ring", machine="paragon", compute="often"), "often"),
        (
            lambda: library.simulate("ring", machine="paragon", compute="none", repeat=3),
            "repeat=3: with computation none every run predicts the same time",
        ),
        (
            lambda: library.simulate("ring", machine="paragon", scale_compute=2),
            "is for traced runs",
        ),
        (
            lambda: library.simulate("ring", machine="paragon", settings={"network.speed": 1}),
            "network.speed",
        ),
        (
            lambda: library.series(
                "ring", machine="paragon", sweep={"network.latency": ["200us", "far"]}
            ),
            "far",
        ),
        (
            lambda: library.series("ring", machine="paragon", sweep={"network.latency": "1us"}),
            "network.latency: expected a list of values, got '1us'",
        ),
        (lambda: library.series("ring", machine="paragon", ranks=[4, 0]), "ranks=0: expected"),
        (lambda: library.simulate("ring", machine="paragon", ranks=1 << 25), "from 1 to 16777216"),
        (lambda: library.replay("no.sesame", "/tmp", scale_compute=math.nan), "from 0"),
        (lambda: library.replay("no.sesame", "/tmp", scale_compute=math.inf), "from 0"),
        (lambda: library.simulate("not-mpi", machine="paragon"), "this is not an MPI program"),
        (lambda: library.simulate("refused", machine="paragon"), "more ranks than mappings"),
        (lambda: library.trace("ls -l"), "command: expected a list"),
        (lambda: library.trace(["/no/such/program"]), "no such program"),
        (lambda: library.replay("no.sesame", "/no/such"), "there is no such directory"),
        (
            lambda: library.measure(["true"], points=["dreams"]),
            "points=: there is no subsystem dreams",
        ),
        (lambda: library.bench("cgg"), "no workload called cgg"),
    ],
)
def test_wrong_use_is_an_error_in_words(use, message):
    with pytest.raises(InputError, match=message):
        use()


@pytest.mark.parametrize("workers", [True, 2.0, "2", None])
def test_workers_are_a_whole_number(workers):
    with pytest.raises(TypeError, match=r"workers=.*expected a whole number"):
        library.simulate("ring", machine="paragon", workers=workers)


def test_a_machine_is_loaded_changed_and_saved(tmp_path):
    machine = library.Machine.load("paragon")
    changed = machine.set({"network.latency": "900us", "nodes": 32, "topology.dims": [8, 4]})
    assert machine.settings == ()
    assert changed.overrides == ("network.latency=900us", "nodes=32", "topology.dims=[8,4]")
    saved = library.Machine.load(changed.save(tmp_path / "mine.toml"))
    assert {**saved.model, "path": ""} == {**changed.model, "path": ""}
    assert saved.model["nodes"] == 32 != machine.model["nodes"]
    assert "[NAS table 6] release T10, peak" in (tmp_path / "mine.toml").read_text()
    with pytest.raises(OutputError, match="already there"):
        changed.save(tmp_path / "mine.toml")


@pytest.mark.parametrize("name", list(shipped()))
def test_keys_of_every_model_can_be_saved(tmp_path, name):
    machine = library.Machine.load(name)
    for key, value in (
        ("name", "mine"),
        ("network.latency", "900us"),
        ("network.hop_latency", "7ns"),
        ("node.compute_ratio", 3),
        ("node.slowdown", [1]),
        ("node.memory", "300 GiB"),
    ):
        changed = machine.set({key: value})
        path = changed.save(tmp_path / "m.toml", force=True)
        assert {**native.read_machine(str(path)), "path": ""} == {**changed.model, "path": ""}, key


def test_a_key_in_a_list_of_tables_is_saved_there(tmp_path):
    machine = library.Machine.load("paragon").set({"network.segment.0.bandwidth": "14 MB/s"})
    saved = library.Machine.load(machine.save(tmp_path / "m.toml"))
    assert saved.model["network"] == machine.model["network"]


def test_segments_are_saved_as_they_move_with_their_table(tmp_path):
    changes = {"network.latency": "2us", "network.bandwidth": "24.4 GB/s"}
    machine = library.Machine.load("csd3").set(changes)
    saved = library.Machine.load(machine.save(tmp_path / "m.toml"))
    assert saved.model["network"] == machine.model["network"]


def test_a_saved_key_is_no_longer_assumed(tmp_path):
    machine = library.Machine.load("lumi-c").set({"network.hop_latency": "250ns"})
    saved = library.Machine.load(machine.save(tmp_path / "m.toml"))
    assert "network.hop_latency" not in saved.model["assumed"]
    assert "network.eager_limit" in saved.model["assumed"]


def test_a_series_over_machines_is_one_object(tmp_path):
    slow = library.Machine.load("paragon").set({"network.latency": "900us"})
    series = library.series(
        "ring", ["3"], machine=["paragon", slow, "ethernet"], ranks=[1, 2, 4], compute="none"
    )
    frame = series.to_pandas()
    names = ["paragon", "paragon network.latency=900us", "ethernet"]
    assert frame["machine"].drop_duplicates().tolist() == names
    assert series.info.result["varied"] == ["ranks", "machine"]
    for name, machine in zip(names, ("paragon", slow, "ethernet"), strict=True):
        mine = frame[frame["machine"] == name]
        alone = library.series("ring", ["3"], machine=machine, ranks=[1, 2, 4], compute="none")
        for column in ("ranks", "predicted_time_s", "speed_up"):
            assert mine[column].tolist() == alone.to_pandas()[column].tolist(), column
    assert series.info.target_system["machines"][names[1]]["overrides"] == ["network.latency=900us"]
    assert set(curves_of(series.runs)) == set(names)
    page = series.report(tmp_path / "page.html").read_text()
    assert all(name in page for name in names)
    assert sum("speed-up" in sentence for sentence in series.findings()) == 3
    series.plot(tmp_path / "curve.svg")


def test_computation_is_measured_once_where_machines_place_ranks_alike():
    for others, reused in (({"network.latency": "900us"}, True), ({"node.cores": 1}, False)):
        other = library.Machine.load("infiniband").set(others)
        series = library.series("ring", ["3"], machine=["infiniband", other], ranks=4)
        assert reused == any("1 of the points use" in note for note in series.info.notes)


def test_a_machine_is_given_once():
    with pytest.raises(InputError, match="machine=: paragon is given twice"):
        library.series("ring", machine=["paragon", "paragon"])


def test_wrong_keys_and_values_of_a_machine_have_hints():
    machine = library.Machine.load("paragon")
    with pytest.raises(InputError, match=r"network\.latncy"):
        machine.set({"network.latncy": "1us"})
    with pytest.raises(InputError, match=r"network\.latency"):
        machine.set({"network.latency": "near"})
    known = library.Machine.keys()
    assert known["network.latency"].startswith("half ping-pong")
    assert "paragon" in library.Machine.names()


def test_a_replay_gives_its_times(tmp_path, monkeypatch):
    monkeypatch.delenv("SESAME_BIN")
    (tmp_path / "target").mkdir()
    run = library.open(writer(count=3).write(tmp_path / "run.sesame"))
    replayed = library.replay(run, tmp_path / "target", payload="zero")
    assert replayed.kind is Kind.REPLAYED
    assert replayed.to_pandas("replayed")["call"].tolist().count("write") == 3
    assert replayed.info.result["replayed_time_s"] > 0
    assert list((tmp_path / "target").iterdir()) == []


def test_a_trace_of_a_real_command(tmp_path, monkeypatch):
    monkeypatch.delenv("SESAME_BIN")
    (tmp_path / "a").write_bytes(b"x" * 1000)
    run = library.trace(["cp", tmp_path / "a", tmp_path / "b"])
    assert run.kind is Kind.TRACED
    assert run.info.title == "cp, traced"
    assert run.info.result["exit_status"] == 0
    query = "select sum(bytes) from io join file on io.file = file.index where path = $$PATH$$"
    read = run.sql(query.replace("PATH", str(tmp_path / "a"))).fetchall()
    assert read[0][0] >= 1000


@pytest.mark.parametrize("arguments", ["400000", 400000, [True], [None]])
@pytest.mark.parametrize("call", [library.simulate, library.series])
def test_arguments_are_a_list_of_words(call, arguments):
    with pytest.raises(InputError, match="arguments: expected"):
        call("ring", arguments, machine="paragon", ranks=2)


def on_paragon(program, *arguments, **settings):
    return library.simulate(program, *arguments, machine="paragon", **settings)


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda: library.bench("cg", "--class"), "options: expected a list"),
        (lambda: library.bench("cg", [None]), "options: expected text, numbers or paths"),
        (lambda: library.measure("true"), "command: expected a list"),
        (lambda: library.measure(["true"], points="fs"), "points: expected a list"),
        (lambda: library.measure(["true"], traced=[3]), "traced: expected text"),
        (lambda: library.trace([True]), "command: expected text"),
        (lambda: library.check("a.sesame", CheckSettings(command="./app")), "command: expected"),
        (
            lambda: library.simulate("ring", machine="paragon", private_libraries="lib"),
            "private_libraries: expected a list",
        ),
        (lambda: on_paragon("ring", ranks=[1, 2]), "ranks: expected a number.*\n.*sesame.series"),
        (lambda: on_paragon("ring", ranks="2"), "ranks: expected a number, got '2'"),
        (lambda: library.series("ring", machine="paragon", ranks="2"), "ranks: expected numbers"),
        (lambda: library.series("ring", machine="paragon", ranks=["2"]), "ranks: expected a num"),
        (lambda: library.series("ring", machine="paragon", sweep="x"), "sweep: expected a mapping"),
        (lambda: library.bench("cg", machine="paragon", compute=3), "compute: expected text"),
        (lambda: on_paragon(["ring", "20"]), "program: expected a name or a path.*\n.*arguments="),
        (lambda: on_paragon("ring", settings="a=b"), "settings: expected a mapping"),
        (lambda: on_paragon("ring", compute=3), "compute: expected text or a data set, got 3"),
        (lambda: library.simulate("ring", machine=["paragon"]), "machine: .*\n.*sesame.series"),
        (lambda: library.Machine("paragon"), "expected the path of a machine.*\n.*Machine.load"),
        (lambda: library.Machine.load("paragon").set("node.cores"), "settings: expected a mapping"),
        (lambda: library.simulate("ring"), "machine is missing.*\n.*azure-hb, csd3-roce, csd3"),
        (lambda: library.series("ring", ranks=[1, 2]), "machine is missing"),
    ],
)
def test_lists_and_machines_that_are_none_are_refused(use, message):
    with pytest.raises(InputError, match=message):
        use()


def test_a_run_whose_ranks_are_on_one_node_says_so():
    run = library.simulate("ring", machine="infiniband", ranks=4, compute="none")
    assert run.info.result["ranks_on_one_node"] is True
    assert any("were on one node of" in note for note in run.info.notes)
    for other in ({"placement": "cyclic"}, {"settings": {"node.cores": 1}}, {"ranks": 1}):
        spread = library.simulate(
            "ring", machine="infiniband", compute="none", **{"ranks": 4} | other
        )
        assert "ranks_on_one_node" not in spread.info.result
        assert not any("one node" in note for note in spread.info.notes)


@pytest.mark.parametrize("run", [library.simulate, library.series])
def test_notes_are_among_the_findings_in_notebooks_and_before_the_sections_of_a_page(run, tmp_path):
    ranks = 4 if run is library.simulate else [2, 4]
    made = run("ring", machine="infiniband", ranks=ranks, compute="none")
    (note,) = made.info.notes
    assert "were on one node of" in note
    assert f"note: {note}" in made.findings()
    assert f"note: {note}" in html.unescape(made._repr_html_())
    header = made.report(tmp_path / "page.html").read_text().partition("<section")[0]
    assert f"Note: {note}." in html.unescape(header)


def test_parts_of_the_predicted_time_are_a_frame_that_adds_up(run_path):
    run = library.simulate("ring", ["20"], machine="paragon", ranks=8)
    parts = run.explain()
    assert list(parts.columns) == ["part", "time_s", "share", "most"]
    assert parts.time_s.sum() == pytest.approx(run.info.result["predicted_time_s"])
    assert parts.share.sum() == pytest.approx(1)
    assert {"computation", "latency of messages"} <= set(parts.part)
    sums = library.simulate("ring", machine="paragon", ranks=2, records=False)
    with pytest.raises(InputError, match="not explained: it has no records of calls"):
        sums.explain()
    with pytest.raises(InputError, match="this is a series data set"):
        library.series("ring", machine="paragon", ranks=[1, 2], compute="none").explain()


def test_the_outcome_of_a_run_is_shown_on_one_line():
    run = library.simulate("ring", machine="paragon", ranks=8)
    assert "completed, exit status 0" in repr(run.outcome)
    assert len(repr(run.outcome)) < 120


def test_a_data_set_that_is_not_kept_is_named_by_program_and_machine():
    runs = [
        library.simulate("ring", machine="paragon", ranks=4, settings={"network.latency": latency})
        for latency in ("300us", "400us")
    ]
    assert [run.path.name for run in runs] == ["ring-on-fake.sesame"] * 2
    assert "ring-on-fake.sesame" in repr(library.compare(*runs))


def test_arguments_may_be_numbers(run_path):
    run = library.simulate("ring", [3], machine="paragon", ranks=4, compute="none")
    assert run.info.command == ["ring", "3"]


def test_the_computation_of_a_run_is_that_of_the_same_run_only(run_path):
    earlier = library.open(run_path)
    same = on_paragon("ring", ["20"], ranks=8, compute=earlier)
    assert same.info.result["predicted_time_s"] == earlier.info.result["predicted_time_s"]
    assert "not comparable" not in {one["reason"] for one in same.info.doubts}
    other = on_paragon("ring", ["10"], ranks=8, compute=earlier)
    [doubt] = [one for one in other.info.doubts if one["reason"] == "not comparable"]
    assert "recorded from `ring 20`, and this is `ring 10`" in doubt["text"]
    calls = {row["name"]: row["count"] for row in earlier.table("call_total").to_pylist()}
    name = max(calls, key=calls.get)
    assert f"it has {calls[name]:,} calls of {name}, and this run " in doubt["text"]


def test_a_swept_key_is_a_number_too_and_its_axis_is_in_order():
    latencies = ["400us", "1ms", "600us"]
    sweep = {"network.latency": latencies, "node.compute_ratio": [2, 1]}
    series = library.series("ring", machine="paragon", ranks=2, compute="none", sweep=sweep)
    frame = series.to_pandas()
    seconds = frame["network.latency_s"].tolist()
    assert seconds == pytest.approx([4e-4, 4e-4, 1e-3, 1e-3, 6e-4, 6e-4])
    assert frame["node.compute_ratio"].tolist() == [2, 1] * 3
    chart = series.plot().chart
    assert len(chart.marks) == 2  # a line for each ratio
    for mark in chart.marks:
        assert list(mark["x"]) == sorted(mark["x"])
    assert [text for _, text in chart.axes["x"]["ticks"]] == ["400us", "600us", "1ms"]


def test_polls_and_directories_do_not_make_another_run(run_path):
    earlier = library.open(run_path)
    calls = {row["name"]: row["count"] for row in earlier.table("call_total").to_pylist()}
    elsewhere = ["/else/where/ring", *earlier.info.command[1:]]
    polled = calls | {"MPI_Waitsome": 7, "MPI_Iprobe": 1}
    assert doubts_of_other_run(earlier, elsewhere, polled) == []
    assert len(doubts_of_other_run(earlier, elsewhere, calls | {"MPI_Barrier": 1})) == 1


def test_ranks_may_be_numbers_of_numpy():
    run = on_paragon("ring", ranks=np.int64(2), compute="none")
    assert run.info.ranks == 2
    series = library.series("ring", machine="paragon", ranks=np.array([2, 4]), compute="none")
    assert series.to_pandas()["ranks"].tolist() == [2, 4]
