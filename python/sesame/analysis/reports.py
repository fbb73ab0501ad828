"""The report of each kind of data set: the functions that write its page and its findings.

They are imported when they are called. A new kind adds a line to REPORTS and its functions. The
charts of a page are the views of its kind (`sesame.analysis.views`).
"""

from __future__ import annotations

import pkgutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sesame.datasets.info import Kind
from sesame.errors import InputError

if TYPE_CHECKING:
    from sesame.analysis.study import Study
    from sesame.datasets import DataSet


@dataclass(frozen=True)
class Report:
    """`page` is a function of (data set, path of the page), `sentences` one of the data set.

    The page of a traced run also takes its study; without it, it makes one.
    """

    page: str  # as pkgutil.resolve_name takes it
    sentences: str | None = None
    needs: tuple[str, ...] = ()  # record types; the data set must have at least one
    needs_rows: bool = False  # whether that one must have records
    hint: str | None = None  # for the error if all are missing


# A traced run may have tables without records. Without these tables it is not a run with calls.
_TRACED = Report(
    "sesame.analysis.report.traced:write_traced_run",
    "sesame.analysis.sentences:of_traced",
    ("io", "mpi", "process", "file_total"),
    False,
    "`sesame characterize` reports on requests to disks",
)
REPORTS: dict[Kind, Report] = {
    Kind.SIMULATED: Report(
        "sesame.analysis.report.simulated:write_simulated",
        "sesame.analysis.sentences:of_simulated",
        ("rank",),
    ),
    Kind.TRACED: _TRACED,
    Kind.IMPORTED: _TRACED,
    Kind.REPLAYED: _TRACED,
    Kind.MEASURED: Report(
        "sesame.analysis.report.measured:write_measured",
        None,
        ("kernel_summary", "measurement_cost", "cpu_time", "kernel_reading", "kernel_trace"),
        True,
        "`sesame characterize` reports on requests to disks",
    ),
    Kind.BENCH: Report(
        "sesame.analysis.report.bench:write_bench",
        "sesame.analysis.sentences:of_bench",
        ("figure",),
    ),
    Kind.SERIES: Report(
        "sesame.analysis.report.series:write_series",
        "sesame.analysis.sentences:of_series",
        ("point",),
        needs_rows=True,
    ),
    Kind.CHARACTERISED: Report(
        "sesame.analysis.characterize.stored:write_characterised",
        "sesame.analysis.characterize.stored:sentences_of",
        ("request_finding",),
    ),
    Kind.REPRODUCED: Report(
        "sesame.analysis.report.reproduced:write_reproduced",
        "sesame.analysis.sentences:of_reproduced",
        ("finding",),
    ),
}


def write_page(data_set: DataSet, path: Path, study: Study | None = None) -> None:
    """The report of a data set as one HTML file, from the data set alone. `study`: that of a traced
    run, if it was made already.

    Raises InputError if its kind has no page, or its tables are missing.
    """
    report = _report_of(data_set)
    known = () if study is None else (study,)
    pkgutil.resolve_name(report.page)(data_set, path, *known)


def sentences_of(data_set: DataSet) -> list[str]:
    """The findings of a data set as sentences, the most important first; may be empty.

    Raises InputError if the tables that its kind needs are missing.
    """
    report = _report_of(data_set)
    if report.sentences is None:
        return []
    found: list[str] = pkgutil.resolve_name(report.sentences)(data_set)
    return found


def _report_of(data_set: DataSet) -> Report:
    report = REPORTS[data_set.kind]
    there = data_set.has if report.needs_rows else data_set.record_types.__contains__
    if report.needs and not any(map(there, report.needs)):
        raise InputError(
            f"nothing to report on in this {data_set.kind} data set: expected records of type "
            f"{', '.join(report.needs)}; there are records of type "
            f"{', '.join(data_set.record_types) or 'none'}",
            path=str(data_set.path),
            hint=report.hint,
        )
    return report
