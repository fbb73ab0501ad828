"""`sesame reproduce`: experiments on the simulator, and its tutorial."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest
from tests.command_line import SESAME, run
from tests.tutorials import commands_of

from sesame.errors import InputError
from sesame.measurement import Recorded
from sesame.reproduction import Laboratory, Runner, faults, initialization, observed
from sesame.reproduction.caching import POLICIES, multiplication, of_three_matrices, synthetic
from sesame.reproduction.limits import memory_limit


def test_table_8_3_is_reproduced(cache, program, tmp_path):
    outcome = run([*SESAME, "reproduce", "table-8-3", "--json"], tmp_path)
    assert outcome.status == 0, outcome.stderr
    (table,) = json.loads(outcome.stdout)
    missed = [f["text"] for f in table["findings"] if not f["is_reproduced"]]
    assert missed == ["The counts of two-phase on 16 ranks are those of the table."]
    assert list(tmp_path.iterdir()) == []


def test_collective_strategies_are_reproduced(cache, program, tmp_path):
    outcome = run([*SESAME, "reproduce", "figure-8-8", "--json"], tmp_path)
    assert outcome.status == 0, outcome.stderr
    (figure,) = json.loads(outcome.stdout)
    assert all(finding["is_reproduced"] for finding in figure["findings"])


@pytest.mark.long
def test_random_requests_read_less_the_more_caches_cooperate(cache):
    cases = {policy: synthetic(8, 1, 512, policy) for policy in POLICIES}
    results = dict(Runner().run(list(cases.values())))
    read = [results[case].blocks_read for case in cases.values()]
    assert read == sorted(set(read), reverse=True)
    took = [results[case].time_s for case in cases.values()]
    assert took == sorted(set(took), reverse=True)


def small(policy, strategy=None):
    """Order 72 with caches of 4 blocks: the second matrix has 10.1, coordinated ones hold 16."""
    caches = [f"storage.cache.{node}.size=16 KiB" for node in ("cnode", "ionode")]
    case = multiplication(72, policy, "together", strategy)
    return replace(case, overrides=(*case.overrides, *caches))


@pytest.mark.long
def test_coordination_wins_and_global_management_disappoints_on_matrices(cache):
    results = dict(Runner().run([small(policy) for policy in POLICIES]))
    read = {policy: results[small(policy)].blocks_read for policy in POLICIES}
    assert read["coordinated"] < 2 * of_three_matrices(72)
    for policy in ("base", "greedy", "global"):
        assert read[policy] > 100 * read["coordinated"], policy


@pytest.mark.long
def test_two_phase_removes_redundant_reads_of_matrices(cache):
    cases = [small("base", strategy) for strategy in ("barrier", "two-phase")]
    results = dict(Runner().run(cases))
    barrier, two_phase = (results[case] for case in cases)
    assert 10 * two_phase.blocks_read < barrier.blocks_read
    assert 2 * two_phase.time_s < barrier.time_s


def test_an_unknown_experiment_is_refused(tmp_path):
    outcome = run([*SESAME, "reproduce", "figure-1-1"], tmp_path)
    assert outcome.status == 2
    assert "table-8-3" in outcome.stderr


@pytest.mark.long
def test_the_tutorial_runs(cache, program, tmp_path):
    for line in commands_of("tutorial-reproduce.md"):
        if line.startswith("sudo"):  # looks into the kernel
            continue
        outcome = run(shlex.split(line.replace("sesame", shlex.join(SESAME), 1)), tmp_path)
        assert outcome.status == 0, f"{line}\n{outcome.stdout}{outcome.stderr}"
    assert "Reproduced:" in (tmp_path / "table-8-3.html").read_text()


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="probes need root")


def test_looking_into_the_kernel_without_rights_is_refused(cache, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(InputError, match="root"):
        Laboratory(tmp_path)


@needs_root
def test_mpi_init_is_followed_message_by_message(cache, tmp_path, monkeypatch):
    monkeypatch.setattr(initialization, "RANKS", (1, 2))
    monkeypatch.setattr(initialization, "DRAWN", 2)
    outcome = initialization.observe(Laboratory(tmp_path), lambda _: None)
    counts = {row[0]: row[1:] for row in outcome.tables[0].rows}
    assert counts["rank to proxy"] == counts["proxy to rank"]
    assert int(counts["rank to proxy"][1]) > int(counts["rank to proxy"][0]) > 0
    judged = {one.text: one.is_reproduced for one in outcome.judgements}
    assert judged["It works in phases, and no rank continues before the last one has arrived."]


@needs_root
def test_faults_of_a_sort_add_up(cache, tmp_path, monkeypatch):
    run_ = Laboratory(tmp_path).run("sesame-sort", ["--count", "131072"], 1, trace=faults.TRACE)
    sort = faults.Sort(1, run_)
    assert sum(sort.kinds.values()) == sort.fault_count > 200
    assert abs(run_.faults_traced() / run_.faults - 1) < 0.02
    phases = faults._busy(sort)
    for busy in phases.values():
        assert busy.running + busy.ready <= busy.time


@needs_root
def test_a_sort_in_memory_wants_the_processor_all_the_time(cache, tmp_path, monkeypatch):
    def wanted(attempt: int) -> float:
        directory = tmp_path / str(attempt)
        directory.mkdir()
        run_ = Laboratory(directory).run(
            "sesame-sort", ["--count", "131072"], 1, trace=faults.TRACE
        )
        return faults._busy(faults.Sort(1, run_))["sort"].wanted

    # Where other tests write, its first touches of the program's file may wait for the device.
    assert any(wanted(attempt) > 0.9 for attempt in range(5))


@needs_root
def test_a_memory_limit_ends_with_the_processes_left_in_it(tmp_path):
    with memory_limit(64 << 20) as limit:
        process = subprocess.Popen([*limit, "sleep", "100"])
        (line,) = (word for word in limit if word.endswith("cgroup.procs"))
        while str(process.pid) not in Path(line).read_text().split():
            time.sleep(0.01)
    assert process.wait(10) == -signal.SIGKILL
    assert not Path(line).parent.exists()


@needs_root
def test_a_command_that_cannot_have_its_limit_does_not_run(tmp_path):
    with memory_limit(64 << 20) as limit:
        wrong = [*limit[:-1], str(tmp_path)]
        done = subprocess.run([*wrong, "touch", tmp_path / "ran"], capture_output=True)
    assert done.returncode != 0
    assert list(tmp_path.iterdir()) == []


def test_an_experiment_that_misses_events_says_so(cache, tmp_path, monkeypatch):
    def record(output, wanted, work, **_):
        work({})
        (tmp_path / "run-1/report.json").touch()
        return Recorded(0, {}, {"seen": 5000, "written": 4999, "lost": 1})

    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(observed, "record_kernel", record)
    with pytest.raises(InputError, match="1 of 5,000 events of the kernel were lost"):
        Laboratory(tmp_path).run("sesame-sort", ["--count", "1000"], 1, trace=faults.TRACE)
