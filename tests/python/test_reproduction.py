"""Experiments made again: their catalogue, their page, and what is counted."""

from __future__ import annotations

import signal
import subprocess
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from rich.console import Console
from tests.python.reproduced_page import write_reproduction

from sesame.cli import reproduce as cli
from sesame.errors import InputError
from sesame.reproduction import (
    OBSERVATIONS,
    Arrow,
    Band,
    Bar,
    Case,
    Diagram,
    Experiment,
    Judgement,
    Lanes,
    Measured,
    Outcome,
    Table,
    caching,
    initialization,
)
from sesame.reproduction import find_experiments as find
from sesame.reproduction.busy import Spans
from sesame.reproduction.observed import Call, wait_for
from sesame.reproduction.parallel_io import SIMPLE_DISK, TABLE_8_3, btio, matches
from sesame.reproduction.run import measured_of
from sesame.trust import Doubt, Reason


def find_experiments(name: str) -> list[Experiment]:
    found = find(name)
    assert isinstance(found, list)
    return found


def measured(**counts: Any) -> Measured:
    zero = dict.fromkeys(Measured.__dataclass_fields__, 0)
    return Measured(**{**zero, "time_s": 1.0, **counts})


def printed() -> dict[Case, Measured]:
    """Results that are just what the report printed."""
    return {
        btio(ranks, strategy, *SIMPLE_DISK): measured(write_seeks=seeks, writes=writes)
        for (strategy, ranks), (seeks, writes) in TABLE_8_3.items()
    }


def test_a_section_has_all_its_experiments_and_each_its_own_name() -> None:
    section = find_experiments("sesame-8.2")
    assert [find_experiments(experiment.name) for experiment in section] == [[e] for e in section]


def test_an_unknown_name_lists_what_there_is() -> None:
    with pytest.raises(InputError) as raised:
        find_experiments("figure-9-1")
    assert "table-8-3" in (raised.value.hint or "")


def test_every_experiment_runs_something_and_finds_something() -> None:
    for experiment in find_experiments("sesame-8.2"):
        assert experiment.cases, experiment.name
        assert experiment.findings, experiment.name


def test_what_the_report_printed_fulfils_its_table() -> None:
    results = printed()
    assert all(matches(*key)(results) for key in TABLE_8_3)
    case = btio(4, "barrier", *SIMPLE_DISK)
    results[case] = measured(write_seeks=20_736, writes=20_736)
    assert not matches("barrier", 4)(results)


def test_the_page_lists_what_is_reproduced_and_what_is_not(tmp_path: Path) -> None:
    results = printed()
    results[btio(16, "two-phase", *SIMPLE_DISK)] = measured(write_seeks=192, writes=192)
    page = tmp_path / "table.html"
    (experiment,) = find_experiments("table-8-3")
    write_reproduction([experiment.outcome(results)], page)
    text = page.read_text()
    assert text.count("<b>Reproduced:") == 5
    assert text.count("Not reproduced:") == 1
    assert "57 for each of the 12 calls" in text


def test_ending_an_experiment_ends_its_program() -> None:
    def ended(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, ended)
    process = subprocess.Popen(["sleep", "100"])
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    try:
        with pytest.raises(KeyboardInterrupt):
            wait_for(process)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert process.returncode == -signal.SIGTERM


def test_counts_before_measuring_are_taken_off_but_not_time() -> None:
    difference = measured(time_s=2.0, disk_reads=10, write_seeks=5) - measured(
        time_s=3.0, disk_reads=4, write_seeks=1
    )
    assert difference == measured(time_s=2.0, disk_reads=6, write_seeks=4)


def test_counts_are_summed_over_file_systems_files_and_devices() -> None:
    device = {"reads": 3, "writes": 2, "bytes_read": 12288}
    file = {"write_seeks": 7, "reads": 4, "writes": 1}
    system = {"files": [file, file], "ionodes": [{"device": device}] * 3}
    counted = measured_of({"time_s": 0.5}, {"storage": [system, system]})
    assert counted == Measured(0.5, 28, 16, 4, 18, 12, 18.0)


def test_random_requests_have_more_blocks_than_all_caches_hold() -> None:
    for _, ranks, cache_blocks in caching.CONFIGURATIONS:
        for ionodes in caching.IONODES:
            assert ionodes * cache_blocks(ionodes) + ranks * 128 < caching.FILE_BLOCKS


def test_a_row_lies_in_a_block_and_matrices_outgrow_the_caches_one_after_the_other() -> None:
    cache = 16  # blocks
    coordinated = cache + caching.MATRIX_RANKS * round(0.8 * cache)

    def second(order: int) -> float:
        return 8 * order * order / caching.BLOCK_BYTES

    assert 8 * max(caching.ORDERS) <= caching.BLOCK_BYTES
    assert all(second(order) < cache for order in caching.ONE_CACHE)
    assert all(cache < second(order) < coordinated for order in caching.OUTGROWN)
    assert all(second(order) > 2 * cache for order in caching.CLUMPED)
    assert second(caching.ORDERS[-1]) > coordinated


def test_sections_that_look_into_this_machine_have_names_of_their_own() -> None:
    names = [observation.name for observation in OBSERVATIONS]
    assert names == ["sesame-7.2", "sesame-7.3", "sesame-7.4", "sesame-7.5"]
    assert [find(name) for name in names] == OBSERVATIONS


def test_a_page_draws_lanes_bands_and_logarithms(tmp_path: Path) -> None:
    outcome = Outcome(
        "some",
        "title",
        "source",
        [Judgement("it rises", False, "since it falls", "3 of 4")],
        [Table("counts", ["", "n"], [["a", "17"]])],
        [
            Diagram("one", "x", "y", {"c": [(1, 2), (4, 8)]}, is_logarithmic=True),
            Diagram("two", "x", "y", {"c": [(0, 0.5)]}, bands=[Band(0, 1, "sleeping")]),
            Lanes(
                "three",
                "ms",
                ["a", "b"],
                [Bar("a", 0, 2, "call", "MPI_Init")],
                [Arrow("a", 0, "b", 1, "8 bytes")],
            ),
        ],
    )
    page = tmp_path / "page.html"
    write_reproduction([outcome], page)
    text = page.read_text()
    for words in ("Not reproduced:", "since it falls", "3 of 4", "sleeping", "8 bytes", "17"):
        assert words in text, words


def test_a_message_that_is_received_before_its_send_is_recorded_was_sent_by_then() -> None:
    events = {
        "time_ns": [10, 20, 60, 70, 110],
        "process": [1, 2, 1, 2, 2],
        "point": ["send", "receive", "receive", "send", "send"],
        "bytes": [8, 8, 4, 4, 2],
    }
    columns = {**events, "subsystem": ["ipc"] * 5, "where": [7] * 5, "command": ["proxy"] * 5}
    call = Call(0, 1, "MPI_Init", 0, 65, 0, False)
    observed = SimpleNamespace(
        kernel=SimpleNamespace(table=lambda _: pa.table(columns)),
        processes=lambda: {1, 2},
        calls=lambda _: [call],
    )
    start = initialization.Start(observed)  # type: ignore[arg-type]
    assert start.messages == [
        initialization.Message("rank 0", "proxy", 8, 10, 20),
        initialization.Message("proxy", "rank 0", 4, 60, 60),
    ]


def test_spans_are_cut_at_the_borders_of_intervals() -> None:
    spans = Spans(np.array([10, 40]), np.array([30, 50]))
    begins, ends = np.array([0, 20, 45, 60]), np.array([20, 45, 60, 70])
    assert spans.within(begins, ends).tolist() == [10, 15, 5, 0]
    assert spans.within(0, 100) == 30
    both = spans.and_(Spans(np.array([0, 25]), np.array([12, 45])))
    assert [both.begin.tolist(), both.end.tolist()] == [[10, 25, 40], [12, 30, 45]]


def test_an_event_that_began_before_another_ended_counts_once() -> None:
    events = {"time_ns": np.array([30, 35]), "duration_ns": np.array([20, 25], np.uint64)}
    spans = Spans.of_events(events)
    assert spans.within(0, 100) == 25


def observed_with(doubts: list[Doubt], monkeypatch) -> list[str]:
    """What `_observe` prints when the machine's load gives these doubts."""

    class Watch:
        def stop(self) -> Any:
            return SimpleNamespace(doubts=lambda: doubts)

    class Steps:
        def observe(self, laboratory: Any, show: Any) -> Outcome:
            show("tracing")
            return Outcome("sesame-7.9", "a title", "a source", [])

    monkeypatch.setattr(cli, "LoadWatch", Watch)
    monkeypatch.setattr(cli, "load_of", lambda _: Watch().stop())
    text = StringIO()
    outcome = cli._observe(Steps(), None, Console(file=text, width=200))
    assert list(outcome.doubts) == doubts
    return text.getvalue().splitlines()


def test_steps_are_printed_where_there_is_no_terminal(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (line,) = observed_with([], monkeypatch)
    assert line.split() == ["0", "s", "tracing"]


def test_a_busy_machine_is_reported_before_and_after(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    busy = Doubt(Reason.BUSY_HOST, "other processes used 1.00 of 2 processors", "wait")
    lines = observed_with([busy], monkeypatch)
    assert [line.startswith("warning: busy host") for line in lines].count(True) == 2
    assert lines.count("hint: wait") == 2


def test_doubts_are_on_the_page(tmp_path):
    doubt = Doubt(Reason.BUSY_HOST, "1.00 of 2 <processors>", "wait")
    outcome = Outcome("sesame-7.9", "a title", "a source", [], doubts=[doubt])
    write_reproduction([outcome], tmp_path / "r.html")
    assert "Doubtful: busy host: 1.00 of 2 &lt;processors&gt;" in (tmp_path / "r.html").read_text()


def test_wide_rows_change_blocks_and_caches_once_each() -> None:
    case = caching.wide_rows("base", "together", merges=False)
    keys = [override.partition("=")[0] for override in case.overrides]
    assert len(keys) == len(set(keys))
    assert "storage.cache.merge_misses=false" in case.overrides
    assert 8 * caching.WIDE_ORDER == caching.MATRIX_RANKS * caching.WIDE_BLOCK
    assert 8 * caching.WIDE_ORDER**2 < caching.WIDE_CACHE * caching.WIDE_BLOCK


def test_wide_rows_are_worse_only_with_half_as_many_reads_again_for_every_policy() -> None:
    def results(together: float) -> dict[Case, Measured]:
        return {
            caching.wide_rows(policy, access, merges=False): measured(blocks_read=blocks)
            for policy in caching.POLICIES
            for access, blocks in (("staggered", 24.0), ("together", together))
        }

    assert caching.worse_on_wide_rows(False, results(48.0))
    assert not caching.worse_on_wide_rows(False, results(30.0))
