"""Results in the database and in the file where they wait; what is due; incidents; summaries."""

from __future__ import annotations

import math
import random
import sqlite3
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from sesame.errors import InputError
from sesame.evaluation.incidents import incidents_of, samples_of
from sesame.evaluation.periods import moment, months, weeks
from sesame.evaluation.probing import Figure, Outcome, Result
from sesame.evaluation.runner import Latest, keep, locked, run_due
from sesame.evaluation.site import Site, read_site
from sesame.evaluation.store import MIGRATIONS, Note, Store, Waiting
from sesame.evaluation.summary import hours, summarize

HOUR = 3600.0
BEGIN = moment("2026-05", "")
SITE = """\
[target.t]
[probe.p]
target = "t"
interval = "1h"
availability = true
[[probe.p.step]]
name = "one"
command = ["echo", "speed 5 ms"]
timeout = "1min"
numbers = [{ name = "n", pattern = '(\\d+) (?P<unit>\\w+)', unit = "ms" }]
"""


@pytest.fixture
def site(tmp_path) -> Site:
    return written(tmp_path / "s.toml")


def written(path: Path, text: str = SITE) -> Site:
    path.write_text(text)
    return read_site(path)


def a_result(number: int, outcome: Outcome = Outcome.PASS, **fields: object) -> Result:
    made = Result(f"key {number}", "p", "t", BEGIN + HOUR * number, 1.0, outcome)
    return replace(made, **{"release": {"kernel": "1"}, **fields})


def test_a_result_is_stored_once_with_its_figures(site):
    made = a_result(1, figures=(Figure("n", 2.5, "ms"),))
    with Store(site.database) as store:
        assert store.add([made, made]) == 1
        assert store.add([made]) == 0
        found = store.results("p", "t", BEGIN, BEGIN + 10 * HOUR)
    assert [replace(one, release=made.release) for one in found] == [made]


def test_counts_of_days_equal_a_rebuild(site):
    rng = random.Random(1)
    made = [
        a_result(
            number,
            rng.choice(list(Outcome)),
            figures=(Figure("n", rng.random(), "ms"),),
            release={"kernel": str(number // 70)},
        )
        for number in range(200)
    ]
    rng.shuffle(made)
    with Store(site.database) as store:
        for one in made:
            store.add([one])
        kept = store.days(0, 1 << 30), store.figure_days(0, 1 << 30)
        store.rebuild_days()
        rebuilt = store.days(0, 1 << 30), store.figure_days(0, 1 << 30)
    assert kept[0] == rebuilt[0]
    assert sum(one.passed + one.failed + one.unobserved for one in kept[0]) == 200
    assert len(kept[1]) == len(rebuilt[1]) > 8
    for one, other in zip(kept[1], rebuilt[1], strict=True):
        assert one[:7] == other[:7]
        assert one[7] == pytest.approx(other[7])  # sums in another order
        assert one[8:] == other[8:]


def test_the_last_before_and_the_first_after_come_with_a_period(site):
    with Store(site.database) as store:
        store.add([a_result(number) for number in range(10)])
        found = store.results("p", "t", BEGIN + 3.5 * HOUR, BEGIN + 5.5 * HOUR)
        last = store.last("p", "t")
    assert [one.key for one in found] == ["key 3", "key 4", "key 5", "key 6"]
    assert last.key == "key 9"


def test_results_wait_while_the_database_is_locked_and_none_comes_twice(site):
    with Store(site.database) as store:
        store.add([a_result(0)])
    blocker = sqlite3.connect(site.database, isolation_level=None)
    blocker.execute("BEGIN EXCLUSIVE")
    keep(site, [a_result(1)])
    assert [one.key for one in Waiting(site.path).results()] == ["key 1"]
    blocker.execute("ROLLBACK")
    blocker.close()
    with Waiting(site.path).path.open("a") as file:
        file.write('{"key": "cut by a full di')
    keep(site, [a_result(2), a_result(1)])
    assert not Waiting(site.path).path.exists()
    with Store(site.database) as store:
        assert [one.key for one in store.results("p", "t", BEGIN, math.inf)] == [
            f"key {number}" for number in range(3)
        ]


def test_results_wait_while_the_database_is_full_or_gone(site, tmp_path):
    (tmp_path / "s.toml").write_text(f'database = "gone/s.db"\n{SITE}')
    gone = read_site(tmp_path / "s.toml")
    assert [one.outcome for one in run_due(gone, lambda _: None)] == [Outcome.PASS]
    assert run_due(gone, lambda _: None) == []  # what waits counts as done
    (tmp_path / "gone").mkdir()
    assert run_due(gone, lambda _: None) == []
    with Store(gone.database) as store:
        assert store.last("p", "t").figures == (Figure("n", 5.0, "ms"),)


def test_a_damaged_and_a_newer_database_are_refused(tmp_path):
    (tmp_path / "no.db").write_bytes(b"this is a text file of some length" * 100)
    with pytest.raises(InputError, match="no database of results"):
        Store(tmp_path / "no.db")
    Store(tmp_path / "new.db").__exit__()
    with sqlite3.connect(tmp_path / "new.db") as connection:
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    connection.close()
    with pytest.raises(InputError, match="update Sesame"):
        Store(tmp_path / "new.db")


def test_what_is_due_follows_the_clock(site):
    probe = site.probes["p"]
    at = 100 * HOUR
    assert Latest({}).is_due(probe, at)
    for last, due in ((at - 1, True), (at, False), (at - HOUR - 1, True), (at + 7, True)):
        assert Latest({("p", "t"): last}).is_due(probe, at) is due
    assert not Latest({("p", "t"): at + 1}).is_due(probe, at + HOUR - 1)


def test_two_runs_at_once_are_refused(site, sesame):
    with locked(site):
        outcome = sesame("evaluate", "run", "s.toml")
    assert outcome.status == 3
    assert "another run has the lock" in outcome.stderr
    assert not site.database.exists()


PASS, FAIL, OFF = Outcome.PASS, Outcome.FAIL, Outcome.NOT_OBSERVED


def series(*outcomes: Outcome) -> list[Result]:
    return [a_result(number, outcome) for number, outcome in enumerate(outcomes)]


def test_a_series_of_failures_is_one_incident():
    found = incidents_of(series(PASS, PASS, FAIL, OFF, FAIL, PASS, FAIL), [], [])
    times = [(one.not_before, one.began, one.ended) for one in found]
    at = [BEGIN + HOUR * number for number in range(7)]
    assert times == [(at[1], at[2], at[5]), (at[5], at[6], math.inf)]


def test_a_reboot_is_an_incident_unless_it_ends_one_or_was_planned():
    results = series(PASS, FAIL, PASS, PASS, PASS, PASS)
    boots = [BEGIN + HOUR * at for at in (1.5, 3.5, 4.5)]
    planned = Note("firmware", BEGIN + 4.2 * HOUR, BEGIN + 5 * HOUR, True)
    found = incidents_of(results, boots, [planned])
    assert [one.cause for one in found] == ["p: step : ; unplanned reboot", "unplanned reboot"]
    assert found[1].not_before == BEGIN + 3 * HOUR


def test_planned_maintenance_counts_as_the_site_says():
    planned = [Note("", BEGIN + 0.5 * HOUR, BEGIN + 1.5 * HOUR, True)]
    results = series(PASS, FAIL, OFF, FAIL)
    assert incidents_of(results[:3], [], planned) == []
    ups = [[one.is_up for one in samples_of(results, planned, kind)] for kind in (True, False)]
    assert ups == [[True, True, False], [True, False, False]]


def test_periods_cover_the_time_without_gaps():
    end = moment("2026-11-03", "", is_end=True)
    for parts in (months(BEGIN + 5, end), weeks(BEGIN + 5, end)):
        assert parts[0][1] == BEGIN + 5 and parts[-1][2] == end
        for one, after in pairwise(parts):
            assert one[2] == after[1]
    assert [name for name, *_ in months(BEGIN, moment("2026-06", "", is_end=True))] == [
        "2026-05",
        "2026-06",
    ]
    assert moment("2026-05-01T02:00+02:00", "") == BEGIN
    with pytest.raises(InputError, match="--from: expected a month"):
        moment("2026-13", "--from")


def test_the_summary_names_incidents_gaps_and_changes_with_the_release(site):
    rng = random.Random(2)
    with Store(site.database) as store:
        for number in range(200):
            if 50 <= number < 60:  # the prober is off
                continue
            is_down = 100 <= number < 104
            slow = number >= 150
            figure = Figure("n", 10 + 2 * slow + rng.gauss(0, 0.1), "ms")
            store.add(
                [
                    a_result(
                        number,
                        FAIL if is_down else PASS,
                        step="one",
                        reason="exit status 1" if is_down else "",
                        figures=() if is_down else (figure,),
                        release={"kernel": "6.2" if slow else "6.1"},
                    )
                ]
            )
        end = BEGIN + 200 * HOUR
        found = summarize(site, store, BEGIN, end)
    whole = found.targets[0].whole
    assert whole.availability.low == pytest.approx((199 - 11 - 5) / 200)
    assert whole.availability.high == pytest.approx((200 - 3) / 200)
    assert whole.incidents == 1
    assert whole.time_to_incident.value == pytest.approx((188 - 4) * HOUR)
    assert any("2026-05-05 04:00 until 2026-05-05 08:00: p: step one" in f for f in found.findings)
    changed = [finding for finding in found.findings if ", when " in finding]
    assert len(changed) == 1
    assert "since 2026-05-07 06:00, when kernel 6.1 → 6.2" in changed[0]
    assert [row["runs"] for row in found.figures] == [136, 50]
    assert found.counts[0] == {
        **{"probe": "p", "target": "t", "month": "2026-05"},
        **{"pass": 186, "fail": 4, "not observed": 0},
    }
    assert found.as_json()["targets"][0]["incidents"][0]["cause"] == "p: step one: exit status 1"


def test_hours_are_shown_as_hours_and_minutes():
    assert hours(7 * HOUR + 51 * 60) == "7:51 h"
    assert hours(96 * HOUR) == "4.0 days"
