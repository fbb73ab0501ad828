"""Runs a command with the tracer preloaded into each of its programs."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import IO, TYPE_CHECKING

from sesame.errors import InputError
from sesame.installed import find_installed

if TYPE_CHECKING:
    from collections.abc import Iterator

LIBRARY = "libsesame-trace.so"
OPEN_MPI_LIST = "OMPI_MCA_mca_base_env_list"


@dataclass(frozen=True)
class TraceOptions:
    """What the tracer records."""

    only: str | None = None  # io or mpi; None for both
    most_bytes: int | None = None  # limit of raw records, summed over all processes


def environment(raw: Path, options: TraceOptions) -> dict[str, str]:
    """The additional environment variables with which a program is traced into `raw`."""
    variables = {"SESAME_TRACE_DIRECTORY": str(raw.resolve())}
    if options.only is not None:
        variables["SESAME_TRACE_ONLY"] = options.only
    if options.most_bytes is not None:
        variables["SESAME_TRACE_MOST_BYTES"] = str(options.most_bytes)
    return preloaded(variables)


def preloaded(settings: Mapping[str, str]) -> dict[str, str]:
    """The environment variables that preload the tracer's library, together with `settings`."""
    library = str(find_installed(LIBRARY))
    loaded = os.environ.get("LD_PRELOAD")
    variables = {"LD_PRELOAD": f"{library}:{loaded}" if loaded else library, **settings}
    return variables | _forwarded(variables)


def _forwarded(variables: Mapping[str, str]) -> dict[str, str]:
    """Open MPI forwards only listed variables to other nodes; other launchers forward all."""
    listed = os.environ.get(OPEN_MPI_LIST)
    names = ";".join(variables)
    return {OPEN_MPI_LIST: f"{listed};{names}" if listed else names}


def run_traced(
    command: Sequence[str], raw: Path, options: TraceOptions, *, stdout: IO[str] | None = None
) -> int:
    """Runs the command traced; returns its exit status, or 128 + n if signal n ended it.

    Ctrl-C is left to the command: it ends as it would without the tracer, and its records until
    then are kept. SIGTERM is passed on to the command.
    """
    with _signals_passed_on() as passed_on:
        try:
            variables = os.environ | environment(raw, options)
            process = subprocess.Popen(command, env=variables, stdout=stdout)
        except FileNotFoundError:
            raise InputError(f"{command[0]}: no such program") from None
        except PermissionError:
            raise InputError(f"{command[0]}: this is not an executable program") from None
        except OSError as error:
            raise InputError(f"{command[0]}: cannot be run: {error.strerror}") from error
        passed_on.append(process)
        status = process.wait()
    return status if status >= 0 else 128 - status


@contextmanager
def _signals_passed_on() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Ignores SIGINT in this process, since a terminal also sends it to the command; passes SIGTERM
    on to the yielded processes."""
    processes: list[subprocess.Popen[bytes]] = []

    def pass_on(number: int, _frame: FrameType | None) -> None:
        for process in processes:
            process.send_signal(number)

    def keep(_number: int, _frame: FrameType | None) -> None:
        pass

    before = {
        signal.SIGINT: signal.signal(signal.SIGINT, keep),
        signal.SIGTERM: signal.signal(signal.SIGTERM, pass_on),
    }
    try:
        yield processes
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def was_anything_recorded(raw: Path) -> bool:
    """Whether any process left records in `raw`."""
    return any((raw / "state").glob("*"))
