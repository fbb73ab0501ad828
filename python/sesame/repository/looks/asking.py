"""Asks confined processes for what they read of records. A process has one data set open and
answers one question at a time. It is ended when others are asked, or when it takes too long."""

from __future__ import annotations

import contextlib
import json
import math
import os
import select
import subprocess
import sys
import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sesame.errors import InputError
from sesame.repository.store.confinement import environment

Array = np.ndarray[Any, Any]
MOST_PROCESSES = 4  # kept, of one worker
MOST_AT_ONCE = 2  # questions answered at the same time
MOST_WAITING = 12  # others that wait for their turn; each has a thread of the server
SECONDS = 60.0  # for an answer, with the time to wait for a turn
LARGEST_HEADER, LARGEST_ANSWER = 1 << 16, 64 << 20  # bytes; an answer is all of its arrays
CHUNK = 1 << 18
TYPES = ("<f8", "<i8")


class TooLong(InputError):
    """The answer took too long, or too many are asked for."""

    status = 503


class _Ended(Exception):
    """A process ended, or gave no answer that can be understood. One that has answered before may
    have been ended by the system: it ends with the thread of the server that started it."""


class _Process:
    def __init__(self, data_set: Path) -> None:
        self.lock = threading.Lock()  # one question at a time
        self.users = 0  # threads that ask it or wait for their turn; of `Asking`'s lock
        self.has_ended = False
        self.has_answered = False
        self._process = subprocess.Popen(
            (sys.executable, "-I", "-m", "sesame.repository.looks.answering", str(data_set)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            env=environment(),
            start_new_session=True,
            cwd="/",
        )

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def send(self, request: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request).encode() + b"\n")

    def read(self, most: int, end: float) -> bytes:
        """Some bytes; none at the end of the output. Raises TooLong."""
        assert self._process.stdout is not None
        ready, _, _ = select.select([self._process.stdout], [], [], max(end - time.monotonic(), 0))
        if not ready:
            raise TooLong(
                f"this took more than {SECONDS:.0f} s", hint="choose a smaller range of time"
            )
        return os.read(self._process.stdout.fileno(), most)

    def end(self) -> None:
        self.has_ended = True
        with contextlib.suppress(OSError):
            self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()


class Asking:
    """Used by the threads of a server. The processes end with it; `close` ends them before."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._processes: OrderedDict[Path, _Process] = OrderedDict()
        self._turns = threading.BoundedSemaphore(MOST_AT_ONCE)
        self._waiting = threading.BoundedSemaphore(MOST_AT_ONCE + MOST_WAITING)
        weakref.finalize(self, _end_all, self._processes)

    def ask(self, data_set: Path, request: Mapping[str, Any]) -> dict[str, Array]:
        """Raises InputError with what the process says, TooLong."""
        end = time.monotonic() + SECONDS
        with self._turn(end):
            while True:
                with self._used(data_set) as process, process.lock:
                    if process.has_ended:  # with the question before, which took too long
                        continue
                    is_new = not process.has_answered
                    try:
                        return self._answer(data_set, process, request, end)
                    except _Ended as error:
                        if is_new:
                            raise InputError(str(error)) from error

    def _answer(
        self, data_set: Path, process: _Process, request: Mapping[str, Any], end: float
    ) -> dict[str, Array]:
        try:
            process.send(request)
            found = _read_answer(process, end)
        except (OSError, ValueError, KeyError, TypeError, RecursionError, TooLong) as error:
            self._drop(data_set, process)
            if isinstance(error, TooLong):
                raise
            raise _Ended("the process that reads these records ended") from error
        process.has_answered = True
        return found

    def stream(self, data_set: Path, request: Mapping[str, Any]) -> Iterator[bytes]:
        """The output of a process of its own, in chunks."""
        with self._turn(time.monotonic() + SECONDS):
            process = _Process(data_set)
            try:
                process.send(request)
                while chunk := process.read(CHUNK, time.monotonic() + SECONDS):
                    yield chunk
            finally:
                process.end()

    def close(self) -> None:
        with self._lock:
            _end_all(self._processes)

    @contextlib.contextmanager
    def _turn(self, end: float) -> Iterator[None]:
        if not self._waiting.acquire(blocking=False):
            raise TooLong("the server reads other records", hint="try again in a moment")
        try:
            if not self._turns.acquire(timeout=max(end - time.monotonic(), 0)):
                raise TooLong("the server reads other records", hint="try again in a moment")
            try:
                yield
            finally:
                self._turns.release()
        finally:
            self._waiting.release()

    @contextlib.contextmanager
    def _used(self, data_set: Path) -> Iterator[_Process]:
        """The process of a data set, which is not ended for others meanwhile."""
        with self._lock:
            process = self._of(data_set)
            process.users += 1
            idle = [path for path, one in self._processes.items() if not one.users]
            while len(self._processes) > MOST_PROCESSES and idle:
                self._processes.pop(idle.pop(0)).end()
        try:
            yield process
        finally:
            with self._lock:
                process.users -= 1

    def _of(self, data_set: Path) -> _Process:
        found = self._processes.pop(data_set, None)
        if found is not None and not found.is_alive:
            found.end()
            found = None
        found = found or _Process(data_set)
        self._processes[data_set] = found  # the last one asked is at the end
        return found

    def _drop(self, data_set: Path, process: _Process) -> None:
        with self._lock:
            if self._processes.get(data_set) is process:
                del self._processes[data_set]
        process.end()


def _end_all(processes: OrderedDict[Path, _Process]) -> None:
    while processes:
        processes.popitem()[1].end()


def _read_answer(process: _Process, end: float) -> dict[str, Array]:
    buffer = bytearray()
    while (newline := buffer.find(b"\n")) < 0:
        buffer += _some(process, end)
        if len(buffer) > LARGEST_HEADER + CHUNK:
            raise ValueError("header")
    header = json.loads(buffer[:newline])
    del buffer[: newline + 1]
    if "error" in header:
        raise InputError(str(header["error"])[:300])
    found: dict[str, Array] = {}
    left = LARGEST_ANSWER
    for one in header["arrays"]:
        kind, shape = one["type"], one["shape"]
        if kind not in TYPES or not all(type(n) is int and 0 <= n <= left for n in shape):
            raise ValueError("array")
        size = 8 * math.prod(shape)
        left -= size
        if left < 0:
            raise ValueError("size")
        while len(buffer) < size:
            buffer += _some(process, end)
        found[str(one["name"])] = np.frombuffer(bytes(buffer[:size]), kind).reshape(shape)
        del buffer[:size]
    return found


def _some(process: _Process, end: float) -> bytes:
    found = process.read(CHUNK, end)
    if not found:
        raise OSError("ended")
    return found
