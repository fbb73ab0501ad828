"""The report of a traced or imported run."""

from __future__ import annotations

import shlex
from html import escape
from pathlib import Path

from sesame.analysis import traced_plots
from sesame.analysis.findings_io.found import percent
from sesame.analysis.quantities import format_bytes, format_count, format_seconds
from sesame.analysis.report import traced_tables
from sesame.analysis.report.findings import findings_section
from sesame.analysis.study import Study, study_run
from sesame.analysis.views import sections_by_name
from sesame.datasets import DataSet, describe
from sesame.web.page import Headline, Section, write_page
from sesame.web.table import rows_left_out

MOST_OFFSET_PLOTS = 4


def write_traced_run(data_set: DataSet, path: Path, study: Study | None = None) -> None:
    study = study or study_run(data_set)
    info = data_set.info
    write_page(
        path,
        title=info.get("title") or data_set.path.name,
        subtitle=shlex.join(info.get("command") or []),
        headline=Headline(
            format_seconds(study.run.seconds), "run time, from the first process to the last"
        ),
        outcome="completed",
        alerts=study.damage,
        cards=_cards(study),
        sections=[s for s in _sections(study) if s.html],
        machine=None,
        facts=describe.facts(data_set),
    )


def _cards(study: Study) -> list[tuple[str, str]]:
    head = study.headline
    return [
        _processes(study),
        ("of the time in I/O", _share(head["io_share"])),
        ("of the time in MPI", _share(head["mpi_share"])),
        ("the rest", _share(head["rest_share"])),
        ("read", format_bytes(head["bytes_read"])),
        ("written", format_bytes(head["bytes_written"])),
        ("metadata, of the I/O time", _share(head["metadata_share_of_io"])),
        ("records discarded", f"{head['discarded']:,}"),
    ]


def _processes(study: Study) -> tuple[str, str]:
    head = study.headline
    where = "" if head["hosts"] <= 1 else f" on {head['hosts']:,} hosts"
    others = head["processes"] - head["ranks_of_mpi"]
    if others == head["processes"]:
        return ("processes" if others != 1 else "process") + where, format_count(others)
    beside = f", beside {others:,} other processes" if others else ""
    return f"ranks{where}{beside}", format_count(head["ranks_of_mpi"])


def _share(part: float | None) -> str:
    if part is None:
        return "no record"
    return percent(part).replace("under ", "< ").replace("over ", "> ")


def _sections(study: Study) -> list[Section]:
    run = study.run
    sections = [findings_section(study)]
    charts = sections_by_name(run.data_set, study)
    if "ranks" in charts:
        charts["ranks"] = _with_table(charts["ranks"], study)
    else:
        charts["ranks"] = Section("Ranks", "", "<p>This data set holds no process.</p>")
    sections += charts.values()
    sections += [_files(study), *_offsets(study), _requests(study), _calls(study)]
    if study.waits is not None and len(study.waits.waiter):
        sections.append(_waits(study))
    if not len(run.io) and study.has_io:
        sections.append(_missing())
    return sections


def _with_table(ranks: Section, study: Study) -> Section:
    note = ranks.note
    if study.activity.even:
        note += (
            " Some calls on files that all ranks share are known only together: their time is "
            "divided evenly, their numbers are not in this table."
        )
    return Section(
        ranks.title,
        "Where the time of each process went: a moment is of I/O when any of its threads is in a "
        "call on files, else of MPI when any is in MPI. Click a title, or press Enter on it, to "
        "sort.",
        ranks.html + traced_tables.rank_table(study),
        note + rows_left_out(len(study.activity.span)),
    )


def _files(study: Study) -> Section:
    files, note = traced_tables.file_table(study)
    if not files:
        text = "No call on a file that keeps its data was recorded."
        return Section("Files", "", f"<p>{text}</p>")
    return Section(
        "Files",
        "The application's own calls. “Layer” is the interface that they use. “Requests below” are "
        "those that MPI-IO made of them; they are not in the other columns. "
        "Patterns compare a request with the one before of the same rank.",
        files,
        note,
    )


def _offsets(study: Study) -> list[Section]:
    run = study.run
    if not len(run.io):
        return []
    moved = study.totals.own.by_file("bytes_read", "bytes_written")
    top = [int(i) for i in moved.argsort()[::-1][:MOST_OFFSET_PLOTS] if moved[i] > 0]
    html = ""
    for file in top:
        plot = traced_plots.offset_plot(run, file)
        html += f"<h3>{escape(run.files.path[file])}</h3>"
        label = f"Offsets of requests in {run.files.path[file]} over time"
        html += f'{plot.chart.html(label)}<p class="note">{plot.note}</p>'
    about = "Offset of requests in the files with most data, over time."
    return [Section("Where in the files", about, html)] if html else []


def _requests(study: Study) -> Section:
    bottom = study.totals.bottom
    if not bottom.sum("reads", "writes"):
        return Section("Requests", "", "")
    plot = traced_plots.size_plot(bottom)
    return Section(
        "Requests",
        "Sizes, order and alignment of what reaches the file system as far as it was recorded: "
        "below MPI-IO the calls that it made.",
        plot.chart.html("Sizes of requests") + traced_tables.request_table(bottom),
        "Consecutive: begins where the one before ended. Strided: at the same distance as the one "
        "before. Sequential: further on, at another distance. Random: further back.",
    )


def _calls(study: Study) -> Section:
    table = traced_tables.call_table(study)
    about = "Every function. Calls made inside another recorded call are counted apart."
    return Section("Calls", about, table)


def _waits(study: Study) -> Section:
    waits = study.waits
    assert waits is not None
    return Section(
        "Who waits for whom",
        f"Ranks wait {format_seconds(waits.seconds)} in MPI for others that come late, all ranks "
        f"together; in {format_seconds(waits.behind_io)} of it the late one is busy with files.",
        traced_tables.wait_table(study),
        "The longest waits. A receive waits for its send, a collective call for the last rank or "
        "the root.",
    )


def _missing() -> Section:
    text = (
        "This data set has no records of single calls on files, only counters: the time line, "
        "offsets, and what ranks do to one another's bytes cannot be derived from them."
    )
    return Section("What is missing", "", f"<p>{text}</p>")
