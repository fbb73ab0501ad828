"""Runs a replay, from the traced run to the result."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sesame.datasets import DataSetWriter
from sesame.errors import InputError, ReplayedElsewhere
from sesame.replaying.doubts import doubts
from sesame.replaying.player import Options, play
from sesame.replaying.records import read_trace, what_it_holds
from sesame.replaying.result import figures, info_of, write_records
from sesame.replaying.schedule import Style, make_schedule
from sesame.replaying.targets import Target
from sesame.replaying.transport import share_of_environment
from sesame.trust import Doubt


@dataclass(frozen=True)
class Replayed:
    figures: dict[str, Any]  # with the doubts, as JSON
    doubts: list[Doubt]
    caches: str | None  # a description of the caches that were dropped


def run_replay(
    run: Path, target: Target, style: Style, options: Options, output: Path, *, records: bool
) -> Replayed:
    """Replays a traced run and writes the data set `output`, with a record of each operation if
    `records` is set.

    In an MPI job the first process returns the result of all, the others raise ReplayedElsewhere.
    Raises InputError if there is nothing to replay, or no file is where a mapping says.
    """
    begin = datetime.now(UTC)
    share = share_of_environment()
    trace = read_trace(run)
    schedule = make_schedule(trace, target, style)
    if not len(schedule.issued.rows):
        raise InputError("nothing to replay: " + what_it_holds(trace), path=str(run))
    target.check_mappings(trace.files)
    played = play(schedule, share, options)
    if played is None:
        raise ReplayedElsewhere
    answer = figures(schedule, played)
    why = list(doubts(schedule, played, style))
    if why:
        answer["doubts"] = [doubt.as_json() for doubt in why]
    with DataSetWriter(output, force=options.force) as writer:
        if records:
            write_records(writer, schedule, played, style)
        writer.finish(info_of(trace, answer, begin))
    return Replayed(answer, why, played.caches)
