"""Writes the data set of a journal."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

from sesame.datasets import DataSetWriter, HostMachine, Info, Instrument, Kind
from sesame.datasets.writer import Append
from sesame.measurement.collector.columns import RECORDS, Readings
from sesame.measurement.collector.journal import Contents, stored
from sesame.measurement.events import Block
from sesame.measurement.frames import Frame
from sesame.measurement.readings import Reading
from sesame.measurement.session import columns

BATCH, BATCH_BYTES = 1000, 16 << 20  # readings, and their encodings, that are in memory


def write_data_set(
    target: Path,
    journal: Path,
    contents: Contents,
    *,
    instrument: str = "sesame collect",
    force: bool = False,
    refuse: Callable[[Frame], None] = lambda _: None,
) -> list[str]:
    """Writes the data set of a journal; returns the names of its nodes. Items that cannot be read
    are left out and given to `refuse`. Raises SesameError and OSError.

    `instrument`: the command that wrote the journal.
    """
    begin_ns = contents.begin_ns or 0
    nodes = sorted(contents.nodes)
    with DataSetWriter(target, force=force) as writer:
        with ExitStack() as open_files:
            tables = _Tables(writer, open_files, begin_ns)
            for frame in stored(journal):
                if frame.item is None:
                    refuse(frame)
                else:
                    tables.add(frame.item, len(frame.text))
            tables.flush()
        if tables.accounts:
            writer.write_records("kernel_trace", columns("kernel_trace", tables.accounts))
        info = Info(
            kind=Kind.MEASURED,
            title="kernel measurement",
            instrument=Instrument.ours(instrument),
            host=HostMachine.of_nodes(nodes),
            begin_time=datetime.fromtimestamp(begin_ns / 1e9, UTC).isoformat(),
            more={"nodes": nodes, "journal": journal.name},
        )
        writer.finish(info)
    return nodes


class _Tables:
    """The open tables of a data set."""

    def __init__(self, writer: DataSetWriter, open_files: ExitStack, begin_ns: int) -> None:
        self._writer, self._open_files, self._begin_ns = writer, open_files, begin_ns
        self._appends = {name: open_files.enter_context(writer.appending(name)) for name in RECORDS}
        self._events: Append | None = None
        self._readings: list[Reading] = []
        self._bytes = 0
        self.accounts: list[dict[str, object]] = []  # records of kernel_trace

    def add(self, item: Reading | Block, size: int) -> None:
        """`size`: of its encoding."""
        if isinstance(item, Reading):
            self._readings.append(item)
            self._bytes += size
            if len(self._readings) == BATCH or self._bytes >= BATCH_BYTES:
                self.flush()
            return
        if self._events is None:
            appending = self._writer.appending("kernel_event")
            self._events = self._open_files.enter_context(appending)
        self.accounts.append(item.record(self._begin_ns))
        self._events(item.columns(self._begin_ns))

    def flush(self) -> None:
        readings = Readings(self._readings, self._begin_ns)
        self._readings, self._bytes = [], 0
        for name, records in RECORDS.items():
            found = records(readings)
            if found is not None:
                self._appends[name](found)
