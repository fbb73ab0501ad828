"""How the columns of a table are stored in Parquet: in the encoding that is written fastest.

Times and offsets grow, so differences to the row before are small. The high bytes of other numbers
hardly change: split by bytes, they compress fast with LZ4, and no dictionary is searched.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

GROWING = {"begin_ns", "offset"}
# Columns for which zstd saves enough space to be worth its time.
ZSTD = {"begin_ns"}


def fast_encodings(schema: pa.Schema) -> dict[str, Any]:
    """Arguments of `pyarrow.parquet.ParquetWriter` for a table with this schema."""
    numbers = [f for f in schema if pa.types.is_integer(f.type) or pa.types.is_floating(f.type)]
    others = [_path(field) for field in schema if field not in numbers]
    return {
        "compression": {
            **dict.fromkeys(others, "zstd"),
            **{field.name: "zstd" if field.name in ZSTD else "lz4" for field in numbers},
        },
        "compression_level": dict.fromkeys(ZSTD & set(schema.names), 1),
        "use_dictionary": others,
        "column_encoding": {field.name: _encoding(field) for field in numbers},
    }


def _encoding(field: pa.Field) -> str:
    grows = field.name in GROWING and pa.types.is_integer(field.type)
    return "DELTA_BINARY_PACKED" if grows else "BYTE_STREAM_SPLIT"


def _path(field: pa.Field) -> str:
    """What Parquet calls the column that has the values: those of an array are below its name."""
    path, kind = field.name, field.type
    while pa.types.is_list(kind):
        path, kind = f"{path}.list.element", kind.value_type
    return str(path)
