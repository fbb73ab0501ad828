"""cachestudy finds caches whose size is known, and says what it measured."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
from pathlib import Path

import pytest

from sesame.analysis.findings import with_findings

MIB = 2**20
CGROUP = Path("/sys/fs/cgroup/memory")  # of version 1
QUICK = ["--largest", "8MiB", "--averaged", "1", "--groups", "1", "--precision", "1.5"]


@pytest.fixture
def control_group():
    """control_group(bytes): a command's beginning that limits its memory."""
    group = CGROUP / f"sesame-test-{os.getpid()}"
    try:
        group.mkdir()
    except OSError:
        pytest.skip("control groups of memory (version 1) cannot be made here")

    def limit(size: int) -> list[str]:
        (group / "memory.limit_in_bytes").write_text(str(size))
        return ["sh", "-c", f'echo $$ > {group}/cgroup.procs && exec "$@"', "sh"]

    yield limit
    with contextlib.suppress(OSError):
        group.rmdir()


def figures(report):
    return {figure["name"]: figure["value"] for figure in report["figures"]}


@pytest.mark.parametrize(
    ("store", "read", "write"),
    [("simulated:16MiB,12MiB,8", 16, 12), ("simulated:3MiB,37MiB", 3, 37)],
)
def test_known_caches_are_found(store, read, write, bench, program):
    program("cachestudy")
    outcome = bench("cachestudy", "--store", store, "--largest", "64MiB", "--json")
    assert outcome.status == 0, outcome.stderr
    found = figures(outcome.json)
    assert found["read cache"] == pytest.approx(read * MIB, rel=0.10)
    assert found["write cache"] == pytest.approx(write * MIB, rel=0.10)
    assert found["read cache, from"] <= read * MIB <= found["read cache, to"]
    assert any("read-ahead seen" in check["name"] for check in outcome.json["checks"])


def test_no_cache_is_invented(bench, program):
    program("cachestudy")
    outcome = bench("cachestudy", "--store", "simulated:0", "--json")
    assert outcome.status == 0, outcome.stderr
    assert figures(outcome.json) == {}
    assert outcome.json["findings"][0].startswith("Reading: no cache is visible")


def test_self_check_is_the_same_in_the_simulator(bench, program):
    program("cachestudy")
    alone = bench("cachestudy", "--self-check", "--json").json
    for ranks in (4, 16):
        options = ["-n", ranks, "--simulate", "infiniband", "--compute", "none", "--json"]
        simulated = bench("cachestudy", "--self-check", *options)
        assert simulated.status == 0, simulated.stderr
        assert simulated.json["figures"] == alone["figures"]


def test_real_files_are_refused_in_the_simulator(bench, program):
    program("cachestudy")
    outcome = bench("cachestudy", "--simulate", "infiniband")
    assert outcome.status == 2
    assert "caches of this machine, which the simulator does not use" in outcome.stderr


@pytest.mark.few_cases(1)
@pytest.mark.parametrize("ranks", [1, 4])
def test_files_are_read_as_written_and_removed(ranks, program, mpiexec, tmp_path):
    outcome = mpiexec(ranks, program("cachestudy"), *QUICK, "--report", "report.json")
    assert outcome.status == 0, outcome.stdout + outcome.stderr
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["verified"] is True
    assert report["tables"]["read by ranks"]["ranks"]["values"] == [1, 2, 4][: 1 + ranks // 2]
    assert [path.name for path in tmp_path.iterdir()] == ["report.json"]


def test_files_in_memory_are_not_called_a_disk(bench, program):
    program("cachestudy")
    outcome = bench("cachestudy", *QUICK, "--dir", "/dev/shm", "--json")
    assert outcome.status == 0, outcome.stderr
    assert any(x.startswith("All of this is memory") for x in outcome.json["findings"])


@pytest.mark.few_cases(3)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--dir", "/nowhere"], "/nowhere"),
        (["--largest", "64 parsecs"], "--largest 64 parsecs: expected a size such as 64KiB"),
        (["--largest", "900TiB"], "MB are free, the run needs"),
        (["--transfer", "0"], "sizes must be multiples of 4KiB, got 0B"),
        (["--transfer", "1000"], "sizes must be multiples of 4KiB, got 1000B"),
        (["--smallest", "64MiB"], "at most an eighth of --largest 256MiB"),
        (["--store", "tape"], "--store tape: expected files or"),
        (["--self-check", "--direct"], "are about real files"),
        (["--groups", "0"], "above 0"),
    ],
)
def test_bad_options_are_reported_once(options, message, program, mpiexec, tmp_path):
    outcome = mpiexec(2, program("cachestudy"), *options)
    outcome.assert_refused(message)
    assert list(tmp_path.iterdir()) == []


def test_full_file_system_is_an_error_and_leaves_nothing(program, mpiexec, small_disk):
    outcome = mpiexec(1, program("cachestudy"), "--largest", "8MiB", "--dir", "disk")
    assert outcome.status == 2
    assert "--dir disk: 6.29 MB are free, the run needs 8.39 MB" in outcome.stderr
    assert list(small_disk.iterdir()) == []


@pytest.mark.long
def test_page_cache_ends_where_the_control_group_does(control_group, program, tmp_path):
    limit = 96 * MIB
    options = ["--smallest", "4MiB", "--largest", "384MiB", "--report", "report.json"]
    command = [*control_group(limit), "mpiexec.mpich", "-n", "1", str(program("cachestudy"))]
    subprocess.run([*command, *options], cwd=tmp_path, check=True, timeout=600)
    report = with_findings(json.loads((tmp_path / "report.json").read_text()))
    assert report["parameters"]["memory"] == limit
    page_cache = [x for x in report["findings"] if x.startswith("Reading: the rate falls")][-1]
    assert "the page cache, for which the control group" in page_cache
    assert max(v for k, v in figures(report).items() if k.startswith("read cache")) < 1.2 * limit
