"""The page of a workload's run: verdict and findings first, then plots, then figures and checks."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

from sesame.analysis.bench import Table
from sesame.analysis.bench_views import tables_of
from sesame.analysis.quantities import format_quantity, format_seconds
from sesame.analysis.views import views_of
from sesame.datasets import DataSet, describe
from sesame.web.page import Headline, Section, write_page
from sesame.web.table import Column, rows_left_out, table_html

VERDICTS = {True: "answer verified", False: "WRONG ANSWER", None: "answer not compared"}


def write_bench(data_set: DataSet, path: Path) -> None:
    """The page of one run, from its data set alone."""
    info = data_set.info
    tables = tables_of(data_set)
    figures = data_set.table("figure").to_pylist()
    findings = info["result"].get("findings", [])
    write_page(
        path,
        title=info["title"],
        subtitle=shlex.join(info["command"]),
        headline=Headline(format_seconds(info["result"]["time_s"]), _verdict(info["result"])),
        outcome="completed",
        doubts=info.get("doubts", []),
        cards=[
            (figure["name"], format_quantity(figure["value"], figure["unit"])) for figure in figures
        ][:12],
        sections=[
            *([_findings(findings)] if findings else []),
            *(view.section(data_set) for view in views_of(data_set)),
            _checks(data_set),
            *_tables(tables),
        ],
        machine=None,
        facts=[*_parameters(info["result"]), *describe.facts(data_set)],
    )


def _verdict(result: dict[str, Any]) -> str:
    verdict = VERDICTS[result.get("verified")]
    why = result.get("why_not_verified")
    return f"time of the workload; {verdict}" + (f": {why}" if why else "")


def _findings(sentences: list[str]) -> Section:
    items = "".join(f"<li>{escape(sentence)}</li>" for sentence in sentences)
    return Section("Findings", "What the tables below mean.", f"<ul>{items}</ul>")


def _checks(data_set: DataSet) -> Section:
    rows = data_set.table("check").to_pylist()
    columns = [
        Column("check", [row["name"] for row in rows]),
        Column("answer", [row["value"] for row in rows], "{:.9g}".format),
        Column("expected", [row["expected"] for row in rows], "{:.9g}".format),
        Column("tolerance", [row["tolerance"] for row in rows], "{:.2g}".format),
        Column("verdict", ["right" if row["right"] else "WRONG" for row in rows]),
    ]
    about = "The workload's answer beside the one expected."
    return Section("Checks", about, table_html("checks", columns))


def _tables(tables: Mapping[str, Table]) -> list[Section]:
    if not tables:
        return []
    about = "What the workload printed, value by value."
    return [Section("Tables", about, "".join(_values(*named) for named in tables.items()))]


def _values(name: str, table: Table) -> str:
    columns = [
        Column(
            f"{column} ({part['unit']})" if part["unit"] else column,
            part["values"],
            None if any(isinstance(value, str) for value in part["values"]) else "{:.6g}".format,
        )
        for column, part in table.items()
    ]
    rows = len(columns[0].values)
    html = table_html(name, columns)
    left_out = rows_left_out(rows)
    note = f'<p class="note">{escape(left_out.strip())}</p>' if left_out else ""
    count = "1 row" if rows == 1 else f"{rows:,} rows"
    summary = f"{escape(name)} <small>{count}</small>"
    return f"<details><summary>{summary}</summary>{html}{note}</details>"


def _parameters(result: dict[str, Any]) -> list[tuple[str, str]]:
    return [(name, str(value)) for name, value in result.get("parameters", {}).items()]
