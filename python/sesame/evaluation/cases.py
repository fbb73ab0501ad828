"""Cases of suites and programs of a stress test: they have results and are not in the site file."""

from __future__ import annotations

from dataclasses import replace

from sesame.evaluation.site import Probe, Site
from sesame.evaluation.store import Store

STRESS = "stress"  # results of a stress test are those of probes stress/CODE COPY


def all_probes(site: Site, store: Store) -> list[Probe]:
    """The probes of the site, each followed by its cases; then programs of stress tests."""
    cases: dict[tuple[str, str], list[str]] = {}
    for name, target in store.probes():
        if "/" in name:
            cases.setdefault((name.split("/")[0], target), []).append(name)
    stressed = [
        Probe(name, site.targets[target], 0.0, False, "functionality", None, {}, ())
        for (probe, target), names in cases.items()
        if probe == STRESS and probe not in site.probes and target in site.targets
        for name in names
    ]
    found = [
        each
        for probe in site.probes.values()
        for each in (
            probe,
            *(
                replace(probe, name=name, availability=False, aspect="functionality")
                for name in cases.get((probe.name, probe.target.name), [])
            ),
        )
    ]
    return [*found, *stressed]
