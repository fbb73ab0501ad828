"""The sentences of cachestudy call a cache a cache, and name whose it is."""

from __future__ import annotations

import pytest

from sesame.analysis.findings import with_findings

MIB = 2**20
SIZES = [float(MIB * 2**i) for i in range(9)] + [70.0 * MIB, 90.0 * MIB, 100.0 * MIB]
FILES = {
    "store": "files",
    "smallest": MIB,
    "largest": 256 * MIB,
    "calls": "ordinary",
    "caches": "warm",
    "place": "ext4 on /dev/sda",
    "in memory": "no",
    "memory": 1024 * MIB,
    "memory limited by": "the machine",
    "processor cache": 2 * MIB,
}


def column(values, unit="MB/s"):
    return {"unit": unit, "values": list(values)}


def report(parameters, edge=None, fast=4000.0, slow=500.0, retained=3000.0, spread=1.1):
    rates = [slow if edge and size > edge else fast for size in sorted(SIZES)]
    sweep = {
        "file size": column(sorted(SIZES), "B"),
        "rate": column(rates),
        "least": column(rate / spread for rate in rates),
        "most": column(rate * spread for rate in rates),
    }
    tables = {f"{mode} by file size": sweep for mode in ("read", "write", "update")}
    tables["by transfer size"] = {
        "transfer": column([4096, 65536], "B"),
        "read 4MiB": column([500.0, 4000.0]),
    }
    passes = ["emptied, in order", "again, in order", "emptied, scattered"]
    tables["prefetch"] = {
        "pass": column([f"{size} {name}" for size in ("4MiB", "256MiB") for name in passes]),
        "rate": column([400.0, retained, 50.0, 400.0, 400.0, 50.0]),
        "as fast as from memory": column([0.9, 1, 0, 0.9, 0.9, 0], "1"),
    }
    tables["write-behind"] = {
        "file": column(["4MiB", "256MiB"]),
        "writes returned": column([0.001, 1.0], "s"),
        "on the device": column([0.008, 1.1], "s"),
    }
    return {
        "workload": "cachestudy",
        "verified": True,
        "parameters": parameters,
        "figures": [],
        "checks": [],
        "tables": tables,
    }


def words(*arguments, **options):
    return " ".join(with_findings(report(*arguments, **options))["findings"])


def test_no_cache_and_no_disk_is_what_files_in_memory_show():
    text = words(FILES)
    assert "Reading: no cache is visible for files of 1 MiB to 256 MiB" in text
    assert "No disk was measured: all files fit into memory (1 GiB by the machine)" in text
    assert "/dev/sda, or" not in text


def test_edge_at_the_limit_of_the_control_group_is_the_page_cache():
    limited = {**FILES, "memory": 96 * MIB, "memory limited by": "the control group /small"}
    text = words(limited, edge=90 * MIB)
    assert "at a file size of 94.9 MiB (95 % interval 90 MiB to 100 MiB)" in text
    assert "the page cache, for which the control group /small leaves 96 MiB" in text
    assert "Files of more than 96 MiB do not fit into the page cache" in text


def test_fall_within_the_spread_of_the_means_is_no_cache():
    assert "at a file size of" in words(FILES, edge=64 * MIB, spread=2.7)
    text = words(FILES, edge=64 * MIB, spread=3)
    assert "at a file size of" not in text
    assert "Reading: no cache is visible" in text


def test_edge_of_the_processors_cache_is_no_cache_of_the_disk():
    assert "not a cache of the disk, but the processor's (2 MiB" in words(FILES, edge=2 * MIB)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"in memory": "yes", "place": "tmpfs on tmpfs"}, "All of this is memory"),
        ({"calls": "direct"}, "those of ext4 on /dev/sda past the page cache"),
        ({"caches": "emptied"}, "Caches were emptied before each pass"),
    ],
)
def test_what_was_measured_is_reported(changed, said):
    assert said in words({**FILES, **changed})


def test_prefetch_and_write_behind_are_distinguished():
    text = words(FILES)
    assert "A file of 4MiB stays in a cache once it is read" in text
    assert "A file of 256MiB is read no faster (1 times)" in text
    assert "Data is read ahead: of a file of 256MiB read in order, 90%" in text
    assert "on the device after 0.008 s: written behind" in text
    assert "after 1.1 s: hardly any write-behind" in text
    assert "reach nine tenths of the best rate, 4 GB/s" in text


@pytest.mark.parametrize(
    ("known", "edge", "verified"),
    [
        (64 * MIB, 64 * MIB, True),
        (64 * MIB, 32 * MIB, False),
        (64 * MIB, None, False),
        (0, None, True),
        (0, 64 * MIB, False),
    ],
)
def test_verdict_on_a_known_store_is_checked(known, edge, verified):
    simulated = {"store": "simulated:64MiB", "largest": 256 * MIB, "known read cache": known}
    judged = with_findings(report(simulated, edge=edge))
    assert judged["verified"] is verified
