"""Characterisation against others that counted the same: fio's own log, and the kernel's counters.

Needs root, perf and fio.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from sesame.datasets import DataSet
from sesame.exchange import import_trace

SESAME = [sys.executable, "-c", "from sesame.cli import main; main()"]
EVENTS = "block:block_rq_issue,block:block_rq_complete"

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or not all(map(shutil.which, ("perf", "fio", "losetup"))),
    reason="needs root, perf, fio and losetup",
)


def run(*words: str) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def device(tmp_path):
    image = tmp_path / "image"
    image.touch()
    os.truncate(image, 64 << 20)
    try:
        name = run("losetup", "-f", "--show", str(image)).strip()
    except subprocess.CalledProcessError as error:
        pytest.skip(f"no loop device: {error.stderr}")
    yield Path(name)
    run("losetup", "-d", name)


def counters(device: Path) -> list[int]:
    """Reads, sectors read, writes, sectors written: Documentation/block/stat.rst of Linux."""
    numbers = [int(n) for n in Path("/sys/block", device.name, "stat").read_text().split()]
    return [numbers[i] for i in (0, 2, 4, 6)]


def recorded(device: Path, directory: Path, *fio: str) -> tuple[dict, list[tuple[int, int]], list]:
    """What Sesame says; offset and size of each request in fio's log; the counters' difference."""
    before = counters(device)
    job = ["fio", "--name=j", f"--filename={device}", "--size=64M", "--direct=1", *fio]
    job += [f"--write_iolog={directory / 'log'}", "--output=/dev/null"]
    # With space for all of its events: while perf waits for a processor, it loses those for which
    # its buffers have none.
    perf = ["perf", "record", "-q", "-a", "-m", "16M", "-e", EVENTS]
    perf += ["-o", str(directory / "perf.data"), "--"]
    done = subprocess.run([*perf, *job], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"perf does not record here: {done.stderr}")
    difference = [b - a for a, b in zip(before, counters(device), strict=True)]
    text = directory / "perf.txt"
    text.write_text(run("perf", "script", "--ns", "-i", str(directory / "perf.data")))
    import_trace(text, directory / "d.sesame")
    numbers = device.stat().st_rdev
    name = f"{os.major(numbers)},{os.minor(numbers)}"
    assert DataSet(directory / "d.sesame").has("block_request")
    command = [*SESAME, "characterize", str(directory / "d.sesame"), "--device", name, "--json"]
    rows = [line.split() for line in (directory / "log").read_text().splitlines()]
    logged = [(int(r[-2]), int(r[-1])) for r in rows if r[-3] in ("read", "write")]
    return json.loads(run(*command)), logged, difference


def test_random_requests_are_those_of_fio_and_the_kernel(device, tmp_path):
    found, logged, kernel = recorded(
        device,
        tmp_path,
        *("--rw=randrw", "--bssplit=4k/60:16k/30:128k/10", "--random_distribution=zipf:1.1"),
        *("--ioengine=libaio", "--iodepth=8", "--number_ios=2000"),
    )
    assert found["total"] == len(logged) > 1000
    reads, writes = found["requests"]["reads"], found["requests"]["writes"]
    moved = [found["bytes"][name] // 512 for name in ("reads", "writes")]
    assert [reads, moved[0], writes, moved[1]] == kernel
    sizes = Counter(size for _, size in logged)
    assert {one["bytes"]: one["requests"] for one in found["sizes"]} == sizes
    places = Counter(offset for offset, _ in logged)
    assert (found["places"], found["repeated"]) == (len(places), len(logged) - len(places))
    hottest = [(one["position"], one["accesses"]) for one in found["hot_spots"][:1]]
    assert hottest == places.most_common(1)


def test_a_stream_is_sequential_and_one_at_a_time(device, tmp_path):
    found, logged, _ = recorded(
        device, tmp_path, "--rw=read", "--bs=64k", "--ioengine=psync", "--number_ios=500"
    )
    assert found["total"] == len(logged)
    assert found["sequential"]["reads"] >= len(logged) - 2
    assert found["mean_depth"] == pytest.approx(1)
