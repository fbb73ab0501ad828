"""Data sets: the one form in which every verb records and every analysis reads."""

from sesame.datasets.fields import Field, RecordType
from sesame.datasets.reader import DataSet
from sesame.datasets.schema import all_record_types, record_type
from sesame.datasets.writer import DataSetWriter, check_destination, is_data_set

__all__ = [
    "DataSet",
    "DataSetWriter",
    "Field",
    "RecordType",
    "all_record_types",
    "check_destination",
    "is_data_set",
    "record_type",
]
