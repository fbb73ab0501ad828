"""The page of a measurement inside the kernel: what there is, with events and without."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.some_info import some_info

from sesame.analysis.report.measured import _rate
from sesame.analysis.reports import write_page
from sesame.datasets import DataSet, DataSetWriter
from sesame.measurement import columns
from sesame.measurement.processors import STATES

S = 10**9


def cost(node: str, begin_s: int, end_s: int, estimated_ns: int) -> list[dict]:
    """One reading: of a subsystem, and of the process that measures."""
    times = {"begin_ns": begin_s * S, "end_ns": end_s * S, "node": node}
    fs = {"subsystem": "fs", "detail": 3, "active_ns": S, "events": 7, "estimated_ns": estimated_ns}
    return [times | fs, times | fs | {"subsystem": "sesame", "estimated_ns": 0}]


def idle(node: str, cpu: int, share: float) -> dict:
    times = {"begin_ns": 0, "end_ns": 10 * S, "node": node, "cpu": cpu}
    states = {f"{state}_ns": 0 for state in STATES}
    return times | states | {"idle_ns": int(share * 10 * S), "user_ns": int((1 - share) * 10 * S)}


def page(path: Path, usage: dict | None = None, **rows: list[dict]) -> str:
    with DataSetWriter(path / "m.sesame") as writer:
        for record in ("kernel_summary", "measurement_cost", "cpu_time"):
            writer.write_records(record, columns(record, rows.get(record, [])))
        info = {"title": "kernel measurement", "left_out": {"vm.total": "no tracepoint"}}
        known = {} if usage is None else {"command_usage": usage}
        writer.finish(some_info("measured", **info, **known))
    write_page(DataSet(path / "m.sesame"), path / "m.html")
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
    assert re.findall(r"<h2>(.*?)</h2>", html)[:2] == ["Processors", "Cost"]
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


READ = {
    "begin_ns": 0, "end_ns": S, "node": "a", "subsystem": "fs", "point": "read", "class": "ext4 /",
    "at_least_bytes": 0, "below_bytes": 512, "count": 3, "bytes": 0, "timed": 0, "duration_ns": 0,
    "max_duration_ns": 0, "detail": 1, "active_ns": S,
}  # fmt: skip


@pytest.mark.parametrize(("completed", "reported"), [(99_950, False), (99_300, True)])
def test_completions_that_were_not_seen_are_reported(tmp_path, completed, reported):
    block = READ | {"subsystem": "block", "class": "read"}
    issued = block | {"point": "issue", "count": 100_000}
    html = page(
        tmp_path, kernel_summary=[issued, block | {"point": "complete", "count": completed}]
    )
    assert ("block.complete is 700 below the 100,000 requests" in html) == reported


USAGE = {
    "elapsed_s": 2.5, "user_s": 1.5, "system_s": 0.25, "page_faults": 700,
    "page_faults_from_disk": 0, "device_bytes_read": 4096, "device_bytes_written": 0,
    "switches_to_wait": 12, "switches_preempted": 1,
}  # fmt: skip


def test_the_command_stands_first_beside_the_whole_system(tmp_path):
    faults = READ | {"subsystem": "vm", "point": "total", "class": "internal", "count": 900}
    costs = [row | {"subsystem": "vm"} for row in cost("a", 0, 1, 0)[:1]]
    html = page(
        tmp_path,
        usage=USAGE,
        kernel_summary=[READ, faults],
        measurement_cost=costs,
        cpu_time=[idle("a", 0, 0.75)],
    )
    assert re.findall(r"<h2>(.*?)</h2>", html)[0] == "The command"
    assert "2.50 s" in html and "elapsed time of the command" in html
    rows = {row[0]: row[1:] for row in table(html, "command")}
    assert rows["processor time in the program"] == ["1.50 s", "2.50 s"]
    assert rows["page faults"] == ["700", "900"]
    assert rows["times that a process was preempted"] == ["1", "not measured"]


def test_counts_of_a_part_of_the_time_are_no_total_of_the_system(tmp_path):
    faults = READ | {"subsystem": "vm", "point": "total", "class": "internal", "count": 900}
    partly = [row | {"subsystem": "vm", "active_ns": S // 4} for row in cost("a", 0, 1, 0)[:1]]
    html = page(tmp_path, usage=USAGE, kernel_summary=[faults], measurement_cost=partly)
    rows = {row[0]: row[1:] for row in table(html, "command")}
    assert rows["page faults"] == ["700", "not measured"]


def test_what_was_not_timed_is_not_shown_as_zero(tmp_path):
    html = page(tmp_path, kernel_summary=[READ], measurement_cost=cost("a", 0, 1, 0))
    assert table(html, "points")[0][-3:] == ["none", "not measured", "not measured"]


def test_durations_sort_as_numbers(tmp_path):
    """2 ms are more than 30 us, though their text is less."""
    timed = [
        READ | {"point": point, "timed": 1, "duration_ns": duration, "max_duration_ns": duration}
        for point, duration in (("open", 2_000_000), ("write", 30_000))
    ]
    html = page(tmp_path, kernel_summary=[READ, *timed], measurement_cost=cost("a", 0, 1, 0))
    cells = re.findall(r'<td class="n" data-v="([^"]*)">(2.00 ms|30.0 us|not measured)<', html)
    assert sorted(cells[::2]) == [
        ("0.002", "2.00 ms"), ("3e-05", "30.0 us"), ("nan", "not measured"),
    ]  # fmt: skip


def test_a_run_of_one_interval_has_bars_and_no_course(tmp_path):
    html = page(tmp_path, kernel_summary=[READ], measurement_cost=cost("a", 0, 1, 0))
    assert "Events</h2>" in html and "Each dot is an interval" not in html
    two = [READ, READ | {"begin_ns": S, "end_ns": 2 * S}]
    (tmp_path / "b").mkdir()
    html = page(tmp_path / "b", kernel_summary=two, measurement_cost=cost("a", 0, 2, 0))
    assert "Each dot is an interval" in html


def test_a_rate_is_of_the_time_in_which_a_point_was_on_and_has_gaps():
    second = (S, 2 * S)
    counts = {(0, S): 10, (3 * S, 4 * S): 6}
    active = {(0, S): S // 2, second: 0, (2 * S, 3 * S): S, (3 * S, 4 * S): S}
    x, rates = _rate(counts, active)
    assert x == [1, 2, 3, 4]
    assert rates == [20, None, 0, 6]  # was on for half a second; off; no event; 6 in a second
    assert _rate(counts, {}) == ([1, 4], [10, 6])  # recorded before costs were
