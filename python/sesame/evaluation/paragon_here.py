"""The measures of the Paragon's evaluation on the machine of a site file, beside the published."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path

from sesame.evaluation.levels import SeriesSummary
from sesame.evaluation.paragon import NAME, REPORT
from sesame.evaluation.site import read_site
from sesame.evaluation.stretches import TargetSummary
from sesame.evaluation.summary import Summary, summarize
from sesame.evaluation.waiting import opened
from sesame.evaluation.words import counted, figure, hours, share
from sesame.reproduction.outcome import Outcome, Table

MISSING = "not measured"
# Published (August 1993, release T10), and the figures of a site that measure the same. The least
# of latencies and the largest of rates is taken, as in the report ("peak").
FIGURES = (
    ("users, on average (table 4)", "4.85", r"users", None),
    ("load average (table 4)", "0.08", r"load average", None),
    ("message latency (table 6)", "184 us", r".*latency.*", min),
    ("message bandwidth (table 6)", "28 MB/s", r"(?!.*ipc).*bandwidth.*", max),
    ("inter-process bandwidth (table 7)", "11 MB/s", r".*ipc.*bandwidth.*", max),
    ("memory left for an application (section 4)", "10 MB a node", r"memory left", None),
    ("EP (table 9)", "19.72 s on 128 nodes", r"(ep|EP) time.*", min),
)


def here(path: Path, warn: Callable[[str], None]) -> Outcome:
    """From all results of the site. Raises InputError and Unavailable."""
    site = read_site(path)
    with opened(site, warn) as store:
        now = time.time()
        first = store.first()
        found = summarize(site, store, now - 1 if first is None else first, now)
    rows = [row for target in found.targets for row in _target_rows(target)]
    rows += [_figure_row(found, *one) for one in FIGURES]
    rows.append(_functionality(found))
    return Outcome(
        "paragon-here",
        f"The same measures of {found.site}",
        f"{REPORT}, and {path.name}",
        [],
        [Table(f"{NAME}: then and here", ["measure", "Paragon, August 1993", "here"], rows)],
    )


def _target_rows(target: TargetSummary) -> list[list[str]]:
    whole = target.whole
    up, at = whole.availability.estimate, whole.time_to_incident
    where = f" of {target.target}"
    days = (whole.end - whole.begin) / 86400
    available = MISSING if up is None else share(up)
    between = MISSING
    if at is not None:
        between = f"at least {hours(at.low)}"
        if whole.incidents:
            between = f"{hours(at.value)} ({hours(at.low)} to {hours(at.high)})"
    return [
        [f"availability{where} (table 1)", "77.4 %", available],
        [f"reboots{where} (table 2)", "90 in 31 days", f"{whole.reboots} in {days:.1f} days"],
        [f"mean time to incident{where} (table 3)", "8:40 h", between],
    ]


def _figure_row(
    summary: Summary,
    name: str,
    published: str,
    pattern: str,
    best: Callable[..., SeriesSummary] | None,
) -> list[str]:
    matching = [one for one in summary.series if re.fullmatch(pattern, one.figure)]
    if not matching:
        return [name, published, MISSING]
    chosen = matching[0] if best is None else best(matching, key=lambda one: one.whole.mean)
    level = chosen.whole
    said = f"{figure(level.mean, chosen.unit)} ({chosen.figure}, {counted(level.runs, 'run')})"
    return [name, published, said]


def _functionality(summary: Summary) -> list[str]:
    last = [probe.last() for probe in summary.probes if probe.releases]
    works = sum(one.works is True for one in last)
    said = f"{works} of {counted(len(last), 'probe')}"
    return ["what works (table 5)", "8 of 8 NAS codes, NHT-1 not", said]
