"""Faults of a machine while a prober stays: its report names each, with its begin and end."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.command_line import sesame

DEADLINE_S = 60
# The probe removes its file: one that writes over it again needs no space that others may take.
SITE = """\
[target.t]
directory = "{disk}"

[probe.up]
target = "t"
interval = "1s"
availability = true
[[probe.up.step]]
command = ["true"]
timeout = "10s"

[probe.write]
target = "t"
interval = "1s"
[[probe.write.step]]
name = "write 2 MB"
command = ["dd", "if=/dev/zero", "of={disk}/written", "bs=64k", "count=32"]
timeout = "10s"
[[probe.write.step]]
name = "remove"
command = ["rm", "{disk}/written"]
timeout = "10s"
"""


@contextmanager
def prober(site: Path) -> Iterator[Callable[[str], float]]:
    """A prober that stays. until(text): when it had printed a line with the text after now."""
    log = site.with_suffix(".log")
    command = [sys.executable, "-m", "sesame", "evaluate", "run", str(site), "--watch"]
    with log.open("w") as file:
        process = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT)

    def until(text: str) -> float:
        known = log.stat().st_size
        deadline = time.monotonic() + DEADLINE_S
        while text not in (printed := log.read_text()[known:]):
            assert time.monotonic() < deadline and process.poll() is None, printed
            time.sleep(0.02)
        return time.time()

    try:
        yield until
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(DEADLINE_S)


def fill(disk: Path) -> None:
    """Takes what space is left."""
    with (disk / "filler").open("ab", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))


def test_a_disk_that_was_full_for_a_while_is_named_with_its_begin_and_end(small_disk, tmp_path):
    site = tmp_path / "s.toml"
    site.write_text(SITE.format(disk=small_disk))
    with prober(site) as until:
        until("write on t: pass")
        began = time.time()
        fill(small_disk)
        fails = until("write on t: fail")
        for _ in range(2):  # what the probe freed meanwhile
            fill(small_disk)
            until("write on t: fail")
        removed = time.time()
        (small_disk / "filler").unlink()
        (small_disk / "written").unlink(missing_ok=True)
        passes = until("write on t: pass")
    found = json.loads(sesame("evaluate", "report", "s.toml", "--json", cwd=tmp_path).stdout)
    (of_write,) = (one for one in found["failures"] if one["probe"] == "write")
    (full,) = of_write["failures"]
    assert full["reason"].endswith("No space left on device"), full
    assert full["not_before"] <= fails and began - 1 <= full["began"] <= fails
    assert full["runs"] >= 3 and full["last_failed"] <= passes
    assert removed - 1 <= full["ended"] <= passes
    (line,) = (one for one in found["findings"] if "write 2 MB" in one)
    assert "No space left on device: began " in line and ", ended " in line
