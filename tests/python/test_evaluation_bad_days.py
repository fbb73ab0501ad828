"""Probes that misbehave beside one that does not, and clocks that jump."""

from __future__ import annotations

import math
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from sesame.evaluation.periods import moment
from sesame.evaluation.probing import Outcome, Result, run_probe
from sesame.evaluation.runner import Last, Latest, Round
from sesame.evaluation.site import Probe, read_site
from sesame.evaluation.store import Store
from sesame.evaluation.waiting import keep

HOUR = 3600.0
DEADLINE_S = 30
PROBE = """
[probe.{name}]
target = "{target}"
interval = "1h"
[[probe.{name}.step]]
name = "one"
timeout = "{timeout}"
shell = '''{shell}'''
"""
BAD = {
    "hangs": ("trap '' TERM; sleep 1000", "it took longer than 0.5 s"),
    "forks": ("setsid sleep 1000 & setsid sleep 1000 & exit 0", ""),
    "prints": ("yes", "it printed more than 64 MiB"),
    "kills": ("kill -9 $PPID; sleep 1000", "it killed the process that supervises it"),
    "missing": ("exec 2>&-; exec /no/such/program", "exit status 127, expected exit status 0"),
    "crashes": ("kill -SEGV $$", "signal 11, expected exit status 0"),
    "binary": ("head -c 100000 /dev/urandom; exit 1", "exit status 1, expected exit status 0"),
}


def exists(process: int) -> bool:
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return False
    return not re.search(r"^State:\s+[ZX]", status, re.M)


def wait_for(is_so) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_no_probe_disturbs_another(sesame, tmp_path):
    """Each misbehaves in its own way; the last one, and each in the next run, has its answer."""
    text = "[target.t]\n"
    for name, (shell, _) in BAD.items():
        timeout = "0.5s" if name == "hangs" else "60s"
        text += PROBE.format(name=name, target="t", timeout=timeout, shell=shell)
    text += PROBE.format(name="good", target="t", timeout="60s", shell="echo good")
    (tmp_path / "s.toml").write_text(text)
    done = sesame("evaluate", "run", "s.toml")
    assert done.status == 1, done.stderr
    with Store(read_site(tmp_path / "s.toml").database) as store:
        found = {name: store.last(name, "t") for name in (*BAD, "good")}
    assert {name: one.reason for name, one in found.items()} == {
        **{name: reason for name, (_, reason) in BAD.items()},
        "good": "",
    }
    assert found["good"].outcome is Outcome.PASS
    (left,) = found["forks"].figures
    assert (left.name, left.value) == ("one: processes left behind", 2)


def test_a_killed_prober_leaves_nothing_of_several_targets(tmp_path):
    text = ""
    for name in "ab":
        text += f"[target.{name}]\n"
        shell = f"echo $$ > {tmp_path}/{name}; sleep 1000"
        text += PROBE.format(name=name, target=name, timeout="900s", shell=shell)
    (tmp_path / "s.toml").write_text(text)
    prober = subprocess.Popen(
        [sys.executable, "-m", "sesame", "evaluate", "run", "s.toml"],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    files = [tmp_path / name for name in "ab"]
    wait_for(lambda: all(one.exists() and one.read_text().strip() for one in files))
    processes = [int(one.read_text()) for one in files]
    assert all(map(exists, processes))
    prober.send_signal(signal.SIGKILL)
    prober.wait(DEADLINE_S)
    wait_for(lambda: not any(map(exists, processes)))


@pytest.fixture
def site(tmp_path):
    shell = f"echo ran >> {tmp_path}/runs"
    text = "[target.t]\n" + PROBE.format(name="p", target="t", timeout="60s", shell=shell)
    (tmp_path / "s.toml").write_text(text)
    return read_site(tmp_path / "s.toml")


def test_after_a_clock_that_was_ahead_a_probe_runs_once_in_each_interval(site):
    """The clock was a year ahead, a probe ran, the clock is right again."""
    now = time.time()
    keep(site, [Result("k", "p", "t", now + 8760 * HOUR, 1, Outcome.PASS)])
    due = Round(site, lambda _: None).due()
    assert [one.name for one in due] == ["p"]
    Round(site, lambda _: None).run(due)
    within = 0 if math.floor(now / HOUR) == math.floor(time.time() / HOUR) else 1
    assert len(Round(site, lambda _: None).due()) == within


def test_while_a_prober_stays_it_notices_a_clock_that_is_set(site):
    times = [10 * HOUR]
    round_ = Round(site, lambda _: None, now=lambda: times[-1])
    for now, is_due in (
        (10 * HOUR, True),
        (10.5 * HOUR, False),
        (34 * HOUR, True),  # set ahead by a day
        (10.6 * HOUR, True),  # and back
        (10.7 * HOUR, False),
    ):
        times.append(now)
        assert bool(round_.due()) is is_due, now
        if is_due:
            round_._latest.of["p"] = Last(now, Outcome.PASS)


def test_summer_time_neither_repeats_nor_skips_an_hour(site, monkeypatch):
    """In Berlin the clock went from 3:00 to 2:00 on 2026-10-25, so that the day had 25 hours."""
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    try:
        begin = moment("2026-10-25T00:00+02:00", "")
        end = moment("2026-10-26T00:00+01:00", "")
        latest, runs = Latest(), 0
        for minute in range(int((end - begin) // 60)):
            if latest.is_due(site.probes["p"], begin + 60 * minute):
                latest.of["p"] = Last(begin + 60 * minute, Outcome.PASS)
                runs += 1
        assert runs == 25
    finally:
        monkeypatch.delenv("TZ")
        time.tzset()


def test_a_month_without_runs_is_followed_by_one_run(site):
    keep(site, [Result("k", "p", "t", time.time() - 720 * HOUR, 1, Outcome.PASS)])
    Round(site, lambda _: None).run(Round(site, lambda _: None).due())
    assert Path(site.path.parent / "runs").read_text() == "ran\n"


def test_a_prober_that_fails_in_a_fork_says_of_what(tmp_path, monkeypatch, capfd):
    """As when Sesame is updated below one that stays."""
    names = ("p", "q")
    text = "".join(f"[target.{name}]\n" for name in names) + "".join(
        PROBE.format(name=name, target=name, timeout="10s", shell="true") for name in names
    )
    (tmp_path / "s.toml").write_text(text)

    def fails(*_: object) -> None:
        raise ImportError("cannot import name 'new'")

    monkeypatch.setattr("sesame.evaluation.runner.run_probe", fails)
    round_ = Round(read_site(tmp_path / "s.toml"), lambda _: None)
    found = round_.run(round_.due())
    assert [one.outcome for one in found] == [Outcome.NOT_OBSERVED] * 2
    assert {one.reason for one in found} == {
        "the prober failed: ImportError: cannot import name 'new'"
    }
    assert "Traceback" in capfd.readouterr().err


@pytest.fixture
def small_disk(tmp_path) -> Iterator[Path]:
    """A file system of 256 KiB."""
    path = tmp_path / "small"
    path.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=256k", "none", str(path)]
    if os.geteuid() != 0 or subprocess.run(command, check=False).returncode != 0:
        pytest.skip("needs a file system of its own, which only root can mount")
    try:
        yield path
    finally:
        subprocess.run(["umount", "-l", str(path)], check=True)


@pytest.mark.parametrize(
    ("change", "reason"),
    [("nr_inodes=1", "No space left on device"), ("ro", "Read-only file system")],
)
def test_a_full_file_system_that_the_site_file_names_is_a_failure_of_the_target(
    small_disk, change, reason
):
    subprocess.run(["mount", "-o", f"remount,{change}", str(small_disk)], check=True)
    for is_given in (True, False):
        made = read_probe(small_disk.parent, small_disk if is_given else None)
        if not is_given:  # as a batch system's, beside the site file
            made = replace(made, target=replace(made.target, directory=small_disk))
        result = run_probe(made, {}).results[0]
        if is_given:
            assert (result.outcome, result.reason) == (Outcome.FAIL, reason)
            assert result.step == f"make a directory in {small_disk}"
        else:
            assert result.outcome is Outcome.NOT_OBSERVED
            assert result.reason == f"the prober cannot make its directory: {reason}"


def test_a_directory_that_is_not_there_is_no_failure_of_the_target(tmp_path):
    result = run_probe(read_probe(tmp_path, tmp_path / "none"), {}).results[0]
    assert result.outcome is Outcome.NOT_OBSERVED
    assert result.reason == "the prober cannot make its directory: No such file or directory"


def read_probe(path: Path, directory: Path | None, shell: str = "true") -> Probe:
    given = f'directory = "{directory}"\n' if directory else ""
    text = PROBE.format(name="p", target="t", timeout="10s", shell=shell)
    (path / "s.toml").write_text(f"[target.t]\n{given}{text}")
    return read_site(path / "s.toml").probes["p"]


def test_the_reason_of_a_failed_step_has_the_error_that_it_printed(small_disk, tmp_path):
    fill(small_disk)
    write = f"dd if=/dev/zero of={small_disk}/x bs=4k count=99"
    reason = run_probe(read_probe(tmp_path, None, write), {}).results[0].reason
    assert reason.startswith("exit status 1, expected exit status 0: dd: ")
    assert reason.endswith(": No space left on device")


@pytest.mark.few_cases(4)
@pytest.mark.parametrize(
    ("printed", "said"),
    [
        (r"Traceback:\n  raise MyError\nMyError: bad\n", ": MyError: bad"),
        (r"12 passed\n\n\033[31mE\tfatal: it\033[0m\n", r": \x1b[31mE\tfatal: it\x1b[0m"),
        (r"terrors\nall done\n", ""),
        (r"Residual error 1.2e-9, within\nFAILED: rank 3\n", ": FAILED: rank 3"),
        (r"All 5 tests ok, 0 failed\npanic: out of memory\n", ": panic: out of memory"),
        (r"0 errors\nrelative error: 1e-12\nSegmentation fault\n", ": Segmentation fault"),
        (r"lib not found\nx: Cannot allocate memory\nfailed\n", ": x: Cannot allocate memory"),
        (r"a test failed\nmake: Error 2\n", ": make: Error 2"),
        (r"errors: 0, no failures\n", ""),
        ("error: " + 300 * "x", ": " + 199 * "x" + "…"),
    ],
)
def test_the_error_in_a_reason_is_one_line_bounded_and_without_control_characters(
    tmp_path, printed, said
):
    shell = f'printf "{printed}"; exit 3'
    reason = run_probe(read_probe(tmp_path, None, shell), {}).results[0].reason
    assert reason == f"exit status 3, expected exit status 0{said}"


def fill(directory: Path) -> Path:
    """Takes the rest of the disk."""
    path = directory / "filler"
    with suppress(OSError), path.open("wb", buffering=0) as file:
        while True:
            file.write(b"x" * 512)
    return path


# Several pages, so that a file cannot be extended.
PRINTS = "head -c 60000 /dev/zero | tr '\\0' x; exit 1"


def test_results_wait_beside_the_site_file_while_the_disk_of_the_database_is_full(
    sesame, small_disk, tmp_path
):
    text = PROBE.format(name="p", target="t", timeout="10s", shell=PRINTS)
    (tmp_path / "s.toml").write_text(f'database = "small/s.db"\n[target.t]\n{text}')
    run = ("evaluate", "run", "s.toml", "--once", "p")
    assert sesame(*run).status == 1
    filler = fill(small_disk)
    outcome = sesame(*run)
    assert outcome.status == 1
    assert "note: the database is unavailable: results wait in " in outcome.stderr
    assert kept_in(small_disk / "s.db") == 1
    filler.unlink()
    assert sesame(*run).stderr == ""
    assert kept_in(small_disk / "s.db") == 3


def test_what_can_be_kept_nowhere_is_reported_and_nothing_is_written_in_part(
    sesame, small_disk, tmp_path
):
    parts = (PROBE.format(name=n, target="t", timeout="10s", shell=PRINTS) for n in "pq")
    site = small_disk / "s.toml"
    site.write_text("[target.t]\n" + "".join(parts))
    assert sesame("evaluate", "run", str(site)).status == 1
    filler = fill(small_disk)
    for name in "pq":
        outcome = sesame("evaluate", "run", str(site), "--once", name)
        assert outcome.status == 2
        said = f"error: {site}.waiting: cannot keep results: No space left on device"
        assert said in outcome.stderr
        assert f"{name} on t: fail" in outcome.stdout  # the result is not lost to who looks
    waiting = small_disk / "s.toml.waiting"
    assert not waiting.exists() or waiting.stat().st_size == 0
    filler.unlink()
    assert kept_in(small_disk / "s.db") == 2
    outcome = sesame("evaluate", "run", str(site), "--once", "p")
    assert (outcome.status, outcome.stderr) == (1, "")
    assert kept_in(small_disk / "s.db") == 3


def test_a_prober_that_stays_keeps_results_in_memory_while_all_disks_are_full(small_disk):
    text = PROBE.format(name="p", target="t", timeout="10s", shell=PRINTS)
    (small_disk / "s.toml").write_text(f"[target.t]\n{text}")
    site = read_site(small_disk / "s.toml")
    round_ = Round(site, lambda _: None)
    round_.start(round_.due())
    filler = fill(small_disk)
    for _ in range(2):
        round_.start([site.probes["p"]])
        assert "No space left" in str(round_.problem)
    filler.unlink()
    round_.start([site.probes["p"]])
    assert round_.problem is None
    assert kept_in(small_disk / "s.db") == 4


def kept_in(database: Path) -> int:
    with sqlite3.connect(database) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        count = connection.execute("SELECT COUNT(*) FROM result").fetchone()[0]
    connection.close()
    return int(count)
