"""Which threads keep their processor in a replay: those of processes that did when recorded."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.python.traced_run import NS, TracedRun

from sesame.replaying.processors import keeps_processor
from sesame.replaying.records import read_trace
from sesame.replaying.schedule import Style, make_schedule
from sesame.replaying.targets import Target


def kept(tmp_path: Path, run: TracedRun) -> list[bool]:
    trace = read_trace(run.write(tmp_path / "run.sesame"))
    schedule = make_schedule(trace, Target(tmp_path), Style())
    return [bool(one) for one in keeps_processor(schedule)]


@pytest.mark.parametrize(
    ("processor_ms", "is_kept"), [(95, True), (55, True), (40, False), (0, False)]
)
def test_time_in_calls_on_files_does_not_count(tmp_path, processor_ms, is_kept):
    """Of 100 ms 40 were spent in an fsync; the rest computing or polling, or asleep."""
    run = TracedRun(processor_ns=processor_ms * NS)
    file = run.file(str(tmp_path / "data"))
    run.io(0, 10, 40, "fsync", file=file, handle=3)
    assert kept(tmp_path, run) == [is_kept]


def test_a_process_has_as_much_as_its_threads_together(tmp_path):
    run = TracedRun(processor_ns=110 * NS)
    file = run.file(str(tmp_path / "data"))
    for thread in (0, 1):
        run.io(0, 10, 1, "pwrite", file=file, handle=3, thread=thread, offset=0, bytes=1, size=1)
    assert kept(tmp_path, run) == [False, False]


def test_who_wanted_the_processor_and_others_had_it_would_have_kept_it(tmp_path):
    """Of 60 ms outside calls on files it had the processor for 40 and wanted it for 15 more."""
    run = TracedRun(processor_ns=40 * NS)
    file = run.file(str(tmp_path / "data"))
    run.io(0, 30, 40, "fsync", file=file, handle=3)
    run.preempted(0, 0, 30, 15)
    assert kept(tmp_path, run) == [True]


def test_who_wanted_it_only_within_calls_on_files_did_not_keep_it(tmp_path):
    run = TracedRun(processor_ns=40 * NS)
    file = run.file(str(tmp_path / "data"))
    run.io(0, 30, 40, "fsync", file=file, handle=3)
    run.preempted(0, 30, 40, 15)
    assert kept(tmp_path, run) == [False]
