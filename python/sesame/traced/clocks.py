"""Relates the times of a traced run and of a kernel measurement made at the same time on one
machine."""

from __future__ import annotations

from sesame.datasets import DataSet
from sesame.errors import InputError

BEGIN = "begin_realtime_ns"


def kernel_shift_ns(run: DataSet, kernel: DataSet) -> int:
    """The offset to add to times of the kernel's records to get times of the run, in ns.

    Both count on the monotonic clock, each from its own begin, and record the time of day of that
    begin. So the offset is exact up to the time of reading two clocks, unless the time of day was
    set between the two begins. Raises InputError if a data set does not record its begin.
    """
    for data_set in (run, kernel):
        if BEGIN not in data_set.info:
            raise InputError(
                "the time of its begin is not recorded",
                path=str(data_set.path),
                hint="give a data set of `sesame trace` or `sesame measure run`",
            )
    return int(kernel.info[BEGIN]) - int(run.info[BEGIN])
