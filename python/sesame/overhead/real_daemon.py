"""The real daemon and a collector under settings of a node model: what they take and deliver.

    with RealDaemon(directory) as daemon:
        run = daemon.measure(DaemonSetting(0.1, 6), seconds=10)

Both processes are on this machine, connected by the loopback interface. Programs of the catalogue
may run beside them (beside.py). Needs what sesamed needs: root, and the extra `daemon`.
"""

from __future__ import annotations

import ctypes
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from sesame.errors import SesameError
from sesame.measurement.control import Nodes
from sesame.measurement.frames import decode_readings, whole_bytes
from sesame.overhead.beside import NOTHING, Repeated, end_process
from sesame.overhead.daemon_runs import DaemonRun, DaemonSetting
from sesame.web.server.tokens import read_token

# How often the collector's journal is looked at: latencies are known up to this, s.
LOOK_S = 0.002
# After a message has arrived, daemon and collector finish what they do for it, s.
SETTLE_S = 0.02
PATIENCE_S = 60.0
UNMEASURED = 2  # batches, the first of which may have started under another setting
ADDRESS = re.compile(r"http://\S+?:\d+")
SESAME = (sys.executable, "-m", "sesame")


class RealDaemon:
    """A context: starts a collector, and sesamed with all its points on, and ends both."""

    def __init__(self, directory: Path) -> None:
        """`directory`: an empty one, for their data."""
        self._directory = directory
        self._processes = ExitStack()

    def __enter__(self) -> RealDaemon:
        with ExitStack() as started:
            self._start(started)
            self._processes = started.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._processes.close()

    def _start(self, started: ExitStack) -> None:
        token, state = self._directory / "collector-token", self._directory / "daemon"
        state.mkdir()
        collect = ["collect", "-o", str(self._directory / "received"), "--segment", "1440"]
        listen = ["--listen", "127.0.0.1:0"]
        self._main, at = started.enter_context(
            _process([*collect, *listen, "--token-file", str(token)], self._directory / "main.log")
        )
        # Its own budget would be exceeded by short periods, and the daemon would measure less.
        daemon = ["measure", "daemon", "--budget", "none", "--level", "summary", "--user", "root"]
        to = ["--destination", at, "--destination-token-file", str(token)]
        self._daemon, address = started.enter_context(
            _process(
                [*daemon, *listen, "--state-directory", str(state), *to],
                self._directory / "daemon.log",
            )
        )
        self._nodes = Nodes([address], read_token(state / "token"))

    def measure(
        self,
        setting: DaemonSetting,
        seconds: float,
        beside: Repeated | None = None,
        name: str = NOTHING,
    ) -> DaemonRun:
        """Runs with the setting for about `seconds`. `name` is what the result calls the program
        `beside` it. Raises SesameError if no readings arrive, or if that program fails."""
        journal = self._set(setting)

        def wait() -> None:
            journal.wait()
            if beside is not None:
                beside.check()

        for _ in range(UNMEASURED):
            wait()
        begin, first = journal.last, len(journal.arrivals)
        before = self._cpu_s()
        while journal.last[0] - begin[0] < seconds:
            wait()
        after = self._cpu_s()
        latencies = journal.latencies_s(first)
        return DaemonRun(
            setting,
            name,
            journal.last[0] - begin[0],
            len(latencies),
            len(journal.arrivals) - first,
            after[0] - before[0],
            after[1] - before[1],
            float(latencies.mean()),
            float(np.quantile(latencies, 0.99)),
        )

    def _set(self, setting: DaemonSetting) -> _Journal:
        """Of messages from now on, when the daemon has the setting."""
        changes = {"interval": setting.period_s, "batch": setting.batch}
        for outcome in self._nodes.set(changes, {}):
            if outcome.error is not None:
                raise outcome.error
        return _Journal(self._directory / "received", PATIENCE_S + 3 * _length(setting))

    def _cpu_s(self) -> tuple[float, float]:
        """Of daemon and collector, when both have finished the last message."""
        time.sleep(SETTLE_S)
        return processor_time_s(self._daemon), processor_time_s(self._main)


def _length(setting: DaemonSetting) -> float:
    return setting.period_s * setting.batch


def least_duration_s(setting: DaemonSetting, seconds: float) -> float:
    """How long `measure` takes at least: it measures whole batches."""
    return UNMEASURED * _length(setting) + max(seconds, _length(setting))


class _Journal:
    """Sees when the collector's journal grows. It appends a message at once."""

    def __init__(self, directory: Path, patience_s: float) -> None:
        self._directory, self._patience_s = directory, patience_s
        self._path = next(directory.glob(".journal-*"), None)
        self._size = 0 if self._path is None else self._path.stat().st_size
        self._begin = self._size
        self.arrivals: list[tuple[float, int]] = []  # when, on the monotonic clock; size then

    @property
    def last(self) -> tuple[float, int]:
        return self.arrivals[-1]

    def wait(self) -> None:
        """Until the next message has arrived."""
        end = time.monotonic() + self._patience_s
        while time.monotonic() < end:
            if self._path is None:
                self._path = next(self._directory.glob(".journal-*"), None)
            size = 0 if self._path is None else self._path.stat().st_size
            if size > self._size:
                now = time.monotonic()
                self._size = self._whole(size, end)
                self.arrivals.append((now, self._size))
                return
            time.sleep(LOOK_S)
        raise self._nothing()

    def _nothing(self) -> SesameError:
        return SesameError(f"no reading has arrived at the collector in {self._patience_s:.0f} s")

    def _whole(self, size: int, end: float) -> int:
        """The size when it has stopped growing at the end of an item: a write is seen page by
        page, and the collector may have to wait for a processor between two pages."""
        assert self._path is not None
        while time.monotonic() < end:
            time.sleep(LOOK_S)
            before, size = size, self._path.stat().st_size
            written = self._path.read_bytes()[self._size : size]
            if size == before and whole_bytes(BytesIO(written)) == len(written):
                return size
        raise self._nothing()

    def latencies_s(self, first: int) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Of the readings in all messages from the `first` on."""
        assert self._path is not None
        data = self._path.read_bytes()
        before = self.arrivals[first - 1][1] if first else self._begin
        found = []
        for when, size in self.arrivals[first:]:
            for reading in decode_readings(BytesIO(data[before:size])):
                found.append(when - reading.end_ns * 1e-9)
            before = size
        return np.array(found)


def processor_time_s(pid: int) -> float:
    """Processor time of all threads of a process (clock_getcpuclockid(3))."""
    clock = ctypes.c_int()
    error = ctypes.CDLL(None).clock_getcpuclockid(pid, ctypes.byref(clock))
    if error:
        raise SesameError(f"process {pid} has ended: {os.strerror(error)}")
    return time.clock_gettime(clock.value)


@contextmanager
def _process(words: list[str], log: Path) -> Iterator[tuple[int, str]]:
    """A process of sesame until the end of the context: its number, and its address. Raises
    SesameError with what it said if it ends before it listens."""
    with ExitStack() as ending:
        with log.open("wb") as out, _uninterrupted():
            process = subprocess.Popen(
                [*SESAME, *words], stdout=out, stderr=out, start_new_session=True
            )
            ending.callback(end_process, process)
        yield process.pid, _address(process, log)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Ctrl-C waits for the end of the context, so that a process that has just been started is
    known to those who end it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
        raise KeyboardInterrupt


def _address(process: subprocess.Popen[bytes], log: Path) -> str:
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        said = log.read_text(errors="replace")
        found = ADDRESS.search(said)
        if found is not None:
            return found[0]
        if process.poll() is not None:
            raise SesameError(" ".join(said.split()).removeprefix("error: "))
        time.sleep(0.01)
    raise SesameError(f"{log.stem} does not listen after {PATIENCE_S:.0f} s")
