"""The state of a site in Prometheus' text format (version 0.0.4).

monitoring/alerts.yml and monitoring/dashboard.json use these names.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path

from sesame.errors import OutputError
from sesame.evaluation.probing import Outcome
from sesame.evaluation.site import Probe, Site
from sesame.evaluation.store import Store
from sesame.evaluation.stretches import target_summaries
from sesame.web.page import write_whole

FILES = Path(__file__).with_name("monitoring")
WINDOWS = {"1h": 3600.0, "6h": 21600.0, "3d": 259200.0, "30d": 2592000.0}
LOOK_BACK = 100  # results, for the last that was observed
HELP = {
    "sesame_probe_up": "1 if the last result that was observed passed, 0 if it failed.",
    "sesame_probe_observed": "0 if the last result was not observed.",
    "sesame_probe_last_observed_timestamp_seconds": "When a probe last passed or failed.",
    "sesame_probe_last_observed_age_seconds": "The same, as an age when this was written.",
    "sesame_probe_interval_seconds": "How often a probe is due.",
    "sesame_availability_ratio": "Availability of the observed time of a window.",
    "sesame_slo_burn_rate": "Unavailability by that which the objective permits.",
    "sesame_incidents_open": "Incidents that have not ended.",
    "sesame_written_timestamp_seconds": "When this was written.",
}
Samples = dict[str, list[tuple[dict[str, str], float]]]


def metrics_text(site: Site, store: Store, now: float, objective: float) -> str:
    """`objective`: the availability to reach, below 1."""
    found: Samples = {name: [] for name in HELP}
    found["sesame_written_timestamp_seconds"].append(({"site": site.name}, now))
    latest = 0.0
    for probe in site.probes.values():
        began = _add_probe(found, site, store, probe, now)
        if probe.availability:
            latest = max(latest, began)
    # Windows end with the last observation: a short one would else be mostly unknown.
    for window, length in WINDOWS.items() if latest else ():
        for target in target_summaries(site, store, latest - length, latest, mid_p=False):
            labels = {"site": site.name, "target": target.target}
            estimate = target.whole.availability.estimate
            if estimate is not None:
                rate = (1 - estimate.value) / (1 - objective)
                about = {**labels, "window": window}
                found["sesame_availability_ratio"].append((about, estimate.value))
                found["sesame_slo_burn_rate"].append((about, rate))
            if length == max(WINDOWS.values()):
                count = sum(math.isinf(one.ended) for one in target.incidents)
                found["sesame_incidents_open"].append((labels, count))
    return "".join(_family(name, samples) for name, samples in found.items() if samples)


def _add_probe(found: Samples, site: Site, store: Store, probe: Probe, now: float) -> float:
    """Returns when it was last observed, 0 if never."""
    target = probe.target.name
    labels = {"site": site.name, "target": target, "probe": probe.name}
    found["sesame_probe_interval_seconds"].append((labels, probe.interval))
    results = store.results(probe.name, target, 0, math.inf, LOOK_BACK)
    if not results:
        return 0.0
    is_observed = results[-1].outcome is not Outcome.NOT_OBSERVED
    found["sesame_probe_observed"].append((labels, float(is_observed)))
    last = next((one for one in reversed(results) if one.outcome is not Outcome.NOT_OBSERVED), None)
    if last is None:
        return 0.0
    found["sesame_probe_up"].append((labels, float(last.outcome is Outcome.PASS)))
    stamp = "sesame_probe_last_observed_timestamp_seconds"
    found[stamp].append((labels, last.began))
    found["sesame_probe_last_observed_age_seconds"].append((labels, now - last.began))
    return last.began


def _family(name: str, samples: Iterable[tuple[dict[str, str], float]]) -> str:
    lines = [f"# HELP {name} {HELP[name]}", f"# TYPE {name} gauge"]
    for labels, value in samples:
        text = ",".join(f'{key}="{_escaped(one)}"' for key, one in labels.items())
        lines.append(f"{name}{{{text}}} {value!r}")
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def write_monitoring(directory: Path) -> list[Path]:
    """Copies the alert rules and the dashboard. Raises OutputError."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{directory}: cannot make it: {error.strerror}") from error
    written = []
    for path in sorted(FILES.iterdir()):
        write_whole(directory / path.name, path.read_text(encoding="utf-8"))
        written.append(directory / path.name)
    return written
