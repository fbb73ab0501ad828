"""What can be shown of which kind of data set: the one place that knows.

A view names the functions that draw the page of a data set and say in sentences what it means.
They are imported when they are called. A new kind adds a line to VIEWS and its functions.
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
class View:
    """`page` is a function of (data set, path of the page), `sentences` one of the data set.

    The page of a traced run also takes its study, which is made otherwise.
    """

    page: str | None  # as pkgutil.resolve_name takes it
    sentences: str | None = None
    needs: tuple[str, ...] = ()  # record types, one of which must be there
    needs_rows: bool = False  # and not be empty
    hint: str | None = None  # what else can be done without them


# A traced run may have few records or none; without even its tables it is something else.
_TRACED = View(
    "sesame.analysis.report.traced:write_traced_run",
    "sesame.analysis.sentences:of_traced",
    ("io", "mpi", "process", "file_total"),
    False,
    "`sesame characterize` reports on requests to disks",
)
VIEWS: dict[Kind, View] = {
    Kind.SIMULATED: View(
        "sesame.analysis.report.simulated:write_simulated",
        "sesame.analysis.sentences:of_simulated",
        ("rank",),
    ),
    Kind.TRACED: _TRACED,
    Kind.IMPORTED: _TRACED,
    Kind.REPLAYED: _TRACED,
    Kind.MEASURED: View(
        "sesame.analysis.report.measured:write_measured",
        None,
        ("kernel_summary", "measurement_cost", "cpu_time", "kernel_reading", "kernel_trace"),
        True,
        "`sesame characterize` reports on requests to disks",
    ),
    Kind.BENCH: View(
        "sesame.analysis.report.bench:write_bench",
        "sesame.analysis.sentences:of_bench",
        ("figure",),
    ),
    Kind.SERIES: View(
        "sesame.analysis.report.stored:write_series",
        "sesame.analysis.sentences:of_series",
        ("point",),
        needs_rows=True,
    ),
    Kind.CHARACTERISED: View(None, hint="`sesame characterize` reports on a trace of requests"),
    Kind.REPRODUCED: View(
        "sesame.analysis.report.stored:write_reproduced",
        "sesame.analysis.sentences:of_reproduced",
        ("finding",),
    ),
}


def write_page(data_set: DataSet, path: Path, study: Study | None = None) -> None:
    """The report of a data set as one HTML file, from the data set alone. `study`: that of a traced
    run, if it was made already.

    Raises InputError where its kind has no page, or its tables are missing.
    """
    view = _view_of(data_set)
    if view.page is None:
        raise InputError(
            f"there is no report of {data_set.kind} data sets",
            path=str(data_set.path),
            hint=view.hint,
        )
    known = () if study is None else (study,)
    pkgutil.resolve_name(view.page)(data_set, path, *known)


def sentences_of(data_set: DataSet) -> list[str]:
    """What the data mean, in sentences, the most important first; empty where nothing is found.

    Raises InputError where the tables that its kind needs are missing.
    """
    view = _view_of(data_set)
    if view.sentences is None:
        return []
    found: list[str] = pkgutil.resolve_name(view.sentences)(data_set)
    return found


def _view_of(data_set: DataSet) -> View:
    view = VIEWS[data_set.kind]
    there = data_set.has if view.needs_rows else data_set.record_types.__contains__
    if view.needs and not any(map(there, view.needs)):
        raise InputError(
            f"nothing to report on in this {data_set.kind} data set: expected records of type "
            f"{', '.join(view.needs)}; there are records of type "
            f"{', '.join(data_set.record_types) or 'none'}",
            path=str(data_set.path),
            hint=view.hint,
        )
    return view
