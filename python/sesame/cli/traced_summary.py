"""What a traced run did, as lines and tables on the terminal."""

from __future__ import annotations

from collections import Counter

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from sesame.analysis.findings_io.found import percent
from sesame.analysis.quantities import format_bytes, format_seconds
from sesame.analysis.report.traced_tables import file_columns
from sesame.analysis.study import Study

MOST_FILES = 8
MOST_FINDINGS = 4


def traced_facts(study: Study) -> list[tuple[str, str]]:
    """(name, value), in the form of `sesame info`."""
    head = study.headline
    outcomes = Counter(outcome for outcome in study.run.processes.outcome if outcome)
    ended = ", ".join(f"{count} {outcome}" for outcome, count in outcomes.most_common())
    hosts = f"{head['hosts']} host" + ("" if head["hosts"] == 1 else "s")
    return [
        ("processes", f"{head['processes']:,} on {hosts}" + (f": {ended}" if ended else "")),
        ("run time", format_seconds(head["run_time_s"])),
        (
            "of the time",
            f"{_share(head['io_share'])} in I/O, {_share(head['mpi_share'])} in MPI, "
            f"{percent(head['rest_share'])} in neither",
        ),
        ("files", f"{head['files']:,}"),
        ("read", f"{format_bytes(head['bytes_read'])} in {head['reads']:,} requests"),
        ("written", f"{format_bytes(head['bytes_written'])} in {head['writes']:,} requests"),
        ("metadata", f"{percent(head['metadata_share_of_io'])} of the time in I/O"),
        ("discarded", f"{head['discarded']:,} records"),
    ]


def _share(part: float | None) -> str:
    return "(no record)" if part is None else percent(part)


def print_traced(console: Console, study: Study) -> None:
    """Prints the files with most time, and the findings that concern most time."""
    for line in study.damage:
        console.print(f"[bold red]{escape(line)}[/]")
    found = file_columns(study)
    order = np.argsort(-found["io_s"], kind="stable")
    users = "ranks" if study.run.processes.is_mpi else "processes"
    if len(order):
        table = Table("file", users, "time", "read", "written", box=None, header_style="bold")
        for column in table.columns[1:]:
            column.justify = "right"
        for i in order[:MOST_FILES]:
            table.add_row(
                escape(found["path"][i]),
                f"{found['ranks'][i]:,.0f}",
                format_seconds(found["io_s"][i]),
                format_bytes(found["bytes_read"][i]),
                format_bytes(found["bytes_written"][i]),
            )
        console.print()
        console.print(table)
        if len(order) > MOST_FILES:
            console.print(f" and {len(order) - MOST_FILES:,} more files")
    if study.findings:
        console.print()
    for finding in study.findings[:MOST_FINDINGS]:
        console.print(f"[bold]{finding.topic}:[/] {escape(finding.sentence)}")
    if len(study.findings) > MOST_FINDINGS:
        console.print(f"{len(study.findings) - MOST_FINDINGS} more findings: `sesame report`")
