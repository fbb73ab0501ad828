"""Says in words what a profile means. Each rule is a function from a Profile to findings, none if
it does not apply. Thresholds and their sources are in docs/models/characterize.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from sesame.analysis.characterize.profile import CLASS_NAMES, READS, TIME_CELLS, WRITES, Profile
from sesame.analysis.findings_io.found import Finding, percent, plural
from sesame.analysis.quantities import format_bytes, format_seconds, format_size

ENOUGH = 100  # least number of requests for most rules

SOME_SHARE = 0.1  # least share of repeated accesses
CONCENTRATED = 0.1  # share of the space; the study: 90 % of the accesses go to 10 % of the space
SEQUENTIAL, RANDOM = 0.8, 0.2  # share of sequential requests: at least, at most
HOT_TIMES = 10  # a hot spot has this many times the accesses of the mean position
BURST = 10  # peak rate over mean
TAIL = 10  # the 99th percentile over the median
QUEUED = 1.5  # mean requests at the device


def sizes(p: Profile) -> list[Finding]:
    counts = p.classes.sum(axis=0)
    number = int(counts.argmax())
    share = float(counts[number]) / p.total
    usual = max(p.sizes, key=lambda size: p.sizes[size])
    meaning = (
        "explicit requests for less than a page, or metadata in small blocks",
        "paging, or a file system that works block by block",
        "several pages at once, short of what read-ahead asks for",
        "large objects that are streamed",
    )[number]
    hint = (
        "Requests this small cost the device about as much as larger ones: gather them."
        if number < 2
        else "Large requests suit any device; only their order matters then."
    )
    evidence = {f"{name} requests": float(n) for name, n in zip(CLASS_NAMES, counts, strict=True)}
    text = (
        f"{percent(share)} of the {plural(p.total, 'request')} are {CLASS_NAMES[number]}: "
        f"{meaning}. "
        f"The most common size is {format_size(usual)} ({percent(p.sizes[usual] / p.total)})."
    )
    return [Finding("request size", text, hint, None, evidence)]


def mix(p: Profile) -> list[Finding]:
    writes = float(p.requests[WRITES]) / p.total
    if writes >= 0.9:
        text = f"Almost only writes: {percent(writes)} of {plural(p.total, 'request')}"
        hint = "Input comes from memory, or there is none; what is written are logs and results."
    elif writes <= 0.1:
        text = f"Almost only reads: {percent(1 - writes)} of {plural(p.total, 'request')}"
        hint = "More memory for caching, or reading once and keeping the data, saves requests."
    else:
        text = f"Reads and writes mix: {percent(1 - writes)} reads, {percent(writes)} writes"
        hint = "A device may be slower with a mix than with only reads or only writes."
    evidence = {"reads": float(p.requests[READS]), "writes": float(p.requests[WRITES])}
    evidence |= {"bytes read": float(p.bytes[READS]), "bytes written": float(p.bytes[WRITES])}
    return [
        Finding("reads and writes", f"{text}, {p.rate:,.4g} each second.", hint, None, evidence)
    ]


def spatial(p: Profile) -> list[Finding]:
    if p.total < ENOUGH:
        return []
    part = p.small_part
    text = (
        f"90 % of the requests begin in {percent(part)} of the {_space(p)} "
        f"({format_bytes(p.extent)} up to its highest request)."
    )
    hint = (
        "A cache, or a faster device, for this part would serve almost all requests."
        if part <= CONCENTRATED
        else "The requests are spread: a cache smaller than this part helps in proportion only."
    )
    evidence = {"share of the space": part, "places accessed": float(len(p.locality.counts))}
    return [Finding("spatial locality", text, hint, None, evidence)]


def hot_spots(p: Profile) -> list[Finding]:
    if p.total < ENOUGH:
        return []
    place, count = p.locality.hottest(1)[0]
    mean = p.total / len(p.locality.counts)
    if count < HOT_TIMES * mean:
        return []
    text = (
        f"{p.source.name_of(place)} is accessed {plural(count, 'time')}, "
        f"{count / p.span_s:.3g} times each second; the mean place {mean:.3g} times in all."
    )
    hint = (
        "A position written again and again is mostly a log or a table of the file system: find "
        "out which process writes it, and how often it must reach the disk."
        if p.source.is_disk
        else "Keep in memory what is read or written again and again."
    )
    evidence = {"accesses": float(count), "each second": count / p.span_s, "mean of places": mean}
    return [Finding("hot spot", text, hint, None, evidence)]


def reuse(p: Profile) -> list[Finding]:
    share = p.locality.repeated / p.total
    if p.total < ENOUGH or share < SOME_SHARE:
        return []
    text = (
        f"{percent(share)} of the requests go to a place that was accessed before, on average "
        f"{format_seconds(p.locality.mean_gap_s)} after the last time."
    )
    hint = "A cache that holds what is accessed in this time would save the reads among them."
    evidence = {
        "again": float(p.locality.repeated),
        "mean time between accesses (s)": p.locality.mean_gap_s,
    }
    return [Finding("temporal locality", text, hint, None, evidence)]


def order(p: Profile) -> list[Finding]:
    if p.total < ENOUGH:
        return []
    share = float(p.sequential.sum()) / p.total
    if RANDOM < share < SEQUENTIAL:
        return []
    which = "" if p.source.is_disk else " of the same process in the same file"
    text = (
        f"{percent(share)} of the requests begin where the one before{which} ended; such a run has "
        f"{p.total / max(p.runs, 1):.3g} requests on average."
    )
    hint = (
        "Streams: read-ahead and large requests get most of a device."
        if share >= SEQUENTIAL
        else "Random access: a device with moving parts spends its time seeking; sort requests, or "
        "issue several at once."
    )
    return [Finding("order", text, hint, None, {"sequential": float(p.sequential.sum())})]


def queue(p: Profile) -> list[Finding]:
    mean = p.depth_sum / p.total
    if p.total < ENOUGH:
        return []
    text = f"The mean queue depth at the {_space(p)} is {mean:.3g}, the arriving request included."
    hint = (
        "Requests wait for one another: a device with more parallel channels, or fewer writers at "
        "a time, shortens the wait."
        if mean >= QUEUED
        else "One request at a time: the device idles between requests; asynchronous or parallel "
        "I/O would keep it busy."
    )
    evidence = {"mean depth": mean, "largest depth": float(p.depths.nonzero()[0].max())}
    return [Finding("queue depth", text, hint, None, evidence)]


def bursts(p: Profile) -> list[Finding]:
    if p.total < ENOUGH or not p.rate or p.peak_rate < BURST * p.rate:
        return []
    cell = format_seconds(p.span_s / TIME_CELLS)
    text = (
        f"Requests come in bursts: in the busiest {cell} {p.peak_rate:,.0f} each second, "
        f"{p.rate:,.4g} on average."
    )
    hint = "A buffer that takes a burst lets the device be sized for the average."
    return [Finding("bursts", text, hint, None, {"peak": p.peak_rate, "mean": p.rate})]


def slow_tail(p: Profile) -> list[Finding]:
    median, tail = p.latency_s(0.5), p.latency_s(0.99)
    if p.total < ENOUGH or math.isnan(tail) or tail < TAIL * median:
        return []
    text = (
        f"One request in a hundred takes {format_seconds(tail)} or more; half are done in "
        f"{format_seconds(median)}."
    )
    hint = "Look at the queue at these times, and at flushes that all others wait for."
    return [Finding("slow requests", text, hint, None, {"median (s)": median, "99 % (s)": tail})]


def _space(p: Profile) -> str:
    return "disk" if p.source.is_disk else "files"


RULES: tuple[Callable[[Profile], list[Finding]], ...] = (
    sizes,
    mix,
    spatial,
    hot_spots,
    reuse,
    order,
    queue,
    bursts,
    slow_tail,
)


def find(profile: Profile) -> list[Finding]:
    """The findings of all rules, in the order of RULES."""
    return [finding for rule in RULES for finding in rule(profile)]
