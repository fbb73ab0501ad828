"""Summaries in the text format of Prometheus: counters since the start, by point and class."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from sesame.measurement.daemon.node import LEVELS
from sesame.measurement.daemon.service import Service

LABELS = ("subsystem", "point", "class")
COUNTERS = (
    ("events", "count", 1.0, "Events at an instrumentation point"),
    ("bytes", "bytes", 1.0, "Total size of the events"),
    ("timed_events", "timed", 1.0, "Events whose duration was measured"),
    ("duration_seconds", "duration_ns", 1e-9, "Total duration of the timed events"),
)


class _Collector:
    def __init__(self, service: Service) -> None:
        self._service = service

    def collect(self) -> Iterator[Metric]:
        node = self._service.node
        totals = list(node.totals())
        for name, key, unit, meaning in COUNTERS:
            family = CounterMetricFamily(f"sesame_{name}", meaning, labels=LABELS)
            for point, class_, sums in totals:
                family.add_metric((point.subsystem, point.name, class_), unit * sums[key])
            yield family
        level = GaugeMetricFamily(
            "sesame_level", "Level of a point: 0 off, 1 summary, 2 trace", labels=LABELS[:2]
        )
        for point in node.places():
            level.add_metric((point.subsystem, point.name), LEVELS.index(node.level(point)))
        yield level
        presented, lost = node.presented_and_lost()
        yield CounterMetricFamily("sesame_traced_events", "Events to be traced", value=presented)
        yield CounterMetricFamily("sesame_lost_events", "Traced events that were lost", value=lost)
        delivery = self._service.delivery
        dropped = node.dropped + (delivery.dropped if delivery is not None else 0)
        yield CounterMetricFamily(
            "sesame_dropped_readings", "Readings dropped before delivery", value=dropped
        )


def as_text(service: Service) -> bytes:
    registry = CollectorRegistry()
    registry.register(_Collector(service))
    return generate_latest(registry)
