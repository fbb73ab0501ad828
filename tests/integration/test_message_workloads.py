"""The workloads messages, ipc and memory, and what is made of them: models and their checks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.command_line import SESAME, run
from tests.integration.installations import IN_PLACE

from sesame import native
from sesame.analysis.calibration import Calibration, fit_network, machine_text
from sesame.datasets import DataSet
from sesame.machines import find_machine

SHORT = ("--most", 65536, "--repeat", 1)
STEPS = """
name = "steps"
nodes = 2
[topology]
kind = "crossbar"
[network]
latency = "2 us"
bandwidth = "15 GB/s"
send_overhead = "0.4 us"
receive_overhead = "0.7 us"
eager_limit = "50000 B"
[[network.segment]]
up_to = "777 B"
bandwidth = "300 MB/s"
[[network.segment]]
up_to = "50000 B"
latency = "5 us"
bandwidth = "2 GB/s"
[[network.segment]]
up_to = "512 KiB"
latency = "9 us"
bandwidth = "9 GB/s"
[[network.segment]]
latency = "32.302 us"  # no step here, only another slope
bandwidth = "15 GB/s"
"""


@pytest.fixture
def sesame(cache, tmp_path):
    """sesame(*arguments) in an empty directory."""
    return lambda *arguments: run([*SESAME, *map(str, arguments)], tmp_path)


@pytest.fixture
def simulated(bench, program, tmp_path):
    """simulated(machine): the data set of messages on two neighbouring nodes."""
    program("messages")

    def execute(machine: str | Path, *options: object, placement: str = "cyclic") -> DataSet:
        common = ["--compute", "none", "--placement", placement, "-o", "m.sesame", "--force"]
        outcome = bench("messages", "-n", 2, "--simulate", machine, *common, *options)
        assert outcome.status == 0, outcome.stderr
        return DataSet(tmp_path / "m.sesame")

    return execute


def steps_file(directory: Path) -> Path:
    path = directory / "steps.toml"
    path.write_text(STEPS)
    return path


def figures_of(data_set: DataSet) -> dict[str, float]:
    columns = data_set.table("figure").to_pydict()
    return dict(zip(columns["name"], columns["value"], strict=True))


def report_of(data_set: DataSet) -> dict:
    """As the analysis gets it."""
    columns = data_set.table("figure").to_pydict()
    rows = zip(columns["name"], columns["value"], strict=True)
    tables = {
        name: {k: {"values": v} for k, v in data_set.table(name).to_pydict().items()}
        for name in ("ping_pong", "stream")
    }
    return {"figures": [{"name": n, "value": v} for n, v in rows], "tables": tables}


def assert_segments(data_set: DataSet, network: dict) -> None:
    found = data_set.table("segments").to_pydict()
    stated = network["segments"]
    limits = [segment["up_to_bytes"] for segment in stated[:-1]]
    assert found["up_to"][:-1] == pytest.approx(limits, rel=2e-5)
    assert found["latency"] == pytest.approx([s["latency_s"] for s in stated], rel=1e-3)
    speeds = [1 / slope for slope in found["slope"]]
    assert speeds == pytest.approx([s["bandwidth_bytes_per_s"] for s in stated], rel=1e-3)
    figures = figures_of(data_set)
    assert figures.get("eager limit") == network["eager_limit_bytes"]


@pytest.mark.few_cases(1)
@pytest.mark.parametrize("machine", ["infiniband", "ethernet", "paragon", "sp2"])
def test_messages_finds_the_segments_of_the_machine_file(machine, simulated):
    assert_segments(simulated(machine), native.read_machine(str(find_machine(machine)))["network"])


def test_messages_finds_the_segments_inside_a_node(simulated):
    model = native.read_machine(str(find_machine("infiniband")))
    assert_segments(simulated("infiniband", placement="block"), model["node_network"])


def test_messages_finds_steps_and_overheads_to_the_byte(simulated, tmp_path):
    path = steps_file(tmp_path)
    data_set = simulated(path)
    assert_segments(data_set, native.read_machine(str(path))["network"])
    figures = figures_of(data_set)
    assert figures["send overhead"] == pytest.approx(0.4e-6, rel=1e-3)
    assert figures["receive overhead"] == pytest.approx(0.7e-6, rel=1e-3)
    said = " ".join(data_set.info["result"]["findings"])
    assert "above 777 B the protocol changes" in said
    assert "messages above 50,000 B wait until their receive is posted" in said


def test_calibration_gives_the_machine_back(simulated, tmp_path):
    """What a file states, measured and made a file again, states the same."""
    fit = fit_network(report_of(simulated(steps_file(tmp_path))))
    text = machine_text(
        Calibration("again", "host", "processor", "today", 1, fit, "an MPI", [], fit, ["a", "b"])
    )
    (tmp_path / "again.toml").write_text(text)
    again = native.read_machine(str(tmp_path / "again.toml"))["network"]
    stated = native.read_machine(str(tmp_path / "steps.toml"))["network"]
    for key in ("latency_s", "send_overhead_s", "receive_overhead_s"):
        assert again[key] == pytest.approx(stated[key], rel=1e-3), key
    assert again["eager_limit_bytes"] == stated["eager_limit_bytes"]
    assert len(again["segments"]) == len(stated["segments"])
    for ours, theirs in zip(again["segments"], stated["segments"], strict=True):
        if theirs["up_to_bytes"] is None:
            assert ours["up_to_bytes"] is None
        else:
            assert ours["up_to_bytes"] == pytest.approx(theirs["up_to_bytes"], rel=2e-5)
        assert ours["latency_s"] == pytest.approx(theirs["latency_s"], rel=1e-3)
    assert max(abs(fit.stream_errors())) < 0.01


def test_calibration_finds_the_rate_of_reductions(simulated, tmp_path):
    given = STEPS + '[node]\nreduction_bandwidth = "3 GB/s"\n'
    (tmp_path / "steps.toml").write_text(given)
    fit = fit_network(report_of(simulated(tmp_path / "steps.toml")))
    text = machine_text(Calibration("again", "host", "processor", "today", 1, fit, "an MPI", []))
    (tmp_path / "again.toml").write_text(text)
    again = native.read_machine(str(tmp_path / "again.toml"))
    assert again["reduction_bandwidth_bytes_per_s"] == pytest.approx(3e9, rel=1e-3)


@pytest.mark.long
def test_messages_is_verified_under_a_real_mpi(bench, program):
    program("messages")
    outcome = bench("messages", "-n", 2, "--json", "--most", 65536, "--repeat", 1)
    assert outcome.status == 0, outcome.stderr
    assert outcome.json["verified"] is True
    figures = {figure["name"]: figure["value"] for figure in outcome.json["figures"]}
    assert figures["latency"] > 0
    assert figures["eager limit"] < 65536  # MPICH's, over shared memory
    assert any("up to" in sentence for sentence in outcome.json["findings"])


@pytest.mark.few_cases(1)
@pytest.mark.parametrize("ranks", [1, 5])
def test_messages_takes_any_number_of_ranks(ranks, program, simulate, tmp_path):
    options = ["-n", ranks, "--machine", "infiniband", "--compute", "none"]
    workload = [program("messages"), "--repeat", 1, "--report", "r.json"]
    outcome = simulate(*options, *IN_PLACE, "--", *workload)
    assert outcome.status == 0, outcome.stdout + outcome.stderr
    tables = json.loads((tmp_path / "r.json").read_text())["tables"]
    assert ("all_pairs" in tables) == (ranks > 1)
    if ranks > 1:  # no contention in the model: everyone has the bandwidth of one pair
        slowest, mean = (tables["neighbours"][key]["values"] for key in ("slowest", "mean"))
        assert slowest[-1] == pytest.approx(mean[-1], rel=0.01)
        assert mean[-1] == pytest.approx(4.2e9, rel=0.02)


@pytest.mark.few_cases(2)
@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("messages", ["--most", "3"], "--most 3: expected a size from 64 bytes to 1 GiB"),
        ("messages", ["--partner", "2"], "--partner 2: expected a rank from 1 to 1"),
        ("messages", ["--repeat", "0"], "--repeat 0: expected at least 1"),
        ("memory", ["--pages", "3"], "--pages 3: expected at least 16"),
        ("memory", ["--most", "10"], "--most 10: expected a size from 4 KiB"),
        ("ipc", [], "ipc needs 1 rank, which starts the other process itself; 2 given"),
    ],
)
def test_wrong_options_are_reported_once(name, options, message, program, mpiexec):
    outcome = mpiexec(2, program(name), *options)
    outcome.assert_refused(message)


def test_ipc_measures_three_transports(bench, program):
    program("ipc")
    outcome = bench("ipc", "--json", "--messages", 50, "--step", 4096)
    assert outcome.status == 0, outcome.stderr
    assert outcome.json["verified"] is True
    figures = {figure["name"]: figure["value"] for figure in outcome.json["figures"]}
    for transport in ("pipe", "unix", "tcp"):
        assert figures[f"{transport} latency"] > 1e-8  # a system call or more
        assert 0 < figures[f"{transport} bandwidth"] < 1e12


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--step", "1000000000"], "expected at least four sizes from 32 bytes"),
        (["--messages", "0"], "--messages 0: expected at least 1"),
        (["--round-trips", "0"], "--round-trips 0: expected at least 1"),
    ],
)
def test_ipc_needs_four_sizes_and_a_message(options, message, program, mpiexec):
    outcome = mpiexec(1, program("ipc"), *options)
    outcome.assert_refused(message)


def test_ipc_refuses_the_simulator(bench, program):
    program("ipc")
    outcome = bench("ipc", "--simulate", "infiniband")
    assert outcome.status == 2
    assert "ipc cannot be simulated" in outcome.stderr


def test_memory_measures_pages_and_bandwidth(bench, program):
    program("memory")
    outcome = bench("memory", "-n", 2, "--json", "--pages", 64, "--most", 65536, "--repeat", 5)
    assert outcome.status == 0, outcome.stderr
    assert outcome.json["verified"] is True
    figures = {figure["name"]: figure["value"] for figure in outcome.json["figures"]}
    # A page fault comes on top the first time.
    assert figures["first touch of a page"] > figures["second touch of a page"] > 0


def test_memory_says_when_there_is_nothing_to_measure(bench, program):
    program("memory")
    options = ["--simulate", "sp2", "--compute", "none", "--most", 65536, "--pages", 64, "--json"]
    outcome = bench("memory", *options)
    assert outcome.status == 0, outcome.stderr
    assert outcome.json["findings"] == [
        "computation takes no time in this run: nothing was measured"
    ]


def test_a_model_predicts_its_own_runs_and_not_those_of_another(sesame, simulated, bench, program):
    simulated("ethernet", *SHORT)
    placed = ["--placement", "cyclic", "--compute", "none"]
    assert bench("cg", "-n", 4, "--simulate", "ethernet", *placed, "-o", "cg.sesame").status == 0
    both = ["--against", "m.sesame", "--against", "cg.sesame", *placed]
    same = sesame("machine", "check", "ethernet", *both, "--within", "0.1%", "--json")
    assert same.status == 0, same.stderr
    assert [c["workload"] for c in same.json["comparisons"]] == ["messages", "cg"]
    assert max(abs(c["worst_error"]) for c in same.json["comparisons"]) < 1e-3
    other = sesame("machine", "check", "infiniband", *both, "--within", "10%")
    assert other.status == 1
    assert "2 of 2 not within 10%" in other.stderr
    assert sesame("machine", "check", "infiniband", *both).status == 0


def test_only_data_sets_of_bench_can_be_checked_against(sesame, simulated, tmp_path):
    data_set = simulated("sp2", *SHORT)
    info = data_set.path / "info.json"
    good = json.loads(info.read_text())
    for change, message in [
        ({"kind": "traced"}, "expected a data set of `sesame bench run`"),
        ({"result": {**good["result"], "verified": False}}, "its time means nothing"),
        ({"result": {k: v for k, v in good["result"].items() if k != "options"}}, "which options"),
    ]:
        info.write_text(json.dumps({**good, **change}))
        outcome = sesame("machine", "check", "sp2", "--against", "m.sesame")
        assert outcome.status == 2
        assert message in outcome.stderr


@pytest.mark.long
def test_calibrate_describes_this_machine(sesame, program, tmp_path):
    program("messages")
    outcome = sesame("machine", "calibrate", "--file", "here.toml")
    assert outcome.status == 0, outcome.stderr
    assert sesame("machine", "check", "here.toml").status == 0
    text = (tmp_path / "here.toml").read_text()
    assert "Storage was not measured" in text
    assert "one host" in text
    assert sesame("machine", "calibrate", "--file", "here.toml").status == 2


@pytest.mark.few_cases(1)
@pytest.mark.parametrize("ranks", [1, 2])
def test_messages_from_memory_are_at_other_places(ranks, bench, program):
    program("messages")
    options = ["--most", "4MiB", "--repeat", 1, "--uncached", "--compute", "none", "--json"]
    outcome = bench("messages", "-n", ranks, "--simulate", "infiniband", *options)
    report = json.loads(outcome.stdout)
    assert report["verified"] is True  # the content of each size
    assert 0 < report["parameters"]["cached"] < 4 << 20
