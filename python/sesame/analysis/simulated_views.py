"""The views of a simulated run."""

from __future__ import annotations

from dataclasses import replace

from sesame.analysis import plots
from sesame.analysis.plots import Plot
from sesame.analysis.views import View
from sesame.datasets import DataSet

NAMES = (
    "time line",
    "what would help",
    "critical path",
    "ranks",
    "MPI calls",
    "message matrix",
    "message sizes",
    "links",
    "network",
)


def views_of(_: DataSet) -> list[View]:
    """The views of a simulated run, in the order of its page."""
    return [
        View("time line", "What every rank did when.", _time_line, ("call",)),
        View(
            "what would help",
            "How much of the predicted time each key of the machine causes: a latency half as long "
            "halves its share, a bandwidth twice as high too.",
            _what_would_help,
            ("critical_path",),
        ),
        View(
            "critical path",
            "The chain of computation, calls and messages that determines the predicted time.",
            _critical_path,
            ("critical_path",),
        ),
        View("ranks", "Where the time of each rank went.", plots.rank_plot, ("rank",)),
        View(
            "MPI calls",
            "Time in each function, all ranks together.",
            plots.call_plot,
            ("call_total",),
        ),
        View("message matrix", "Data sent from rank to rank.", plots.matrix_plot, ("pair",)),
        View("message sizes", "Number of messages by size.", plots.size_plot, ("message_size",)),
        View(
            "links",
            "How busy the busiest links of the network were, and when.",
            _links,
            ("message",),
        ),
        View(
            "network",
            "How busy each link of the network was over the whole run, on its topology.",
            _network,
            ("message",),
        ),
    ]


def _what_would_help(data_set: DataSet) -> Plot:
    from sesame.analysis.critical_path import help_plot

    return help_plot(data_set)


def _critical_path(data_set: DataSet) -> Plot:
    from sesame.analysis.critical_path import path_plot

    return path_plot(data_set)


def _links(data_set: DataSet) -> Plot:
    from sesame.analysis.link_use import link_plot

    return link_plot(data_set)


def _network(data_set: DataSet) -> Plot:
    from sesame.analysis.network_map import network_map

    return network_map(data_set)


def _time_line(data_set: DataSet) -> Plot:
    plot = plots.timeline_plot(data_set)
    raw = data_set.info.get("raw", {})
    if not (raw.get("discarded") or raw.get("damage")):
        return plot
    lost = f" Not all was recorded: {raw['discarded']:,} records were lost."
    return replace(plot, note=plot.note + lost)
