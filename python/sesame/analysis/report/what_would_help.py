"""What would help: tables beside the views of a run's sensitivity and of its critical path."""

from __future__ import annotations

from dataclasses import replace

from sesame.analysis.critical_path import PathShare, critical_path_of
from sesame.analysis.quantities import format_seconds
from sesame.analysis.sensitivity import range_in_words, sensitivity_of
from sesame.datasets import DataSet
from sesame.web.page import Section
from sesame.web.table import Column, table_html

MOST_PLACES = 25
RANGE = (
    "as far as the maxima on the critical path tell: an estimate. Slopes are exact at the machine "
    "of the run"
)


def with_tables(data_set: DataSet, sections: dict[str, Section]) -> dict[str, Section]:
    """The sections of views by name, the two of them with their tables."""
    tables = {"what would help": _effects, "critical path": _path_tables}
    return {
        name: replace(section, html=section.html + tables[name](data_set))
        if name in tables
        else section
        for name, section in sections.items()
    }


def _effects(data_set: DataSet) -> str:
    sensitivity = sensitivity_of(data_set)
    effects, whole = sensitivity.effects, sensitivity.predicted_s or 1.0
    return table_html(
        "What each key of the machine causes",
        [
            Column("key", [effect.key for effect in effects]),
            Column("value", [effect.value for effect in effects]),
            Column("time", [effect.seconds for effect in effects], format_seconds),
            Column("share", [effect.seconds / whole for effect in effects], _percent),
            Column(
                "if 10 % better",
                [-0.1 * effect.seconds / whole for effect in effects],
                _signed,
                "change of the predicted time if its latency is 10 % shorter, or its bytes take "
                "10 % less time",
            ),
            Column("slope holds for", [range_in_words(effect) for effect in effects], None, RANGE),
        ],
    )


def _path_tables(data_set: DataSet) -> str:
    path = critical_path_of(data_set)
    whole = float(path.end_s[-1]) or 1.0
    return "".join(
        _shares(title, shares, whole)
        for title, shares in (
            ("rank", path.by_rank()),
            ("what the path is in", path.by_kind()),
            ("call in the program at which its steps end", path.by_place()),
        )
    )


def _shares(title: str, shares: list[PathShare], whole: float) -> str:
    shown = [share for share in shares if share.name][:MOST_PLACES]
    if not shown:
        return ""
    return table_html(
        f"Critical path by {title}",
        [
            Column(title, [share.name for share in shown]),
            Column("time", [share.seconds for share in shown], format_seconds),
            Column("share", [share.seconds / whole for share in shown], _percent),
            Column("steps", [share.steps for share in shown], lambda steps: f"{steps:,}"),
        ],
    )


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _signed(share: float) -> str:
    return f"{100 * share:+.1f} %"
