"""Cases of suites and programs of a stress test: they have results and are not in the site file."""

from __future__ import annotations

from dataclasses import replace

from sesame.evaluation.site import Probe, Site
from sesame.evaluation.store import Store


def all_probes(site: Site, store: Store) -> list[Probe]:
    """The probes of the site, each followed by its cases."""
    cases: dict[tuple[str, str], list[str]] = {}
    for name, target in store.probes():
        if "/" in name:
            cases.setdefault((name.split("/")[0], target), []).append(name)
    return [
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
