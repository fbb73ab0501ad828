"""`sesame diff`: differences of runs whose times are known, and what makes them unsound."""

from __future__ import annotations

import json
import random
import re
import shlex
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.python.traced_run import TracedRun
from tests.tutorials import DOCS, commands_of

import sesame as library
from sesame.analysis.explain.explanation import explain
from sesame.comparison import compare
from sesame.comparison.ratio import dropped_pairs, ratio_of
from sesame.comparison.run import call_name
from sesame.datasets import DataSet
from sesame.errors import InputError
from sesame.machines import find_machine
from sesame.machines.values import differing_values, machine_key, machine_values
from sesame.measurement.providers import Programs as Mpi
from sesame.traced.launched import LAUNCHERS, program_of
from sesame.trust import Reason

RANKS, ROUNDS = 8, 20


@pytest.fixture
def simulated(sesame, tmp_path):
    """Makes a data set of the stand-in's ring program."""

    def run(name: str, *options: str, program: str = "ring", ranks: int = RANKS) -> Path:
        words = ["simulate", "-n", str(ranks), "--machine", "paragon", "-o", f"{name}.sesame"]
        outcome = sesame(*words, *options, "--", program, str(ROUNDS))
        assert outcome.status == 0, outcome.stderr
        return tmp_path / f"{name}.sesame"

    return run


# Two-sided critical values of U for 5 % (Mann and Whitney 1947; in every table of the test).
@pytest.mark.parametrize(
    ("old", "new", "critical"),
    [
        (3, 3, -1),
        (4, 4, 0),
        (3, 5, 0),
        (5, 5, 2),
        (6, 8, 8),
        (8, 8, 13),
        (10, 10, 23),
        (20, 20, 127),
    ],
)
def test_interval_is_that_of_the_table_of_mann_and_whitney(old, new, critical):
    assert dropped_pairs(old, new) == dropped_pairs(new, old) == critical


def test_interval_of_a_ratio_holds_the_true_one_as_often_as_it_says():
    draw = random.Random(1)
    held = 0
    for _ in range(400):
        old = [draw.lognormvariate(0, 0.2) for _ in range(7)]
        new = [1.5 * draw.lognormvariate(0, 0.2) for _ in range(7)]
        ratio = ratio_of(old, new, old_exact=False, new_exact=False)
        held += ratio.low <= 1.5 <= ratio.high
    assert 0.93 <= held / 400 <= 0.99  # 95 % and, since U is whole, a little more


def test_one_run_a_side_says_nothing_of_noise():
    ratio = ratio_of([1.0], [1.1], old_exact=False, new_exact=False)
    assert (ratio.value, ratio.low, ratio.verdict) == (1.1, None, "unknown")
    assert [doubt.reason for doubt in ratio.doubts] == [Reason.FEW_SAMPLES]


def test_two_runs_a_side_are_too_few_to_call_it_slower():
    ratio = ratio_of([1.0, 1.1], [2.0, 2.1], old_exact=False, new_exact=False)
    assert ratio.low > 1.8
    assert ratio.verdict == "unknown"


def test_runs_that_repeat_exactly_differ_exactly():
    assert ratio_of([2.0], [1.0], old_exact=True, new_exact=True).verdict == "faster"
    assert ratio_of([2.0], [2.0], old_exact=True, new_exact=True).verdict == "same"
    assert ratio_of([], [2.0], old_exact=True, new_exact=True) is None
    assert ratio_of([0.0], [2.0], old_exact=True, new_exact=True) is None


def test_a_run_and_one_that_repeats_its_computation_differ_exactly(simulated, monkeypatch):
    measured = simulated("a")
    slow = ("--compute", "recorded:a.sesame", "--set", "network.latency=1ms")
    repeated = simulated("b", *slow)
    monkeypatch.chdir("/")  # the run's own directory has the recording
    for sides in ((measured, repeated), (repeated, measured)):
        (ratio,) = compare(*sides).ratios
        assert ratio.exact and ratio.verdict in ("slower", "faster")
    (other,) = compare(measured, simulated("c")).ratios
    assert not other.exact


def test_a_recording_that_was_made_again_since_is_another(simulated):
    measured = simulated("a")
    repeated = simulated("b", "--compute", "recorded:a.sesame")
    info = json.loads((measured / "info.json").read_text())
    (measured / "info.json").write_text(json.dumps(info | {"begin_time": "2999-01-01T00:00:00"}))
    (ratio,) = compare(measured, repeated).ratios
    assert not ratio.exact


def test_keys_of_the_network_are_the_first_of_those_that_differ(simulated):
    changes = ("storage.ionodes=8", "network.latency=1ms", "node.compute_ratio=2")
    settings = [word for change in changes for word in ("--set", change)]
    difference = compare(simulated("a"), simulated("b", *settings))
    keys = [key for key, _ in difference.machine_values]
    assert keys == ["network.latency", "node.compute_ratio", "storage.ionodes"]


def test_changes_add_up_to_that_of_the_mean_rank(simulated):
    before = simulated("before", "--compute", "fixed:10us")
    after = simulated("after", "--compute", "fixed:30us", "--set", "network.latency=200us")
    found = compare(before, after)
    change = (found.rank_s[1] - found.rank_s[0]).mean()
    assert sum(change.change_s[0] for change in found.changes) == pytest.approx(change, rel=1e-9)
    sizes = [change.largest_s for change in found.changes]
    assert sizes == sorted(sizes, reverse=True)
    [computation] = [c for c in found.changes if c.name == "computation"]
    assert computation.mean_s[1] / computation.mean_s[0] == pytest.approx(3, rel=1e-9)
    assert found.ratios[0].verdict == "slower"
    assert found.ratios[0].exact
    assert found.ratios[0].value == found.sides[1].time.value / found.sides[0].time.value
    assert found.doubts == ()
    assert found.machine_values == [
        ("network.latency", [machine_values(_paragon())["network.latency"], "200us"])
    ]
    assert found.settings == [("compute", ["fixed:10us", "fixed:30us"])]


def test_parts_of_each_side_add_up_to_its_predicted_time(simulated, tmp_path):
    sides = [
        simulated("a", "--compute", "fixed:10us"),
        simulated("b", "--compute", "fixed:10us", "--set", "network.latency=200us"),
    ]
    found = compare(*sides)
    for i, side in enumerate(found.sides):
        whole = sum(share.seconds[i] for share in found.shares)
        assert whole == pytest.approx(side.time.value, rel=1e-9)
    shares = {share.name: share.seconds for share in found.shares}
    assert shares["latency of messages"][1] > shares["latency of messages"][0] > 0
    assert shares["computation"][0] == shares["computation"][1] > 0
    assert [share["share"] for share in found.as_json()["shares"]] == list(shares)
    assert "latency of messages" in found._repr_html_()
    found.report(tmp_path / "difference.html")
    assert "Where the time goes" in (tmp_path / "difference.html").read_text()
    assert found.slowest_ranks == tuple(int(side.run.rank_s.argmax()) for side in found.sides)


def test_the_slowest_ranks_are_named_where_they_are_different_ones(simulated):
    path = simulated("a")
    found = compare(path, path)
    slowest = explain(DataSet(path)).rank
    assert found.slowest_ranks == (slowest, slowest)
    assert found.slowest_labels == ["A", "B"]
    first, second = found.sides
    other = [replace(run, rank_s=run.rank_s + (np.arange(RANKS) == 5)) for run in second.runs]
    found = replace(found, sides=(first, replace(second, runs=other)))
    assert found.as_json()["slowest_ranks"] == [slowest, 5]
    assert found.slowest_labels == [f"A, rank {slowest}", "B, rank 5"]


def test_parts_are_of_predicted_runs_with_records_only(simulated):
    recorded, bare = simulated("a"), simulated("b", "--no-records")
    assert compare(recorded, bare).shares == ()


def test_shares_are_those_of_the_run_with_the_time_of_the_side(simulated):
    sides = [simulated(f"b{i}", "--compute", f"fixed:{i}0us") for i in (5, 1, 2)]
    found = compare(sides[0], sides)
    whole = sum(share.seconds[1] for share in found.shares)
    assert whole == pytest.approx(found.sides[1].time.value, rel=1e-9)
    assert found.sides[1].time.value == found.sides[1].runs[2].time_s


def _paragon() -> str:
    return find_machine("paragon").read_text()


def test_equal_runs_do_not_differ(simulated, sesame):
    simulated("a", "--compute", "none")
    simulated("b", "--compute", "none")
    outcome = sesame("diff", "a.sesame", "b.sesame")
    assert outcome.status == 0
    assert "the same" in outcome.stdout
    assert "setting" not in outcome.stdout


def test_sums_alone_are_compared_by_call(simulated):
    found = compare(
        simulated("a", "--compute", "none", "--no-records"),
        simulated("b", "--compute", "none", "--no-records", "--set", "network.latency=200us"),
    )
    change = (found.rank_s[1] - found.rank_s[0]).mean()
    assert change > 1e-4
    assert sum(c.change_s[0] for c in found.changes) == pytest.approx(change, rel=1e-6)
    assert all(c.rank is None for c in found.changes if c.name != "computation")


def test_runs_of_other_programs_and_ranks_are_not_comparable(simulated):
    found = compare(
        simulated("a", "--compute", "none"),
        simulated("b", "--compute", "none", program="other", ranks=4),
    )
    texts = [doubt.text for doubt in found.doubts if doubt.reason == Reason.NOT_COMPARABLE]
    assert texts == ["programs differ: ring, other", "numbers of ranks differ: 8, 4"]
    assert found.rank_s is None
    assert found.ranks_by_change() == []
    assert found.as_json()["ranks"] is None


def test_computation_that_one_side_leaves_out_is_reported(simulated):
    found = compare(simulated("a", "--compute", "none"), simulated("b"))
    [doubt] = [d for d in found.doubts if d.reason == Reason.NOT_COMPARABLE]
    assert doubt.text == "the computation is not that of the program in A (compute='none')"


def test_repeats_are_samples(simulated):
    found = compare(simulated("a", "--repeat", "7"), [simulated("b", "--repeat", "7")])
    assert [len(side.samples_s) for side in found.sides] == [7, 7]
    assert found.ratios[0].low is not None
    assert not found.ratios[0].exact


def real_run(path: Path, slow: float = 1.0, ranks: int = 2) -> Path:
    """Ranks that start for a second, compute 10 ms and send for 4, or longer by `slow`."""
    run = TracedRun(ranks, ends=[3000] * ranks)
    for rank in range(ranks):
        run.mpi(rank, 5, 1000, "MPI_Init")
        run.mpi(rank, 1015, 4 * slow, "MPI_Send", bytes=100)
        run.mpi(rank, 1015 + 4 * slow, 0, "MPI_Comm_rank", flags=128)
        run.mpi(rank, 1015 + 4 * slow, 900, "MPI_Finalize")
    return run.write(path)


def test_a_real_run_is_compared_without_its_start(simulated, tmp_path):
    found = compare(real_run(tmp_path / "real.sesame"), simulated("predicted", ranks=2))
    assert found.without_start
    assert found.sides[0].time.value == pytest.approx(14e-3)
    times = found.sides[0].call_times()
    assert {name: time.mean_s[0] for name, time in times.items()} == {
        "computation": pytest.approx(10e-3),
        "MPI_Send": pytest.approx(4e-3),
    }
    assert not {"MPI_Init", "MPI_Finalize"} & {change.name for change in found.changes}


def test_two_real_runs_are_compared_whole(tmp_path):
    found = compare(real_run(tmp_path / "a.sesame"), real_run(tmp_path / "b.sesame", slow=2))
    assert not found.without_start
    assert found.sides[0].time.value == pytest.approx(3.0)
    assert found.changes[0].name in ("MPI_Send", "computation")
    assert found.changes[0].largest_s == pytest.approx(4e-3)


def test_several_runs_of_a_side_by_commas_and_by_directory(sesame, tmp_path):
    for side, slow in (("old", 1.0), ("new", 2.0)):
        (tmp_path / side).mkdir()
        for i in range(4):
            real_run(tmp_path / side / f"{i}.sesame", slow + i / 100)
    commas = [",".join(f"{side}/{i}.sesame" for i in range(4)) for side in ("old", "new")]
    by_name, by_directory = (
        sesame("diff", *commas, "--json"),
        sesame("diff", "old", "new", "--json"),
    )
    assert by_name.json == by_directory.json
    [send] = [c for c in by_name.json["changes"] if c["name"] == "MPI_Send"]
    assert send["ratios"][0]["verdict"] == "slower"
    assert send["ratios"][0]["low"] == pytest.approx(2.0 / 1.03)
    assert send["ratios"][0]["high"] == pytest.approx(2.03 / 1.0)


def test_runs_of_one_side_that_are_not_of_the_same(simulated):
    runs = [simulated("a", "--compute", "none"), simulated("b", "--compute", "none", ranks=4)]
    found = compare(runs, runs[0])
    assert "the runs of A are not of the same: ranks 8, 4" in [d.text for d in found.doubts]


def test_a_failed_run_is_incomplete(sesame, simulated, tmp_path):
    words = ["simulate", "-n", "8", "--machine", "paragon", "--compute", "none", "-o", "b.sesame"]
    assert sesame(*words, "--", "failing", str(ROUNDS)).status == 3
    found = compare(simulated("a", "--compute", "none"), tmp_path / "b.sesame")
    assert Reason.INCOMPLETE_INPUT in [doubt.reason for doubt in found.doubts]


def test_what_cannot_be_compared_is_refused(sesame, run_path, tmp_path):
    (tmp_path / "empty").mkdir()
    for words, message in (
        (("nothing.sesame", str(run_path)), "this is no data set"),
        ((str(run_path), "empty"), "neither a data set nor a directory of data sets"),
        ((str(run_path), str(run_path), "--report", "no/d.html"), "cannot write there"),
    ):
        outcome = sesame("diff", *words)
        assert outcome.status == 2
        assert message in outcome.stderr
        assert outcome.stderr.count("error: ") == 1
    with pytest.raises(InputError, match="two data sets or more"):
        compare(run_path)


def test_the_page_holds_what_the_json_has(sesame, simulated, tmp_path):
    simulated("a", "--compute", "none")
    simulated("b", "--compute", "none", "--set", "network.latency=200us")
    outcome = sesame("diff", "a.sesame", "b.sesame", "--json", "--report", "d.html")
    assert outcome.status == 0
    assert "report: d.html" in outcome.stderr
    page = (tmp_path / "d.html").read_text()
    for change in outcome.json["changes"]:
        assert change["name"] in page
    for text in ("What differs most", "Ranks", "Machine files", "network.latency", "200us"):
        assert text in page
    assert len(outcome.json["rank_quantiles_s"][0]) == 5


@pytest.mark.parametrize(
    ("command", "program", "arguments"),
    [
        (["./app", "a", "b"], "./app", ("a", "b")),
        (["mpiexec", "-n", "4", "./app", "-n", "2"], "./app", ("-n", "2")),
        (["/usr/bin/mpirun.mpich", "--bind-to=core", "-np", "4", "app", "x"], "app", ("x",)),
        (["srun", "-N2", "--", "app"], "app", ()),
        ([], "", ()),
    ],
)
def test_programs_are_found_after_launchers(command, program, arguments):
    assert program_of(command) == (program, arguments)


def test_forms_of_a_call_are_one():
    names = ("MPI_Send", "PMPI_Send", "MPI_Send_c", "PMPI_Send_c")
    assert {call_name(name) for name in names} == {"MPI_Send"}
    assert call_name("pread") == "pread"


def test_values_of_machines_are_compared_and_not_their_text():
    text = 'name = "a"\n[network]\nlatency = "1.5 us"\nbandwidth = "8 Gbit/s"\n'
    same = 'name = "b"\n[network]\nlatency = "1500 ns"\nbandwidth = "1 GB/s"  # the same\n'
    assert machine_key(text) == machine_key(same)
    assert machine_key(text, ["network.latency=1500ns"]) == machine_key(text)
    assert machine_key(text, ["network.latency=2us"]) != machine_key(text)
    assert differing_values([machine_values(text), machine_values(same)]) == []
    other = machine_values(text, ["network.latency=2us", "network.bandwidth="])
    assert differing_values([machine_values(text), other, None]) == [
        ("network.latency", ["1.5 us", "2us", None]),
        ("network.bandwidth", ["8 Gbit/s", None, None]),
    ]


@pytest.mark.long
def test_the_tutorial_runs(sesame, tmp_path):
    for side, slow in (("old", 1.0), ("new", 2.0)):
        (tmp_path / f"{side}-runs").mkdir()
        for i in range(1, 5):
            real_run(tmp_path / f"{side}{i}.sesame", slow + i / 100)
            real_run(tmp_path / f"{side}-runs/{i}.sesame", slow + i / 100)
    real_run(tmp_path / "real.sesame")
    words = ["simulate", "-n", "2", "--machine", "paragon", "-o", "predicted.sesame", "--", "./app"]
    assert sesame(*words).status == 0
    lines = commands_of("tutorial-diff.md")
    assert len(lines) > 6
    for line in lines:
        outcome = sesame(*shlex.split(line)[1:])
        assert outcome.status == 0, f"{line}\n{outcome.stdout}{outcome.stderr}"
    assert (tmp_path / "difference.html").stat().st_size > 1000


@pytest.mark.long
def test_the_python_of_the_tutorial_runs(sesame, tmp_path, monkeypatch, capsys):
    for line in commands_of("tutorial-diff.md")[:2]:
        assert sesame(*shlex.split(line)[1:]).status == 0
    monkeypatch.chdir(tmp_path)
    [code] = re.findall(r"```python\n(.*?)```", (DOCS / "tutorial-diff.md").read_text(), re.S)
    exec(compile(code, "tutorial-diff.md", "exec"), {})
    assert capsys.readouterr().out.splitlines()[-1] in ("slower", "faster", "same")
    assert (tmp_path / "difference.html").is_file()


@pytest.mark.parametrize("words", [("a.sesame,", "b.sesame"), ("a.sesame", ",b.sesame")])
def test_an_empty_name_is_not_the_whole_directory(sesame, simulated, words):
    simulated("a")
    simulated("b")
    outcome = sesame("diff", *words)
    assert outcome.status == 2
    assert "expected names with commas between, without spaces" in outcome.stderr


def test_the_library_compares_what_it_has_opened(simulated):
    first, second = (library.open(simulated(name)) for name in ("a", "b"))
    difference = library.compare(first, [second, second.path])
    assert isinstance(difference, library.Difference)
    assert difference.ratios[0].value == pytest.approx(1, rel=0.5)
    checked = library.check
    assert checked.__module__ == "sesame.comparison.baseline"


def test_a_difference_is_a_frame_and_a_notebook_shows_it(simulated):
    none = ("--compute", "none")
    fast, slow = simulated("a", *none), simulated("b", *none, "--set", "network.latency=1ms")
    difference = library.compare(fast, slow)
    frame = difference.to_pandas()
    assert list(frame.columns) == ["call", "A_s", "B_s", "B_change_s", "B_ratio"]
    assert list(frame.call) == [change.name for change in difference.changes]
    assert (frame.B_s - frame.A_s).tolist() == pytest.approx(frame.B_change_s.tolist())
    assert frame.B_ratio[0] == pytest.approx(frame.B_s[0] / frame.A_s[0])
    shown = difference._repr_html_()
    assert "repeats exactly" in shown and "b.sesame" in shown
    assert f"<td style='text-align:left'>{frame.call[0]}</td>" in shown


def test_a_difference_shows_what_differs_most(run_path):
    difference = library.compare(run_path, run_path)
    changes = [
        replace(difference.changes[0], name=f"call {i}", mean_s=(0.0, 9 - i / 10))
        for i in range(30)
    ]
    difference.__dict__["changes"] = tuple(changes)
    lines = repr(difference).splitlines()
    assert len(lines) <= 20
    assert "  call 0: +9" in repr(difference)
    assert "more calls that differ" in lines[-1]
    assert "call 29" not in repr(difference)
    assert len(repr(library.compare(*[run_path] * 10)).splitlines()) <= 20


@pytest.mark.parametrize("name", sorted(LAUNCHERS))
@pytest.mark.parametrize("suffix", ["", ".hydra", "_rsh", "-openmpi"])
def test_launchers_are_the_same_everywhere(name, suffix):
    command = [f"/usr/bin/{name}{suffix}", "-n", "4", "./app"]
    assert program_of(command) == ("./app", ())
    assert Mpi().is_for(command)
    assert not Mpi().is_for(["./app"])
