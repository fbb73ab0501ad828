"""What the workload memory found: the cost of a page, and the knees of the caches."""

from __future__ import annotations

from typing import Any

import numpy as np

from sesame.analysis.findings.found import Findings, Report
from sesame.analysis.quantities import format_bytes, format_seconds, format_size
from sesame.analysis.segments import Segment, fit_segments

# A level over less than an octave of sizes, or slower than the one before by less than this share,
# does not count as a cache.
LEAST_OCTAVES = 1.0
LEAST_FALL = 0.2
NO_MEMORY = 1e13  # bytes/s: only the clock itself took time
KINDS = ("read", "write", "copy")


def analyse(report: Report) -> Findings:
    tables = report["tables"]
    bandwidth = {name: np.array(part["values"]) for name, part in tables["bandwidth"].items()}
    pages = {name: np.array(part["values"]) for name, part in tables["pages"].items()}
    if max(np.min(bandwidth[kind]) for kind in KINDS) > NO_MEMORY:
        return Findings(["computation takes no time in this run: nothing was measured"])
    levels = {kind: levels_of(bandwidth["size"], bandwidth[kind]) for kind in KINDS}
    first, second = (_pages(pages["pages"], pages[kind]) for kind in ("first", "second"))
    page = report["parameters"]["page_bytes"]
    return Findings(
        sentences=[
            *_page_sentences("first", "written for the first time", first, page),
            *_page_sentences("second", "read again", second, page),
            *(_level_sentence(kind, levels[kind]) for kind in KINDS),
        ],
        figures=[
            {"name": "first touch of a page", "value": _mean(pages, "first"), "unit": "s"},
            {"name": "second touch of a page", "value": _mean(pages, "second"), "unit": "s"},
            *(
                {"name": f"{kind} bandwidth of memory", "value": levels[kind][-1][1], "unit": "B/s"}
                for kind in KINDS
            ),
        ],
        tables={"levels": _level_table(levels)},
    )


def levels_of(sizes: Any, bandwidths: Any) -> list[tuple[float, float]]:
    """The largest working set (B) of each level of the memory hierarchy, and the bandwidth there
    (B/s). The bandwidth falls from level to level; variation without a fall is one level."""
    levels: list[tuple[float, float]] = []
    for segment in fit_segments(sizes, bandwidths, level=True):
        short = np.log2(segment.last / segment.first) < LEAST_OCTAVES and levels
        if levels and (short or segment.intercept > (1 - LEAST_FALL) * levels[-1][1]):
            levels[-1] = (segment.last, levels[-1][1])
        else:
            levels.append((segment.last, segment.intercept))
    return levels


def _pages(counts: Any, times: Any) -> list[Segment]:
    return fit_segments(counts, times, least_intercept=0.0)


def _mean(pages: dict[str, Any], kind: str) -> float:
    return float(pages[kind][-1] / pages["pages"][-1])


def _page_sentences(name: str, how: str, segments: list[Segment], page: int) -> list[str]:
    parts = []
    for segment in segments:
        size = format_size(int(segment.last * page))
        parts.append(f"up to {segment.last:,.0f} pages ({size}) {format_seconds(segment.slope)}")
    return [f"{name} pass, pages {how}: each page costs " + ", ".join(parts)]


def _level_sentence(kind: str, levels: list[tuple[float, float]]) -> str:
    *caches, (_, memory) = levels
    parts = [f"{format_bytes(speed)}/s up to {format_size(int(last))}" for last, speed in caches]
    return f"{kind}: " + ", ".join([*parts, f"{format_bytes(memory)}/s beyond"])


def _level_table(levels: dict[str, list[tuple[float, float]]]) -> dict[str, Any]:
    rows = [(kind, last, speed) for kind, found in levels.items() for last, speed in found]
    columns = {"kind": "", "up_to": "B", "bandwidth": "B/s"}
    return {
        name: {"unit": unit, "values": [row[i] for row in rows]}
        for i, (name, unit) in enumerate(columns.items())
    }
