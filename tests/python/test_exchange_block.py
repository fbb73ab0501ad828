"""Block traces in every form: all give the same requests, and blkparse agrees."""

from __future__ import annotations

import gzip
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from tests.python.block_traces import (
    RECORD,
    Request,
    named,
    random_requests,
    write_blktrace,
    write_msr,
    write_perf,
)

from sesame.datasets import DataSet
from sesame.errors import InputError
from sesame.exchange import block_events, import_trace
from sesame.traced import block_requests

needs_blkparse = pytest.mark.skipif(shutil.which("blkparse") is None, reason="no blkparse here")


def imported(source: Path, **more) -> list[dict]:
    path = source.parent / "imported.sesame"
    import_trace(source, path, force=True, **more)
    return DataSet(path).table("block_request").to_pylist()


def depth_of(requests: list[Request], one: Request) -> int:
    """Counted one by one."""
    return sum(
        r.device == one.device
        and r.time_ns <= one.time_ns
        and (r is one or r.time_ns + r.latency_ns >= one.time_ns)
        for r in requests
    )


def check(found: list[dict], requests: list[Request], *, device=None, command=named, tick=1):
    device = device or (lambda r: f"{r.device[0]},{r.device[1]}")
    assert len(found) == len(requests)
    first = requests[0].time_ns // tick
    for row, r in zip(found, requests, strict=True):
        assert row["time_ns"] == (r.time_ns // tick - first) * tick
        assert row["latency_ns"] == r.latency_ns // tick * tick
        assert (row["sector"], row["bytes"]) == (r.sector, 512 * r.sectors)
        assert row["operation"] == {"R": "read", "W": "write"}[r.flags]
        assert (row["device"], row["command"]) == (device(r), command(r))
        assert row["depth"] == depth_of(requests, r)


@pytest.mark.parametrize("cpus", [1, 2, 5])
def test_requests_are_read_from_the_files_of_all_processors(tmp_path, cpus):
    requests = random_requests(400)
    check(imported(write_blktrace(tmp_path, requests, cpus)), requests)
    check(imported(tmp_path, format_name="blktrace"), requests)


def test_small_batches_change_nothing(tmp_path, monkeypatch):
    """Requests whose completion is in a later batch than their issue."""
    monkeypatch.setattr(block_events, "CHUNK_BYTES", 20_000)
    monkeypatch.setattr(block_requests, "LEAST_EVENTS", 300)
    requests = random_requests(1500)
    check(imported(write_perf(tmp_path / "p.txt", requests)), requests)


@needs_blkparse
def test_text_of_blkparse_has_what_its_input_has(tmp_path):
    requests = random_requests(400)
    write_blktrace(tmp_path, requests)
    run = subprocess.run(
        ["blkparse", "-i", "sd"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    text = tmp_path / "text"
    text.write_text(run.stdout)
    found = imported(text)
    # Of the two actions only the issue has the name of the process, as here.
    check(found, requests)
    counted = Counter(row["operation"] for row in found)
    summary = run.stdout[run.stdout.index("Total") :] if "Total" in run.stdout else run.stdout
    dispatched = re.findall(r"(Read|Write) Dispatches: +(\d+), +(\d+)KiB", summary)[:2]
    assert {kind.lower(): int(n) for kind, n, _ in dispatched} == dict(counted)
    for kind, _, kib in dispatched:
        size = sum(row["bytes"] for row in found if row["operation"] == kind.lower())
        assert int(kib) == size // 1024


def test_text_of_perf(tmp_path):
    requests = random_requests(300)
    path = write_perf(tmp_path / "perf.txt", requests)
    check(imported(path), requests)
    zipped = tmp_path / "perf.txt.gz"
    zipped.write_bytes(gzip.compress(path.read_bytes()))
    check(imported(zipped), requests)


def test_events_that_perf_lost_are_damage(tmp_path):
    """As `perf script --show-lost-events` prints them, between the others."""
    requests = random_requests(50)
    path = write_perf(tmp_path / "perf.txt", requests)
    head, _, rest = path.read_text().partition("\n\n")
    said = "              as 16009 [001]     1.985092954: PERF_RECORD_LOST lost {}\n"
    path.write_text(head + "\n\n" + said.format(2) + rest + said.format(388))
    check(imported(path), requests)
    damage = DataSet(tmp_path / "imported.sesame").info["raw"]["damage"]
    assert damage == ["perf lost at least 390 events while it recorded"]


def test_form_of_msr_cambridge(tmp_path):
    requests = random_requests(300)
    requests = [
        Request(
            **(
                vars(r)
                | {"time_ns": r.time_ns // 100 * 100, "latency_ns": r.latency_ns // 100 * 100}
            )
        )
        for r in requests
    ]
    found = imported(write_msr(tmp_path / "web.csv", requests))
    check(found, requests, device=lambda r: f"web.{r.device[1]}", command=lambda r: "")


def test_requests_without_an_end_and_ends_without_a_request(tmp_path):
    requests = random_requests(50)
    path = write_perf(tmp_path / "perf.txt", requests)
    lines = path.read_text().splitlines(keepends=True)
    issue = next(i for i, line in enumerate(lines) if "rq_issue" in line)
    last = max(i for i, line in enumerate(lines) if "rq_complete" in line)
    path.write_text("".join(line for i, line in enumerate(lines) if i not in (issue, last)))
    found = imported(path)
    assert len(found) == 49
    assert sum(row["latency_ns"] == -1 for row in found) == 1
    info = DataSet(tmp_path / "imported.sesame").info
    assert info["result"]["not_imported"] == ["1 completions of requests from before the trace"]


def perf_with_a_wrong_line(directory: Path) -> Path:
    path = write_perf(directory / "f", random_requests(20))
    lines = path.read_text().splitlines()
    lines[9] = lines[9].replace(" + ", " - ")
    path.write_text("\n".join(lines) + "\n")
    return path


def msr_with_a_wrong_line(directory: Path) -> Path:
    path = write_msr(directory / "f", random_requests(20))
    lines = path.read_text().splitlines()
    lines[9] = lines[9].replace("web", "web,x")
    path.write_text("\n".join(lines) + "\n")
    return path


def blktrace_with_a_wrong_record(directory: Path) -> Path:
    path = write_blktrace(directory, random_requests(20), 1)
    data = bytearray(path.read_bytes())
    names = 3 * (RECORD.itemsize + 16)
    data[names + 5 * RECORD.itemsize] = 0x99
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (perf_with_a_wrong_line, ":10: .*expected COMMAND PID"),
        (msr_with_a_wrong_line, ":10: .*expected timestamp,host"),
        (blktrace_with_a_wrong_record, f"at byte {3 * 64 + 5 * 48}: .*expected"),
    ],
)
def test_a_damaged_file_is_named_with_the_place(tmp_path, make, says):
    with pytest.raises(InputError, match=says):
        imported(make(tmp_path))
    assert not (tmp_path / "imported.sesame").exists()


@pytest.mark.parametrize("name", ["blktrace", "blkparse", "perf", "msr"])
@pytest.mark.parametrize("content", [b"", b"hello\n", b"\0" * 500, bytes(range(256)) * 9])
def test_a_foreign_file_is_refused(tmp_path, name, content):
    path = tmp_path / "foreign"
    path.write_bytes(content)
    with pytest.raises(InputError):
        imported(path, format_name=name)
    with pytest.raises(InputError, match="none of the formats"):
        imported(path)


@pytest.mark.parametrize(
    "write", [lambda f, r: write_perf(f / "p", r), lambda f, r: write_blktrace(f, r, 1)]
)
def test_a_trace_that_was_cut_off_is_imported_up_to_the_cut(tmp_path, write):
    path = write(tmp_path, random_requests(60))
    path.write_bytes(path.read_bytes()[:-20])
    assert len(imported(path)) == 60
    assert "cut off" in DataSet(tmp_path / "imported.sesame").info["raw"]["damage"][0]
