"""What the workload cachestudy found: the size and owner of each cache, prefetching, writes.

The rate of a cache must not pass for that of the disk, so the sentences say what was measured and
what was not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from sesame.analysis.edges import Edge, find_edges
from sesame.analysis.findings.found import Findings, Report, check

DOING = {"read": "reading", "write": "writing", "update": "reading and writing back"}
TOLERANCE = 0.10  # of the size of a cache that is known
LEAST_RATIO = 1.5  # rates or times differ from this ratio on
KEPT = 2.0  # rate of a second pass over the first, if a cache keeps the file. A processor's cache
# alone may gain half as much.
READS_AHEAD = 0.25  # share of transfers that are as fast as from memory, beyond scattered ones
NEAR_BEST = 0.9  # share of the best rate
UNITS = ((2.0**40, "TiB"), (2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"), (1.0, "B"))


def analyse(report: Report) -> Findings:
    edges = {mode: _edges(report, mode) for mode in DOING}
    figures = [figure for mode in DOING for figure in _figures(mode, edges[mode])]
    sentences = [sentence for mode in DOING for sentence in _about_mode(report, mode, edges[mode])]
    sentences += [_what_was_measured(report), *_about_transfers(report), *_about_prefetch(report)]
    sentences += [*_about_writes(report), *_about_ranks(report)]
    return Findings(sentences=sentences, figures=figures, checks=list(_checks(report, edges)))


def _values(report: Report, table: str, column: str) -> list[Any]:
    values: list[Any] = report["tables"][table][column]["values"]
    return values


def _edges(report: Report, mode: str) -> list[Edge]:
    """The falls of the rate over the file size that are larger than the scatter on both sides."""
    table = f"{mode} by file size"
    sizes, least, most = (
        np.array(_values(report, table, column)) for column in ("file size", "least", "most")
    )
    found = find_edges(sizes.tolist(), _values(report, table, "rate"))
    borders = [0.0, *(edge.size for edge in found), np.inf]
    clear = []
    for i, edge in enumerate(found):
        fits = (borders[i] < sizes) & (sizes <= edge.size)
        exceeds = (edge.size < sizes) & (sizes <= borders[i + 2])
        if np.median(least[fits]) > np.median(most[exceeds]):
            clear.append(edge)
    return clear


def _figures(mode: str, edges: list[Edge]) -> Iterator[dict[str, Any]]:
    for number, edge in enumerate(edges, start=1):
        name = f"{mode} cache {number}" if len(edges) > 1 else f"{mode} cache"
        yield {"name": name, "value": edge.size, "unit": "B"}
        yield {"name": f"{name}, from", "value": edge.low, "unit": "B"}
        yield {"name": f"{name}, to", "value": edge.high, "unit": "B"}


def _about_mode(report: Report, mode: str, edges: list[Edge]) -> Iterator[str]:
    sizes = _values(report, f"{mode} by file size", "file size")
    rates = _values(report, f"{mode} by file size", "rate")
    if not edges:
        yield (
            f"{DOING[mode].capitalize()}: no cache is visible for files of {_bytes(sizes[0])} to "
            f"{_bytes(sizes[-1])}: {_rate(min(rates))} to {_rate(max(rates))}, without a size "
            f"from which on it is clearly slower."
        )
    for edge in edges:
        how = "at once" if edge.shape == "cliff" else "little by little"
        yield (
            f"{DOING[mode].capitalize()}: the rate falls {how} from {_rate(edge.fast)} to "
            f"{_rate(edge.slow)} at a file size of {_bytes(edge.size)} (95 % interval "
            f"{_bytes(edge.low)} to {_bytes(edge.high)}): {_whose(report, mode, edge)}."
        )


def _whose(report: Report, mode: str, edge: Edge) -> str:
    """Which cache the edge is the end of."""
    known = report["parameters"]
    if "memory" not in known:
        return "the simulated store's cache"
    memory, processor = known["memory"], known["processor cache"]
    near_memory = edge.high >= memory / 2 and edge.low <= memory * LEAST_RATIO
    if near_memory and known["calls"] == "ordinary":
        return (
            f"the page cache, for which {known['memory limited by']} leaves {_bytes(memory)} "
            f"together with programs"
        )
    if edge.low <= processor and known["calls"] == "ordinary":
        return (
            f"not a cache of the disk, but the processor's ({_bytes(processor)}, shared with "
            f"others): larger files are copied from memory"
        )
    if mode != "read" and known["calls"] == "ordinary":
        return "the amount of written data from which on the kernel makes writers wait"
    return "a cache of the device, its controller or the machine below this one"


def _what_was_measured(report: Report) -> str:
    known = report["parameters"]
    if "memory" not in known:
        return "What was measured is a simulated store; this says nothing about this machine."
    if known["in memory"] == "yes":
        return f"All of this is memory: {known['place']} has no disk."
    below = "or of caches of the device or of a host below, which cannot be seen from here"
    if known["calls"] == "direct":
        return f"Rates are those of {known['place']} past the page cache, {below}."
    if known["caches"] == "emptied":
        return (
            f"Caches were emptied before each pass: reads are those of {known['place']}, {below}; "
            f"writes may still have ended in memory."
        )
    if known["largest"] > known["memory"]:
        return (
            f"Files of more than {_bytes(known['memory'])} do not fit into the page cache: the "
            f"slowest rates are those of {known['place']}, {below}."
        )
    return (
        f"No disk was measured: all files fit into memory ({_bytes(known['memory'])} by "
        f"{known['memory limited by']}), rates are those of caches. --direct, --drop-caches and "
        f"--larger-than-memory measure {known['place']}."
    )


def _about_transfers(report: Report) -> Iterator[str]:
    table = report["tables"]["by transfer size"]
    sizes = table["transfer"]["values"]
    for name, column in table.items():
        if name == "transfer":
            continue
        best = max(column["values"])
        enough = next(
            s for s, r in zip(sizes, column["values"], strict=True) if r >= NEAR_BEST * best
        )
        mode, file = name.split()
        yield (
            f"{DOING[mode].capitalize()} a file of {file}: transfers of {_bytes(enough)} reach "
            f"nine tenths of the best rate, {_rate(best)}."
        )


def _about_prefetch(report: Report) -> Iterator[str]:
    names = _values(report, "prefetch", "pass")
    rates = _values(report, "prefetch", "rate")
    cached = _values(report, "prefetch", "as fast as from memory")
    for first in (0, 3):
        file = names[first].split()[0]
        ratio = rates[first + 1] / rates[first]
        if ratio >= KEPT:
            yield (
                f"A file of {file} stays in a cache once it is read: the second pass is "
                f"{ratio:.3g} times as fast as one after the caches were emptied."
            )
        else:
            yield (
                f"A file of {file} is read no faster ({ratio:.3g} times) for having been read "
                f"before: it is not kept, or the caches could not be emptied."
            )
    if cached[3] - cached[5] > READS_AHEAD:
        yield (
            f"Data is read ahead: of a file of {names[3].split()[0]} read in order, "
            f"{cached[3]:.0%} of the transfers take as long as from memory, of scattered ones "
            f"{cached[5]:.0%}."
        )
    else:
        yield "Nothing is read ahead, as far as times of single transfers show it."


def _about_writes(report: Report) -> Iterator[str]:
    rows = zip(
        *(_values(report, "write-behind", name) for name in ("file", "writes returned")),
        _values(report, "write-behind", "on the device"),
        strict=True,
    )
    for file, returned, on_device in rows:
        behind = on_device >= LEAST_RATIO * returned
        yield (
            f"Writes of {file} return after {returned:.3g} s; the data is on the device after "
            f"{on_device:.3g} s: {'written behind' if behind else 'hardly any write-behind'}."
        )


def _about_ranks(report: Report) -> Iterator[str]:
    table = report["tables"].get("read by ranks")
    if table is None or len(table["ranks"]["values"]) < 2:
        return
    ranks = table["ranks"]["values"]
    for name, column in table.items():
        if name != "ranks":
            gain = column["values"][-1] / column["values"][0]
            yield (
                f"Reading a file of {name}: {ranks[-1]:.0f} ranks together are {gain:.3g} times as "
                f"fast as one."
            )


def _checks(report: Report, edges: dict[str, list[Edge]]) -> Iterator[dict[str, Any]]:
    """Compares the edges with the caches of a simulated store, whose sizes are known (0: none)."""
    for mode in ("read", "write"):
        known = report["parameters"].get(f"known {mode} cache")
        if known is None:
            continue
        name = f"{mode} cache by analysis"
        yield check(f"{name}, number", len(edges[mode]), 1 if known else 0, 0)
        if known and edges[mode]:
            yield check(name, edges[mode][0].size, known, TOLERANCE)


def _bytes(size: float) -> str:
    scale, unit = next((s, u) for s, u in UNITS if size >= s or s == 1.0)
    return f"{size / scale:.3g} {unit}"


def _rate(megabytes: float) -> str:
    return f"{megabytes / 1000:.3g} GB/s" if megabytes >= 1000 else f"{megabytes:.3g} MB/s"
