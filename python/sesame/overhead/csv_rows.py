"""The lines of a CSV table with their numbers."""

from __future__ import annotations

import csv
from collections.abc import Iterator

from sesame.errors import InputError


def rows_of(reader: csv.DictReader[str], path: str) -> Iterator[tuple[int, dict[str, str | None]]]:
    """Raises InputError with the line, for instance if a quotation mark is not closed."""
    number = 1
    while True:
        number += 1
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise InputError(
                f"not a line of a CSV table: {error}", path=path, line=number
            ) from None
        yield number, row
