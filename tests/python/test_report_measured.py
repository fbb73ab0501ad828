"""The page of a measurement inside the kernel: what there is, with events and without."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sesame.analysis.report import write_report
from sesame.datasets import DataSet, DataSetWriter
from sesame.measurement import columns
from sesame.measurement.processors import STATES

S = 10**9


def cost(node: str, begin_s: int, end_s: int, estimated_ns: int) -> list[dict]:
    """One pull: of a subsystem, and of the process that measures."""
    times = {"begin_ns": begin_s * S, "end_ns": end_s * S, "node": node}
    fs = {"subsystem": "fs", "detail": 3, "active_ns": S, "events": 7, "estimated_ns": estimated_ns}
    return [times | fs, times | fs | {"subsystem": "sesame", "estimated_ns": 0}]


def idle(node: str, cpu: int, share: float) -> dict:
    times = {"begin_ns": 0, "end_ns": 10 * S, "node": node, "cpu": cpu}
    states = {f"{state}_ns": 0 for state in STATES}
    return times | states | {"idle_ns": int(share * 10 * S), "user_ns": int((1 - share) * 10 * S)}


def page(path: Path, **rows: list[dict]) -> str:
    with DataSetWriter(path / "m.sesame") as writer:
        for record in ("kernel_summary", "measurement_cost", "cpu_time"):
            writer.write_records(record, columns(record, rows.get(record, [])))
        writer.finish({"title": "kernel measurement", "left_out": {"vm.total": "no tracepoint"}})
    write_report(DataSet(path / "m.sesame"), path / "m.html")
    return re.sub(r"<script.*?</script>", "", (path / "m.html").read_text(), flags=re.S)


def table(html: str, name: str) -> list[list[str]]:
    """The texts of its rows."""
    found = re.search(rf'aria-label="{name}".*?<tbody>(.*?)</tbody>', html, re.S)
    assert found is not None, name
    lines = re.findall(r"<tr>(.*?)</tr>", found[1])
    return [re.findall(r"<td[^>]*>(.*?)</td>", line) for line in lines]


def test_a_measurement_without_events_shows_cost_and_processors(tmp_path):
    html = page(
        tmp_path,
        measurement_cost=cost("a", 0, 10, 5_000_000),
        cpu_time=[idle("a", 0, 0.75), idle("a", 1, 0.5)],
    )
    assert re.findall(r"<h2>(.*?)</h2>", html)[:2] == ["Processors", "What it cost"]
    assert table(html, "cost")[0] == ["a", "fs", "7", "1.00 s", "0.050 %"]
    assert [row[:3] for row in table(html, "processors")] == [
        ["a", "1", "50.0 %"],  # most busy first
        ["a", "0", "25.0 %"],
    ]
    assert "No point has counted an event." in html
    assert "vm.total is left out: no tracepoint" in html


def test_what_it_cost_is_of_the_time_that_a_node_was_measured(tmp_path):
    costs = [*cost("a", 0, 5, 5_000_000), *cost("a", 5, 10, 0), *cost("b", 8, 10, 2_000_000)]
    html = page(tmp_path, measurement_cost=costs)
    shares = {row[0]: row[-1] for row in table(html, "cost") if row[1] == "fs"}
    assert shares == {"a": "0.050 %", "b": "0.100 %"}


@pytest.mark.parametrize("class_", ["ext4 /", "tmpfs /mnt/<a> & b"])
def test_points_are_shown_with_file_system_and_mount(tmp_path, class_):
    row = {
        "begin_ns": 0, "end_ns": S, "node": "a", "subsystem": "fs", "point": "read",
        "class": class_, "at_least_bytes": 0, "below_bytes": 512, "count": 3, "bytes": 30,
        "timed": 3, "duration_ns": 3000, "max_duration_ns": 2000, "detail": 3, "active_ns": S,
    }  # fmt: skip
    rows = [row, row | {"at_least_bytes": 512, "below_bytes": 0, "count": 1}]
    html = page(tmp_path, kernel_summary=rows, measurement_cost=cost("a", 0, 1, 0))
    shown = class_.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    assert table(html, "points") == [["a", "fs.read", shown, "4", "60 B", "1.00 us", "2.00 us"]]
    assert "No point has counted" not in html
