"""What threads do while measuring is paused is in no account."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from sesame.measurement import Detail, LoadedProbes, loaded
from sesame.measurement.probes import EVENT

pytestmark = pytest.mark.usefixtures("kernel_probes")

# Runs from its first byte to the second one, and sleeps from then to the third.
SLEEPER = """\
import os, select
os.read(0, 1)
print(flush=True)
while not select.select([0], [], [], 0)[0]:
    pass
os.read(0, 2)
os.read(0, 3)
"""


def waits_around_a_pause(probes: LoadedProbes) -> tuple[int, NDArray[np.void]]:
    """When counting was resumed, and the waits of who went to sleep before that."""
    buffer = np.empty(100_000, EVENT)
    wait = [point.name for point in probes.subsystem.points].index("wait")
    command = [sys.executable, "-S", "-c", SLEEPER]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as one:
        assert one.stdin is not None and one.stdout is not None
        probes.set(wait, Detail.DURATION, tracing=True)
        probes.pause(paused=False)
        try:
            one.stdin.write(b"1")
            one.stdout.readline()
            probes.pause(paused=True)
            one.stdin.write(b"2")
            state = ""
            while state != "S":
                assert one.poll() is None
                state = Path(f"/proc/{one.pid}/stat").read_text().rpartition(") ")[2][0]
                time.sleep(0.01)
            resumed_ns = time.monotonic_ns()
            probes.pause(paused=False)
            one.stdin.write(b"3")
            assert one.wait(100) == 0
        finally:
            probes.set(wait, Detail.OFF)
    _, taken = probes.source.take(buffer)
    return resumed_ns, taken[taken["pid"] == one.pid]


def test_who_goes_to_sleep_in_a_pause_has_not_waited_since():
    with loaded(["sched"]) as probes:
        resumed_ns, waits = waits_around_a_pause(probes["sched"])
    waits = waits[waits["time_ns"] > resumed_ns]
    assert len(waits) > 0
    assert (waits["time_ns"] - waits["duration_ns"] >= resumed_ns).all()
