"""The page of experiments, written from a data set as `sesame reproduce --report` does."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from sesame.analysis.report.reproduced import write_reproduced
from sesame.datasets import DataSet, DataSetWriter
from sesame.reproduction import Outcome
from sesame.reproduction.stored import write_outcomes


def write_reproduction(outcomes: Sequence[Outcome], page: Path) -> None:
    path = page.with_suffix(".sesame")
    with DataSetWriter(path) as writer:
        write_outcomes(writer, outcomes, datetime.now(UTC), facts=[("machine", "this one")])
    write_reproduced(DataSet(path), page)
