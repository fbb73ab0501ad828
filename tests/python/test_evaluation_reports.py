"""Reports of periods with gaps, clocks that were set, notes, several probes; and the pages."""

from __future__ import annotations

import csv
import math
import os
import random
import re
import subprocess
import sys
import time
from dataclasses import replace
from html import unescape
from pathlib import Path
from urllib.parse import unquote

import pytest
from tests.browser import SIZES, axe_script, look
from tests.python.evaluation_reports import (
    BEGIN,
    END,
    HOUR,
    SITE,
    hourly,
    line_of,
    result,
    summary_of,
)

from sesame.evaluation import levels
from sesame.evaluation.charts import ratios_of
from sesame.evaluation.load import Load
from sesame.evaluation.page import write_pages, write_summary
from sesame.evaluation.periods import DAY, moment, shown
from sesame.evaluation.probing import Figure, Outcome, Result, run_probe
from sesame.evaluation.site import Site, read_site
from sesame.evaluation.store import Note, Store
from sesame.evaluation.summary import summarize
from sesame.evaluation.tables import csv_of
from sesame.trust import Reason


@pytest.fixture
def site(tmp_path: Path) -> Site:
    (tmp_path / "s.toml").write_text(SITE)
    return read_site(tmp_path / "s.toml")


def test_a_month_without_runs_is_not_observed_and_neither_up_nor_down(site):
    may, june = moment("2026-05", ""), moment("2026-06", "")
    found = summary_of(site, [result("p", at) for at in (*hourly(BEGIN, may), *hourly(june, END))])
    target = found.targets[0]
    assert [month.name for month in target.months] == ["2026-04", "2026-05", "2026-06"]
    assert target.months[1].availability.estimate is None
    assert (target.months[1].availability.low, target.months[1].availability.high) == (0, 1)
    assert target.months[0].availability.estimate.value == 1
    assert (
        "not observed from 2026-04-30 23:00 to 2026-06-01 00:00 UTC: the prober did not run"
        in found.findings
    )


def test_a_page_is_written_where_failures_are_too_far_apart_to_observe_anything(site, tmp_path):
    """Weeks then have incidents, and none has a mean time between them."""
    ran = [result("p", BEGIN + 12 * HOUR * number, number % 2 == 0) for number in range(40)]
    found = summary_of(site, ran)
    assert found.targets[0].incidents
    assert all(week.time_to_incident is None for week in found.targets[0].weeks)
    with Store(site.database) as store:
        write_pages(found, store, tmp_path / "pages")
    assert "Mean time to incident of" not in (tmp_path / "pages/index.html").read_text()


def test_pages_of_cases_and_stress_stay_in_the_directory_whatever_their_names_are(site, tmp_path):
    names = ["p", "p/../../evil", "p/a b", "p/a/b", "p/a?b#c%20", "p/" + "é" * 150, "stress/ep 1"]
    found = summary_of(site, [result(name, BEGIN + HOUR) for name in names])
    with Store(site.database) as store:
        write_pages(found, store, tmp_path / "deep/pages")
    pages = [one for one in tmp_path.rglob("*.html") if one.name != "index.html"]
    assert {one.parent for one in pages} == {tmp_path / "deep/pages"}
    titles = [re.search("<h1[^>]*>(.*?)</h1>", one.read_text())[1] for one in pages]
    shown = {f"{name} on t" for name in names}
    assert shown <= set(titles) and len(set(titles)) == len(titles)
    index = (tmp_path / "deep/pages/index.html").read_text()
    links = dict(re.findall('<li><a href="(probe[^"]*)">([^<]*)</a></li>', index))
    assert {unquote(link) for link in links} == {one.name for one in pages}
    assert shown <= {unescape(name) for name in links.values()}


def test_a_change_between_runs_weeks_apart_is_found_by_the_means_of_days(site, monkeypatch):
    monkeypatch.setattr(levels, "MOST_RUNS", 0)
    rng = random.Random(4)
    at = [BEGIN + 40 * DAY * number for number in range(40)]
    speeds = [10 + 5 * (number >= 20) + rng.gauss(0, 0.1) for number in range(40)]
    ran = [
        result("speed", one, figures=(Figure("n", speed, "s"),))
        for one, speed in zip(at, speeds, strict=True)
    ]
    with Store(site.database) as store:
        store.add(ran)
        found = summarize(site, store, BEGIN, at[-1] + DAY)
    assert [change.at for one in found.series for change in one.changes] == [at[20]]


def test_a_clock_that_is_set_back_or_ahead_loses_no_result(site):
    """Back by an hour: two results at the same moment. Ahead by a day: a time without results."""
    first = hourly(BEGIN, BEGIN + 10 * HOUR)
    back = hourly(BEGIN + 9 * HOUR, BEGIN + 20 * HOUR)
    ahead = hourly(BEGIN + 44 * HOUR, BEGIN + 60 * HOUR)
    ran = [result("p", at) for at in first]
    ran += [result("p", at, key="after") for at in (*back, *ahead)]
    found = summary_of(site, ran)
    assert found.probes[0].months[0].passed == 10 + 11 + 16
    unseen = [(one.begin, one.end) for one in found.targets[0].unseen]
    assert unseen == [(BEGIN + 19 * HOUR, BEGIN + 44 * HOUR), (BEGIN + 59 * HOUR, END)]
    assert found.targets[0].incidents == []


def test_a_target_is_down_while_one_of_its_probes_fails(site):
    times = hourly(BEGIN, BEGIN + 48 * HOUR)
    ran = [result("p", at) for at in times]
    ran += [result("q", at + 60, not 10 <= number < 20) for number, at in enumerate(times)]
    low = summary_of(site, ran).targets[0].months[0].availability
    # Nine hours are certainly down; one before and one after may be.
    length = moment("2026-05", "") - BEGIN
    assert (1 - low.high) * length == pytest.approx(9 * HOUR, abs=1)
    assert low.estimate.value == pytest.approx(1 - 10 / 47, abs=0.001)


def test_a_release_that_comes_back_is_the_last_one(site):
    """As when a compiler is away for an hour: findings say what is, not what was."""
    ran = [
        replace(result("p", BEGIN + hour * HOUR, hour != 5), release={"cc": str(hour != 5)})
        for hour in range(9)
    ]
    found = summary_of(site, ran)
    assert [one.works for one in found.probes[0].releases] == [True, False]
    assert not [line for line in found.findings if line.startswith("p on t: does not work")]


def test_a_moment_that_was_not_observed_is_no_finding(site):
    """The first run of p takes long, q observes from a second later on."""
    ran = [result("p", BEGIN), *(result("q", BEGIN + 1 + HOUR * hour) for hour in range(3))]
    found = summary_of(site, ran)
    since = BEGIN + 1 + 2 * HOUR
    assert [one.end - one.begin for one in found.targets[0].unseen] == [1.0, END - since]
    said = [line for line in found.findings if "not observed from" in line]
    assert said == [
        "not observed from 2026-04-01 02:00 to 2026-07-01 00:00 UTC: the prober did not run"
    ]


def test_status_and_report_say_that_the_prober_is_off_now(site, sesame):
    off_since = time.time() // 60 * 60 - 5 * HOUR  # its last run ends in the same minute
    with Store(site.database) as store:
        store.add(result(name, off_since - hour * HOUR) for name in ("p", "q") for hour in range(9))
    said = f"{shown(off_since)} UTC: the prober did not run"
    assert f"not observed since {said}" in sesame("evaluate", "status", "s.toml").stdout
    report = sesame("evaluate", "report", "s.toml").stdout
    assert f"\nnot observed from {shown(off_since)} to " in report
    with Store(site.database) as store:
        store.add(result(name, time.time() - 1.4 * HOUR) for name in ("p", "q"))
    assert "not observed since" not in sesame("evaluate", "status", "s.toml").stdout


def test_a_page_says_whose_number_its_doubts_are_about(site, tmp_path):
    ran = [result("p", BEGIN + hour * HOUR, hour != 5) for hour in range(48)]
    write_summary(summary_of(site, ran), tmp_path / "r.html")
    assert "mean time to incident of t: 1 incident" in (tmp_path / "r.html").read_text()


def test_planned_maintenance_ends_where_its_note_does(site):
    times = hourly(BEGIN, BEGIN + 48 * HOUR)
    ran = [result("p", at, not 10 <= number < 20) for number, at in enumerate(times)]
    planned = Note("firmware", BEGIN + 9.5 * HOUR, BEGIN + 15.5 * HOUR, True)
    found = summary_of(site, ran, (planned,)).targets[0]
    assert [(one.began, one.ended) for one in found.incidents] == [
        (BEGIN + 16 * HOUR, BEGIN + 20 * HOUR)
    ]
    estimate = found.whole.availability.estimate
    assert estimate.value == pytest.approx(1 - (3 + 0.5 + 0.25) / 47, abs=0.006)


def test_a_note_takes_the_offset_of_summer_time(sesame, site):
    """In Berlin the clock went from 2 to 3 on 29 March 2026: an hour and a half, not two and a
    half."""
    words = ("evaluate", "note", "s.toml", "switch", "--planned")
    times = ("--from", "2026-03-29T01:30+01:00", "--to", "2026-03-29T04:00+02:00")
    assert sesame(*words, *times).status == 0
    with Store(site.database) as store:
        note = store.notes()[0]
    assert note.ended - note.began == 1.5 * HOUR
    assert note.began == moment("2026-03-29T00:30", "")


@pytest.mark.parametrize("sizes", [(), pytest.param(SIZES, marks=pytest.mark.long)])
def test_averages_of_use_and_curves_have_their_tables_and_plots(site, tmp_path, request, sizes):
    rng = random.Random(1)
    ran = []
    for at in hourly(BEGIN, END):
        ran += [
            result("p", at, rng.random() > 0.01),
            result("use", at, figures=(Figure("users", 3.0, "1"),)),
        ]
        if at % (24 * HOUR) == 0:
            curve = tuple(Figure(f"bandwidth at {2**k} B", 2.0**k, "MB/s") for k in range(3, 12))
            ratios = tuple(
                Figure(f"{ranks} ranks: speed over iPSC/860, 128 nodes", ranks + at / END, "1")
                for ranks in (1, 4)
            )
            ran.append(result("speed", at, figures=curve + ratios))
    found = summary_of(site, ran)
    assert any(line.startswith("t: users 3 on average") for line in found.findings)
    assert "q on t: never ran in this period" in found.findings
    with Store(site.database) as store:
        write_pages(found, store, tmp_path / "pages")
    index = tmp_path / "pages/index.html"
    text = index.read_text()
    for title in ("Availability of t", "Utilisation by month", "bandwidth of speed on t"):
        assert f"{title}</h2>" in text
    assert "Speed of t over iPSC/860, 128 nodes</h2>" in text
    (bars,) = ratios_of(found.series)
    columns = [mark for mark in bars.chart.description()["marks"] if mark["kind"] == "columns"]
    assert [mark["name"] for mark in columns] == ["1 ranks", "4 ranks"]
    (speed,) = (tmp_path / "pages").glob("probe-speed-t-*.html")
    (plain,) = (tmp_path / "pages").glob("probe-p-t-*.html")
    for page in (index, speed, plain):
        for width, scheme in sizes:
            seen = look(
                request.getfixturevalue("browser"), page.as_uri(), axe_script(), width, scheme
            )
            assert seen.problems == [], page.name
            assert seen.charts == seen.drawn
    assert math.isclose(found.series[0].whole.mean, 3.0)


def test_a_failure_of_a_probe_that_is_none_of_availability_is_named_when_it_has_ended(site):
    """Of the speed probe, which failed twice; it still counts for no mean time to incident."""
    full = {"step": "write", "reason": "No space left on device"}
    ran = [result("p", at) for at in hourly(BEGIN, BEGIN + 60 * HOUR)]
    for number, at in enumerate(hourly(BEGIN, BEGIN + 60 * HOUR)):
        one = result("speed", at, not (22 <= number < 27 or number == 40))
        ran.append(replace(one, **full) if one.outcome is Outcome.FAIL else one)
    found = summary_of(site, ran)
    assert [
        line for line in found.findings if line.startswith("t: speed: step write: No space left")
    ] == [
        "t: speed: step write: No space left on device: began 2026-04-01 22:00 UTC "
        "(passed at 2026-04-01 21:00), ended 2026-04-02 03:00 (last failed at 2026-04-02 02:00)",
        "t: speed: step write: No space left on device: began 2026-04-02 16:00 UTC "
        "(passed at 2026-04-02 15:00), ended 2026-04-02 17:00",
    ]
    assert found.targets[0].incidents == []
    rows = list(csv.DictReader(csv_of(found).splitlines()[line_of(found, "Failures of probes") :]))[
        :2
    ]
    assert [(one["probe"], one["began"], one["ended"], one["failed runs"]) for one in rows] == [
        ("speed", "2026-04-01 22:00", "2026-04-02 03:00", "5"),
        ("speed", "2026-04-02 16:00", "2026-04-02 17:00", "1"),
    ]
    kept = found.as_json()["failures"][0]["failures"]
    assert [one["began"] for one in kept] == [BEGIN + 22 * HOUR, BEGIN + 40 * HOUR]


def test_a_probe_that_fails_now_says_since_when(site):
    times = hourly(BEGIN, BEGIN + 30 * HOUR)
    ran = [result("speed", at, number < 26) for number, at in enumerate(times)]
    ran.append(Result("later", "speed", "t", END - HOUR, 1.0, Outcome.NOT_OBSERVED))
    found = summary_of(site, ran)
    assert (
        "speed on t: does not work: step run: : began 2026-04-02 02:00 UTC (passed at "
        "2026-04-02 01:00), not ended (last failed at 2026-04-02 05:00)" in found.findings
    )
    (failures,) = found.failures
    assert failures.failures[0].ended == math.inf


def test_failures_in_planned_maintenance_and_before_the_period_are_left_out(site):
    times = hourly(BEGIN - 48 * HOUR, BEGIN + 48 * HOUR)
    ran = [result("speed", at, number not in (20, 47, 60)) for number, at in enumerate(times)]
    planned = Note("firmware", BEGIN + 11.5 * HOUR, BEGIN + 13.5 * HOUR, True)
    assert summary_of(site, ran, (planned,)).failures == []
    (one,) = summary_of(site, [result("speed", BEGIN + 24.5 * HOUR, False)]).failures
    assert [failure.began for failure in one.failures] == [BEGIN + 24.5 * HOUR]


def test_the_load_is_reported_beside_a_failure(site):
    times = hourly(BEGIN, BEGIN + 30 * HOUR)
    for probe in ("p", "speed"):
        ran = [
            replace(
                result(probe, at, not 10 <= number < 12),
                load=Load(15.7, 0.88) if 10 <= number < 12 else Load(3.1),
            )
            for number, at in enumerate(times)
        ]
        found = summary_of(site, ran)
        (line,) = [one for one in found.findings if one.startswith(f"t: {probe}: step run")]
        said = "load average 15.7 (others had 88 % of the processors) then, 3.1 before"
        assert line.endswith(f"(last failed at 2026-04-01 11:00); {said}")
        assert said in csv_of(found)
    unknown = [result("q", at, number != 5) for number, at in enumerate(times)]
    lines = summary_of(site, unknown).findings
    assert [one for one in lines if one.startswith("t: q: ") and "load" in one] == []


@pytest.mark.parametrize(
    ("loads", "said"),
    [
        ((0.3, 4.2), "; load average 4.2 then, 0.3 before: the machine was busier"),
        ((0.3, 0.32), "; load average 0.3 then, 0.3 before"),
        ((4.2, 0.3), "; load average 0.3 then, 4.2 before"),
        (None, ""),
    ],
)
def test_a_change_while_the_machine_was_busier_is_doubted(site, loads, said):
    rng = random.Random(4)
    ran = []
    for number, at in enumerate(hourly(BEGIN, BEGIN + 80 * HOUR)):
        is_slow = number >= 40
        figures = (Figure("n", 10 + 5 * is_slow + rng.gauss(0, 0.1), "s"),)
        load = Load(loads[is_slow] + rng.random() / 100) if loads else None
        ran.append(replace(result("speed", at, figures=figures), load=load))
    found = summary_of(site, ran)
    (line,) = [one for one in found.findings if one.startswith("speed on t: n ")]
    assert line.endswith(f"since 2026-04-02 16:00 UTC{said}")
    (change,) = found.series[0].changes
    doubts = [one.reason for one in change.change.size.doubts]
    assert doubts == ([Reason.BUSY_HOST] if "busier" in said else [])


@pytest.mark.parametrize(("unit", "after"), [("s", 7), ("MB/s", 15)])
def test_what_became_faster_is_not_doubted_for_a_busier_machine(site, unit, after):
    rng = random.Random(4)
    ran = []
    for number, at in enumerate(hourly(BEGIN, BEGIN + 80 * HOUR)):
        is_late = number >= 40
        figures = (Figure("n", (after if is_late else 10) + rng.gauss(0, 0.1), unit),)
        load = Load((4 if is_late else 0.3) + rng.random() / 100)
        ran.append(replace(result("speed", at, figures=figures), load=load))
    found = summary_of(site, ran)
    (line,) = [one for one in found.findings if one.startswith("speed on t: n ")]
    assert " % faster " in line and line.endswith("; load average 4.0 then, 0.3 before")
    assert found.series[0].changes[0].change.size.doubts == ()


def test_the_loads_around_a_change_are_of_runs_in_the_period(site):
    """It was busier before and after the period."""
    rng = random.Random(4)
    ran = []
    for number, at in enumerate(hourly(BEGIN, BEGIN + 400 * HOUR)):
        figures = (Figure("n", 10 + 5 * (number >= 200) + rng.gauss(0, 0.1), "s"),)
        load = Load((0.3 if 170 <= number < 230 else 9) + rng.random() / 100)
        ran.append(replace(result("speed", at, figures=figures), load=load))
    with Store(site.database) as store:
        store.add(ran)
        found = summarize(site, store, BEGIN + 170 * HOUR, BEGIN + 230 * HOUR)
    (change,) = found.series[0].changes
    assert change.load == pytest.approx((0.305, 0.305), abs=0.005)


SPIN = """
import os, time
for _ in range(os.cpu_count() or 1):
    if os.fork() == 0:
        while time.process_time() < 0.5:
            pass
        os._exit(0)
try:
    while os.wait():
        pass
except ChildProcessError:
    pass
"""


def test_the_load_of_a_run_is_that_of_others_not_its_own(site):
    """A probe that takes 0.5 s of each processor, then one that sleeps while others compute."""
    probe = site.probes["p"]
    step = replace(probe.steps[0], command=(sys.executable, "-c", SPIN))
    own = run_probe(replace(probe, steps=(step,)), {}).results[0]
    assert own.load.others <= 1 - 0.4 / own.took
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as other:
        try:
            step = replace(step, command=("sleep", "0.5"))
            beside = run_probe(replace(probe, steps=(step,)), {}).results[0]
        finally:
            other.kill()
    assert beside.load.others > 0.2 / (os.cpu_count() or 1)
    far = replace(probe, target=replace(probe.target, quotes=True))
    assert run_probe(far, {}).results[0].load is None


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        (1e-310, 2e-310, "n 100.0 % slower (100.0 to 100.0), 1e-310 s to 2e-310 s"),
        (2e-310, 1e-310, "n 50.0 % faster (50.0 to 50.0), 2e-310 s to 1e-310 s"),
        (1e-310, 1.0, "n 1e-310 s to 1 s"),
        (0.0, 1.0, "n 0 s to 1 s"),
    ],
)
def test_a_change_of_the_least_numbers_is_a_share_where_that_is_a_number(site, before, after, says):
    ran = [
        result("speed", at, figures=(Figure("n", after if number >= 40 else before, "s"),))
        for number, at in enumerate(hourly(BEGIN, BEGIN + 80 * HOUR))
    ]
    found = summary_of(site, ran)
    (line,) = [one for one in found.findings if one.startswith("speed on t: n ")]
    assert f"speed on t: {says}, since " in line
    row = next(csv.DictReader(csv_of(found).splitlines()[line_of(found, "Changes") :]))
    share = f" {abs(float(row['change (%)'])):.1f} %" if row["change (%)"] else ""
    assert says.startswith(f"n{share}") and "inf" not in str(row)


def test_a_suite_says_once_in_findings_what_its_cases_failed_of(site):
    names = ["speed/a", "speed/b", "speed/c"]
    ran = [result("p", at) for at in hourly(BEGIN, BEGIN + 9 * HOUR)]
    for at in hourly(BEGIN, BEGIN + 9 * HOUR):
        reason = "2 of 3 cases failed: a, b"
        ran.append(replace(result("speed", at, False), step="suite", reason=reason))
        ran += [result(name, at, name == "speed/c") for name in names]
    found = summary_of(site, ran)
    lines = [line for line in found.findings if "speed" in line]
    assert len(lines) == 1 and lines[0].startswith(
        "speed on t: does not work: step suite: 2 of 3 cases failed: a, b: began "
    )
    table = csv_of(found)
    assert all(f"Functionality by release,{name},t," in table for name in names)
    # A case that failed last, and that the suite has no more.
    ran += [result("speed", BEGIN + 9 * HOUR), result("speed/a", BEGIN + 9 * HOUR)]
    lines = [line for line in summary_of(site, ran).findings if "speed" in line]
    assert [line.split(":")[0] for line in lines] == ["t", "speed/b on t"]
