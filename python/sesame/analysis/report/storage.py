"""What the simulated file systems did, as sections of a page."""

from __future__ import annotations

from typing import Any

import numpy as np

from sesame.analysis.findings_io.found import percent
from sesame.analysis.plots import Plot, new_figure, time_unit
from sesame.analysis.quantities import format_bytes, format_seconds
from sesame.analysis.report.findings import findings_section
from sesame.analysis.report.page import Section, figure_html
from sesame.analysis.report.tables import Column, rows_left_out, table_html
from sesame.analysis.study import study_run
from sesame.analysis.traced.intervals import Array
from sesame.datasets import DataSet

MOST_CURVES = 16  # devices of more I/O nodes are drawn as their mean, least and most
Columns = dict[str, Any]


def storage_sections(data_set: DataSet) -> list[Section]:
    """Nothing for a run that used no simulated file."""
    if not data_set.has("storage_file"):
        return []
    sections = [_files(data_set), _ionodes(data_set), *_activity(data_set), *_caches(data_set)]
    if data_set.has("io"):
        sections.append(findings_section(study_run(data_set)))
    return sections


def _read(data_set: DataSet, name: str) -> Columns:
    table = data_set.table(name)
    return {
        field: table.column(field).to_pylist()
        if field in ("system", "name")
        else table.column(field).to_numpy()
        for field in table.column_names
    }


def _count(value: float) -> str:
    return f"{value:,.0f}"


def _owners(found: Columns) -> list[str]:
    """Whose file system a row is about."""
    return ["all nodes" if node < 0 else f"node {node}" for node in found["node"]]


def _files(data_set: DataSet) -> Section:
    found = _read(data_set, "storage_file")
    busy = found["read_s"] + found["write_s"]
    moved = found["bytes_read"] + found["bytes_written"]
    columns = [
        Column("file", found["name"]),
        Column("of", _owners(found), hint="the nodes that see this file"),
        *_counts(found, "opens", "reads", "read_seeks", "writes", "write_seeks"),
        *_sizes(found, "bytes_read", "bytes_written"),
        *_times(found, "read_s", "write_s", "metadata_s"),
        Column("per access time", _share(moved, busy), lambda v: f"{format_bytes(v)}/s"),
    ]
    about = "Reads and writes are contiguous pieces of a file; times add up all accesses."
    return Section(
        "Simulated files", about, table_html("files", columns), rows_left_out(len(found["name"]))
    )


def _ionodes(data_set: DataSet) -> Section:
    found = _read(data_set, "storage_ionode")
    end_s = float(data_set.info["result"]["predicted_time_s"]) or 1.0
    hits = found["read_hits"] + found["write_hits"]
    looked = hits + found["read_misses"] + found["write_misses"]
    device_requests = found["device_reads"] + found["device_writes"]
    columns = [
        Column("of", _owners(found)),
        Column("I/O node", found["ionode"], _count),
        *_counts(found, "requests", "longest_queue"),
        *_sizes(found, "bytes_read", "bytes_written"),
        Column("processor busy", found["busy_s"] / end_s, percent),
        Column("cache hits", _share(hits, looked), percent),
        *_counts(found, "read_ahead", "written_back"),
        *_counts(found, "device_reads", "device_writes", "device_seeks"),
        *_sizes(found, "device_bytes_read", "device_bytes_written"),
        Column("device busy", found["device_busy_s"] / end_s, percent),
        *_times(found, "device_seek_s", "device_rotation_s", "device_transfer_s"),
        Column(
            "mean wait for the device",
            _share(found["device_queued_s"], device_requests),
            format_seconds,
        ),
        *_counts(found, "device_longest_queue"),
    ]
    about = "Shares are of the predicted time. A local file system is an I/O node of its own."
    return Section("I/O nodes and devices", about, table_html("I/O nodes", columns))


def _caches(data_set: DataSet) -> list[Section]:
    if not data_set.has("storage_cache"):
        return []
    found = _read(data_set, "storage_cache")
    reads = found["read_hits"] + found["read_misses"]
    columns = [
        Column("compute node", found["node"], _count),
        Column("read hits", _share(found["read_hits"], reads), percent),
        *_counts(found, "read_hits", "read_misses", "write_hits", "write_misses"),
        *_counts(found, "forwarded", "invalidations", "evictions", "written_back"),
    ]
    html = table_html("caches", columns)
    return [Section("Caches of compute nodes", "Counts are blocks.", html)]


def _activity(data_set: DataSet) -> list[Section]:
    if not data_set.has("storage_activity"):
        return []
    found = _read(data_set, "storage_activity")
    shared = np.array([system == "storage" for system in found["system"]])
    if not shared.any():
        return []
    plot = activity_plot({name: np.asarray(found[name])[shared] for name in found})
    about = "The part of each slice of the run in which the device of an I/O node worked."
    return [Section("Devices over time", about, figure_html(plot.figure), plot.note)]


def activity_plot(found: dict[str, Array]) -> Plot:
    """Utilisation of devices over simulated time."""
    ionodes = np.unique(found["ionode"])
    begins = np.unique(found["begin_s"])
    used = np.zeros((len(ionodes), len(begins)))
    row = np.searchsorted(ionodes, found["ionode"])
    column = np.searchsorted(begins, found["begin_s"])
    used[row, column] = found["busy_s"] / np.where(found["length_s"] > 0, found["length_s"], 1)
    factor, unit = time_unit(float((found["begin_s"] + found["length_s"]).max()))
    figure = new_figure(320)
    if len(ionodes) <= MOST_CURVES:
        curves = [(f"I/O node {number}", used[i]) for i, number in enumerate(ionodes)]
    else:
        curves = [("most", used.max(0)), ("mean", used.mean(0)), ("least", used.min(0))]
    for name, values in curves:
        figure.add_scatter(
            x=begins * factor, y=100 * values, mode="lines", line={"shape": "hv"}, name=name
        )
    figure.update_xaxes(title=f"simulated time ({unit})")
    figure.update_yaxes(title="device busy (%)", rangemode="tozero")
    note = "" if len(ionodes) <= MOST_CURVES else f"Of {len(ionodes)} I/O nodes together."
    return Plot(figure, note)


def _share(part: Array, whole: Array) -> Array:
    """Nothing where there is nothing to have a share of."""
    return np.divide(part, whole, out=np.zeros(len(part)), where=np.asarray(whole) > 0)


def _title(name: str) -> str:
    return name.removesuffix("_s").replace("bytes_read", "read").replace("bytes_written", "written")


def _counts(found: Columns, *names: str) -> list[Column]:
    return [Column(_title(name).replace("_", " "), found[name], _count) for name in names]


def _sizes(found: Columns, *names: str) -> list[Column]:
    return [Column(_title(name).replace("_", " "), found[name], format_bytes) for name in names]


def _times(found: Columns, *names: str) -> list[Column]:
    return [
        Column(f"{_title(name).replace('_', ' ')} time", found[name], format_seconds)
        for name in names
    ]
