"""A series of simulated runs as one object."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sesame.api.data_set import DataSet
from sesame.datasets import Kind
from sesame.errors import InputError
from sesame.machines.values import numbers_of
from sesame.simulation.series import POINT, Runs, read_series

if TYPE_CHECKING:
    import pandas as pd

    from sesame.analysis.plots import Plot


class Series(DataSet):
    """Simulated runs over numbers of ranks or values of machine keys, a row for each point."""

    # Known for a series that was just simulated; of one from a file they are read when needed.
    _runs: Runs | None = None
    run_notes: Sequence[str] = ()  # the notes that only the runs could give

    @staticmethod
    def simulated(data_set: DataSet, runs: Runs, notes: Sequence[str]) -> Series:
        """The series of these runs, which `data_set` holds."""
        found = Series.of(data_set)
        found._runs, found.run_notes = runs, notes
        return found

    @property
    def runs(self) -> Runs:
        """Each point with its run, in their order."""
        return read_series(self) if self._runs is None else self._runs

    @staticmethod
    def of(data_set: DataSet) -> Series:
        """The data set as a series; where it is temporary, it lives as long as this one.

        Raises InputError if it is of another kind.
        """
        if data_set.kind is not Kind.SERIES:
            raise InputError(
                f"this is a {data_set.kind} data set, expected a series", path=str(data_set.path)
            )
        found = Series(data_set.path)
        found._source = data_set
        return found

    def to_pandas(self, name: str = POINT, *, exact: bool = False) -> pd.DataFrame:
        """The points: `ranks`, a column for each key that varies (text, and beside it one of
        numbers, as `network.latency_s`, `network.bandwidth_B_per_s`; without a unit numbers only),
        `predicted_time_s` with its interval `low_s` to `high_s`, and where the number of ranks
        varies `speed_up` and `efficiency` relative to the fewest ranks (NaN for a run that took no
        time, deadlocked or failed: see `outcome` and `exit_status`)."""
        from sesame.analysis.scaling import scalings_of

        frame = super().to_pandas(name, exact=exact)
        if name != POINT or exact:
            return frame
        _add_numbers(frame, list(dict(self.runs[0][0].settings)))
        scalings = scalings_of(self.runs)
        if any(scalings):
            frame["speed_up"] = [s.speed_up if s else float("nan") for s in scalings]
            frame["efficiency"] = [s.efficiency if s else float("nan") for s in scalings]
        return frame

    def plot(self, path: str | Path | None = None, *, view: str | None = None) -> Plot:
        """Draws a view as `DataSet.plot` does. A picture without `view` shows the curve and, where
        the number of ranks varies, the speed-up beside it.
        """
        from sesame.analysis.curve import write_plot
        from sesame.analysis.views import PICTURES, check_path

        if path is None or view is not None or Path(path).suffix not in PICTURES:
            return super().plot(path, view=view)
        check_path(Path(path))
        write_plot(self.runs, Path(path))
        return super().plot()


def _add_numbers(frame: pd.DataFrame, keys: Sequence[str]) -> None:
    """Adds the values of keys as numbers: beside the text, or in its place if they have no unit."""
    from pandas import to_numeric

    for key in keys:
        found = numbers_of(key, frame[key])
        if found is None:
            continue
        unit, values = found
        if unit:
            frame.insert(list(frame.columns).index(key) + 1, f"{key}_{unit}", values)
        else:
            frame[key] = to_numeric(frame[key])
