"""Programs that run beside a daemon while it is measured: workloads of the catalogue, again and
again.

    with running(Program("ep", "A")) as beside:
        ...
        beside.check()                # raises SesameError if the program has failed
"""

from __future__ import annotations

import math
import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from sesame.errors import SesameError

NOTHING = "nothing"
PATIENCE_S = 60.0
MOST_SAID = 1000  # characters of what a program said before it failed
# sesamed needs root, and so do those who measure it; Open MPI refuses root without these.
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


@dataclass(frozen=True)
class Program:
    """A workload, or "nothing"; and its class, if it has classes."""

    name: str = NOTHING
    size: str = ""

    def __str__(self) -> str:
        """As in files of runs: "ep A"."""
        return f"{self.name} {self.size}" if self.size else self.name


def program_of(name: str, size: str) -> Program:
    """With the class if the workload has classes. Raises InputError for an unknown workload."""
    from sesame.workloads.catalogue import find_workload

    if name == NOTHING:
        return Program()
    return Program(name, size if "--class" in find_workload(name).options else "")


class Repeated:
    """A context: runs a command again and again, until its end or until it fails."""

    def __init__(self, command: Sequence[str]) -> None:
        """Without a command it runs nothing."""
        self._command = list(command)
        self._ended = threading.Event()
        self._changing = threading.Lock()
        self._current: subprocess.Popen[bytes] | None = None
        self._error: SesameError | None = None
        self._thread = threading.Thread(target=self._repeat, name="beside", daemon=True)

    def __enter__(self) -> Repeated:
        if self._command:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._changing:
            self._ended.set()
        if self._current is not None:
            end_process(self._current)
        if self._command:
            self._thread.join()

    def check(self) -> None:
        """Raises SesameError, with what it said, if it has failed."""
        if self._error is not None:
            raise self._error

    def _repeat(self) -> None:
        while self._error is None and not self._ended.is_set():
            try:
                self._run()
            except OSError as error:
                self._error = SesameError(f"{self._command[0]}: {error.strerror}")

    def _run(self) -> None:
        with tempfile.TemporaryFile() as said:
            with self._changing:
                if self._ended.is_set():
                    return
                self._current = subprocess.Popen(
                    self._command,
                    stdout=subprocess.DEVNULL,
                    stderr=said,
                    env=_environment(),
                    start_new_session=True,
                )
            status = self._current.wait()
            if status and not self._ended.is_set():
                said.seek(0)
                text = " ".join(said.read(MOST_SAID).decode(errors="replace").split())
                words = f"`{' '.join(self._command)}` failed with status {status}"
                self._error = SesameError(f"{words}: {text}" if text else words)


def _environment() -> dict[str, str]:
    from sesame.workloads.run import UNBOUND

    return {**os.environ, **UNBOUND, **AS_ROOT}


def end_process(process: subprocess.Popen[bytes]) -> None:
    """Ends a process and those that it started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    try:
        process.wait(PATIENCE_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@contextmanager
def running(program: Program) -> Iterator[Repeated]:
    """Runs a workload under mpiexec again and again, on as many processors as it can use. Raises
    InputError, BuildError."""
    with Repeated([] if program.name == NOTHING else _command(program)) as repeated:
        yield repeated


def _command(program: Program) -> list[str]:
    from sesame.workloads.build import build_workload, find_compiler
    from sesame.workloads.catalogue import find_workload

    workload = find_workload(program.name)
    built = build_workload(workload, find_compiler())
    if built.compiler.mpiexec is None:
        raise SesameError(f"there is no mpiexec beside {built.compiler.wrapper}")
    ranks = _ranks(workload.ranks, os.cpu_count() or 1)
    options = ["--class", program.size] if program.size else []
    return [str(built.compiler.mpiexec), "-n", str(ranks), str(built.program), *options]


def _ranks(words: str, processors: int) -> int:
    """The most ranks that fit the processors, for the catalogue's words."""
    if "square" in words:
        return math.isqrt(processors) ** 2
    return 1 << (processors.bit_length() - 1) if "power" in words else processors
