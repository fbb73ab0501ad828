"""The simulator plays traced runs."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path

import pytest
from tests.command_line import SESAME, Outcome, run
from tests.integration.installations import ROOT
from tests.played_runs import TraceBuilder, twin_of

from sesame.datasets import DataSet
from sesame.datasets.traced import MpiFlag

IO_NOTE = "I/O takes the time it took when traced: 2.00 ms per rank, 2.00 ms at most"
ONE_TO_ONE = ("--set", "node.compute_ratio=1")


def played(outcome: Outcome) -> dict:
    assert outcome.status == 0, outcome.stderr
    return outcome.json


def calls_of(path: Path) -> dict[str, int]:
    rows = DataSet(path).table("call_total").to_pylist()
    return {row["name"]: row["count"] for row in rows}


@pytest.mark.parametrize(
    ("source", "arguments"),
    [
        ("bench/programs/halo.c", ["20"]),
        ("bench/programs/ring.c", ["20"]),
        ("bench/programs/collectives.c", ["10"]),
        ("examples/heat.c", ["64", "20"]),
    ],
)
def test_a_played_run_takes_exactly_the_time_of_the_run(
    source, arguments, compiled, simulate, tmp_path: Path
):
    program = compiled(source)
    options = ("--machine", "ethernet", *ONE_TO_ONE)
    simulated = ("-n", 6, *options, "--compute", "fixed:1us", "-o", "run.sesame", "--json")
    expected = played(simulate(*simulated, "--", program, *arguments))
    trace = twin_of(tmp_path / "run.sesame", tmp_path / "trace.sesame")
    result = played(simulate(trace, *options, "--json"))
    for key in ("predicted_time_s", "messages", "bytes", "ranks"):
        assert result[key] == expected[key], key


def test_a_played_run_takes_the_measured_time_to_a_nanosecond_a_call(
    compiled, simulate, tmp_path: Path
):
    program = compiled("examples/heat.c")
    options = ("--machine", "infiniband", *ONE_TO_ONE)
    measured = ("-n", 4, *options, "-o", "run.sesame", "--json", "--", program, 64, 50)
    expected = played(simulate(*measured))["predicted_time_s"]
    trace = twin_of(tmp_path / "run.sesame", tmp_path / "trace.sesame")
    result = played(simulate(trace, *options, "--json"))["predicted_time_s"]
    calls = sum(calls_of(tmp_path / "run.sesame").values())
    assert result == pytest.approx(expected, abs=calls * 1e-9)


@pytest.mark.few_cases(3)
@pytest.mark.parametrize(
    ("source", "ranks", "arguments"),
    [
        ("examples/heat.c", 2, [64, 20]),
        ("tests/programs/answers/wildcards.c", 3, []),
        ("bench/programs/halo.c", 4, [10]),
        ("bench/programs/ring.c", 3, [10]),
    ],
)
def test_a_real_run_is_traced_and_played(
    source, ranks, arguments, compiled, simulate, tmp_path: Path
):
    program = [compiled(source), *arguments]
    trace_real_run(ranks, program, tmp_path)
    options = ("--machine", "ethernet", "--json")
    result = played(simulate("real.sesame", *options))
    expected = played(simulate("-n", ranks, *options, "--", *program))
    assert (result["messages"], result["bytes"]) == (expected["messages"], expected["bytes"])


def test_communicators_of_a_real_run_are_made(compiled, simulate, tmp_path: Path):
    program = compiled("tests/programs/answers/communicators.c")
    trace_real_run(4, [program], tmp_path)
    options = ("--machine", "ethernet", "--json")
    played(simulate("real.sesame", *options, "-o", "played.sesame"))
    played(simulate("-n", 4, *options, "-o", "run.sesame", "--", program))
    calls, expected = (calls_of(tmp_path / f"{name}.sesame") for name in ("played", "run"))
    for name in ("Comm_create", "Comm_create_group", "Intercomm_create", "Intercomm_merge"):
        assert calls[f"MPI_{name}"] == expected[f"MPI_{name}"], name
    splits = expected["MPI_Comm_split"] + expected["MPI_Comm_split_type"]
    assert calls["MPI_Comm_split"] == splits


def trace_real_run(ranks: int, program: list[object], directory: Path) -> None:
    if shutil.which("mpiexec.mpich") is None:
        pytest.skip("mpiexec.mpich is not installed")
    launch = map(str, ["mpiexec.mpich", "-n", ranks, *program])
    traced = run([*SESAME, "trace", "-o", "real.sesame", "--", *launch], directory)
    assert traced.status == 0, traced.stderr


def all_collectives(ranks: int) -> TraceBuilder:
    """Each collective, blocking and not, on a communicator of the odd ranks and one of all."""
    trace = TraceBuilder(ranks)
    odd = trace.communicator(0, f"1-{ranks - 1}:2", ranks // 2)
    for rank in range(ranks):
        trace.call(rank, "MPI_Init")
        trace.call(rank, "MPI_Comm_split", comm=0, made=odd if rank % 2 else -1)
        for comm in (0, odd)[: 1 + rank % 2]:
            for name in COLLECTIVES:
                given = {"comm": comm, "peer": 1 if name in ROOTED else -1, "bytes": 48 * ranks}
                trace.call(rank, f"MPI_{name}", **given)
                request = trace.call(rank, f"MPI_I{name.lower()}", **given)
                trace.wait(rank, "MPI_Wait", request)
    return trace


ROOTED = ("Bcast", "Gather", "Scatter", "Gatherv", "Scatterv", "Reduce")
COLLECTIVES = (
    *ROOTED,
    "Barrier",
    "Allgather",
    "Alltoall",
    "Allgatherv",
    "Alltoallv",
    "Allreduce",
    "Scan",
    "Exscan",
    "Reduce_scatter",
    "Reduce_scatter_block",
)


def test_every_collective_is_played(simulate, tmp_path: Path):
    trace = all_collectives(5).write(tmp_path / "trace.sesame")
    result = played(simulate(trace, "--machine", "sp2", "-o", "run.sesame", "--json"))
    assert result["outcome"] == "completed"
    calls = calls_of(tmp_path / "run.sesame")
    for name in COLLECTIVES:
        assert calls[f"MPI_{name}"] == calls[f"MPI_I{name.lower()}"] == 5 + 2, name
    assert calls["MPI_Wait"] == 7 * len(COLLECTIVES)


def test_every_kind_of_message_is_played(simulate, tmp_path: Path):
    trace = TraceBuilder(2)
    kinds = ["", "B", "S", "R"]
    for rank in range(2):
        trace.call(rank, "MPI_Init")
    for tag, kind in enumerate(kinds):
        blocking, starting = f"{kind}send".capitalize(), f"I{kind.lower()}send"
        message = {"comm": 0, "tag": tag, "bytes": 100_000}
        trace.call(0, f"MPI_{blocking}", peer=1, **message)
        request = trace.call(0, f"MPI_{starting}", peer=1, **message)
        trace.wait(0, "MPI_Test", request)
        trace.call(1, "MPI_Probe", peer=0, **message)
        trace.call(1, "MPI_Recv", peer=0, **message)
        trace.call(1, "MPI_Mprobe", peer=0, **message)
        request = trace.call(1, "MPI_Imrecv", peer=0, **message)
        trace.wait(1, "MPI_Waitsome", request)
    trace.call(0, "MPI_Send", comm=0, peer=-2, bytes=5)
    path = trace.write(tmp_path / "trace.sesame")
    result = played(simulate(path, "--machine", "sp2", "-o", "run.sesame", "--json"))
    assert (result["messages"], result["bytes"]) == (2 * len(kinds), 200_000 * len(kinds))
    calls = calls_of(tmp_path / "run.sesame")
    assert (calls["MPI_Bsend"], calls["MPI_Issend"], calls["MPI_Probe"]) == (1, 1, 8)


def test_communicators_are_made_as_they_were(simulate, tmp_path: Path):
    trace = TraceBuilder(6)
    everyone = range(6)
    copy = trace.communicator(0, "0-5", 6)
    low, high = (trace.communicator(0, members, 3) for members in ("0-2", "3-5"))
    pair = trace.communicator(0, "4,1", 2)
    grid = trace.communicator(copy, "0-3", 4)
    between = trace.communicator(low, "0-2", 3, remote="3-5", remote_parent=high)
    merged = trace.communicator(between, "3-5,0-2", 6)
    firsts = trace.communicator(between, "1", 1, remote="4", remote_parent=between)
    alone = trace.communicator(-1, "5", 1)
    for rank in everyone:
        trace.call(rank, "MPI_Comm_dup", comm=0, made=copy)
        trace.call(rank, "MPI_Comm_split", comm=0, made=low if rank < 3 else high)
        if rank in (1, 4):
            trace.call(rank, "MPI_Comm_create_group", comm=pair, made=pair)
            trace.call(rank, "MPI_Allreduce", comm=pair, bytes=8)
        trace.call(rank, "MPI_Cart_create", comm=copy, made=grid if rank < 4 else -1)
        if rank < 4:
            trace.call(rank, "MPI_Barrier", comm=grid)
        trace.call(rank, "MPI_Intercomm_create", comm=between, made=between)
        other = {"comm": between, "peer": (rank + 3) % 6, "tag": 1, "bytes": 16}
        request = trace.call(rank, "MPI_Irecv", **other)
        trace.call(rank, "MPI_Send", **other)
        trace.wait(rank, "MPI_Wait", request)
        trace.call(rank, "MPI_Barrier", comm=between)
        trace.call(rank, "MPI_Intercomm_merge", comm=between, made=merged)
        trace.call(rank, "MPI_Comm_create", comm=between, made=firsts if rank in (1, 4) else -1)
        if rank in (1, 4):
            trace.call(rank, "MPI_Barrier", comm=firsts)
        trace.call(rank, "MPI_Bcast", comm=merged, peer=3, bytes=8)
        trace.call(rank, "MPI_Comm_free", comm=merged)
    trace.call(5, "MPI_Barrier", comm=alone)
    path = trace.write(tmp_path / "trace.sesame")
    result = played(simulate(path, "--machine", "sp2", "-o", "run.sesame", "--json"))
    assert result["outcome"] == "completed"
    calls = calls_of(tmp_path / "run.sesame")
    assert (calls["MPI_Allreduce"], calls["MPI_Comm_free"], calls["MPI_Bcast"]) == (2, 6, 6)


def test_a_wait_ends_not_before_the_access_to_the_file(simulate, tmp_path: Path):
    """It took 5 ms from its begin, and the rank computed meanwhile."""

    def time(computed_ns: int, name: str) -> float:
        trace = TraceBuilder(1)
        trace.call(0, "MPI_Init", duration=0)
        access = trace.file(0, "MPI_File_iwrite", duration=1_000_000)
        wait = 4_000_000 - computed_ns
        trace.wait_for_file(0, "MPI_Wait", access, gap=computed_ns, duration=wait)
        trace.call(0, "MPI_Barrier", gap=500_000, comm=0)
        path = trace.write(tmp_path / f"{name}.sesame")
        options = ("--machine", "ethernet", "--compute", "none", "--json")
        return played(simulate(path, *options))["predicted_time_s"]

    assert time(3_000_000, "waits") == pytest.approx(5e-3, abs=1e-6)
    assert time(1_000_000, "waits-long") == pytest.approx(5e-3, abs=1e-6)


@pytest.fixture
def computing(tmp_path: Path) -> Path:
    """3 ms of computation and 2 ms of I/O on one rank."""
    trace = TraceBuilder(1)
    trace.call(0, "MPI_Init", gap=1_000_000)
    trace.file(0, "write", gap=500_000, duration=2_000_000)
    trace.call(0, "MPI_Barrier", gap=500_000, comm=0)
    trace.now[0] += 1_000_000
    return trace.write(tmp_path / "trace.sesame")


def test_computation_scales_with_the_machine_and_io_does_not(computing, simulate):
    def time(*options: str) -> float:
        options = (computing, "--machine", "ethernet", "--json", *options)
        return played(simulate(*options))["predicted_time_s"]

    assert time(*ONE_TO_ONE) == pytest.approx(5e-3, abs=1e-9)
    assert time("--set", "node.compute_ratio=2") == pytest.approx(8e-3, abs=1e-9)
    # The traced ranks shared their nodes already.
    assert time(*ONE_TO_ONE, "--set", "node.slowdown=[2.0]") == pytest.approx(5e-3, abs=1e-9)
    assert time(*ONE_TO_ONE, "--scale-compute", "0.5") == pytest.approx(3.5e-3, abs=1e-9)
    assert time("--compute", "none") == pytest.approx(2e-3, abs=1e-9)


def test_the_output_says_what_is_not_simulated(computing, simulate):
    outcome = simulate(computing, "--machine", "ethernet")
    assert outcome.status == 0
    assert f"note: {IO_NOTE}" in outcome.stderr
    assert simulate(computing, "--machine", "ethernet", "--json").json["notes"] == [IO_NOTE]


def test_a_series_plays_one_trace_on_many_machines(simulate, tmp_path: Path):
    trace = all_collectives(4).write(tmp_path / "trace.sesame")
    sweep = ("--sweep", "network.latency=1us,10us,100us", "--plot", "curve.svg", "--json")
    sweep += ("--placement", "cyclic")
    outcome = simulate(trace, "--machine", "ethernet", *sweep)
    times = [run["predicted_time_s"] for run in played(outcome)["runs"]]
    assert times == sorted(times)
    assert times[2] > 2 * times[1]
    assert (tmp_path / "curve.svg").is_file()


@pytest.mark.long
def test_the_tutorial_plays_a_trace(simulate, tmp_path: Path):
    all_collectives(4).write(tmp_path / "run.sesame")
    text = (ROOT / "docs/tutorial-simulate.md").read_text()
    section = text.partition("## From a trace")[2].partition("\n## ")[0]
    lines = section.partition("```\n")[2].partition("```")[0].splitlines()
    assert len(lines) == 3
    for line in lines:
        words = shlex.split(line)
        assert words[:2] == ["sesame", "simulate"]
        outcome = simulate(*words[2:])
        assert outcome.status == 0, f"{line}\n{outcome.stderr}"
    assert (tmp_path / "latency.png").is_file()
    assert (tmp_path / "faster.sesame").is_dir()


def test_data_set_and_report_bear_the_name_of_the_trace(computing, simulate, tmp_path: Path):
    outputs = ("-o", "run.sesame", "--report", "run.html")
    assert simulate(computing, "--machine", "ethernet", *outputs).status == 0
    info = json.loads((tmp_path / "run.sesame/info.json").read_text())
    assert info["title"] == "trace.sesame on 1 simulated rank of ethernet"
    assert info["notes"] == [IO_NOTE]
    assert "trace.sesame" in (tmp_path / "run.html").read_text()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("-n", "2"), "-n 2: trace.sesame was traced with 1 rank\n"),
        (("--compute", "measured"), "expected recorded or none"),
        (("--env", "A=1"), "--env is for programs"),
        (("--", "input.dat"), "a traced run takes no arguments"),
        (("--machine", "ethernt"), "did you mean"),
    ],
)
def test_wrong_input_is_refused(computing, simulate, options, message):
    outcome = simulate("--machine", "ethernet", computing, *options)
    assert outcome.status == 2
    assert message in outcome.stderr


def test_a_missing_trace_is_refused(simulate):
    outcome = simulate("missing.sesame", "--machine", "ethernet")
    assert (outcome.status, "missing.sesame: this is no data set" in outcome.stderr) == (2, True)


def test_an_unmatched_message_is_refused_before_the_run(simulate, tmp_path: Path):
    trace = TraceBuilder(2)
    flags = int(MpiFlag.ANY_SOURCE)
    trace.call(1, "MPI_Recv", comm=0, peer=0, tag=7, bytes=8, flags=flags)
    path = trace.write(tmp_path / "trace.sesame")
    outcome = simulate(path, "--machine", "ethernet", "-o", "run.sesame")
    assert outcome.status == 2
    assert "rank 1, mpi record 0 (MPI_Recv) from rank 0 with tag 7" in outcome.stderr
    assert not (tmp_path / "run.sesame").exists()


def test_options_may_follow_the_trace_but_not_a_program(computing, tmp_path: Path):
    command = [*SESAME, "simulate", str(computing), "--machine", "ethernet", "--json"]
    assert run(command, tmp_path).status == 0
    command = [*SESAME, "simulate", "--machine", "ethernet", "nothing", "--json"]
    outcome = run(command, tmp_path)
    assert (outcome.status, "no program 'nothing'" in outcome.stderr) == (2, True)
