"""When the probes failed that are none of availability: their failures are no incidents."""

from __future__ import annotations

from dataclasses import dataclass

from sesame.evaluation.cases import all_probes
from sesame.evaluation.incidents import Failure, failures_of, with_loads
from sesame.evaluation.site import Site
from sesame.evaluation.store import Store


@dataclass(frozen=True)
class ProbeFailures:
    """The series of failures of a probe that touch a period, in order."""

    probe: str
    target: str
    failures: list[Failure]


def probe_failures(site: Site, store: Store, begin: float, end: float) -> list[ProbeFailures]:
    """Of the probes that failed in [begin, end), and of cases of suites."""
    names = [
        (probe.name, probe.target.name)
        for probe in all_probes(site, store)
        if not probe.availability
    ]
    notes = {
        target: [one for one in store.notes(target) if one.planned]
        for target in {target for _, target in names}
    }
    found = []
    for (probe, target), ran in zip(names, store.around_failures(names, begin, end), strict=True):
        failures = [
            one
            for one in failures_of(ran, notes[target])
            if one.began < end and one.last_failed >= begin
        ]
        if failures:
            found.append(ProbeFailures(probe, target, with_loads(store, target, failures, ran)))
    return found
