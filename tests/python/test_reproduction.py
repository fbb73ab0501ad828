"""Experiments made again: their catalogue, their page, and what is counted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sesame.analysis.reproduction import write_reproduction
from sesame.errors import InputError
from sesame.reproduction import Case, Measured, caching, find_experiments
from sesame.reproduction.parallel_io import SIMPLE_DISK, TABLE_8_3, btio, matches
from sesame.reproduction.run import measured_of


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


def test_the_page_says_what_comes_out_and_what_does_not(tmp_path: Path) -> None:
    results = printed()
    results[btio(16, "two-phase", *SIMPLE_DISK)] = measured(write_seeks=192, writes=192)
    page = tmp_path / "table.html"
    write_reproduction(find_experiments("table-8-3"), results, page)
    text = page.read_text()
    assert text.count("Comes out:") == 5
    assert text.count("Does not come out:") == 1
    assert "57 for each of the 12 calls" in text


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
