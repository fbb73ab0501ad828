"""Pages of data sets that were made of several runs: a series, reproduced experiments."""

from __future__ import annotations

from pathlib import Path

from sesame.analysis.report.simulated import write_sweep_report
from sesame.analysis.reproduction import write_reproduction
from sesame.datasets import DataSet, describe
from sesame.reproduction.stored import read_outcomes
from sesame.simulation.series import doubts_of, read_series, scenario_of


def write_series(data_set: DataSet, path: Path) -> None:
    """The curve, the speed-up and a table of the runs."""
    write_sweep_report(
        scenario_of(data_set),
        read_series(data_set),
        path,
        notes=data_set.info.notes,
        doubts=doubts_of(data_set),
    )


def write_reproduced(data_set: DataSet, path: Path) -> None:
    """The page of reproduced experiments: our curves beside the findings of the report."""
    known = [(name, value) for name, value in data_set.info.result.get("facts", [])]
    write_reproduction(read_outcomes(data_set), [*known, *describe.facts(data_set)], path)
