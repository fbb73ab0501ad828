"""The simulator as a child process: finds it, runs it, and lets it inspect programs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from sesame.errors import InputError, SimulationError
from sesame.installed import find_installed
from sesame.settings import setting

Progress = Callable[[dict[str, Any]], None]
Pump = Callable[[Sequence[IO[bytes]]], None]
RANKS_AS = ("fibers", "processes")
PATIENCE_S = 5.0  # from SIGINT to SIGKILL


def find_host(interface: str | None, *, sensitivity: bool = False) -> Path:
    """The path of the simulator for an MPI binary interface ("mpich", "mpiabi", "openmpi"), or for
    "processes"; with `sensitivity` of the one for an interface that also calculates sensitivities.

    Raises SesameError if it is not installed.
    """
    return find_installed(f"sesame-simulator-{interface}{'-sensitivity' if sensitivity else ''}")


def find_player() -> Path:
    """The MPI program that plays a traced run (core/player)."""
    return find_installed("sesame-player")


@dataclass(frozen=True)
class Inspected:
    """How the ranks of a program can run."""

    ranks_as: str  # one of RANKS_AS
    why: str  # "it is a script"
    interface: str | None  # as find_host takes it; None: known when a process loads its MPI

    @property
    def simulator(self) -> Path:
        """The simulator for the program. Raises SesameError if it is not installed."""
        return find_host(self.interface if self.ranks_as == "fibers" else "processes")


def check_ranks_as(choice: str | None) -> None:
    """Raises InputError for what is none of RANKS_AS; None: it is chosen by the program."""
    if choice not in (None, *RANKS_AS):
        raise InputError(f"{setting('ranks_as', choice)}: expected {' or '.join(RANKS_AS)}")


def note_of_processes(why: str) -> str:
    """The note on a run whose ranks are processes."""
    return (
        f"each rank is a process ({why}): sockets, and files of its children, are the host's and "
        "take no simulated time"
    )


def inspect_program(program: str, ranks_as: str | None = None) -> Inspected:
    """How the ranks of a program can run; `ranks_as` None: as fibers if they can.

    Raises InputError with the reason if the program cannot be simulated, or not as it is asked.
    """
    try:
        return _inspect(program, ranks_as)
    except InputError as error:
        if ranks_as != "fibers":
            raise
        with suppress(InputError):
            if (possible := _inspect(program, None)).ranks_as == "processes":
                error.hint = (
                    f"leave {setting('ranks_as')} out: its ranks can be {possible.ranks_as}"
                )
        raise


def _inspect(program: str, ranks_as: str | None) -> Inspected:
    asked = [] if ranks_as is None else [ranks_as]
    answer = subprocess.run(
        [find_host("mpich"), "--inspect", program, *asked],
        capture_output=True,
        text=True,
        check=False,
    )
    if answer.returncode not in (0, 2):
        raise SimulationError(
            f"the simulator failed to inspect {program} and ended with status {answer.returncode}"
        )
    if answer.returncode == 2:
        message, _, hint = answer.stderr.strip().partition("\nhint: ")
        raise InputError(message or f"{program}: cannot be simulated", hint=hint or None)
    found = json.loads(answer.stdout)
    return Inspected(found["ranks_as"], found["why"], found["interface"])


@dataclass(frozen=True)
class HostRun:
    """The end of a simulator process."""

    status: int  # exit status; 128 + n for a simulator ended by signal n
    # result.json; None when the simulator could not start or was ended
    result: dict[str, Any] | None


class Host:
    """Runs the simulator, one run at a time. `stop` may be called from another thread."""

    def __init__(
        self,
        executable: Path,
        *,
        stdin: int | IO[bytes] | None = None,
        stdout: int | IO[bytes] | None = None,
        stderr: int | IO[bytes] | None = None,
    ) -> None:
        self.executable = executable
        self._stdin, self.stdout, self.stderr = stdin, stdout, stderr
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def computes_ranks(self) -> bool:
        """Whether ranks compute in the simulator, not in processes of their own."""
        return not self.executable.name.endswith("-processes")

    def run(
        self,
        scenario: dict[str, Any],
        directory: Path,
        *,
        progress: Progress | None = None,
        pump: Pump | None = None,
        descriptors: Sequence[int] = (),
    ) -> HostRun:
        """Runs a scenario whose output_directory is `directory`; waits for its end.

        The simulator gets the open `descriptors`, too.

        `progress` is called from another thread. `pump` is called with the simulator's stdout and
        stderr if both are pipes; it must return at their end.
        """
        read_end, write_end = os.pipe()
        scenario_file = directory / "scenario.json"
        text = json.dumps({**scenario, "progress_fd": write_end if progress else -1})
        scenario_file.write_text(text, encoding="utf-8")
        try:
            process = self._process = subprocess.Popen(
                [self.executable, scenario_file],
                pass_fds=[write_end, *descriptors],
                stdin=self._stdin,
                stdout=self.stdout,
                stderr=self.stderr,
            )
        finally:
            os.close(write_end)
        watcher = threading.Thread(target=_watch, args=(read_end, progress), daemon=True)
        watcher.start()
        try:
            if pump is not None and process.stdout and process.stderr:
                pump([process.stdout, process.stderr])
            status = process.wait()
        except BaseException:  # such as Ctrl-C: the child must not survive this process
            self.stop()
            raise
        finally:
            watcher.join(timeout=1)
            scenario_file.unlink(missing_ok=True)
        return HostRun(status if status >= 0 else 128 - status, _read_result(directory))

    def stop(self) -> None:
        """Ends the simulator: SIGINT and, if it is still there after PATIENCE_S, SIGKILL."""
        process = self._process
        if process is None or process.poll() is not None:
            return
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGINT)
        try:
            process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _watch(read_end: int, progress: Progress | None) -> None:
    with os.fdopen(read_end, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            with suppress(ValueError):
                report = json.loads(line)
                if progress is not None:
                    progress(report)


def _read_result(directory: Path) -> dict[str, Any] | None:
    try:
        result: dict[str, Any] = json.loads((directory / "result.json").read_text("utf-8"))
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise SimulationError(f"the simulator wrote a result that is not JSON: {error}") from error
    return result
