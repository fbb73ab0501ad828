"""A traced run and a measurement of the kernel, recorded at the same time on one machine."""

from __future__ import annotations

from sesame.datasets import DataSet
from sesame.errors import InputError

BEGIN = "begin_realtime_ns"


def kernel_shift_ns(run: DataSet, kernel: DataSet) -> int:
    """What to add to times of the kernel's records to have times of the run's.

    Both count on the clock that the kernel calls monotonic, from begins of their own, and say when
    these were by the time of day, read beside it: so this is right within the time that two clocks
    take to be read, unless someone set the time of day in between.
    """
    for data_set in (run, kernel):
        if BEGIN not in data_set.info:
            raise InputError(
                "it does not say when it began",
                path=str(data_set.path),
                hint="expected what sesame trace, or sesame measure run, has recorded",
            )
    return int(kernel.info[BEGIN]) - int(run.info[BEGIN])
