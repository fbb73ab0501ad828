"""Reports of runs: one page of HTML that needs nothing else and no network."""

from __future__ import annotations

from pathlib import Path

from sesame.analysis.report.page import TEMPLATES
from sesame.analysis.report.simulated import write_simulated, write_sweep_report
from sesame.datasets import DataSet

__all__ = ["TEMPLATES", "write_report", "write_sweep_report"]


def write_report(data_set: DataSet, path: Path) -> None:
    """The report of one run, from its data set alone."""
    write_simulated(data_set, path)
