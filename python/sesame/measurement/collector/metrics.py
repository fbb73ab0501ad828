"""The collector's state in the text format of Prometheus."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from sesame.measurement.collector.intake import Intake
from sesame.measurement.collector.relay import Relay
from sesame.measurement.collector.store import Store

PREFIX = "sesame_collector_"
RECEIVED = {
    "readings": "Readings received, also repeated ones",
    "blocks": "Blocks of trace events received, also repeated ones",
    "repeated": "Items that had been stored before",
    "refused": "Items that were wrong and are set aside",
}
STATE = {
    "journal_bytes": "Bytes in journals: not yet in data sets, or not yet forwarded",
    "oldest_journal_seconds": "Age of the oldest journal",
    "data_set_bytes": "Bytes of the data sets that are kept",
    "free_bytes": "Free space where the data sets are, at the last reading",
    "failing_journals": "Journals that cannot be written as data sets for now",
    "damaged_files": "Files with damaged data that were set aside",
    "is_full": "1 while items are not accepted because the disk is full",
}


class _Collector:
    def __init__(self, store: Store, intake: Intake, relay: Relay | None) -> None:
        self._store, self._intake, self._relay = store, intake, relay

    def collect(self) -> Iterator[Metric]:
        for name, meaning in RECEIVED.items():
            value = getattr(self._intake.counts, name)
            yield CounterMetricFamily(PREFIX + name, meaning, value=value)
        above = "Readings and blocks of nodes above the size for one node, which were discarded"
        yield CounterMetricFamily(
            PREFIX + "above_node_size", above, value=self._store.quota.refused
        )
        state = self._store.describe()
        for name, meaning in STATE.items():
            yield GaugeMetricFamily(PREFIX + name, meaning, value=state[name])
        segments = state["segments"]
        yield CounterMetricFamily(PREFIX + "data_sets", "Data sets written", value=segments)
        last = GaugeMetricFamily(
            PREFIX + "node_last_reading_seconds",
            "When the last reading of a node came, since 1970",
            labels=("node",),
        )
        for node, seconds in list(self._intake.last_seen.items()):
            last.add_metric((node,), seconds)
        yield last
        if self._relay is not None:
            yield from _of_relay(self._relay)


def _of_relay(relay: Relay) -> Iterator[Metric]:
    counts = {
        "forwarded": ("Items that the other collector has stored", relay.forwarded),
        "dropped_bytes": ("Bytes of journals dropped before they were sent", relay.dropped_bytes),
    }
    for name, (meaning, value) in counts.items():
        yield CounterMetricFamily(PREFIX + name, meaning, value=value)
    yield GaugeMetricFamily(
        PREFIX + "forwarded_until_seconds",
        "When all journals were last sent, since 1970",
        value=relay.last_success,
    )


def as_text(store: Store, intake: Intake, relay: Relay | None) -> bytes:
    registry = CollectorRegistry()
    registry.register(_Collector(store, intake, relay))
    return generate_latest(registry)
