"""The machine file of a simulated run."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

from sesame.datasets import DataSet
from sesame.machines import as_file


def machine_file_of(data_set: DataSet) -> AbstractContextManager[Path]:
    """A file with the text that the data set has, since the original may have changed; without the
    overrides of the run. It is removed at the end."""
    return as_file(data_set.info["target_system"]["machine_file"])
