"""Measuring inside the running kernel: probes, summaries, traces."""

from sesame.measurement.probes import Detail, LoadedProbes, Point, Subsystem, loaded, subsystems
from sesame.measurement.summary import SUMMARY, Puller

__all__ = [
    "SUMMARY",
    "Detail",
    "LoadedProbes",
    "Point",
    "Puller",
    "Subsystem",
    "loaded",
    "subsystems",
]
