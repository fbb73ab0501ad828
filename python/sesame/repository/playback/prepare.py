"""Makes the files of a play-back: `index.json`, `arrows.bin` and one file for each field."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from sesame.datasets import RUNS_WITH_CALLS, DataSet, Kind
from sesame.errors import InputError
from sesame.repository.playback import kernels, runs
from sesame.repository.playback.arrows import Arrows
from sesame.repository.playback.columns import columns_of, frames_of
from sesame.repository.playback.frames import Clock, FieldOfFrames, Shown
from sesame.repository.playback.units import KERNEL_TABLES, Units, units_of

VERSION = 1
# What columns of other types or values than the schema says may raise.
WRONG_RECORDS = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, MemoryError)
INDEX, ARROWS = "index.json", "arrows.bin"
# A data set that can be played has records of one of these.
PLAYED_TABLES = ("rank", "process", *KERNEL_TABLES)


def can_play(data_set: DataSet) -> bool:
    """Whether the data set says what was done where and when."""
    if data_set.kind == Kind.SIMULATED:
        return data_set.has("rank")
    if data_set.kind in RUNS_WITH_CALLS:
        return data_set.has("process")
    return data_set.kind == Kind.MEASURED and any(map(data_set.has, KERNEL_TABLES))


def prepare(data_set_path: Path, out: Path) -> bool:
    """Writes the files of the play-back of a data set into the directory `out`. Returns False, and
    writes nothing, if the data set has nothing to play. Raises InputError for records that cannot
    be played."""
    data_set = DataSet(data_set_path)
    try:
        return can_play(data_set) and _prepare(data_set, out)
    except WRONG_RECORDS as error:
        raise InputError(
            f"these records cannot be played: {error}", path=str(data_set.path)
        ) from error


def _prepare(data_set: DataSet, out: Path) -> bool:
    units, clock = _frame(data_set)
    if units is None or clock is None:
        return False
    arrows, shown = Arrows(units.count, clock), Shown()
    if data_set.kind != Kind.MEASURED:
        shown.add(runs.shown_of(data_set, units, clock, arrows))
    if any(map(data_set.has, KERNEL_TABLES)):
        shown.add(kernels.shown_of(data_set, units, clock))
    index = _index(data_set, units, clock, shown, arrows)
    out.mkdir(parents=True, exist_ok=True)
    for number, one in enumerate(shown.fields):
        (out / f"field-{number}.bin").write_bytes(one.encoded())
    (out / ARROWS).write_bytes(arrows.encoded())
    (out / INDEX).write_text(json.dumps(index, separators=(",", ":")), encoding="utf-8")
    return True


def field_of_column(data_set: DataSet, key: str) -> FieldOfFrames:
    """The frames of any other field, by its key in `more`. Raises InputError."""
    try:
        units, clock = _frame(data_set)
        if units is None or clock is None:
            raise InputError("there is nothing to play", path=str(data_set.path))
        return frames_of(data_set, key, units, clock)
    except WRONG_RECORDS as error:
        raise InputError(f"this field cannot be shown: {error}", path=str(data_set.path)) from error


def _frame(data_set: DataSet) -> tuple[Units | None, Clock | None]:
    units = units_of(data_set)
    if units is None or not units.count:
        return None, None
    seconds = 0.0
    if data_set.kind != Kind.MEASURED:
        seconds = runs.seconds_of(data_set)
    if any(map(data_set.has, KERNEL_TABLES)):
        seconds = max(seconds, kernels.seconds_of(data_set))
    if not math.isfinite(seconds):
        raise InputError("the run has no end in time", path=str(data_set.path))
    return units, Clock.of(seconds, units.count)


def _index(
    data_set: DataSet, units: Units, clock: Clock, shown: Shown, arrows: Arrows
) -> dict[str, Any]:
    more = [
        {"key": column.key, "title": column.title, "unit": column.unit}
        for column in columns_of(data_set).values()
    ]
    return {
        "version": VERSION,
        "title": data_set.info.title,
        "bins": clock.bins,
        "bin_s": clock.bin_s,
        "word": units.word,
        "units": list(units.names),
        "diagram": _diagram(units),
        **shown.described(),
        "more": more,
        "arrows": arrows.described(),
    }


def _diagram(units: Units) -> dict[str, Any]:
    diagram = units.diagram
    width, height = diagram.size()

    def rounded(numbers: Any) -> list[Any]:
        return [round(one, 3) if isinstance(one, float) else one for one in numbers]

    return {
        "kind": diagram.kind,
        "about": diagram.about,
        "width": round(width, 3),
        "height": round(height, 3),
        "at": [rounded(diagram.at[unit]) for unit in range(units.count)],
        "idle": [rounded(at) for number, at in diagram.at.items() if number < 0],
        "boxes": [rounded(box) for box in diagram.boxes],
        "lines": [rounded(line) for line in diagram.lines],
        "io": list(units.io),
    }
