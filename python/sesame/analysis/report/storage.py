"""What the simulated file systems did, as sections of a page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sesame.analysis.findings_io.found import percent
from sesame.analysis.plots import Plot
from sesame.analysis.quantities import format_bytes, format_seconds
from sesame.analysis.report.findings import findings_section
from sesame.analysis.study import study_run
from sesame.analysis.traced.intervals import Array
from sesame.datasets import DataSet
from sesame.datasets.fields import RecordType
from sesame.datasets.storage import (
    STORAGE_ACTIVITY,
    STORAGE_CACHE,
    STORAGE_FILE,
    STORAGE_IONODE,
)
from sesame.web.chart import Chart, curve_colour, time_unit
from sesame.web.page import Section
from sesame.web.table import Column, rows_left_out, table_html

MOST_CURVES = 16  # devices of more I/O nodes are drawn as their mean, least and most


def storage_sections(data_set: DataSet) -> list[Section]:
    """The sections; none for a run that used no simulated file."""
    if not data_set.has("storage_file"):
        return []
    sections = [_files(data_set), _ionodes(data_set), *_activity(data_set), *_caches(data_set)]
    if data_set.has("io"):
        sections.append(findings_section(study_run(data_set)))
    return sections


def _count(value: float) -> str:
    return f"{value:,.0f}"


class Records:
    """The records of one type, and columns of a table made of them."""

    def __init__(self, data_set: DataSet, record: RecordType) -> None:
        table = data_set.table(record.name)
        self.values: dict[str, Any] = {
            field: table.column(field).to_pylist()
            if field in ("system", "name")
            else table.column(field).to_numpy()
            for field in table.column_names
        }
        self._meanings = {field.name: field.meaning for field in record.fields}

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def owners(self) -> list[str]:
        """The nodes that see the file system of each row."""
        return ["all nodes" if node < 0 else f"node {node}" for node in self["node"]]

    def counts(self, *names: str) -> list[Column]:
        return [self._column(name, _count) for name in names]

    def sizes(self, *names: str) -> list[Column]:
        return [self._column(name, format_bytes) for name in names]

    def times(self, *names: str) -> list[Column]:
        return [self._column(name, format_seconds) for name in names]

    def _column(self, name: str, show: Callable[[Any], str]) -> Column:
        return Column(_title(name), self[name], show, self._meanings[name])


def _title(name: str) -> str:
    if name.endswith("_s"):
        name = name.removesuffix("_s") + "_time"
    return name.replace("bytes_", "data_").replace("_", " ")


def _files(data_set: DataSet) -> Section:
    found = Records(data_set, STORAGE_FILE)
    busy = found["read_s"] + found["write_s"]
    moved = found["bytes_read"] + found["bytes_written"]
    columns = [
        Column("file", found["name"]),
        Column("of", found.owners(), hint="the nodes that see this file"),
        *found.counts("opens", "reads", "read_seeks", "writes", "write_seeks"),
        *found.sizes("bytes_read", "bytes_written"),
        *found.times("read_s", "write_s", "metadata_s"),
        Column(
            "data per time",
            _share(moved, busy),
            lambda v: f"{format_bytes(v)}/s",
            "data read and written over the time of reads and writes: what one rank gets",
        ),
    ]
    about = (
        "Reads and writes are contiguous ranges of a file, as the program and its MPI library ask "
        "for them. Times are simulated, and sums over all accesses, also simultaneous ones."
    )
    return Section(
        "Simulated files", about, table_html("files", columns), rows_left_out(len(found["name"]))
    )


def _ionodes(data_set: DataSet) -> Section:
    found = Records(data_set, STORAGE_IONODE)
    end_s = float(data_set.info["result"]["predicted_time_s"]) or 1.0
    hits = found["read_hits"] + found["write_hits"]
    lookups = hits + found["read_misses"] + found["write_misses"]
    device_requests = found["device_reads"] + found["device_writes"]
    columns = [
        Column("of", found.owners()),
        Column("I/O node", found["ionode"], _count),
        *found.counts("requests", "longest_queue"),
        *found.sizes("bytes_read", "bytes_written"),
        Column("processor busy", found["busy_s"] / end_s, percent, "of the predicted time"),
        Column("cache hits", _share(hits, lookups), percent, "of the blocks asked for"),
        *found.counts("read_ahead", "written_back"),
        *found.counts("device_reads", "device_writes", "device_seeks"),
        *found.sizes("device_bytes_read", "device_bytes_written"),
        Column("device busy", found["device_busy_s"] / end_s, percent, "of the predicted time"),
        *found.times("device_seek_s", "device_rotation_s", "device_transfer_s"),
        Column(
            "mean wait for the device",
            _share(found["device_queued_s"], device_requests),
            format_seconds,
            "time that a request waits before the device begins with it",
        ),
        *found.counts("device_longest_queue"),
    ]
    about = (
        "The requests to each I/O node, and those that reached its device. Caches count blocks. "
        "Busy times are shares of the predicted time. A local file system is an I/O node of its "
        "own."
    )
    return Section("I/O nodes and devices", about, table_html("I/O nodes", columns))


def _caches(data_set: DataSet) -> list[Section]:
    if not data_set.has("storage_cache"):
        return []
    found = Records(data_set, STORAGE_CACHE)
    reads = found["read_hits"] + found["read_misses"]
    columns = [
        Column("compute node", found["node"], _count),
        Column("hits of reads", _share(found["read_hits"], reads), percent, "of the blocks read"),
        *found.counts("read_hits", "read_misses", "write_hits", "write_misses"),
        *found.counts("forwarded", "invalidations", "evictions", "written_back"),
    ]
    html = table_html("caches", columns)
    return [Section("Caches of compute nodes", "Counts are blocks.", html)]


def _activity(data_set: DataSet) -> list[Section]:
    if not data_set.has("storage_activity"):
        return []
    found = Records(data_set, STORAGE_ACTIVITY)
    sections = []
    for system, owner, title in (
        ("storage", "ionode", "Devices of I/O nodes over time"),
        ("node.storage", "node", "Devices of compute nodes over time"),
    ):
        rows = np.array([name == system for name in found["system"]])
        if rows.any():
            plot = activity_plot(
                {name: np.asarray(found[name])[rows] for name in found.values}, owner
            )
            about = "The part of each slice of simulated time in which the device worked."
            sections.append(Section(title, about, plot.chart.html(title), plot.note))
    return sections


def activity_plot(found: dict[str, Array], owner: str) -> Plot:
    """Utilisation of devices over simulated time."""
    numbers, row = np.unique(found[owner], return_inverse=True)
    # A device that ended early has shorter slices; a whole number of them makes the longest one.
    length = float(found["length_s"].max())
    slot = np.floor(found["begin_s"] / length + 1e-6).astype(int)
    used = np.zeros((len(numbers), slot.max() + 1))
    np.add.at(used, (row, slot), found["busy_s"] / length)
    used = used[:, [*range(used.shape[1]), -1]]  # repeats the last value at its end
    factor, unit = time_unit(length * used.shape[1])
    chart = Chart(320)
    names = "I/O node" if owner == "ionode" else "node"
    if len(numbers) <= MOST_CURVES:
        curves = [(f"{names} {number}", used[i]) for i, number in enumerate(numbers)]
    else:
        curves = [("most", used.max(0)), ("mean", used.mean(0)), ("least", used.min(0))]
    begins = np.arange(used.shape[1]) * length * factor
    for i, (name, values) in enumerate(curves):
        colour = curve_colour(i, len(curves))
        chart.line(name, begins, 100 * values, colour, stepped=True)
    chart.x(f"simulated time ({unit})")
    chart.y("device busy (%)", zero=True)
    note = "" if len(numbers) <= MOST_CURVES else f"Of {len(numbers)} {names}s together."
    return Plot(chart, note)


def _share(part: Array, whole: Array) -> Array:
    """part / whole; 0 where whole is 0."""
    return np.divide(part, whole, out=np.zeros(len(part)), where=np.asarray(whole) > 0)
