"""A characterisation as a page, as lines for the terminal and as JSON."""

from __future__ import annotations

import math
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from sesame.analysis.characterize import figures
from sesame.analysis.characterize.compare import Comparison, NamedProfile
from sesame.analysis.characterize.findings import find
from sesame.analysis.characterize.profile import CLASS_NAMES, READS, SHARE, WRITES, Profile
from sesame.analysis.findings_io.found import percent
from sesame.analysis.plots import Plot
from sesame.analysis.quantities import format_bytes, format_count, format_seconds, format_size
from sesame.analysis.report.traced_tables import figure
from sesame.datasets.block import SECTOR_BYTES
from sesame.web.page import Headline, Section, template, write_page
from sesame.web.table import Column, table_html

MOST_HOT = 20
MOST_SIZES = 12
QUANTILES = (0.5, 0.9, 0.99)


def facts(p: Profile) -> list[tuple[str, str]]:
    """(name, value), in the form of `sesame info`."""
    classes = p.classes.sum(axis=0)
    named = zip(CLASS_NAMES, classes, strict=True)
    lines = [
        ("device" if p.source.is_disk else "files", p.place),
        ("time", format_seconds(p.span_s)),
        ("requests", f"{p.total:,}, {p.rate:.4g} each second"),
        ("reads", _direction(p, READS)),
        ("writes", _direction(p, WRITES)),
        ("sizes", ", ".join(f"{percent(n / p.total)} {name}" for name, n in named)),
        ("90 % of them", f"in {percent(p.small_part)} of {format_bytes(p.extent)}"),
        ("sequential", percent(float(p.sequential.sum()) / p.total)),
        ("queue depth", f"{p.depth_sum / p.total:.3g} on average"),
    ]
    if not math.isnan(p.mean_latency_s):
        words = [f"{format_seconds(p.latency_s(q))} ({100 * q:.0f} %)" for q in QUANTILES]
        lines.append(("latency", f"{format_seconds(p.mean_latency_s)} mean, {', '.join(words)}"))
    if p.source.operations:
        others = [f"{format_count(n)} {name}" for name, n in p.source.operations.items()]
        lines.append(("without data", ", ".join(others) + " (of all devices)"))
    return lines


def _direction(p: Profile, kind: int) -> str:
    share = float(p.requests[kind]) / p.total
    return f"{percent(share)}: {p.requests[kind]:,}, {format_bytes(int(p.bytes[kind]))}"


def to_json(p: Profile) -> dict[str, Any]:
    """Times are seconds, sizes bytes; null if a value is not known."""
    both = {
        "requests": p.requests,
        "bytes": p.bytes,
        "sequential": p.sequential,
    }
    found: dict[str, Any] = {
        "source": p.source.name,
        "place": p.place,
        "duration_s": p.span_s,
        "total": p.total,
        "requests_per_s": p.rate,
        "peak_requests_per_s": p.peak_rate,
        **{name: dict(zip(figures.WORDS, v.tolist(), strict=True)) for name, v in both.items()},
        "classes": dict(zip(CLASS_NAMES, p.classes.sum(axis=0).tolist(), strict=True)),
        "sizes": [{"bytes": size, "requests": n} for size, n in _usual_sizes(p)],
        "extent_bytes": p.extent,
        "share_of_space_for_90_percent": p.small_part,
        "places_for_90_percent": p.locality.fewest(SHARE),
        "places": len(p.locality.counts),
        "place_unit_bytes": p.locality.unit,
        "band_bytes": p.band_bytes,
        "bands": p.bands.sum(axis=0).tolist(),
        "repeated": p.locality.repeated,
        "mean_time_between_accesses_s": _plain(p.locality.mean_gap_s),
        "hot_spots": [
            {"position": at, "accesses": n, "per_s": n / p.span_s}
            for at, n in p.locality.hottest(MOST_HOT)
        ],
        "mean_depth": p.depth_sum / p.total,
        "mean_latency_s": _plain(p.mean_latency_s),
        "latency_s": {f"{100 * q:.0f}": _plain(p.latency_s(q)) for q in QUANTILES},
        "who": _who_rows(p),
        "findings": [
            {"topic": f.topic, "sentence": f.sentence, "hint": f.hint, "evidence": f.evidence}
            for f in find(p)
        ],
    }
    return found


def comparison_json(comparison: Comparison) -> dict[str, Any]:
    rows = [{k: _plain(v) for k, v in row.items()} for row in comparison.rows()]
    return {
        "table": rows,
        "expected_combined_requests": comparison.expected,
        "runs": {part.name: to_json(part.profile) for part in comparison.profiles},
    }


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value


def _usual_sizes(p: Profile) -> list[tuple[int, int]]:
    return sorted(p.sizes.items(), key=lambda item: (-item[1], item[0]))[:MOST_SIZES]


def _who_rows(p: Profile) -> list[dict[str, Any]]:
    order = sorted(p.who, key=lambda number: -int(p.who[number][:2].sum()))
    return [
        {
            "name": p.source.whos[number] or "unknown",
            "reads": int(row[0]),
            "writes": int(row[1]),
            "bytes": int(row[2]),
            **dict(zip(CLASS_NAMES, row[3:].tolist(), strict=True)),
        }
        for number, row in ((number, p.who[number]) for number in order)
    ]


def write_one(p: Profile, path: Path) -> None:
    what = "disk" if p.source.is_disk else "files"
    write_page(
        path,
        title=f"How {p.place} is used" if p.source.is_disk else "How the files are used",
        subtitle=p.source.name,
        headline=Headline(f"{p.rate:.4g} /s", f"requests to the {what}, on average"),
        outcome="completed",
        alerts=[],
        cards=_cards(p),
        sections=_sections(p),
        machine=None,
        facts=facts(p),
    )


def write_comparison(comparison: Comparison, path: Path) -> None:
    sections = [_table_section(comparison)]
    for part in comparison.profiles:
        sections += _sections(part.profile, f"{part.name}: ")
    write_page(
        path,
        title="Use of the disk by applications",
        subtitle=", ".join(part.name for part in comparison.profiles),
        headline=Headline(str(len(comparison.applications)), "applications compared"),
        outcome="completed",
        alerts=[],
        cards=[],
        sections=sections,
        machine=None,
        facts=[fact for part in comparison.profiles for fact in facts(part.profile)[1:4]],
    )


def _cards(p: Profile) -> list[tuple[str, str]]:
    return [
        ("requests", format_count(p.total)),
        ("reads", percent(float(p.requests[READS]) / p.total)),
        ("read", format_bytes(int(p.bytes[READS]))),
        ("written", format_bytes(int(p.bytes[WRITES]))),
        ("of the space takes 90 %", percent(p.small_part)),
        ("sequential", percent(float(p.sequential.sum()) / p.total)),
        ("mean queue depth", f"{p.depth_sum / p.total:.3g}"),
    ]


def _sections(p: Profile, of: str = "") -> list[Section]:
    space = "sector" if p.source.is_disk else "offset"
    sections = [
        _findings(p, of),
        _drawn(f"{of}Request size over time", "How large each request is.", figures.size_plot(p)),
        _sizes(p, of),
        _drawn(
            f"{of}{space.capitalize()} over time", "Where requests begin.", figures.place_plot(p)
        ),
        _drawn(f"{of}Spatial locality", "Requests in bands of the space.", figures.band_plot(p)),
        _drawn(f"{of}Temporal locality", "Accesses to the same place.", figures.hot_plot(p)),
        _hot(p, of),
        _drawn(f"{of}Rate", "Requests over time.", figures.rate_plot(p)),
        _drawn(f"{of}Queue depth", "How many requests at once.", figures.depth_plot(p)),
    ]
    if p.latencies.any():
        sections.append(_drawn(f"{of}Latency", "Shares done by a time.", figures.latency_plot(p)))
    if len(p.who) > 1:
        sections.append(_who(p, of))
    return sections


def _drawn(title: str, about: str, plot: Plot) -> Section:
    return Section(title, about, plot.chart.html(title), plot.note)


def _findings(p: Profile, of: str) -> Section:
    shown = [
        {
            "finding": finding,
            "share": "",
            "evidence": [(name, figure(value)) for name, value in finding.evidence.items()],
        }
        for finding in find(p)
    ]
    html = template("findings.html").render(first=shown, others=[])
    about = "What the numbers mean. Rules: Sesame's documentation, docs/models/characterize.md."
    return Section(f"{of}Findings", about, html)


def _sizes(p: Profile, of: str) -> Section:
    usual = _usual_sizes(p)
    columns = [
        Column("size", [size for size, _ in usual], lambda v: format_size(int(v))),
        Column("requests", [n for _, n in usual], lambda v: f"{v:,.0f}"),
        Column("share", [n / p.total for _, n in usual], percent),
    ]
    classes = [
        Column("class", list(CLASS_NAMES)),
        Column("reads", p.classes[READS], lambda v: f"{v:,.0f}"),
        Column("writes", p.classes[WRITES], lambda v: f"{v:,.0f}"),
        Column("share", p.classes.sum(axis=0) / p.total, percent),
    ]
    limits = p.limits
    about = (
        f"Small: below {format_size(limits.page_bytes)}; page: just that; large: from "
        f"{format_size(limits.large_bytes)} on; medium: between."
    )
    html = table_html("classes", classes) + table_html("sizes", columns)
    return Section(f"{of}Request sizes", about, html, "The most common sizes.")


def _hot(p: Profile, of: str) -> Section:
    hot = p.locality.hottest(MOST_HOT)
    columns = [
        Column("place", [p.source.name_of(at) for at, _ in hot]),
        Column("accesses", [n for _, n in hot], lambda v: f"{v:,.0f}"),
        Column("each second", [n / p.span_s for _, n in hot], lambda v: f"{v:.3g}"),
    ]
    gap = p.locality.mean_gap_s
    about = f"{percent(p.locality.repeated / p.total)} of the requests go to a place again" + (
        "." if math.isnan(gap) else f", on average {format_seconds(gap)} after the last time."
    )
    return Section(f"{of}Hot spots", about, table_html("hot spots", columns))


def _who(p: Profile, of: str) -> Section:
    rows = _who_rows(p)
    columns = [Column("process", [row["name"] for row in rows])]
    for name in ("reads", "writes", *CLASS_NAMES):
        columns.append(Column(name, [row[name] for row in rows], lambda v: f"{v:,.0f}"))
    columns.insert(3, Column("bytes", [row["bytes"] for row in rows], format_bytes))
    about = (
        "The process that was running when the device was given the request: of writes it is "
        "mostly one of the system's."
        if p.source.is_disk
        else "The rank whose call it was."
    )
    return Section(f"{of}Who", about, table_html("who", columns))


def comparison_lines(comparison: Comparison) -> list[str]:
    """Sentences about the comparison that its table does not contain."""
    lines = []
    if comparison.baseline is not None:
        for name, share in comparison.shares().items():
            lines.append(
                f"{name} makes {percent(share)} of what the applications add to the system."
            )
    combined, expected = comparison.combined, comparison.expected
    if combined is not None and expected:
        more = combined.profile.total / expected
        lines.append(
            f"{combined.name}: {combined.profile.total:,} requests, {more:.2f} times the "
            f"{expected:,.0f} of the system and each application alone."
        )
        lines.append(_growth(comparison, combined))
    return lines


def _growth(comparison: Comparison, combined: NamedProfile) -> str:
    def mean(p: Profile) -> float:
        return float(p.bytes.sum()) / p.total

    alone = sum(float(a.profile.bytes.sum()) for a in comparison.applications)
    alone /= max(sum(a.profile.total for a in comparison.applications), 1)
    return (
        f"The mean request has {format_bytes(mean(combined.profile))} together and "
        f"{format_bytes(alone)} alone."
    )


def table_columns(comparison: Comparison) -> list[Column]:
    rows = comparison.rows()

    def column(title: str, key: str, show: Any) -> Column:
        return Column(title, [row[key] for row in rows], show)

    def blank(value: float) -> str:
        return "" if np.isnan(value) else percent(value)

    return [
        column("run", "run", None),
        column("reads", "reads", percent),
        column("writes", "writes", percent),
        column("requests per s", "requests_per_s", lambda v: f"{v:,.4g}"),
        column("total requests", "requests", lambda v: f"{v:,.0f}"),
        column("time", "duration_s", format_seconds),
        column("beyond the system", "added", lambda v: f"{v:,.0f}"),
        column("share of it", "share_of_added", blank),
        *(
            Column(name, [_class_share(part, i) for part in comparison.profiles], percent)
            for i, name in enumerate(CLASS_NAMES)
        ),
    ]


def _class_share(part: NamedProfile, number: int) -> float:
    return float(part.profile.classes[:, number].sum()) / part.profile.total


def _table_section(comparison: Comparison) -> Section:
    about = (
        "Requests of each run. Beyond the system: without those that the baseline would have made "
        "in the same time."
    )
    html = table_html("runs", table_columns(comparison))
    html += "".join(f"<p>{escape(line)}</p>" for line in comparison_lines(comparison))
    return Section("Runs", about, html, f"Sectors are of {SECTOR_BYTES} bytes.")
