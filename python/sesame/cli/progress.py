"""The progress line: one line on a terminal's stderr, erased when the run is over; and the display
of simulated runs on a terminal."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from sesame.analysis.quantities import format_count, format_seconds
from sesame.cli.notes import print_notes
from sesame.simulation import Host, Point, RunResult

ERASE = "\r\x1b[K"
PATIENCE_S = 0.5  # shorter runs show no progress line


class TerminalDisplay:
    """A `sesame.api.display.Display` for the command line: output is passed on as it comes, with a
    progress line below it. The simulator reports its errors on stderr itself."""

    quiet = False

    def __init__(self, *, program_stdout: str = "stdout") -> None:
        self.program_stdout = program_stdout

    def show_notes(self, notes: Sequence[str]) -> None:
        print_notes(notes)

    def announce(self, point: Point) -> None:
        from rich.console import Console

        Console(stderr=True, highlight=False).print(f"[bold]{point}[/]", markup=True)

    def host_run(
        self,
        executable: Path,
        ranks: int,
        run: Callable[..., RunResult],
        *,
        stdin: IO[bytes] | None = None,
        silent: bool = False,
    ) -> RunResult:
        streams: dict[str, Any] = {} if stdin is None else {"stdin": stdin}
        if silent:
            streams |= dict.fromkeys(("stdout", "stderr"), subprocess.DEVNULL)
        with ProgressLine(ranks) as line:
            return run(line.host(executable, **streams), **line.run_options())


class ProgressLine:
    """Shows how far a simulation is. It copies the program's own output unchanged."""

    def __init__(self, ranks: int, label: str = "") -> None:
        self._ranks = ranks
        self._label = label
        self._lock = threading.Lock()
        self._text = ""
        self.shown = sys.stderr.isatty()

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._lock:
            self._erase()
            self.shown = False

    def host(self, executable: Path, **streams: Any) -> Host:
        """A host whose output goes through `pump`, which erases the line for it."""
        if self.shown:
            streams |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return Host(executable, **streams)

    def run_options(self) -> dict[str, Any]:
        """Keyword arguments of Host.run that connect it with this line."""
        return {"progress": self.update, "pump": self.pump} if self.shown else {}

    def update(self, report: dict[str, Any]) -> None:
        wall = float(report.get("wall_time_s", 0))
        if not self.shown or wall < PATIENCE_S:
            return
        messages = int(report.get("messages", 0))
        text = (
            f"{self._label}simulated {format_seconds(float(report.get('simulated_time_s', 0)))}, "
            f"{format_count(messages)} messages, "
            f"{report.get('ranks_finished', 0)} of {report.get('ranks', self._ranks)} ranks ended, "
            f"{format_seconds(wall)} so far"
        )
        with self._lock:
            if self.shown:
                self._text = text
                self._draw()

    def pump(self, pipes: Sequence[IO[bytes]]) -> None:
        """Copies the program's stdout and stderr to ours until both end."""
        threads = [
            threading.Thread(target=self._copy, args=pair, daemon=True)
            for pair in zip(pipes, (sys.stdout.buffer, sys.stderr.buffer), strict=True)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _copy(self, source: IO[bytes], sink: IO[bytes]) -> None:
        while data := os.read(source.fileno(), 1 << 16):
            with self._lock:
                self._erase()
                sink.write(data)
                sink.flush()
                if data.endswith(b"\n"):  # else the program has started a line of its own
                    self._draw()

    def _draw(self) -> None:
        if self._text:
            width = os.get_terminal_size(sys.stderr.fileno()).columns - 1
            sys.stderr.write(ERASE + self._text[:width])
            sys.stderr.flush()

    def _erase(self) -> None:
        if self._text and self.shown:
            sys.stderr.write(ERASE)
            sys.stderr.flush()
