"""`sesame.DataSet` and `sesame.open`: tables, queries, findings, pages and plots of a data set."""

from __future__ import annotations

import re
import shutil
import tempfile
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from sesame.datasets import Kind, reader
from sesame.datasets.destination import is_data_set

if TYPE_CHECKING:
    import duckdb
    import pandas as pd
    import polars as pl

    from sesame.analysis.plots import Plot


class DataSet(reader.DataSet):
    """A data set: what one run, series, measurement or experiment recorded.

    `kind` says what it is, `info` is info.json, typed and as a mapping, `tables` names its tables.
    `table(name)` gives one as stored (Arrow, times as integers of ns or ps); `to_pandas`,
    `to_polars` and `sql` give times in seconds: a column `begin_ns` or `begin_ps` is `begin_s`.

    >>> run = sesame.open("run.sesame")
    >>> run.sql("select call, sum(duration_s) from io group by call")
    """

    # Keeps alive the data set that this one was made from, and so its temporary directory.
    _source: DataSet | None = None

    def to_pandas(self, name: str, *, exact: bool = False) -> pd.DataFrame:
        """A table as a pandas data frame, times in seconds; with `exact` as stored.

        Raises InputError if there is no such table, or pandas is not installed.
        """
        from sesame.datasets.frames import to_pandas

        return to_pandas(self, name, exact=exact)

    def to_polars(self, name: str, *, exact: bool = False) -> pl.DataFrame:
        """A table as a Polars data frame, times in seconds; with `exact` as stored.

        Raises InputError if there is no such table, or Polars is not installed.
        """
        from sesame.datasets.frames import to_polars

        return to_polars(self, name, exact=exact)

    def sql(self, query: str, *, exact: bool = False) -> duckdb.DuckDBPyRelation:
        """Runs a SELECT of DuckDB over the tables, times in seconds; with `exact` as stored.

        DuckDB reads only the columns and rows that the query needs. The result prints as a table;
        `.df()` gives pandas, `.pl()` Polars, `.arrow()` Arrow, `.fetchall()` tuples. Raises
        InputError for a wrong query, or where DuckDB is not installed.
        """
        from sesame.datasets.frames import run_sql

        return run_sql(self, query, exact=exact)

    def findings(self) -> list[str]:
        """The findings of the report as sentences, the most important first; may be empty.

        Raises InputError if the tables that its kind needs are missing.
        """
        from sesame.analysis.reports import sentences_of

        return sentences_of(self)

    def explain(self) -> pd.DataFrame:
        """Where the predicted time goes, as `--explain` prints it: the time of the slowest rank in
        parts that add up to it, the largest first.

        Columns: `part`, `time_s`, `share` (of 1), `most` (what most of it was for, in words).
        Raises InputError for a run that is not simulated, did not complete, or lacks records of
        calls, or where pandas is not installed.
        """
        from sesame.analysis.explain.frame import frame_of

        return frame_of(self)

    def sensitivity(self) -> pd.DataFrame:
        """What causes the predicted time of a run simulated with `sensitivity`, the largest first:
        a row for each key of the machine, then for what is none.

        Columns: `key`, its `value`, `time_s` (of the critical path that it causes), `share` (of 1),
        `holds_from_factor` and `holds_to_factor` (between which factors of the value the slope is
        known to hold; NaN: without limit). `sesame.what_if` predicts a change. Raises InputError
        for other runs, or where pandas is not installed.
        """
        from sesame.analysis.sensitivity import frame_of

        return frame_of(self)

    def report(self, path: str | Path) -> Path:
        """Writes its report, one self-contained HTML file; an existing file is replaced.

        Raises InputError if its kind has no report, OutputError if it cannot be written.
        """
        from sesame.analysis.reports import write_page

        write_page(self, Path(path))
        return Path(path)

    def views(self) -> dict[str, str]:
        """Its charts: names, as `plot` takes them, and what each shows. May be empty."""
        from sesame.analysis.views import views_of

        return {view.name: view.about for view in views_of(self)}

    def plot(self, path: str | Path | None = None, *, view: str | None = None) -> Plot:
        """Draws a view, by default the first; a notebook shows what it returns.

        With `path` it is also written: as a picture (.png, .svg) or as a page (.html) in which one
        can zoom. Raises InputError for an unknown view, another ending, or where matplotlib, which
        draws pictures, is not installed; OutputError if it cannot be written.
        """
        from sesame.analysis.views import plot_view

        return plot_view(self, view, None if path is None else Path(path))

    def __repr__(self) -> str:
        outcome = self.info.result.get("outcome", "completed")
        remark = "" if outcome in ("completed", "complete") else f" ({outcome})"
        return f"<sesame.DataSet {self.kind}: {self.info.title or self.path.name}{remark}>"

    def _repr_html_(self) -> str:
        from sesame.api.shown import html_of

        return html_of(self)


Kept = TypeVar("Kept", bound=DataSet)


def open(path: str | Path) -> DataSet:
    """Opens a data set, or imports a log of another tool and opens the result.

    `path` is a data set (NAME.sesame), or what `sesame import` reads: a Darshan log, a DFTracer
    trace, an OTF2 archive, a block trace. An import is kept in a temporary directory for as long
    as the data set is in use; to keep it, use `sesame import`.
    Raises InputError if the path is neither, or the file is damaged.
    """
    path = Path(path)
    if is_data_set(path) or not path.exists() or _is_broken_data_set(path):
        found = DataSet(path)
        return found if found.kind is not Kind.SERIES else _as_series(found)

    def write(target: Path) -> None:
        from sesame.exchange import import_trace

        import_trace(path, target)

    return kept_or_temporary(write, None, DataSet)


def kept_or_temporary(
    write: Callable[[Path], object], output: str | Path | None, kind: type[Kept]
) -> Kept:
    """The data set that `write(path)` writes: at `output`, or else in a temporary directory that
    is deleted with the last reference to it."""
    if output is not None:
        write(Path(output))
        return kind(output)
    directory = tempfile.mkdtemp(prefix="sesame-")
    target = Path(directory) / "run.sesame"
    try:
        write(target)
        data_set = kind(target.rename(target.with_name(_name_of(reader.DataSet(target)))))
    except BaseException:
        shutil.rmtree(directory)
        raise
    weakref.finalize(data_set, shutil.rmtree, directory, ignore_errors=True)
    return data_set


def _name_of(found: reader.DataSet) -> str:
    """The file name of a data set that is not kept: what ran, and on which machine."""
    from sesame.traced.launched import program_of

    program, _ = program_of(list(found.info.command))
    machine = str((found.info.target_system or {}).get("name", ""))
    words = [Path(word).stem for word in (program, machine) if word]
    name = re.sub(r"[^\w.+-]+", "-", "-on-".join(words))
    return f"{name[:100] or found.kind}.sesame"  # a file system permits 255 bytes


def _as_series(found: DataSet) -> DataSet:
    from sesame.api.series import Series

    return Series.of(found)


def _is_broken_data_set(path: Path) -> bool:
    """Whether this is meant to be a data set: then the reader's message is the most precise one."""
    return path.is_dir() and path.suffix == ".sesame"
