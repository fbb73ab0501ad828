"""The machine file of a simulated run."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sesame.datasets import DataSet


@contextmanager
def machine_file_of(data_set: DataSet) -> Iterator[Path]:
    """A file with the text that the data set has, since the original may have changed; without the
    overrides of the run. It is removed at the end."""
    with tempfile.NamedTemporaryFile("w", suffix=".toml", encoding="utf-8") as file:
        file.write(data_set.info["target_system"]["machine_file"])
        file.flush()
        yield Path(file.name)
