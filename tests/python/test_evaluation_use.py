"""Use by Slurm's accounting, and boots and releases by what the system keeps."""

from __future__ import annotations

import math
import os
import time

import pytest

from sesame.evaluation import accounting, release, utmp
from sesame.evaluation.accounting import AccountingError, job_rows, jobs_of, node_rows
from sesame.evaluation.bench_probe import _jumps
from sesame.evaluation.release import boots_here, fingerprint, release_facts
from sesame.evaluation.utmp import BOOT_TIME, RECORD, USER_PROCESS, records

# Node, state, processors (allocated/idle/other/total), load: sinfo(1); n1 is in two partitions.
NODES = """\
n1|allocated|4/0/0/4|4.02
n1|allocated|4/0/0/4|4.02
n2|mixed|1/3/0/4|0.98
n3|idle|0/4/0/4|0.01
n4|down*|0/0/4/4|N/A
n5|drained|0/0/4/4|0.00
n6|reserved|0/4/0/4|0.00
n7|idle~|0/4/0/4|N/A
n8|draining@|2/0/2/4|1.00
n9|maint|0/4/0/4|0.00
"""


def test_nodes_are_counted_by_their_state():
    found = {name: value for name, value, _ in node_rows(NODES)}
    states = ("allocated", "idle", "down", "drained", "reserved")
    assert [found[f"nodes {one}"] for one in states] == [2, 2, 1, 2, 2]
    assert found["processors allocated"] == pytest.approx(100 * 7 / 36)
    loads = [4.02, 0.98, 0.01, 0, 0, 1, 0]
    assert found["load average of the nodes"] == pytest.approx(sum(loads) / len(loads))


def test_processor_time_of_jobs_is_that_within_the_hour():
    """Jobs of 2, 4 and 8 processors: half an hour before, in, and since before the hour."""
    end = 1_777_000_000

    def at(minute: int) -> int:
        return end - 3600 + 60 * minute

    text = (
        f"COMPLETED|{at(-30)}|{at(30)}|2\n"
        f"FAILED|{at(10)}|{at(20)}|4\n"
        f"RUNNING|{at(45)}|Unknown|8\n"
        "PENDING|Unknown|Unknown|0\n"
        "CANCELLED by 1000|None|Unknown|0\n"
        f"CANCELLED by 1000|{at(-180)}|{at(-120)}|16\n"
    )
    jobs = jobs_of(text, end)
    assert [job.state for job in jobs] == ["COMPLETED", "FAILED", "RUNNING", "CANCELLED"]
    found = {name: value for name, value, _ in job_rows(jobs, end - 3600, end)}
    minutes = 2 * 30 + 4 * 10 + 8 * 15
    assert found["processor time of jobs in the last hour"] == 60 * minutes
    assert found["jobs completed in the last hour"] == 1
    assert found["jobs failed in the last hour"] == 1


# Prints times as sacct does: by SLURM_TIME_FORMAT, a format of strftime(3), in local time. A job of
# 64 processors from 2:10 to 2:40 summer time, in a night in which 2:00 to 3:00 comes twice.
SACCT = """#!/bin/sh
case $SLURM_TIME_FORMAT in relative) echo 'COMPLETED|02:10:00|02:40:00|64'; exit;; esac
show() { date -d @$1 "+${SLURM_TIME_FORMAT:-%Y-%m-%dT%H:%M:%S}"; }
echo "COMPLETED|$(show 1792887000)|$(show 1792888800)|64"
"""


@pytest.mark.parametrize("form", [None, "%s", "relative", "%d.%m."])
def test_processor_time_is_right_when_the_clock_is_set_and_in_any_format(
    tmp_path, monkeypatch, form
):
    """2026-10-25 in Berlin, asked half an hour after the job's end, at 2:10 winter time."""
    for name, text in (("sacct", SACCT), ("sinfo", f"#!/bin/sh\necho '{NODES.splitlines()[0]}'\n")):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("TZ", "Europe/Berlin")
    if form is None:
        monkeypatch.delenv("SLURM_TIME_FORMAT", raising=False)
    else:
        monkeypatch.setenv("SLURM_TIME_FORMAT", form)
    monkeypatch.setattr(accounting.time, "time", lambda: 1_792_890_600.0)
    time.tzset()
    try:
        found = {name: value for name, value, _ in accounting.slurm_use()}
    finally:
        monkeypatch.delenv("TZ")
        time.tzset()
    assert found["processor time of jobs in the last hour"] == 64 * 1800
    assert found["jobs completed in the last hour"] == 1


@pytest.mark.parametrize("line", ["COMPLETED|2026-05-04T11:30:00|Unknown|2", "COMPLETED|1|2"])
def test_jobs_that_cannot_be_read_are_an_error(line):
    with pytest.raises(AccountingError, match=r"sacct: expected .*, got .COMPLETED"):
        jobs_of(line, 5.0)


@pytest.mark.parametrize("state", ["idle*", "allocated*", "mixed*", "drained*", "reserved*"])
def test_a_node_that_does_not_answer_is_down(state):
    """`*` marks it (sinfo(1))."""
    found = {name: value for name, value, _ in node_rows(f"n1|{state}|0/4/0/4|0.00\n")}
    assert found["nodes down"] == 1
    assert sum(value for name, value in found.items() if name.startswith("nodes ")) == 1


def record(kind: int, user: str, at: float) -> bytes:
    seconds = int(at)
    micros = int(1e6 * math.modf(at)[0])
    return RECORD.pack(kind, 1, b"tty", b"", user.encode(), b"6.1.0", 0, 0, 0, seconds, micros, b"")


def test_boots_that_no_prober_saw_are_in_wtmp(tmp_path, monkeypatch):
    (own,) = [at for name, at in boots_here() if not name.startswith("wtmp")]
    wtmp = tmp_path / "wtmp"
    earlier = (own - 90_000, own - 5_000)
    data = [record(BOOT_TIME, "reboot", at) for at in (*earlier, own + 20)]
    wtmp.write_bytes(b"".join([data[0], record(USER_PROCESS, "ann", own - 80_000), *data[1:]]))
    assert [one[1] for one in records(wtmp)] == ["reboot", "ann", "reboot", "reboot"]
    monkeypatch.setattr(utmp, "WTMP", wtmp)
    found = boots_here()
    assert [round(at) for _, at in found] == [round(at) for at in (*earlier, own)]
    assert found[-1][0] == release._text("/proc/sys/kernel/random/boot_id").strip()


def test_a_release_changes_with_a_compiler_and_names_the_kernel(tmp_path, monkeypatch):
    before = release_facts(tmp_path)
    assert before["kernel"].startswith(os.uname().release)
    assert before["C library"].startswith(os.confstr("CS_GNU_LIBC_VERSION") or "?")
    assert f"file system of {tmp_path}" in before
    assert release_facts(tmp_path) == before
    (tmp_path / "cc").write_text("#!/bin/sh\n")
    (tmp_path / "cc").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    after = release_facts(tmp_path)
    assert [name for name in after if after[name] != before.get(name)] == ["C compiler"]
    assert fingerprint(after) != fingerprint(before)


def test_jumps_and_knees_of_curves_are_figures():
    """Messages cost 10 us more above 4,096 B; a page costs three times as much above 1,000."""
    sizes = [float(size) for size in range(256, 8193, 256)]
    times = [1e-6 + 1e-10 * size + (1e-5 if size > 4096 else 0) for size in sizes]
    pages = [float(count) for count in range(100, 2801, 100)]
    first = [1e-7 * count + max(count - 1000, 0) * 2e-7 for count in pages]
    second = [1e-9 * count for count in pages]

    def table(**columns):
        return {name: {"values": values} for name, values in columns.items()}

    tables = {
        "pipe": table(size=sizes, message=times),
        "pages": table(pages=pages, first=first, second=second),
    }
    found = {one["name"]: one["value"] for one in _jumps(tables)}
    assert found["pipe: jump 1 above"] == 4096
    assert found["pipe: jump 1"] == pytest.approx(1e-5, rel=0.01)
    assert found["first touch: knee 1"] == pytest.approx(1000, abs=100)
    assert not [
        name for name in found if name.startswith(("second", "pipe: jump 2", "first touch: knee 2"))
    ]
