"""The child process that reads what was uploaded. It confines itself, then checks a data
set, or imports another tool's files, and makes what pages need.

Several data sets in a directory become one (`merging`).

`python -m sesame.repository.uploads.importing REQUEST`, a JSON object: `received` and `work`
(directories), `most_bytes`, `memory_bytes`, `processor_s`. In `work` it leaves `result.json`
(`data` and `seconds`, or `error` and `hint`; `missing`, `unprepared`), `derived`, and `data` if the
data set is not what was received.
"""

from __future__ import annotations

import json
import shutil
import sys
import time
from pathlib import Path
from typing import Any

from sesame.errors import InputError, SesameError
from sesame.lazy import hide_pandas

RESULT = "result.json"
LARGEST_INFO = 32 << 20  # bytes
ROWS, LARGEST_BATCH = 1 << 14, 256 << 20  # records read at once, and their bytes


def main(request: dict[str, Any]) -> int:
    from sesame.repository.preparing import prepare
    from sesame.repository.store.confinement import ProcessLimits, confine

    received, work = Path(request["received"]), Path(request["work"])
    limits = ProcessLimits(
        request["memory_bytes"], request["processor_s"], file_bytes=request["most_bytes"]
    )
    missing = confine(limits, readable=[received], writable=[work])
    result: dict[str, Any]
    try:
        begin = time.monotonic()
        data = _import(received, work, request["most_bytes"])
        imported = time.monotonic()
        unprepared = prepare(Path(data), work / "derived")
        seconds = {"import_s": imported - begin, "prepare_s": time.monotonic() - imported}
        result = {"data": data, "unprepared": unprepared, "missing": missing, "seconds": seconds}
    except SesameError as error:
        # Paths of the server are not shown.
        text = str(error).replace(f"{work}/", "").replace(f"{received}/", "")
        result = {"error": text, "hint": error.hint, "missing": missing}
    except MemoryError:
        result = {"error": "this needs more memory than an import may have", "missing": missing}
    (work / RESULT).write_text(json.dumps(result), encoding="utf-8")
    return 0


def _import(received: Path, work: Path, most_bytes: int) -> str:
    """Returns the directory of the data set: `received`, or one below `work`."""
    source = _source(received, work, most_bytes)
    (work / "derived").mkdir()
    inside = _data_sets(source)
    for one in inside:
        check_data_set(one)
    if inside == [source]:
        return str(source)
    found = work / "data"
    if len(inside) == 1:
        shutil.copytree(inside[0], found)
    elif inside:
        from sesame.datasets import DataSet
        from sesame.repository.uploads.merging import merge

        merge([DataSet(one) for one in inside], found)
    else:
        _convert(source, found)
    return str(found)


def _data_sets(source: Path) -> list[Path]:
    """The data sets in a directory; several are merged."""
    if not source.is_dir():
        return []
    if (source / "info.json").is_file():
        return [source]
    return sorted(one for one in source.iterdir() if (one / "info.json").is_file())


def _source(received: Path, work: Path, most_bytes: int) -> Path:
    """The directory or file to read: what a single archive contains, else what was received."""
    from sesame.repository.uploads.archives import is_archive, unpack

    files = [one for one in received.rglob("*") if one.is_file()]
    if len(files) != 1:
        return received
    if not is_archive(files[0]):
        return files[0]
    unpacked = work / "unpacked"
    unpacked.mkdir()
    unpack(files[0], unpacked, most_bytes)
    inside = list(unpacked.iterdir())
    is_one_directory = len(inside) == 1 and inside[0].is_dir()
    return inside[0] if is_one_directory else unpacked if len(inside) != 1 else inside[0]


def _convert(source: Path, data: Path) -> None:
    """Imports another tool's file or directory; of a directory, the file in it that is known."""
    from sesame.exchange import import_trace

    try:
        import_trace(source, data, name="several files" if source.is_dir() else "")
        return
    except InputError as error:
        if not source.is_dir() or "none of the formats" not in str(error):
            raise
        first = error
    for file in sorted(one for one in source.rglob("*") if one.is_file()):
        try:
            import_trace(file, data)
            return
        except InputError as error:
            if "none of the formats" not in str(error):
                raise
    raise first


def check_data_set(path: Path) -> None:
    """Reads every record. A file whose footer does not say the truth is refused here, and not found
    out by a page. Raises InputError."""
    from sesame.datasets import DataSet

    _check_info(path / "info.json")
    data_set = DataSet(path)
    for name, described in data_set.record_types.items():
        if not isinstance(described, dict) or not isinstance(described.get("rows"), int):
            raise InputError(f"info.json: the record type {name[:60]!r} has no number of rows")
        if not name.isidentifier():
            raise InputError(f"info.json: {name[:60]!r} is no name of a record type")
        rows = sum(_rows(name, batch) for batch in data_set.batches(name, rows=ROWS))
        if rows != described["rows"]:
            raise InputError(
                f"{name}.parquet: it has {rows} records, info.json says {described['rows']}"
            )


def _rows(name: str, batch: Any) -> int:
    """Raises InputError for records so large that a page that reads some of them needs more memory
    than it may have."""
    if batch.nbytes > LARGEST_BATCH:
        raise InputError(f"{name}.parquet: {ROWS} records are more than {LARGEST_BATCH} bytes")
    return int(batch.num_rows)


def _check_info(path: Path) -> None:
    """What Python's reader of JSON accepts, and databases and pages do not: NaN, half of a
    character, NUL, very deep or large contents."""

    def refuse(name: str) -> None:
        raise InputError(f"info.json: {name} is no JSON number")

    if path.stat().st_size > LARGEST_INFO:
        raise InputError(f"info.json: expected at most {LARGEST_INFO} bytes")
    try:
        found = json.loads(path.read_text(encoding="utf-8"), parse_constant=refuse)
        text = json.dumps(found, ensure_ascii=False)
        text.encode()
    except (ValueError, RecursionError) as error:
        raise InputError(f"info.json: not JSON: {str(error)[:100]}") from None
    if "\\u0000" in text:
        raise InputError("info.json: expected no NUL characters")


if __name__ == "__main__":
    hide_pandas()
    sys.exit(main(json.loads(sys.argv[1])))
