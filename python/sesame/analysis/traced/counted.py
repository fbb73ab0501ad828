"""Totals of a run that another tool recorded with counters (record type file_total), alone or
together with records of calls."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sesame.analysis.traced.intervals import Array
from sesame.analysis.traced.load import TracedRun
from sesame.analysis.traced.totals import DIRECTIONS, Totals, sizes, totals_of_records
from sesame.datasets.totals import SIZE_CLASSES
from sesame.errors import InputError
from sesame.traced.io_calls import LAYER_NAMES, MPI_IO

# Columns that are taken from counters where only reads and writes were recorded.
METADATA = ("opens", "seeks", "syncs", "queries", "meta_s", "io_s")
KEYS = ("rank", "file", "layer", "own", "bottom", "processes", "counted")


def totals_of(run: TracedRun) -> Totals:
    """The totals of a run: from its records, and from counters for each file and layer of which not
    all requests were recorded."""
    recorded = totals_of_records(run)
    if not run.data_set.has("file_total"):
        return recorded
    counted = _totals_of_counters(run, list(recorded.columns))
    if len(recorded) == 0:
        return counted
    complete, opened = _coverage(recorded, counted)
    key = _file_and_layer(counted)
    metadata_only = counted.where(complete[key] & ~opened[key])
    for name in metadata_only.columns.keys() - {*METADATA, *KEYS}:
        metadata_only.columns[name] = np.zeros_like(metadata_only[name])
    metadata_only.columns["io_s"] = metadata_only["meta_s"]
    parts = [
        recorded.where(complete[_file_and_layer(recorded)]),
        counted.where(~complete[key]),
        metadata_only,
    ]
    columns = {name: np.concatenate([p[name] for p in parts]) for name in recorded.columns}
    return Totals(columns, recorded.ranks, recorded.files)


def _file_and_layer(totals: Totals) -> Array:
    """One number for each pair of file and layer."""
    return np.asarray(totals["file"] * len(LAYER_NAMES) + totals["layer"])


def _coverage(recorded: Totals, counted: Totals) -> tuple[Array, Array]:
    """For each file and layer: whether all requests are recorded, and whether opens are."""
    length = recorded.files * len(LAYER_NAMES)

    def summed(totals: Totals, *names: str) -> Array:
        number = sum(totals[name] for name in names)
        return np.bincount(_file_and_layer(totals), number, length)

    requests = summed(recorded, "reads", "writes")
    complete = (requests >= summed(counted, "reads", "writes")) & (requests > 0)
    return complete, summed(recorded, "opens") > 0


def _totals_of_counters(run: TracedRun, wanted: list[str]) -> Totals:
    table = run.data_set.table("file_total")
    fields: dict[str, Array] = {
        name: table.column(name).to_numpy()
        for name in table.column_names
        if not pa.types.is_dictionary(table.schema.field(name).type)
    }
    file = fields["file"].astype(np.int64)
    if len(file) and (file.min() < 0 or file.max() >= len(run.files)):
        raise InputError(
            f"records of type file_total name file {file.max()}, and there are {len(run.files)}",
            path=str(run.data_set.path / "file_total.parquet"),
        )
    names = {name.lower(): i for i, name in enumerate(LAYER_NAMES)}
    layer = np.array([names.get(text.lower(), 0) for text in table.column("layer").to_pylist()])
    layer = layer.astype(np.int64)
    through_mpi = np.zeros(len(run.files), bool)
    through_mpi[file[layer == MPI_IO]] = True
    below = np.zeros(len(run.files), bool)
    below[file[layer != MPI_IO]] = True
    columns = _columns(fields, wanted) | {
        "rank": fields["rank"].astype(np.int64),
        "file": file,
        "layer": layer,
        "own": (layer == MPI_IO) | ~through_mpi[file],
        "bottom": (layer != MPI_IO) | ~below[file],
    }
    return Totals(columns, run.ranks, len(run.files)).where(run.files.stored[file])


def _columns(fields: dict[str, Array], wanted: list[str]) -> dict[str, Array]:
    """The counters under the names of our columns; 0 for what was not counted."""
    zero = np.zeros(len(fields["rank"]), np.int64)

    def counted(name: str) -> Array:
        return np.maximum(fields[name], 0)

    found = dict.fromkeys(wanted, zero) | {
        "processes": np.maximum(fields["processes"], 1),
        "counted": np.ones(len(zero), bool),
        "opens": counted("opens"),
        "seeks": counted("seeks"),
        "syncs": counted("syncs"),
        "queries": counted("stats"),
        "meta_s": counted("meta_s"),
        "io_s": counted("meta_s") + counted("read_s") + counted("write_s"),
        "first_byte": fields["min_offset"],
        "end_byte": np.maximum(fields["max_offset_read"], fields["max_offset_written"]) + 1,
    }
    for name in ("reads", "writes", "bytes_read", "bytes_written", "read_s", "write_s"):
        found[name] = counted(name)
    for word, _ in DIRECTIONS:
        found |= _patterns(fields, word)
        classes = [f"{word}s_to_{name}" for name, _ in SIZE_CLASSES] + [f"{word}s_above_1g"]
        found |= {ours: counted(theirs) for ours, theirs in zip(sizes(word), classes, strict=True)}
    return found | _alignment(fields)


def _patterns(fields: dict[str, Array], word: str) -> dict[str, Array]:
    """Requests by pattern. Consecutive requests are counted as sequential, too; the first request
    of each process has no pattern."""
    requests, sequential = fields[f"{word}s"], fields[f"sequential_{word}s"]
    consecutive = np.maximum(fields[f"consecutive_{word}s"], 0)
    known = sequential >= 0
    first = np.minimum(np.maximum(fields["processes"], 1), requests)
    random = np.maximum(requests - sequential - first, 0)
    return {
        f"{word}_consecutive": consecutive,
        f"{word}_sequential": np.where(known, np.maximum(sequential - consecutive, 0), 0),
        f"{word}_random": np.where(known, random, 0),
    }


def _alignment(fields: dict[str, Array]) -> dict[str, Array]:
    """Aligned requests, all counted as reads. Only the mean size is known: if it is a block or
    more, all requests count as large enough to be aligned."""
    requests = fields["reads"] + fields["writes"]
    mean = (fields["bytes_read"] + fields["bytes_written"]) / np.maximum(requests, 1)
    could = (fields["alignment"] > 1) & (fields["unaligned"] >= 0) & (mean >= fields["alignment"])
    return {
        "alignable_reads": np.where(could, requests, 0),
        "unaligned_reads": np.where(could, fields["unaligned"], 0),
    }
