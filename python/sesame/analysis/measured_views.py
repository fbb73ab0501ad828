"""The views of a measurement inside the kernel."""

from __future__ import annotations

from sesame.analysis.report.measured import cost_plot, processor_plot, rate_plot
from sesame.analysis.views import View
from sesame.datasets import DataSet

NAMES = ("events", "processors", "cost")


def views_of(_: DataSet) -> list[View]:
    """The views, in the order of its page."""
    return [
        View(
            "events",
            "Events of all processes, at the points with most.",
            rate_plot,
            ("kernel_summary",),
        ),
        View("processors", "How busy each processor was.", processor_plot, ("cpu_time",)),
        View("cost", "What measuring each subsystem cost.", cost_plot, ("measurement_cost",)),
    ]
