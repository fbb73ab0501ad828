"""Forks that run probes at the same time. A fork ends when its parent does."""

from __future__ import annotations

import os
import pickle
import select
import signal
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from sesame.evaluation.probing import Observed
from sesame.evaluation.processes import end_with_parent

Key = TypeVar("Key")


@dataclass
class _Worker:
    process: int
    pipe: int
    data: bytes = b""


class Workers(Generic[Key]):
    """At most one fork for each key."""

    def __init__(self) -> None:
        self._workers: dict[Key, _Worker] = {}

    def __contains__(self, key: object) -> bool:
        return key in self._workers

    def __len__(self) -> int:
        return len(self._workers)

    def start(self, key: Key, work: Callable[[], Observed]) -> None:
        parent = os.getpid()
        read, write = os.pipe()
        process = os.fork()
        if process == 0:
            status = 1
            try:
                end_with_parent(parent, signal.SIGINT)
                os.close(read)
                for worker in self._workers.values():
                    os.close(worker.pipe)
                with os.fdopen(write, "wb") as file:
                    pickle.dump(work(), file)
                status = 0
            except KeyboardInterrupt:
                pass
            finally:
                os._exit(status)
        os.close(write)
        self._workers[key] = _Worker(process, read)

    def collect(self, wait: float) -> list[tuple[Key, Observed | None]]:
        """What those found that ended within `wait` seconds, at once when the first has; None for
        one that was killed."""
        pipes = {worker.pipe: key for key, worker in self._workers.items()}
        found = []
        for pipe in select.select(list(pipes), [], [], wait)[0]:
            data = os.read(pipe, 1 << 16)
            worker = self._workers[pipes[pipe]]
            worker.data += data
            if not data:
                os.close(pipe)
                os.waitpid(worker.process, 0)
                del self._workers[pipes[pipe]]
                found.append((pipes[pipe], _observed(worker.data)))
        return found


def _observed(data: bytes) -> Observed | None:
    try:
        found: Observed = pickle.loads(data)  # of our own fork
    except (pickle.UnpicklingError, EOFError):
        return None
    return found
