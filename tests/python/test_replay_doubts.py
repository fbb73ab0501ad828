"""A replay says why its time may not be that of the program."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.python.traced_run import NS, TracedRun

from sesame.replaying.doubts import doubts
from sesame.replaying.player import Played
from sesame.replaying.records import read_trace
from sesame.replaying.schedule import Style, make_schedule
from sesame.replaying.targets import Target
from sesame.trust import Reason


def reasons(
    tmp_path: Path,
    *,
    lost_ms: float = 0,
    processor_ms: float = 0,
    taken_ms: float = 0,
    style: Style | None = None,
) -> list[tuple[Reason, str]]:
    """Of a run of 82 ms, of which a call on a file takes 2."""
    run = TracedRun(ends=[82], processor_ns=round(processor_ms * NS))
    file = run.file(str(tmp_path / "data"))
    run.io(0, 80, 2, "pwrite", file=file, handle=0, offset=0, size=1, bytes=1)
    if lost_ms:
        run.preempted(0, 0, 80, lost_ms)
    style = style or Style()
    trace = read_trace(run.write(tmp_path / "run.sesame"))
    schedule = make_schedule(trace, Target(tmp_path / "there"), style)
    played = Played(
        np.zeros(0), 0, 82 * NS, round(taken_ms * NS), None, 0, 0, 0, None
    )  # of a replay as long as the run
    return [(doubt.reason, doubt.text) for doubt in doubts(schedule, played, style)]


def test_a_quiet_recording_and_replay_are_beyond_doubt(tmp_path):
    assert reasons(tmp_path, processor_ms=80) == []


def test_a_program_that_sleeps_on_a_quiet_machine_is_beyond_doubt(tmp_path):
    assert reasons(tmp_path, processor_ms=3) == []


@pytest.mark.parametrize(("lost", "is_found"), [(10, True), (3, False)])
def test_what_others_took_when_it_was_recorded_is_reported(tmp_path, lost, is_found):
    found = reasons(tmp_path, lost_ms=lost, processor_ms=82 - lost)
    assert [reason for reason, _ in found] == [Reason.DISTURBED_INPUT] * is_found
    if is_found:
        assert "others had the processor for 0.01 s beside 0.07 s of computation" in found[0][1]


def test_time_without_the_processor_of_unknown_cause_is_reported(tmp_path):
    """As on a busy machine: 8.2 s recorded, 1 s known to be lost, 3.1 s really computed."""
    (_, taken), (reason, text) = reasons(tmp_path, lost_ms=10, processor_ms=31)
    assert "0.07 s of computation" in taken
    assert reason == Reason.DISTURBED_INPUT
    assert "of 0.07 s of computation the processes had the processor for only 0.031 s" in text


def test_computation_that_is_scaled_is_compared_as_it_was_recorded(tmp_path):
    found = reasons(tmp_path, lost_ms=10, processor_ms=72, style=Style(scale_compute=0.5))
    assert len(found) == 1
    assert "0.07 s of computation" in found[0][1]


def test_nothing_is_doubtful_about_computation_that_is_not_waited_out(tmp_path):
    assert reasons(tmp_path, lost_ms=40, style=Style(as_fast_as_possible=True)) == []


@pytest.mark.parametrize(("taken", "is_found"), [(20, True), (4, False)])
def test_what_others_take_of_the_replay_is_reported(tmp_path, taken, is_found):
    found = reasons(tmp_path, processor_ms=80, taken_ms=taken)
    assert [reason for reason, _ in found] == [Reason.BUSY_HOST] * is_found


def doubts_of_records(tmp_path: Path, result: dict | None = None, **process: object) -> list[str]:
    run = TracedRun(ends=[82], processor_ns=80 * NS, **process)
    file = run.file(str(tmp_path / "data"))
    run.io(0, 80, 2, "pwrite", file=file, handle=0, offset=0, size=1, bytes=1)
    trace = read_trace(run.write(tmp_path / "run.sesame", result))
    schedule = make_schedule(trace, Target(tmp_path / "there"), Style())
    played = Played(np.zeros(0), 0, 82 * NS, 0, None, 0, 0, 0, None)
    found = doubts(schedule, played, Style())
    assert {doubt.reason for doubt in found} <= {Reason.INCOMPLETE_INPUT}
    return [doubt.text for doubt in found]


def test_what_went_past_the_tracer_is_reported_of_the_replay(tmp_path):
    past = {"reason": "incomplete input", "text": "the kernel counted 7 bytes read", "hint": "so"}
    other = {"reason": "busy host", "text": "others ran"}
    assert doubts_of_records(tmp_path, {"doubts": [past, other]}) == [
        "of the recorded run the kernel counted 7 bytes read: this I/O is not replayed"
    ]


def test_records_that_are_missing_are_reported_of_the_replay(tmp_path):
    (text,) = doubts_of_records(tmp_path, discarded=1234)
    assert text.startswith("1,234 records of the run were lost")


def test_records_that_end_too_soon_are_reported_of_the_replay(tmp_path):
    (text,) = doubts_of_records(tmp_path, outcome="cut off")
    assert text.startswith("the records of 1 of 1 processes are cut off")


def test_damage_is_reported_of_the_replay(tmp_path):
    (text,) = doubts_of_records(tmp_path, {"damage": ["a.stream: it ends within a packet", "b"]})
    assert "damaged: a.stream: it ends within a packet" in text
