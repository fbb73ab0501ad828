"""Copies of a simulation that run beside it (sesame.simulation.copies), with a shell script in the
simulator's place."""

from __future__ import annotations

import time

import pytest

from sesame.errors import AlreadyReported, InputError
from sesame.simulation import parse_compute
from sesame.simulation.copies import computing_beside
from sesame.workloads import find_workload, run_simulated
from sesame.workloads.build import Built, Compiler

SCENARIO = {"compute": {"mode": "measured", "save": None}}
PATIENCE_S = 30.0


@pytest.fixture
def simulator(tmp_path):
    """simulator(commands): the script, which first adds a line to the file `runs`."""

    def make(commands):
        script = tmp_path / "simulator"
        script.write_text(f"#!/bin/sh\necho run >> {tmp_path}/runs\n{commands}\n")
        script.chmod(0o755)
        return script

    return make


def until_there_are(runs, count):
    begin = time.monotonic()
    while not runs.exists() or len(runs.read_text().splitlines()) < count:
        assert time.monotonic() - begin < PATIENCE_S
        time.sleep(0.01)


def test_copies_that_end_start_anew(simulator, tmp_path):
    doubts = []
    with computing_beside(simulator("exit 0"), SCENARIO, 2, doubts):
        until_there_are(tmp_path / "runs", 5)
    assert doubts == []


def test_copies_end_with_the_run(simulator, tmp_path):
    doubts = []
    with computing_beside(simulator("exec sleep 1000"), SCENARIO, 1, doubts):
        until_there_are(tmp_path / "runs", 1)
    assert doubts == []


def test_copies_that_fail_are_a_doubt(simulator, tmp_path):
    doubts = []
    with computing_beside(simulator(f"echo >> {tmp_path}/failed; exit 3"), SCENARIO, 2, doubts):
        until_there_are(tmp_path / "failed", 2)
        time.sleep(0.5)  # a copy that fails must not start anew: nothing to wait for
    assert len((tmp_path / "runs").read_text().splitlines()) == 2
    assert [doubt.text.partition(":")[0] for doubt in doubts] == ["2 of 2 further copies failed"]


def test_the_number_of_copies_is_read():
    compute = parse_compute("measured:1")
    assert (compute.copies, compute.together, compute.repeatable) == (1, 1, False)
    for text in ("measured:0", "measured:-1", "measured:two", "measured:"):
        with pytest.raises(InputError, match="expected measured, measured:COPIES"):
            parse_compute(text)


def test_only_the_run_that_counts_writes_the_report_of_a_workload(tmp_path):
    seen = []

    def simulate(scenario):
        seen.append(scenario)
        raise AlreadyReported(1)

    built = Built(find_workload("ep"), tmp_path / "ep", Compiler(tmp_path / "mpicxx", None))
    with pytest.raises(AlreadyReported):
        run_simulated(
            built,
            2,
            ["--class", "S"],
            machine=tmp_path / "machine.toml",
            compute=parse_compute("measured:1"),
            simulate=simulate,
        )
    assert "--report" in seen[0].arguments
    assert seen[0].arguments_of_copies == ("--class", "S")
