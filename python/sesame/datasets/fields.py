"""What a record type is: its name, its fields, their units and meaning.

Arrow is imported where it is asked for: it takes as long to load as a short simulation.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa


@cache
def arrow_types() -> dict[str, pa.DataType]:
    """The Arrow type for each type of a field."""
    import pyarrow as pa

    return {
        "int64": pa.int64(),
        "int32": pa.int32(),
        "uint64": pa.uint64(),
        "uint32": pa.uint32(),
        "uint16": pa.uint16(),
        "uint8": pa.uint8(),
        "float64": pa.float64(),
        "text": pa.string(),
        "name": pa.dictionary(pa.int32(), pa.string()),
    }


def arrow_type(kind: str) -> pa.DataType:
    """The Arrow type of a field; `float64[]` is an array, `float64[][]` an array of arrays."""
    import pyarrow as pa

    if kind.endswith("[]"):
        return pa.list_(arrow_type(kind[:-2]))
    return arrow_types()[kind]


@dataclass(frozen=True)
class Field:
    """A column of a table."""

    name: str
    type: str  # a key of arrow_types(), with [] for each dimension of an array
    unit: str
    meaning: str

    def to_json(self) -> dict[str, str]:
        return {
            "name": self.name,
            "type": self.type,
            "unit": self.unit,
            "meaning": self.meaning,
        }


@dataclass(frozen=True)
class RecordType:
    """A table: what each record means, and its columns."""

    name: str
    meaning: str
    fields: tuple[Field, ...]
    # No record lacks a field: the file stores no validity bitmap, and is written faster.
    complete: bool = False

    def arrow_schema(self) -> pa.Schema:
        """The schema of the Parquet file, which also states units and meanings."""
        import pyarrow as pa

        return pa.schema(
            [
                pa.field(
                    field.name,
                    arrow_type(field.type),
                    nullable=not self.complete,
                    metadata={"unit": field.unit, "meaning": field.meaning},
                )
                for field in self.fields
            ],
            metadata={"record_type": self.name, "meaning": self.meaning},
        )

    def to_json(self) -> dict[str, Any]:
        return {"meaning": self.meaning, "fields": [field.to_json() for field in self.fields]}
