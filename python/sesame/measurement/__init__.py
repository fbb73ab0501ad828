"""Measuring inside the running kernel: probes, summaries, traces."""

from sesame.measurement.probes import (
    Detail,
    LoadedProbes,
    Point,
    Subsystem,
    loaded,
    subsystems,
    switch_off,
)
from sesame.measurement.summary import SUMMARY, Puller
from sesame.measurement.trace import EVENTS, TraceWriter, read_events

__all__ = [
    "EVENTS",
    "SUMMARY",
    "Detail",
    "LoadedProbes",
    "Point",
    "Puller",
    "Subsystem",
    "TraceWriter",
    "loaded",
    "read_events",
    "subsystems",
    "switch_off",
]
