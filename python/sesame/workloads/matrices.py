"""Converts sparse matrices in Matrix Market and Harwell-Boeing format for the workload `sparse`,
which reads the extended format (workloads/io/sparse/extended.h)."""

from __future__ import annotations

import gzip
import io
import struct
import tempfile
import warnings
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from sesame.errors import InputError, OutputError
from sesame.extras import require

LETTERS = b"SESAMEXF"
HEADER = struct.Struct("<8sqqq32x")
VERSION = 1
OPTION = "--matrix"
ROWS_AT_ONCE = 64
MATRIX_TYPE = slice(0, 3)  # in the third line of a Harwell-Boeing file


def read_matrix(path: Path) -> Any:
    """Reads a square matrix as a scipy CSR array, with both triangles if it is symmetric.

    Raises InputError if the file is invalid or the matrix not square.
    """
    require("matrices", f"{path}: this form of a matrix file")
    try:
        data = path.read_bytes()
        if path.suffix == ".gz":
            data = gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"cannot read: {error}", path=str(path)) from error
    try:
        matrix = _parse(data.decode("latin-1"))
    except (ValueError, OverflowError, IndexError, Warning) as error:
        reason = str(error).strip().splitlines()
        raise InputError(
            f"cannot read the matrix: {reason[0] if reason else type(error).__name__}",
            path=str(path),
            hint="expected a whole Matrix Market or Harwell-Boeing file with numbers",
        ) from error
    rows, columns = matrix.shape
    if rows != columns or rows == 0:
        raise InputError(f"{rows} x {columns}, expected a square matrix", path=str(path))
    if np.iscomplexobj(matrix.data):
        raise InputError("the numbers are complex, expected real ones", path=str(path))
    return matrix


def _parse(text: str) -> Any:
    # Imported here, since loading scipy is slow and only this function needs it.
    from scipy.io import mmread
    from scipy.sparse import csr_array

    if text.startswith("%%MatrixMarket"):
        matrix = csr_array(mmread(io.StringIO(text), spmatrix=False))
    else:
        matrix = csr_array(_parse_harwell_boeing(text))
    matrix.eliminate_zeros()
    matrix.sort_indices()
    return matrix


def _parse_harwell_boeing(text: str) -> Any:
    """Reads a Harwell-Boeing file. scipy reads only unsymmetric matrices, so a symmetric one, whose
    file has the lower half, is read as unsymmetric and completed."""
    from scipy.io import hb_read

    lines = text.splitlines()
    if len(lines) < 5:
        raise ValueError("not a Harwell-Boeing file")
    kind = lines[2][MATRIX_TYPE].upper()
    if len(kind) < 3 or kind[0] not in "RI" or kind[1] not in "USZR" or kind[2] != "A":
        raise ValueError(
            f"matrix type {kind!r} in line 3, expected an assembled one with real numbers, such as "
            "RUA or RSA"
        )
    lines[2] = f"{kind[0]}U{kind[2]}{lines[2][3:]}"
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # scipy only warns if a file ends early
        half = hb_read(io.StringIO("\n".join(lines) + "\n"), spmatrix=False).tocoo()
    return _whole(half, kind[1])


def _whole(half: Any, structure: str) -> Any:
    if structure not in "SZ":
        return half
    from scipy.sparse import coo_array

    off = half.row != half.col
    sign = 1 if structure == "S" else -1
    values = np.concatenate([half.data, sign * half.data[off]])
    rows = np.concatenate([half.row, half.col[off]])
    columns = np.concatenate([half.col, half.row[off]])
    return coo_array((values, (rows, columns)), shape=half.shape)


def write_extended(matrix: Any, path: Path) -> None:
    """Writes a matrix in extended form (zeros included), completely or not at all. Raises
    OutputError."""
    order = matrix.shape[0]
    draft = path.with_name(path.name + ".part")
    try:
        with draft.open("wb") as stream:
            stream.write(HEADER.pack(LETTERS, VERSION, order, matrix.nnz))
            for begin in range(0, order, ROWS_AT_ONCE):
                part = matrix[begin : begin + ROWS_AT_ONCE]
                lines = np.empty((part.shape[0], order + 1), dtype="<f8")
                lines[:, 0] = np.arange(begin, begin + part.shape[0], dtype="<i8").view("<f8")
                lines[:, 1:] = part.toarray()
                stream.write(lines.tobytes())
        draft.replace(path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise OutputError(f"{path}: cannot write: {error.strerror}") from error


def is_extended(path: Path) -> bool:
    """Whether a file is in extended format. True also for an unreadable file: the workload reports
    the error when it opens it."""
    try:
        with path.open("rb") as stream:
            return stream.read(len(LETTERS)) == LETTERS
    except OSError:
        return True


@contextmanager
def in_extended_form(workload: str, options: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """A workload's options with --matrix replaced by a temporary copy in extended form, if
    needed."""
    at = _matrix_option(options) if workload == "sparse" else None
    if at is None or is_extended(Path(at[1])):
        yield tuple(options)
        return
    position, name = at
    with tempfile.TemporaryDirectory(prefix="sesame-") as directory:
        file = Path(directory) / Path(name).name
        write_extended(read_matrix(Path(name)), file)
        words = 1 if options[position].startswith(OPTION + "=") else 2
        yield (*options[:position], OPTION, str(file), *options[position + words :])


def _matrix_option(options: Sequence[str]) -> tuple[int, str] | None:
    """The position of the option --matrix, and its value; None without the option."""
    for position, option in enumerate(options):
        if option == OPTION and position + 1 < len(options):
            return position, options[position + 1]
        if option.startswith(OPTION + "="):
            return position, option.removeprefix(OPTION + "=")
    return None
