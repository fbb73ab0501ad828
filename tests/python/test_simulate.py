"""`sesame simulate` against a stand-in for the native simulator."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from tests.command_line import SESAME

MACHINE = ["--machine", "paragon"]


def leftovers(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def test_program_output_goes_to_stdout_and_talk_to_stderr(sesame):
    run = sesame("simulate", "-n", "4", *MACHINE, "--", "ring", "3")
    assert run.status == 0
    assert run.stdout == "hello from ring 3\n"
    assert "predicted time" in run.stderr
    assert "4 ranks" in run.stderr
    assert "on 1 rank of" in sesame("simulate", *MACHINE, "--", "ring", "3").stderr


def test_arguments_of_the_program_are_not_taken_for_ours(sesame):
    run = sesame("simulate", *MACHINE, "ring", "3", "--json", "-n", "7")
    assert run.stdout == "hello from ring 3 --json -n 7\n"


def test_json_is_one_object_and_the_program_goes_to_stderr(sesame):
    run = sesame("simulate", "-n", "4", *MACHINE, "--json", "--", "ring", "3")
    assert run.status == 0
    wanted = {"predicted_time_s", "ranks", "machine", "messages", "bytes", "wall_time_s"}
    assert wanted | {"messages_per_second"} <= run.json.keys()
    assert run.json["messages"] == 12
    assert "hello from ring" in run.stderr


@pytest.mark.parametrize("program", ["ring", "abi"])
def test_either_binary_interface_is_run(sesame, program):
    assert sesame("simulate", *MACHINE, "--", program, "1").status == 0


def test_failing_program_gives_its_status_and_still_a_data_set(sesame, tmp_path):
    run = sesame("simulate", "-n", "2", *MACHINE, "-o", "run.sesame", "--", "failing")
    assert run.status == 3
    assert "failed" in run.stderr
    info = json.loads((tmp_path / "run.sesame/info.json").read_text())
    assert info["result"]["outcome"] == "failed"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-n", "0", "--", "ring"], "-n 0: expected a number of ranks"),
        (["-n", "4,x", "--", "ring"], "-n 4,x: expected"),
        (
            ["--compute", "often", "--", "ring"],
            "--compute often: expected measured, ",
        ),
        (["--compute", "fixed:3", "--", "ring"], "--compute fixed:3: expected a duration"),
        (["--compute", "recorded:no.sesame", "--", "ring"], "no.sesame: this is no data set"),
        (["--placement", "spiral", "--", "ring"], "--placement spiral: expected block"),
        (["--set", "network.latency", "--", "ring"], "--set network.latency: expected KEY=VALUE"),
        (["--set", "network.speed=1", "--", "ring"], "network.speed"),
        (["--set", "network.bandwidth=-1 MB/s", "--", "ring"], "network.bandwidth"),
        (["--sweep", "network.latency", "--", "ring"], "expected KEY=VALUE,VALUE"),
        (["--env", "NAME", "--", "ring"], "--env NAME: expected NAME=VALUE"),
        (["--stack-size", "much", "--", "ring"], "much"),
        (["--plot", "curve.png", "--", "ring"], "--plot draws a series"),
        (["-n", "1,2", "--plot", "curve.gif", "--", "ring"], ".png or .svg"),
        (["--", "not-mpi"], "not-mpi: this is not an MPI program"),
        (["--", "refused"], "refused: more ranks than mappings"),
    ],
)
def test_wrong_input_is_reported_with_status_2_and_leaves_nothing(
    sesame, tmp_path, arguments, message
):
    run = sesame("simulate", *MACHINE, *arguments)
    assert run.status == 2, run.stderr
    assert message in run.stderr
    assert "Traceback" not in run.stderr
    assert leftovers(tmp_path) == []


def test_explain_without_a_machine_runs_nothing(sesame):
    run = sesame("simulate", "--explain", "abi", "1")
    assert run.status == 0
    words = "ranks are fibers, copies of the program in one process (it can be copied)"
    assert run.stdout == f"abi: {words}; its MPI has the MPI standard's interface\n"
    described = sesame("simulate", "--explain", "--json", "abi").json
    why = {"why": "it can be copied", "interface": "mpiabi"}
    assert described == {"program": "abi", "ranks_as": "fibers", **why}
    forgotten = sesame("simulate", "-n", "4", "--explain", "abi", "1")
    assert forgotten.status == 2
    assert "Missing option '--machine'" in forgotten.stderr
    refused = sesame("simulate", "--explain", "run.sesame")
    assert refused.status == 2
    assert "--explain without --machine is for programs, and run.sesame is a trac" in refused.stderr


def test_a_run_needs_a_machine(sesame):
    run = sesame("simulate", "--", "ring")
    assert run.status == 2
    assert "Missing option '--machine'" in run.stderr


def test_unknown_machine_is_refused_with_the_nearest_name(sesame):
    run = sesame("simulate", "--machine", "paragn", "--", "ring")
    assert run.status == 2
    assert "did you mean paragon?" in run.stderr


def test_machine_file_is_refused_with_its_line(sesame, tmp_path):
    (tmp_path / "bad.toml").write_text('name = "bad"\n[network]\nlatency = "fast"\n')
    run = sesame("simulate", "--machine", "bad.toml", "--", "ring")
    assert run.status == 2
    assert "bad.toml:3: " in run.stderr


def test_crash_of_the_simulator_is_no_traceback(sesame, tmp_path):
    run = sesame("simulate", *MACHINE, "-o", "run.sesame", "--", "crashing-host")
    assert run.status == 128 + signal.SIGABRT
    assert "the simulator was ended by SIGABRT" in run.stderr
    assert leftovers(tmp_path) == []


def test_existing_data_set_is_kept_unless_forced(sesame, tmp_path):
    command = ["simulate", *MACHINE, "-o", "run.sesame", "--", "ring"]
    assert sesame(*command).status == 0
    before = (tmp_path / "run.sesame/info.json").read_text()
    run = sesame(*command)
    assert run.status == 2
    assert "already there" in run.stderr
    assert (tmp_path / "run.sesame/info.json").read_text() == before
    assert sesame("simulate", "--force", *command[1:]).status == 0
    assert leftovers(tmp_path) == ["run.sesame"]


@pytest.mark.parametrize("option", ["-o", "--report"])
def test_unwritable_output_is_reported_before_the_run(sesame, option):
    run = sesame("simulate", *MACHINE, option, "missing/run.x", "--", "ring")
    assert run.status == 2
    assert "missing" in run.stderr
    assert "hello" not in run.stdout


def test_full_disk_is_reported_before_the_run(sesame):
    run = sesame("simulate", *MACHINE, "--report", "/proc/report.html", "--", "ring")
    assert run.status == 2
    assert "cannot write there" in run.stderr
    assert "hello" not in run.stdout


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupt_leaves_nothing_behind(environment, tmp_path, number):
    command = ["simulate", *MACHINE, "-o", "run.sesame", "--report", "r.html", "--", "slow"]
    process = subprocess.Popen(
        [*SESAME, *command],
        cwd=tmp_path,
        env={**environment, "TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout.readline() == b"hello from slow \n"
    process.send_signal(number)
    process.communicate(timeout=20)
    assert process.returncode == 130
    assert leftovers(tmp_path) == []


def children_of(pid: int) -> list[int]:
    path = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(child) for child in path.read_text().split()]


def test_interrupt_ends_the_simulator_too(environment, tmp_path):
    process = subprocess.Popen(
        [*SESAME, "simulate", *MACHINE, "--", "slow"],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    process.stdout.readline()
    (host,) = children_of(process.pid)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    deadline = time.monotonic() + 5
    while Path(f"/proc/{host}").exists():
        assert time.monotonic() < deadline, "the simulator runs on"
        time.sleep(0.05)


def test_progress_is_shown_on_a_terminal_and_goes_again(environment, tmp_path):
    master, slave = os.openpty()
    process = subprocess.Popen(
        [*SESAME, "simulate", *MACHINE, "--", "slow"],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=slave,
    )
    os.close(slave)
    text = b""
    while b"messages," not in text:
        text += os.read(master, 4096)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    text += os.read(master, 1 << 16)
    os.close(master)
    assert b"0 of 1 ranks ended" in text
    line = text.decode().replace("\r\n", "\n").rstrip("\n").split("\n")[-1]
    assert line.split("\x1b[K")[-1] == "error: interrupted"


def test_compute_fixed_repeats_exactly(sesame, tmp_path):
    for name in ("a", "b"):
        options = ["-n", "4", "--compute", "fixed:2us", "-o", f"{name}.sesame", "--keep-raw"]
        assert sesame("simulate", *MACHINE, *options, "--", "ring").status == 0
    files = [p.relative_to(tmp_path / "a.sesame") for p in (tmp_path / "a.sesame").rglob("*")]
    assert len(files) > 10
    for file in files:
        if file.name != "info.json" and (tmp_path / "a.sesame" / file).is_file():
            a, b = (tmp_path / name / file for name in ("a.sesame", "b.sesame"))
            assert a.read_bytes() == b.read_bytes(), file


def test_compute_recorded_gives_the_measured_times_again(sesame, run_path):
    measured = json.loads((run_path / "info.json").read_text())["result"]
    options = ["-n", "8", "--json", "--compute", f"recorded:{run_path}"]
    run = sesame("simulate", *MACHINE, *options, "--", "ring", "20")
    assert run.json["predicted_time_s"] == measured["predicted_time_s"]


def test_compute_recorded_is_refused_with_another_number_of_ranks(sesame, run_path):
    run = sesame("simulate", "-n", "4", *MACHINE, "--compute", f"recorded:{run_path}", "ring")
    assert run.status == 2
    assert "recorded with 8 ranks, this run has 4" in run.stderr


SWEEP = ["--sweep", "network.latency=200us,400us", "-n", "2,4"]


@pytest.mark.parametrize("compute", ["measured", "none"])
def test_sweep_runs_every_combination_in_order(sesame, compute):
    run = sesame("simulate", *MACHINE, *SWEEP, "--compute", compute, "--json", "--", "ring", "3")
    assert run.status == 0, run.stderr
    parameters = [one["parameters"] for one in run.json["runs"]]
    assert parameters == [
        {"ranks": ranks, "network.latency": latency}
        for ranks in (2, 4)
        for latency in ("200us", "400us")
    ]
    times = [one["predicted_time_s"] for one in run.json["runs"]]
    assert times[1] > times[0]
    assert times[3] > times[2]
    assert run.stderr.count("hello from ring") == 4


def test_sweep_prints_what_each_run_printed_on_stdout(sesame):
    run = sesame("simulate", *MACHINE, *SWEEP, "--compute", "none", "--", "ring", "3")
    assert run.stdout == "hello from ring 3\n" * 4
    assert "█" in run.stderr


def test_sweep_draws_its_curve(sesame, tmp_path):
    for name in ("curve.png", "curve.svg"):
        run = sesame("simulate", *MACHINE, *SWEEP, "--plot", name, "--report", "r.html", "ring")
        assert run.status == 0, run.stderr
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")
    assert "</svg>" in (tmp_path / "curve.svg").read_text()
    assert "a series of 4 runs" in (tmp_path / "r.html").read_text()


def test_sweep_finds_wrong_values_before_the_first_run(sesame):
    run = sesame("simulate", *MACHINE, "--sweep", "network.latency=200us,fast", "--", "ring")
    assert run.status == 2
    assert "fast" in run.stderr
    assert run.stdout == ""


def test_sweep_ends_with_the_status_of_a_failing_run(sesame):
    run = sesame("simulate", *MACHINE, "-n", "1,2", "--compute", "none", "--", "failing")
    assert run.status == 3


def test_a_device_with_writes_left_is_not_busier_than_the_run():
    from sesame.cli.storage_summary import seconds_left

    def result(busy_s: float) -> dict[str, object]:
        system = {"name": "storage", "ionodes": [{"device": {"busy_s": busy_s}}]}
        return {"predicted_time_s": 2.0, "storage": [system]}

    assert seconds_left(result(1.5)) == 0
    assert seconds_left(result(5.0)) == 3  # at least: it may have been idle before


def test_raw_streams_are_kept_on_request_only(sesame, tmp_path):
    for name, options in (("plain", []), ("raw", ["--keep-raw"])):
        output = ["-n", "4", "-o", f"{name}.sesame", *options]
        assert sesame("simulate", *MACHINE, *output, "--", "ring").status == 0
    assert not (tmp_path / "plain.sesame/raw").exists()
    assert (tmp_path / "raw.sesame/raw/metadata").is_file()
    assert (tmp_path / "plain.sesame/call.parquet").is_file()
