"""Workloads as steps of probes: figures with units, right answers, and measures of use."""

from __future__ import annotations

import os
import re
from functools import partial
from pathlib import Path

import pytest
from tests.command_line import sesame

from sesame.evaluation.measures import MEASURES
from sesame.evaluation.probing import Outcome, Result, run_probe
from sesame.evaluation.reference_machines import reference_times
from sesame.evaluation.site import read_site
from sesame.evaluation.store import Store

FEW = ["--messages", "4", "--round-trips", "4"]
SITE = """\
[target.here]
ranks = 2
[probe.p]
target = "here"
interval = "1h"
[[probe.p.step]]
timeout = "30min"
{step}
"""


def passed(path: Path, step: str) -> Result:
    """Of a step that runs in a site file there."""
    (path / "s.toml").write_text(SITE.format(step=step))
    (result,) = run_probe(read_site(path / "s.toml").probes["p"], {}).results
    assert result.outcome is Outcome.PASS, result
    return result


@pytest.fixture
def figures(tmp_path):
    """Runs a step; returns its figures by name."""

    def run(step: str):
        return {one.name: one for one in passed(tmp_path, step).figures}

    return run


@pytest.mark.long
def test_the_message_curve_comes_with_its_regression(figures):
    found = figures('bench = "messages"\noptions = ["--most", "64KiB", "--repeat", "3"]')
    assert found["latency"].unit == "s" and found["bandwidth"].unit == "B/s"
    curve = [name for name in found if name.startswith("bandwidth at ")]
    assert "bandwidth at 65536 B" in curve and len(curve) > 40
    line = found["latency by regression"]
    times = [float(name.split()[2]) / found[name].value for name in curve]
    assert 0 < line.value < max(times) and found[f"{line.name}, half interval"].value >= 0
    assert found["segments of the regression"].value >= 1


@pytest.mark.long
def test_messages_between_processes_are_curves_of_the_sizes_of_the_published_figure(tmp_path):
    """32 bytes to 32 KiB in steps of 32, as the file of init has them; here of 4 messages each."""
    result = passed(tmp_path, f'bench = "ipc"\nranks = 1\noptions = {["--step", "32B", *FEW]}')
    curves = {one.name: one for one in result.curves}
    assert list(curves) == [f"{mode} bandwidth" for mode in ("pipe", "unix", "tcp")]
    for one in curves.values():
        assert one.x == tuple(range(32, 32769, 32)) and (one.unit, one.x_unit) == ("B/s", "B")
        assert min(one.y) > 0
    figures = {one.name: one.value for one in result.figures}
    same = zip(curves["tcp bandwidth"].x, curves["tcp bandwidth"].y, strict=True)
    assert figures["tcp bandwidth at 544 B"] == dict(same)[544]


def test_messages_between_processes_and_touched_pages_are_curves(figures):
    """Figures of all points where there are at most 64, of every second of the 100 counts of pages;
    curves of all."""
    ipc = figures(f'bench = "ipc"\nranks = 1\noptions = {FEW}')
    for mode in ("pipe", "unix", "tcp"):
        sizes = {size for size in range(32, 32769, 512) if f"{mode} bandwidth at {size} B" in ipc}
        assert sizes == set(range(32, 32769, 512))
    pages = figures('bench = "memory"\nranks = 1\noptions = ["--most", "64KiB"]')
    for touch in ("first", "second"):
        curve = [pages.get(f"{touch} touch at {count} pages") for count in range(28, 2801, 56)]
        assert None not in curve
        assert curve[-1].value > curve[0].value and curve[0].unit == "s"


def test_a_code_of_the_nas_suite_is_compared_with_reference_machines(figures):
    found = figures('bench = "is"\nname = "two"\noptions = ["--class", "A"]')
    time = found["two: time"].value
    assert found["two: speed over Paragon, 128 nodes"].value == pytest.approx(13.5 / time)
    assert reference_times("ep")["Y-MP, 1 processor"] == pytest.approx(126.2, abs=0.1)
    assert "speed over Paragon, 128 nodes" not in figures('bench = "is"')


def test_a_first_run_reads_the_program_from_the_disk(figures):
    found = figures('bench = "ep"\nranks = 1\ntwice = true')
    first, second, paging = (found[name].value for name in ("first run", "second run", "paging in"))
    assert paging == pytest.approx(first - second)
    assert all(one.unit == "s" for one in found.values())


def test_a_workload_with_a_launcher_is_built_here_and_run_there(figures, tmp_path):
    """The launcher is `env`: the program runs alone, in the directory of the probe."""
    text = SITE.replace("ranks = 2", 'launcher = "template"\ncommand = ["env"]')
    (tmp_path / "s.toml").write_text(
        text.format(step='bench = "memory"\noptions = ["--most", "1MiB", "--pages", "64"]')
    )
    (result,) = run_probe(read_site(tmp_path / "s.toml").probes["p"], {}).results
    assert result.outcome is Outcome.PASS, result
    assert "first touch of a page" in {one.name for one in result.figures}


def test_wrong_options_of_a_workload_are_a_failure_that_says_so(tmp_path):
    text = SITE.format(step='bench = "ep"\noptions = ["--class", "Z"]')
    (tmp_path / "s.toml").write_text(text)
    done = sesame("evaluate", "run", "s.toml", cwd=tmp_path)
    assert done.status == 1 and "step ep: exit status 2" in done.stdout


@pytest.mark.parametrize("name", sorted(set(MEASURES) - {"slurm"}))
def test_measures_of_use_have_units(figures, name):
    found = figures(f'measure = "{name}"').values()
    assert found and all(one.value >= 0 and one.unit for one in found)


def test_memory_left_is_bounded_by_what_the_machine_has(figures):
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    found = figures('measure = "memory"')
    assert 0 < found["memory left"].value < total
    assert found["memory taken"].value < total


def test_a_probe_that_fills_the_disk_disturbs_no_other(small_disk, tmp_path):
    text = f"[target.t]\ndirectory = '{small_disk}'\n"
    for name, command in (
        ("fills", ["dd", "if=/dev/zero", "of=file", "bs=1M"]),
        ("writes", ["dd", "if=/dev/zero", "of=file", "bs=1M", "count=4"]),
    ):
        text += f"[probe.{name}]\ntarget = 't'\ninterval = '1h'\n"
        text += f"[[probe.{name}.step]]\ntimeout = '60s'\ncommand = {command}\n"
    (tmp_path / "s.toml").write_text(text)
    done = sesame("evaluate", "run", "s.toml", cwd=tmp_path)
    assert done.status == 1 and "fills on t: fail" in done.stdout
    assert "writes on t: pass" in done.stdout
    assert list(small_disk.iterdir()) == []


def test_a_full_disk_for_directories_of_probes_is_a_failure_of_the_target(small_disk, tmp_path):
    text = f"[target.t]\ndirectory = '{small_disk}'\n[probe.p]\ntarget = 't'\ninterval = '1h'\n"
    text += f"files = {{ a = '{'x' * 200_000}' }}\n"
    text += "[[probe.p.step]]\ntimeout = '60s'\ncommand = ['true']\n"
    (tmp_path / "s.toml").write_text(text)
    with (small_disk / "all").open("wb") as file:
        file.truncate(0)
        try:
            while True:
                file.write(bytes(1 << 16))
                file.flush()
        except OSError:
            pass
    done = sesame("evaluate", "run", "s.toml", cwd=tmp_path)
    assert done.status == 1
    said = f"step make a directory in {small_disk}: No space left on device"
    assert said in done.stdout


@pytest.fixture
def stress(tmp_path):
    """stress(*options): `sesame evaluate stress` on this machine, with one rank."""
    text = SITE.format(step="command = ['true']").replace("ranks = 2", "ranks = 1")
    (tmp_path / "s.toml").write_text(text)
    return partial(sesame, "evaluate", "stress", "s.toml", cwd=tmp_path)


@pytest.mark.long
def test_stress_runs_programs_until_its_time_is_over(stress):
    done = stress("--for", "1s")
    assert done.status == 0, done.stderr
    said = re.match(
        r"(\d+) programs in \S+ hours of use, 0 failed: 0 incidents an hour", done.stdout
    )
    assert said and int(said[1]) >= 2


def test_stress_counts_and_stores_programs_of_each_copy_that_fail(stress, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "/nothing")
    wrong = stress("--for", "0.1s")
    assert wrong.status == 1
    for probe in ("stress/ep 1", "stress/ft 2"):
        assert f"{probe} on here: fail" in wrong.stdout
    said = re.search(r"^(\d+) programs in \S+ hours of use, (\d+) failed: ", wrong.stdout, re.M)
    assert said and int(said[1]) == int(said[2]) >= 2
    with Store(tmp_path / "s.db") as store:
        assert {"stress/ep 1", "stress/ft 2"} <= {name for name, _ in store.probes()}


def test_wrong_words_of_stress_are_refused(stress):
    for words, says in (
        (("--for", "soon"), "expected a time with one of the units"),
        (("--target", "none"), "there are: here"),
        (("--class", "Z"), "expected S, W, A or B"),
    ):
        stress(*words).assert_refused(says)
