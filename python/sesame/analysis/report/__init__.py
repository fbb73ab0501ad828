"""Reports of runs: one page of HTML that needs nothing else and no network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sesame.lazy import names_of

if TYPE_CHECKING:
    from sesame.analysis.report.simulated import write_sweep_report
    from sesame.analysis.study import Study
    from sesame.datasets import DataSet
else:
    __getattr__ = names_of(__name__)

__all__ = ["write_report", "write_sweep_report"]


def write_report(data_set: DataSet, path: Path, study: Study | None = None) -> None:
    """The report of one data set, from the data set alone. `study`: of a traced run, if known."""
    from sesame.analysis.views import write_page

    if study is not None:
        from sesame.analysis.report.traced import write_traced

        write_traced(data_set, study, path)
    else:
        write_page(data_set, path)
