"""Reports of runs: one page of HTML that needs nothing else and no network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sesame.errors import InputError
from sesame.lazy import names_of

if TYPE_CHECKING:
    from sesame.analysis.report.page import TEMPLATES
    from sesame.analysis.report.simulated import write_sweep_report
    from sesame.analysis.study import Study
    from sesame.datasets import DataSet
else:
    __getattr__ = names_of(__name__)

__all__ = ["TEMPLATES", "write_report", "write_sweep_report"]


def write_report(data_set: DataSet, path: Path, study: Study | None = None) -> None:
    """The report of one run (workload, simulated, traced, measured) from its data set alone."""
    from sesame.analysis.report.bench import is_bench, write_bench
    from sesame.analysis.report.measured import is_measured, write_measured
    from sesame.analysis.report.simulated import write_simulated
    from sesame.analysis.report.traced import write_traced
    from sesame.analysis.study import study_run
    from sesame.analysis.traced.load import is_traced

    if is_bench(data_set):
        write_bench(data_set, path)
    elif is_traced(data_set):
        write_traced(data_set, study or study_run(data_set), path)
    elif "predicted_time_s" in data_set.info.get("result", {}):
        write_simulated(data_set, path)
    elif is_measured(data_set):
        write_measured(data_set, path)
    else:
        known = ", ".join(data_set.record_types) or "none"
        raise InputError(
            "neither a traced nor a simulated run: expected records of type io, mpi, process or "
            "file_total, a predicted time, a workload, or a measurement inside the kernel; "
            f"there are records of type {known}",
            path=str(data_set.path),
            hint="`sesame characterize` reports on requests to disks",
        )
