"""Parts of the period of a report, and times that were not observed."""

from __future__ import annotations

import csv
import time
from dataclasses import replace
from pathlib import Path

import pytest
from tests.python.evaluation_reports import BEGIN, HOUR, PROBE, SITE, hourly, line_of, result

from sesame.evaluation.absences import prober_off
from sesame.evaluation.charts import plots_of
from sesame.evaluation.periods import DAY, shown
from sesame.evaluation.probing import Figure, Result
from sesame.evaluation.site import Site, read_site
from sesame.evaluation.store import Store
from sesame.evaluation.stretches import NO_PROBER, Unseen
from sesame.evaluation.summary import summarize
from sesame.evaluation.tables import csv_of


@pytest.fixture
def site(tmp_path: Path) -> Site:
    (tmp_path / "s.toml").write_text(SITE)
    return read_site(tmp_path / "s.toml")


@pytest.mark.parametrize(
    ("length", "part", "names"),
    [
        (HOUR, "minute", (60, "00:00", "00:59")),
        (5 * HOUR, "10 minutes", (30, "00:00", "04:50")),
        (DAY, "hour", (24, "00:00", "23:00")),
        (2 * DAY, "hour", (48, "2026-04-01 00:00", "2026-04-02 23:00")),
        (30 * DAY, "day", (30, "2026-04-01", "2026-04-30")),
        (91 * DAY, "week", (14, "2026-W14", "2026-W27")),
    ],
)
def test_plots_have_parts_that_suit_the_period(tmp_path, length, part, names):
    """In the middle tenth the target is down, and twice as many users are there."""
    (tmp_path / "s.toml").write_text(SITE.replace('"1h"', '"1min"'))
    site = read_site(tmp_path / "s.toml")
    step = max(60, length / 2000)
    ran = []
    for number in range(int(length / step) + 1):
        is_down = 0.45 <= number * step / length < 0.55
        users = (Figure("users", 6.0 if is_down else 3.0, "1"),)
        ran.append(result("p", BEGIN + step * number, not is_down))
        ran.append(result("use", BEGIN + step * number, figures=users))
    for one in site.probes.values():
        site.probes[one.name] = replace(one, interval=step)
    with Store(site.database) as store:
        store.add(ran)
        found = summarize(site, store, BEGIN, BEGIN + length)
    up, use = (
        next(plot for plot in plots_of(found) if plot.title.startswith(title))
        for title in ("Availability of t", "users of t")
    )
    for plot in (up, use):
        assert plot.about.startswith(f"By {part} (UTC)")
        axis = plot.chart.description()["x"]
        assert (len(axis["names"]), axis["names"][0], axis["names"][-1]) == names
    (bars,), (line,) = (plot.chart.description()["marks"] for plot in (up, use))
    count = names[0]
    assert bars["y"][count // 2] < 60 and bars["y"][0] == bars["y"][-1] == 100
    assert line["y"][count // 2] > 3.9 and line["y"][0] == line["y"][-1] == 3
    assert f"Availability of t by {part}" in csv_of(found)
    assert f"Utilisation by {part}" in csv_of(found)


def test_parts_are_not_shorter_than_the_interval_of_a_probe(site):
    """Hourly probes say nothing of a minute."""
    with Store(site.database) as store:
        store.add(result("p", at) for at in hourly(BEGIN, BEGIN + 2 * HOUR))
        (target,) = summarize(site, store, BEGIN, BEGIN + 1.5 * HOUR).targets
    assert (target.part, [one.name[11:] for one in target.parts]) == ("hour", ["00:00", "01:00"])


SEVERAL = "[target.t]\n[target.u]\n" + "".join(
    PROBE.format(name=name, more=more).replace('"t"', f'"{target}"').replace('"1h"', f'"{often}"')
    for name, target, often, more in (
        ("p", "t", "10min", "availability = true"),
        ("q", "u", "1h", "availability = true"),
        ("speed", "u", "10min", 'aspect = "performance"'),
    )
)


def of_several(path: Path, gone: tuple[float, float]) -> tuple[Site, list[Result]]:
    """Results of a day, without those that began in a time of it."""
    (path / "s.toml").write_text(SEVERAL)
    site = read_site(path / "s.toml")
    ran = [
        replace(result(probe.name, at, key=probe.target.name), target=probe.target.name)
        for probe in site.probes.values()
        for at in (BEGIN + probe.interval * number for number in range(int(DAY / probe.interval)))
        if not gone[0] <= at < gone[1]
    ]
    return site, ran


def test_the_time_off_of_the_prober_is_reported_once_for_all_targets(tmp_path):
    site, ran = of_several(tmp_path, (BEGIN + 8.1 * HOUR, BEGIN + 10.6 * HOUR))
    with Store(site.database) as store:
        store.add(ran)
        found = summarize(site, store, BEGIN, BEGIN + DAY)
    line = "not observed from 2026-04-01 08:00 to 2026-04-01 10:40 UTC: the prober did not run"
    assert [one for one in found.findings if "not observed from" in one] == [line]
    rows = csv.DictReader(csv_of(found).splitlines()[line_of(found, "Not observed") :])
    assert next(rows)["target"] == "all"
    assert next(rows)["table"] != "Not observed"
    # Of its own, a target has all times, for its availability.
    assert [len(one.unseen) for one in found.targets] == [1, 1]


def test_a_target_that_alone_was_not_observed_is_named(tmp_path):
    site, ran = of_several(tmp_path, (0, 0))
    at = BEGIN + 3 * HOUR
    with Store(site.database) as store:
        store.add(one for one in ran if one.target == "u" or not at < one.began < at + 7000)
        found = summarize(site, store, BEGIN, BEGIN + DAY)
    assert [one for one in found.findings if "not observed from" in one] == [
        "t: not observed from 2026-04-01 03:00 to 2026-04-01 05:00 UTC: "
        "no probe of its availability ran"
    ]
    assert found.unseen == []


def test_a_prober_that_runs_a_long_probe_is_not_off(tmp_path):
    site, ran = of_several(tmp_path, (BEGIN + 8.1 * HOUR, BEGIN + 10.6 * HOUR))
    long = replace(result("q", BEGIN + 8 * HOUR + 60, key="long"), target="u", took=2.6 * HOUR)
    with Store(site.database) as store:
        store.add([*ran, long])
        assert summarize(site, store, BEGIN, BEGIN + DAY).unseen == []
        # Nor has it been off for longer than the period shows.
        (off,) = summarize(site, store, BEGIN, BEGIN + 2 * DAY).unseen
        end = BEGIN + DAY + 3 * HOUR
        (later,) = summarize(site, store, BEGIN + DAY + 2 * HOUR, end).unseen
    assert (off.begin, off.end) == (BEGIN + DAY - 600 + 1, BEGIN + 2 * DAY)
    assert (later.begin, later.end) == (BEGIN + DAY + 2 * HOUR, end)


def two_probes(path: Path, **intervals: str) -> Site:
    """Of one target, of the availability the first."""
    probes = (
        f'[probe.{name}]\ntarget = "t"\ninterval = "{often}"\n'
        f"availability = {str(name == 'slow').lower()}\n"
        f'[[probe.{name}.step]]\ncommand = ["true"]\ntimeout = "5h"\n'
        for name, often in intervals.items()
    )
    path.write_text("[target.t]\n" + "".join(probes))
    return read_site(path)


def every(name: str, step: float, begin: float, end: float) -> list[Result]:
    return [result(name, begin + step * number) for number in range(int((end - begin) / step))]


def test_a_probe_that_was_not_in_the_site_for_a_day_is_no_prober_that_is_off(tmp_path):
    """Others ran; that they stopped for three hours is seen by the next probe."""
    site = two_probes(tmp_path / "s.toml", fast="1min", slow="1h")
    days = [BEGIN + DAY * number for number in range(4)]
    ran = [*every("fast", 60, *days[:2]), *every("fast", 60, *days[2:])]
    ran += [one for one in every("slow", HOUR, days[0], days[3]) if one.began % DAY != 23 * HOUR]
    with Store(site.database) as store:
        store.add(ran)
        assert summarize(site, store, days[0], days[3]).unseen == [
            # Its run of 23 o'clock is missing where the other did not run.
            Unseen(days[1] + 22 * HOUR + 1, days[2], NO_PROBER)
        ]


def test_a_prober_that_is_off_before_the_first_run_of_a_new_probe_is_reported(tmp_path):
    site = two_probes(tmp_path / "s.toml", fast="15min", slow="1h")
    off = BEGIN + 10 * HOUR, BEGIN + 20 * HOUR
    ran = [*every("slow", HOUR, BEGIN, off[0]), *every("slow", HOUR, off[1], BEGIN + 2 * DAY)]
    ran += every("fast", 900, BEGIN + DAY, BEGIN + 2 * DAY)
    with Store(site.database) as store:
        store.add(ran)
        found = summarize(site, store, BEGIN, BEGIN + 2 * DAY)
    assert found.unseen == [Unseen(off[0] - HOUR + 1, off[1], NO_PROBER)]
    assert [one for one in found.findings if one.startswith("t: not observed from")] == []


def test_a_target_that_its_own_long_probe_held_up_was_not_left_by_the_prober(tmp_path):
    site = two_probes(tmp_path / "s.toml", slow="1h", long="1d")
    held = BEGIN + 4 * HOUR, BEGIN + 9 * HOUR
    long = replace(result("long", held[0] + 2), took=held[1] - held[0])
    ran = [*every("slow", HOUR, BEGIN, held[0] + 1), *every("slow", HOUR, held[1], BEGIN + DAY)]
    with Store(site.database) as store:
        store.add([*ran, result("slow", held[0]), long])
        found = summarize(site, store, BEGIN, BEGIN + DAY)
    assert found.unseen == []
    (line,) = [one for one in found.findings if "not observed from" in one]
    assert line.startswith("t: ")
    assert line.endswith("no probe of its availability ran")


def test_a_run_of_another_target_that_began_before_a_gap_is_in_progress(tmp_path):
    site, ran = of_several(tmp_path, (BEGIN + 8.1 * HOUR, BEGIN + 10.6 * HOUR))
    long = replace(result("q", BEGIN + 8 * HOUR - 30, key="long"), target="u", took=2.6 * HOUR)
    with Store(site.database) as store:
        store.add([*ran, long])
        limit = replace(site.probes["q"].steps[0], timeout=3 * HOUR)
        site.probes["q"] = replace(site.probes["q"], steps=(limit,))
        assert summarize(site, store, BEGIN, BEGIN + DAY).unseen == []


def test_a_probe_within_its_time_limit_is_not_said_to_be_unobserved(tmp_path):
    site = two_probes(tmp_path / "s.toml", slow="1h")
    with Store(site.database) as store:
        store.add(every("slow", HOUR, BEGIN, BEGIN + DAY))
        said = [
            [line for line in summarize(site, store, BEGIN, end).findings if "not obs" in line]
            for end in (BEGIN + DAY + 2 * HOUR, BEGIN + DAY + 6 * HOUR)
        ]
    assert said[0] == []
    assert [line.split(": ")[1] for line in said[1]] == [NO_PROBER]


def test_what_is_not_listed_is_counted_in_words(tmp_path):
    site = two_probes(tmp_path / "s.toml", slow="1h")
    ran = [
        result("slow", BEGIN + 4 * HOUR * number + extra)
        for number in range(25)
        for extra in (0, HOUR)
    ]
    with Store(site.database) as store:
        store.add(ran)
        lines = summarize(site, store, BEGIN, BEGIN + 4 * DAY).findings
    assert "and 13 shorter times that were not observed; the tables have all" in lines


def test_status_says_since_when_whatever_lasts_longer_than_a_month(tmp_path, sesame):
    """The prober has been off for 50 days; a probe had failed for 30 days until then."""
    site = two_probes(tmp_path / "s.toml", slow="1h", fast="1h")
    off = time.time() - 50 * DAY
    failing = off - 30 * DAY
    ran = [*every("fast", HOUR, failing - DAY, off), *every("slow", HOUR, failing - DAY, failing)]
    ran += [result("slow", failing + HOUR * hour, False) for hour in range(720)]
    with Store(site.database) as store:
        store.add(ran)
    said = sesame("evaluate", "status", "s.toml").stdout
    assert f"not observed since {shown(ran[23 + 720].began + 1)} UTC: {NO_PROBER}" in said
    assert f"open since {shown(failing)} UTC: t: slow: step run" in said


def test_gaps_of_the_prober_are_found_with_few_questions_to_the_database(tmp_path, monkeypatch):
    """A probe of every 5 minutes runs every 20: 720 gaps in ten days, in half of which one of 30
    others ran. Nothing is asked for each gap, and nothing read again for each probe."""
    names = [f"n{number}" for number in range(30)]
    site = two_probes(tmp_path / "s.toml", fast="5min", **dict.fromkeys(names, "1d"))
    days = 10
    ran = every("fast", 1200, BEGIN, BEGIN + days * DAY)
    ran += [result(name, BEGIN + 60 + DAY * day) for name in names for day in range(days)]
    # Runs of 19 minutes: the prober was busy in every other gap.
    long = every("n0", 2400, BEGIN + 20, BEGIN + days * DAY)
    ran += [replace(one, took=1150.0, key=f"long {one.began}") for one in long]
    with Store(site.database) as store:
        store.add(ran)
        asked = []
        read = store._database.rows

        def rows(*statement):
            asked.append(read(*statement))
            return asked[-1]

        monkeypatch.setattr(store._database, "rows", rows)
        found = prober_off(site, store, BEGIN, BEGIN + days * DAY)
    assert len(found) == days * 36
    assert {round(one.end - one.begin) for one in found} <= {1199, 1139}
    assert len(asked) < 250
    assert sum(map(len, asked)) < 3 * len(ran)
