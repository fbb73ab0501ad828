"""The tables of a traced run's report."""

from __future__ import annotations

from typing import Any

import numpy as np

from sesame.analysis.calls import CLASS_NAMES
from sesame.analysis.quantities import format_bytes, format_seconds
from sesame.analysis.study import Study
from sesame.analysis.traced.intervals import Array
from sesame.analysis.traced.patterns import PATTERN_NAMES, SMALL_CLASSES
from sesame.analysis.traced.totals import Totals, share, sizes
from sesame.datasets.traced import IoFlag
from sesame.traced.io_calls import KIND_NAMES, LAYER_NAMES
from sesame.web.table import Column, table_html

MOST_FILES = 500
MOST_WAITS = 30
ORDERS = PATTERN_NAMES[1:]


def figure(value: float) -> str:
    """A number of a finding's evidence."""
    return f"{value:,.0f}" if value == int(value) else f"{value:.3g}"


def count(value: float) -> str:
    return f"{value:,.0f}"


def percent(part: float) -> str:
    return "" if np.isnan(part) else f"{100 * part:.0f} %"


def _text_of(choices: tuple[str, ...], has: Array) -> list[str]:
    """For each row the names of the columns that are true."""
    return [" and ".join(np.array(choices)[row]) for row in has]


def _part(part: Array, whole: Array) -> Array:
    """part / whole; NaN where whole is 0."""
    return np.where(whole > 0, share(part, whole), np.nan)


def rank_columns(study: Study) -> dict[str, Array]:
    own, activity = study.totals.own, study.activity
    ranks = study.run.processes.rank
    names = ("bytes_read", "bytes_written", "reads", "writes", "opens", "seeks")
    found = {"rank": ranks, "io_s": activity.io[ranks], "mpi_s": activity.mpi[ranks]}
    found |= {"rest_s": activity.rest[ranks], "processor": _processor_share(study)}
    found |= {name: own.by_rank(name)[ranks] for name in (*names, "read_s", "write_s", "meta_s")}
    requests = own.by_rank("reads", "writes")[ranks]
    for order in ORDERS:
        moved = own.by_rank(f"read_{order}", f"write_{order}")[ranks]
        found[order] = _part(moved, requests)
    return found


def _processor_share(study: Study) -> Array:
    """Processor time over run time of each process; more than 1 with several busy threads."""
    processes = study.run.processes
    known = np.where(processes.processor > 0, processes.end - processes.begin, 0)
    return _part(processes.processor, known)


def rank_table(study: Study) -> str:
    found = rank_columns(study)
    shown = (
        ("rank", "rank", lambda v: f"{v:.0f}"),
        ("I/O", "io_s", format_seconds),
        ("MPI", "mpi_s", format_seconds),
        ("rest", "rest_s", format_seconds),
        ("on processors", "processor", percent),
        ("read", "bytes_read", format_bytes),
        ("written", "bytes_written", format_bytes),
        ("reads", "reads", count),
        ("writes", "writes", count),
        ("opens", "opens", count),
        ("seeks", "seeks", count),
        ("metadata", "meta_s", format_seconds),
        *((order, order, percent) for order in ORDERS),
    )
    columns = [Column(title, found[name], show) for title, name, show in shown]
    return table_html("ranks", columns) + _imbalance(found)


def _imbalance(found: dict[str, Array]) -> str:
    """A note on imbalance: the largest over the mean, and the rank that has it."""
    lines = []
    for title, values in (
        ("time in I/O", found["io_s"]),
        ("bytes read", found["bytes_read"]),
        ("bytes written", found["bytes_written"]),
    ):
        if len(values) > 1 and values.mean() > 0:
            rank = int(found["rank"][np.argmax(values)])
            lines.append(f"{title}: {values.max() / values.mean():.2f} (rank {rank})")
    text = "; ".join(lines)
    return f'<p class="note">Largest over mean of the ranks: {text}.</p>' if text else ""


def file_columns(study: Study) -> dict[str, Any]:
    """A row for each file that was used; `index` is the number of the file."""
    totals, own, files = study.totals, study.totals.own, study.run.files
    used = np.flatnonzero(own.by_file("io_s", "opens", "reads", "writes", "queries") > 0)
    below = totals.where(~totals["own"])
    layers = _layers(own, len(files))
    found: dict[str, Any] = {"index": used, "path": [files.path[i] for i in used]}
    found["layer"] = _text_of(LAYER_NAMES, layers[used])
    found["ranks"] = own.users()[used]
    sums = "bytes_read bytes_written reads writes io_s read_s write_s meta_s opens closes seeks"
    for name in [*sums.split(), "syncs", "queries", "read_again", "written_over"]:
        found[name] = own.by_file(name)[used]
    found["below_requests"] = below.by_file("reads", "writes")[used]
    found["below_bytes"] = below.by_file("bytes_read", "bytes_written")[used]
    requests = found["reads"] + found["writes"]
    found["mean_size"] = share(found["bytes_read"] + found["bytes_written"], requests)
    for order in ORDERS:
        found[order] = _part(own.by_file(f"read_{order}", f"write_{order}")[used], requests)
    could = own.by_file("alignable_reads", "alignable_writes")[used]
    wrong = own.by_file("unaligned_reads", "unaligned_writes")[used]
    found["unaligned"] = _part(wrong, could)
    small = [*sizes("read")[:SMALL_CLASSES], *sizes("write")[:SMALL_CLASSES]]
    found["small"] = _part(own.by_file(*small)[used], requests)
    return found


def _layers(own: Totals, files: int) -> Array:
    """By file and layer: whether data moved through it; where none moved, whether it was used."""
    used = np.zeros((files, len(LAYER_NAMES)), bool)
    used[own["file"], own["layer"]] = True
    moved = np.zeros_like(used)
    busy = own["reads"] + own["writes"] > 0
    moved[own["file"][busy], own["layer"][busy]] = True
    return np.where(moved.any(axis=1, keepdims=True), moved, used)


def file_table(study: Study) -> tuple[str, str]:
    """The table and a note."""
    found = file_columns(study)
    files = len(found["path"])
    if files == 0:
        return "", ""
    order = np.argsort(-found["io_s"], kind="stable")[:MOST_FILES]
    ranks = len(study.run.processes.ranks)
    shown = (
        ("ranks", "ranks", count),
        ("time", "io_s", format_seconds),
        ("read", "bytes_read", format_bytes),
        ("written", "bytes_written", format_bytes),
        ("reads", "reads", count),
        ("writes", "writes", count),
        ("mean request", "mean_size", format_bytes),
        ("up to 1 MiB", "small", percent),
        *((pattern, pattern, percent) for pattern in ORDERS),
        ("unaligned", "unaligned", percent),
        ("metadata", "meta_s", format_seconds),
        ("opens", "opens", count),
        ("seeks", "seeks", count),
        ("syncs", "syncs", count),
        ("re-read", "read_again", format_bytes),
        ("overwritten", "written_over", format_bytes),
        ("requests below", "below_requests", count),
    )
    columns = [Column(t, [found[t][i] for i in order]) for t in ("path", "layer")]
    columns += [Column(title, found[name][order], show) for title, name, show in shown]
    note = _sharing_note(found["ranks"], ranks) + _mapped_note(study)
    if files > len(order):
        note += f" The {len(order)} files of {files:,} with most time are shown."
    return table_html("files", columns), note


def _sharing_note(users: Array, ranks: int) -> str:
    alone = int((users == 1).sum())
    every = int((users >= ranks).sum()) if ranks > 1 else 0
    some = len(users) - alone - every
    return (
        f"Files used by one rank: {alone:,}; by several: {some:,}; by all: {every:,}. Unaligned: "
        "of requests of a block or more, those that begin inside one."
    )


def _mapped_note(study: Study) -> str:
    """A note on mapped files: accesses to them are no calls, and known only by pages, if at all."""
    io = study.run.io
    seen = io.where((io.flags & IoFlag.IMPLIED) != 0)
    if not len(seen):
        return ""
    return (
        f" Files mapped into memory: {len(np.unique(seen.file)):,}; pages of "
        f"{format_bytes(int(seen.bytes.sum()))} were seen to be used there, which are not in the "
        "table."
    )


def request_rows(totals: Totals) -> dict[str, list[Any]]:
    rows: dict[str, list[Any]] = {"direction": ["read", "write"]}
    for name in ("requests", *PATTERN_NAMES, "alignable", "unaligned", "again"):
        rows[name] = []
    for word, again in (("read", "read_again"), ("write", "written_over")):
        rows["requests"].append(totals.sum(f"{word}s"))
        for pattern in PATTERN_NAMES:
            rows[pattern].append(totals.sum(f"{word}_{pattern}"))
        rows["alignable"].append(totals.sum(f"alignable_{word}s"))
        rows["unaligned"].append(totals.sum(f"unaligned_{word}s"))
        rows["again"].append(totals.sum(again))
    return rows


def request_table(totals: Totals) -> str:
    rows = request_rows(totals)
    requests = np.array(rows["requests"])
    columns = [Column("direction", rows["direction"]), Column("requests", rows["requests"], count)]
    for pattern in PATTERN_NAMES:
        columns.append(Column(pattern, _part(np.array(rows[pattern]), requests), percent))
    wrong = _part(np.array(rows["unaligned"]), np.array(rows["alignable"]))
    columns.append(Column("unaligned", wrong, percent))
    columns.append(Column("read or written again", rows["again"], format_bytes))
    return table_html("order of requests", columns)


def call_columns(study: Study) -> dict[str, list[Any]]:
    """A row for each function, those with most time first. Calls inside other recorded calls have
    a row of their own."""
    rows: list[tuple[Any, ...]] = []
    for names, records in ((KIND_NAMES, study.run.io), (CLASS_NAMES, study.run.mpi)):
        length = len(records.names) * 2
        key = records.call.astype(np.int64) * 2 + ~records.own
        seconds = (records.end - records.begin) * 1e-9
        counts = np.bincount(key, records.calls, length).astype(np.int64)
        time = np.bincount(key, seconds, length)
        moved = np.bincount(key, records.bytes, length)
        longest = np.zeros(length)
        np.maximum.at(longest, key, seconds / records.calls)  # of merged ones the mean
        kinds = dict(zip(records.call.tolist(), records.kind.tolist(), strict=True))
        for i in np.flatnonzero(counts):
            name = records.names[i // 2]
            inside = "yes" if i % 2 else ""
            kind = names[kinds[int(i) // 2]]
            rows.append((name, kind, inside, counts[i], time[i], longest[i], moved[i]))
    rows.sort(key=lambda row: -row[4])
    titles = ("function", "what", "inside another", "calls", "time_s", "longest_s", "bytes")
    return {title: [row[i] for row in rows] for i, title in enumerate(titles)}


def call_table(study: Study) -> str:
    found = call_columns(study)
    if not found["function"]:
        return ""
    columns = [Column(title, found[title]) for title in ("function", "what", "inside another")]
    columns += [
        Column("calls", found["calls"], count),
        Column("time", found["time_s"], format_seconds),
        Column("mean", np.array(found["time_s"]) / np.array(found["calls"]), format_seconds),
        Column("longest", found["longest_s"], format_seconds),
        Column("bytes", found["bytes"], format_bytes),
    ]
    return table_html("calls", columns)


def wait_table(study: Study) -> str:
    waits, mpi = study.waits, study.run.mpi
    assert waits is not None
    top = waits.longest(MOST_WAITS)
    of, cause = mpi.call[waits.record[top]], mpi.call[waits.cause[top]]
    columns = [
        Column("waits", waits.waiter[top], count, "the rank that waits"),
        Column("in", [mpi.names[i] for i in of]),
        Column("at", (waits.begin[top] - study.run.begin) * 1e-9, format_seconds),
        Column("for", (waits.until - waits.begin)[top] * 1e-9, format_seconds),
        Column("until rank", waits.culprit[top], count),
        Column("calls", [mpi.names[i] for i in cause]),
        Column("its I/O meanwhile", waits.io[top] * 1e-9, format_seconds),
    ]
    return table_html("waits", columns)
