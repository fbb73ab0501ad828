"""Data sets: the one form in which every verb records and every analysis reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sesame.lazy import names_of

if TYPE_CHECKING:
    from sesame.datasets.destination import check_destination, is_data_set
    from sesame.datasets.fields import Field, RecordType
    from sesame.datasets.info import RUNS_WITH_CALLS, HostMachine, Info, Instrument, Kind
    from sesame.datasets.reader import DataSet
    from sesame.datasets.schema import all_record_types, record_type
    from sesame.datasets.writer import DataSetWriter
else:
    __getattr__ = names_of(__name__)

__all__ = [
    "RUNS_WITH_CALLS",
    "DataSet",
    "DataSetWriter",
    "Field",
    "HostMachine",
    "Info",
    "Instrument",
    "Kind",
    "RecordType",
    "all_record_types",
    "check_destination",
    "is_data_set",
    "record_type",
]
