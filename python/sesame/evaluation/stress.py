"""Copies of the NAS suite, submitted again and again, as the Paragon report did at the end of July
1993: incidents for each hour in use, and processes that programs leave behind."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import cycle

from sesame.evaluation.benchmarks import NAS_CODES, bench_steps, nas_ranks
from sesame.evaluation.cases import STRESS
from sesame.evaluation.estimates import poisson_limits
from sesame.evaluation.probing import Observed, Outcome, Result, not_observed, run_probe
from sesame.evaluation.release import release_facts
from sesame.evaluation.site import Probe, Site, Target
from sesame.evaluation.waiting import keep
from sesame.evaluation.workers import Workers

LEFT_BEHIND = "processes left behind"
CONFIDENCE = 0.95
POLL_S = 0.5  # so that the end is noticed


@dataclass
class Stress:
    """What has happened so far."""

    seconds: float = 0.0  # in use
    runs: int = 0
    failed: int = 0
    unobserved: int = 0
    left_behind: int = 0
    results: list[Result] = field(default_factory=list)  # that failed

    def sentence(self) -> str:
        hours = max(self.seconds, 1e-9) / 3600
        low, high = poisson_limits(self.failed, CONFIDENCE)
        processes = "process" if self.left_behind == 1 else "processes"
        text = (
            f"{self.runs} programs in {hours:.2f} hours of use, {self.failed} failed: "
            f"{self.failed / hours:.3g} incidents an hour ({low / hours:.3g} to "
            f"{high / hours:.3g}); {self.left_behind} {processes} left behind"
        )
        return text + (f"; {self.unobserved} not observed" if self.unobserved else "")


def stress(
    site: Site,
    target: Target,
    copies: int,
    duration: float,
    timeout: float,
    options: tuple[str, ...],
    report: Callable[[Result], None],
    found: Stress,
) -> None:
    """Runs for `duration` seconds, and until the programs of that time have ended. Each result is
    stored and reported. `found` is kept up to date, for a caller that is interrupted."""
    facts = release_facts(site.path.absolute().parent)
    began = time.monotonic()
    workers: Workers[int] = Workers()
    queues = {copy: _programs(target, copy, timeout, options) for copy in range(1, copies + 1)}
    running: dict[int, Probe] = {}
    while workers or time.monotonic() < began + duration:
        for copy, programs in queues.items():
            if copy not in workers and time.monotonic() < began + duration:
                running[copy] = next(programs)
                workers.start(copy, partial(run_probe, running[copy], facts))
        for copy, observed in workers.collect(POLL_S):
            ended = "the process that ran it was ended"
            result = (observed or Observed([not_observed(running[copy], ended, facts)])).results[0]
            keep(site, [result])
            _count(found, result)
            report(result)
        found.seconds = time.monotonic() - began


def _programs(
    target: Target, copy: int, timeout: float, options: tuple[str, ...]
) -> Iterator[Probe]:
    """The suite without end; each copy begins with another code."""
    shift = (copy - 1) * len(NAS_CODES) // 2 % len(NAS_CODES)
    for code in cycle((*NAS_CODES[shift:], *NAS_CODES[:shift])):
        ranks = nas_ranks(code, target.ranks)
        steps = bench_steps(code, code, ranks, options, timeout, target)
        name = f"{STRESS}/{code} {copy}"
        yield Probe(name, target, timeout, False, "functionality", None, {}, tuple(steps))


def _count(found: Stress, result: Result) -> None:
    found.runs += 1
    if result.outcome is Outcome.NOT_OBSERVED:
        found.unobserved += 1
    elif result.outcome is Outcome.FAIL:
        found.failed += 1
        found.results.append(result)
    for figure in result.figures:
        if figure.name.endswith(LEFT_BEHIND):
            found.left_behind += int(figure.value)
