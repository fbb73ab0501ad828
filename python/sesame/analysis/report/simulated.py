"""The report of a simulated run."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from sesame import native
from sesame.accuracy import Past
from sesame.analysis.machine_file import machine_file_of
from sesame.analysis.machine_table import assumed_sentence, parameter_rows, ping_pong_rows
from sesame.analysis.measuring import interval_in_words, measuring_rows
from sesame.analysis.quantities import format_bytes, format_count, format_seconds
from sesame.analysis.report.explained import explained_sections
from sesame.analysis.report.storage import storage_sections
from sesame.analysis.report.what_would_help import with_tables
from sesame.analysis.timeline import rank_spans
from sesame.analysis.views import sections_by_name
from sesame.datasets import DataSet, describe
from sesame.errors import InputError
from sesame.trust import Estimate
from sesame.web.page import Headline, Section, write_page

PREDICTED = "predicted time on the target machine"


def write_simulated(data_set: DataSet, path: Path) -> None:
    """The report of one run, from its data set alone."""
    result = data_set.info["result"]
    write_page(
        path,
        title=data_set.info["title"],
        subtitle=shlex.join(data_set.info["command"]),
        headline=Headline(format_seconds(result["predicted_time_s"]), _meaning(result)),
        doubts=data_set.info.get("doubts", []),
        notes=data_set.info.notes,
        outcome=result["outcome"],
        outcome_text=result.get("outcome_text", ""),
        cards=_cards(data_set),
        sections=_sections(data_set),
        machine=_machine(data_set),
        facts=[*describe.facts(data_set), *measuring_rows_of(result), *_past_error(data_set)],
    )


def _past_error(data_set: DataSet) -> list[tuple[str, str]]:
    """The past error of the machine model when the run was predicted, if it was known."""
    found = data_set.info.past_error
    return [] if found is None else [("accuracy", Past.from_json(found).in_words())]


def _meaning(result: dict[str, Any]) -> str:
    """The meaning of the headline, with the interval if the run was repeated."""
    known = result.get("predicted_time")
    if known is None:
        return PREDICTED
    estimate = Estimate(known["value"], known["low"], known["high"], known["samples"])
    return f"{PREDICTED}, {interval_in_words(estimate)}"


def measuring_rows_of(result: dict[str, Any]) -> list[tuple[str, str]]:
    return measuring_rows(result["measuring"]) if "measuring" in result else []


def _cards(data_set: DataSet) -> list[tuple[str, str]]:
    result = data_set.info["result"]
    ranks = data_set.table("rank")
    begin_s, end_s = rank_spans(data_set)
    whole = float((end_s - begin_s).sum()) or 1.0

    def share(key: str) -> str:
        if key not in ranks.column_names:  # recorded before file systems were simulated
            return "none"
        return f"{100 * float(ranks.column(key).to_numpy().sum()) / whole:.0f} %"

    return [
        ("ranks", format_count(result["ranks"])),
        ("computation", share("compute_s")),
        ("communication", share("communication_s")),
        ("waiting, with latency and transfer", share("wait_s")),
        ("file systems", share("io_s")),
        ("messages", format_count(result["messages"])),
        ("data sent", format_bytes(result["bytes"])),
        ("simulated in", format_seconds(result["wall_time_s"])),
        ("messages/s simulated", format_count(result["messages_per_second"])),
    ]


def _sections(data_set: DataSet) -> list[Section]:
    views = with_tables(data_set, sections_by_name(data_set))
    return [*explained_sections(data_set), *views.values(), *storage_sections(data_set)]


def _machine(data_set: DataSet) -> dict[str, Any] | None:
    """The machine of the run. None if this version cannot read it."""
    overrides = data_set.info["scenario"]["overrides"]
    with machine_file_of(data_set) as path:
        try:
            model = native.read_machine(str(path), overrides)
        except InputError:  # written by a version that knew other keys
            return None
        return {
            "description": model["description"],
            "rows": parameter_rows(model),
            "sources": model["sources"],
            "assumed": assumed_sentence(model),
            "overrides": overrides,
            "text": data_set.info["target_system"]["machine_file"],
            "ping_pong": ping_pong_rows(path, tuple(overrides)),
        }
