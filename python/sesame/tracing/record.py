"""Traces a command and writes its data set."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

from sesame.datasets import DataSetWriter
from sesame.errors import OutputError, TracingError
from sesame.settings import setting
from sesame.tracing.collate import collate
from sesame.tracing.launch import TraceOptions, run_traced, was_anything_recorded
from sesame.tracing.unrecorded import explain


@dataclass(frozen=True)
class Making:
    """Options for the conversion of raw streams to a data set."""

    prune: str = "none"  # none, thesis or causal
    keep_raw: bool = False
    force: bool = False
    progress: Callable[[float], None] | None = None  # called with the share done


def record(
    command: Sequence[str],
    path: Path,
    options: TraceOptions,
    making: Making,
    *,
    stdout: IO[str] | None = None,
) -> tuple[int, dict[str, Any]]:
    """Runs the command with the tracer and writes the data set; returns its exit status, and the
    result.

    Raises TracingError if nothing was recorded, or if the data set cannot be written: then the raw
    streams stay beside `path`.
    """
    raw = _new_raw(path, force=making.force)
    try:
        status = run_traced(command, raw, options, stdout=stdout)
        if not was_anything_recorded(raw):
            raise explain(command, status, raw)
    except BaseException:
        shutil.rmtree(raw, ignore_errors=True)
        raise
    try:
        result = make_data_set(path, raw, command, status, making)
    except OutputError as error:
        raise TracingError(
            f"{error.message}; the raw streams stay in {raw}",
            hint=f"free some space, then: `sesame trace --from-raw {raw} -o {path}`",
            exit_status=status or error.exit_status,
        ) from error
    shutil.rmtree(raw, ignore_errors=True)
    return status, result


def make_data_set(
    path: Path, raw: Path, command: Sequence[str], status: int, making: Making
) -> dict[str, Any]:
    """Writes the data set of the raw streams in `raw`; returns its result. Raises as `record`."""
    with DataSetWriter(path, force=making.force) as writer:
        info = collate(raw, writer, prune=making.prune, progress=making.progress, command=command)
        info = replace(info, result={**info.result, "exit_status": status})
        if command and making.keep_raw:
            shutil.copytree(raw, writer.raw, copy_function=_link_or_copy)
            info = replace(info, raw={**(info.raw or {}), "directory": "raw"})
        writer.finish(info)
    return dict(info.result)


def _new_raw(path: Path, *, force: bool) -> Path:
    """Creates the directory for raw streams, PATH.raw: visible, so that users find it after a
    failure."""
    raw = path.with_name(f"{path.name}.raw")
    if raw.exists() and not force:
        raise OutputError(
            f"{raw}: already has the raw streams of an interrupted run",
            hint=f"`sesame trace --from-raw {raw}` makes a data set of them; "
            f"{setting('force', True)} removes them",
        )
    try:
        if raw.exists():
            shutil.rmtree(raw)
        raw.mkdir()
    except OSError as error:
        raise OutputError(f"{raw}: cannot be made: {error.strerror}") from error
    return raw


def _link_or_copy(source: str, destination: str) -> None:
    """Makes a hard link, or a copy where the file system has no hard links."""
    try:
        os.link(source, destination)
    except OSError:
        shutil.copy2(source, destination)
