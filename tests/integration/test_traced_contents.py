"""What records say about descriptors, single characters, lines and mapped files."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import pytest
from tests.integration import raw_streams
from tests.integration.raw_records import tracing

ROOT = Path(__file__).resolve().parents[2]
PAGE = 4096
SHARED = 8


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = tmp_path_factory.mktemp("contents") / "contents"
    source = ROOT / "tests/programs/trace/contents.c"
    subprocess.run(["gcc", "-O1", "-w", "-o", str(built), str(source)], check=True)
    return built


@pytest.fixture
def traced(program, tmp_path):
    def run(part: str) -> list[raw_streams.Process]:
        subprocess.run([str(program), part], cwd=tmp_path, env=tracing(tmp_path), check=True)
        return raw_streams.read(tmp_path)

    return run


def of(process: raw_streams.Process, *shapes: str) -> list[raw_streams.Record]:
    return [record for record in process.records if record.shape in shapes]


def pages(process: raw_streams.Process) -> list[tuple[int, int, int]]:
    """First page counted from the first mapping, number of pages, and whether they are written."""
    begin = of(process, "map")[0].fields["address"]
    return [
        (
            (record.fields["address"] - begin) // PAGE,
            record.fields["size"] // PAGE,
            record.fields["written"],
        )
        for record in of(process, "pages")
    ]


def touched(runs: list[tuple[int, int, int]], page: int, written: int) -> bool:
    """The kernel also maps neighbours of pages that are read, so a run may be longer."""
    return any(first <= page < first + count and how == written for first, count, how in runs)


def test_characters_that_follow_one_another_are_few_records(traced):
    (process,) = traced("characters")
    for call in ("fputc", "fgetc"):
        merged = [record for record in of(process, "merged") if record.call == call]
        assert sum(record.fields["bytes"] for record in merged) == 10_000
        assert len(merged) < 1000
        assert all(record.fields["duration"] > 0 for record in merged)


def test_lines_are_counted_with_zeros_and_over_the_buffer(traced):
    (process,) = traced("lines")
    lines = [record.fields["bytes"] for record in process.records if record.call == "fgets"]
    assert lines == [6] * 500 + [9001]
    (scan,) = [record for record in process.records if record.call == "fscanf"]
    assert scan.fields["bytes"] == 8


def test_a_descriptor_is_reported_before_its_first_use_and_again_when_its_number_is(
    traced, tmp_path
):
    (process,) = traced("unseen")
    file, pair = of(process, "descriptor")
    assert file.fields["path"] == str(tmp_path / "unseen")
    assert file.fields["flags"] & os.O_APPEND
    assert (file.fields["size"], file.fields["offset"]) == (64 * PAGE, 0)
    assert stat.S_ISREG(file.fields["mode"])
    assert pair.fields["file"] == file.fields["file"]
    assert stat.S_ISSOCK(pair.fields["mode"]) and pair.fields["path"].startswith("socket:")
    assert pair.fields["offset"] == -1


def test_written_pages_of_a_private_mapping_are_known(traced):
    (process,) = traced("private_pages")
    assert [run[:2] for run in pages(process) if run[2] == 1] == [(9, 1), (3, 2)]
    assert touched(pages(process), 20, 0)
    (mapping,) = of(process, "map")
    assert mapping.fields["protection"] & SHARED == 0


def test_a_child_records_the_pages_it_touches_of_what_it_inherits(traced):
    parent, child = sorted(traced("inherited_pages"), key=lambda p: len(p.records), reverse=True)
    assert touched(pages(parent), 2, 0) and not touched(pages(parent), 2, 1)
    (inherited,) = of(child, "map")
    (mapping,) = of(parent, "map")
    assert inherited.call == "fork"
    assert inherited.fields["address"] == mapping.fields["address"]
    assert inherited.fields["file"] == mapping.fields["file"]
    assert touched(pages(child), 7, 0)


def test_mappings_that_are_replaced_or_moved_are_followed(traced):
    (process,) = traced("moved_pages")
    moved = of(process, "map")[1]
    far = (moved.fields["address"] - moved.fields["old_address"]) // PAGE
    assert pages(process)[0] == (5, 1, 3)
    assert touched(pages(process), far + 1, 3)
    assert moved.call == "mremap"
    assert moved.fields["old_address"] == of(process, "map")[0].fields["address"]
