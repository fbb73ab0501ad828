"""How the runs of the simulator are shown: notes, the program's output, progress and errors.

The library's functions take a `Display`. `CapturedOutput` is that of programs and notebooks; the
command line has one that draws a progress line (`sesame.cli.progress`).
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Protocol

from sesame.errors import AlreadyReported, InputError, SesameError
from sesame.simulation import Host, Point, RunResult, Scenario
from sesame.simulation import simulate as run_scenario

# Runs a scenario on the host that a display started; keywords are those of Host.run.
HostedRun = Callable[..., RunResult]


class Display(Protocol):
    """Shows one simulation, or the points of a series."""

    quiet: bool  # whether the program's output is dropped
    program_stdout: str  # where its standard output goes: "stdout" or "stderr"

    def show_notes(self, notes: Sequence[str]) -> None:
        """Shows what the prediction leaves out, as far as it is known before the run."""

    def announce(self, point: Point) -> None:
        """Shows the point of a series whose output follows."""

    def host_run(
        self,
        executable: Path,
        ranks: int,
        run: HostedRun,
        *,
        stdin: IO[bytes] | None = None,
        silent: bool = False,
    ) -> RunResult:
        """Calls `run(host, **keywords)` with a host of this simulator and shows its progress.

        `stdin` is the program's input; without it, the display decides. `silent` drops all output,
        for a program that has printed it in an earlier run.
        """


class CapturedOutput:
    """For programs and notebooks: what the simulator reports on stderr becomes the error."""

    program_stdout = "stdout"

    def __init__(self, *, quiet: bool) -> None:
        self.quiet = quiet

    def show_notes(self, notes: Sequence[str]) -> None:
        """Shows nothing: the notes are in the data set."""

    def announce(self, point: Point) -> None:
        """Shows nothing: the points are rows of the data set."""

    def host_run(
        self,
        executable: Path,
        ranks: int,
        run: HostedRun,
        *,
        stdin: IO[bytes] | None = None,
        silent: bool = False,
    ) -> RunResult:
        stdout = subprocess.DEVNULL if self.quiet or silent else None
        with tempfile.TemporaryFile() as stderr:
            try:
                result = run(
                    Host(
                        executable, stdin=stdin or subprocess.DEVNULL, stdout=stdout, stderr=stderr
                    )
                )
            except AlreadyReported as error:
                raise _error_from(_text_of(stderr), error) from error
            except SesameError:  # the simulator was killed: what it printed explains why
                sys.stderr.write(_text_of(stderr))
                raise
            if text := _text_of(stderr):
                sys.stderr.write(text)
            return result


def show_point(display: Display, executable: Path) -> Callable[[Scenario, IO[bytes]], RunResult]:
    """A function that runs one point of a series, shown by `display`."""

    def show(scenario: Scenario, stdin: IO[bytes]) -> RunResult:
        def run(host: Host, **keywords: object) -> RunResult:
            return run_scenario(scenario, host, **keywords)  # type: ignore[arg-type]

        return display.host_run(executable, scenario.ranks, run, stdin=stdin)

    return show


def _error_from(text: str, error: AlreadyReported) -> SesameError:
    message, _, hint = text.strip().removeprefix("error: ").partition("\nhint: ")
    if error.exit_status != InputError.exit_status:
        return SesameError(message or f"the simulator ended with status {error.exit_status}")
    return InputError(message or "the simulator refused this run", hint=hint or None)


def _text_of(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")
