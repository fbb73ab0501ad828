"""Results in the database; what is due; incidents; summaries."""

from __future__ import annotations

import math
import random
import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise

import pytest
from tests.python.evaluation_sites import BEGIN, HOUR, SITE, a_result, written

from sesame.errors import InputError
from sesame.evaluation.columns import OUTCOMES
from sesame.evaluation.database import open_database
from sesame.evaluation.estimates import availability
from sesame.evaluation.functions import ProbeSummary
from sesame.evaluation.incidents import incidents_of, samples_of
from sesame.evaluation.load import Load
from sesame.evaluation.page import write_summary
from sesame.evaluation.periods import DAY, moment, months, weeks
from sesame.evaluation.probing import MAINTENANCE, Curve, Figure, Outcome, Result
from sesame.evaluation.release import fingerprint
from sesame.evaluation.runner import Last, Latest, locked
from sesame.evaluation.schema import FIRST, MOVE, SECOND, THIRD, VERSION
from sesame.evaluation.site import Site
from sesame.evaluation.store import Note, Store
from sesame.evaluation.summary import summarize
from sesame.evaluation.words import figure, hours, percent, share
from sesame.trust import Estimate


@pytest.fixture
def site(tmp_path) -> Site:
    return written(tmp_path / "s.toml")


def keyless(results: list[Result]) -> list[Result]:
    """What is read has a shorter key, and a fingerprint for the facts of its release."""
    return [replace(one, key="", release={}) for one in results]


def test_rows_of_each_are_those_of_the_statement_with_each_of_the_values(database):
    statement = (
        "SELECT x, name FROM made WHERE name = ? AND x >= ? AND y < ? ORDER BY x DESC LIMIT 3"
    )
    wanted = [("a", 2, 0.75), ("b", 0, 2.5), ("none", 0, 2.5), ("a", None, 2.5), ("a", 0, 2.5)]
    with closing(open_database(database)) as some:
        some.script("CREATE TABLE made (x BIGINT, y DOUBLE PRECISION, name TEXT)")
        rows = [(x, x / 8, name) for x in range(20) for name in "ab"]
        some.run_many("INSERT INTO made VALUES (?, ?, ?)", rows)
        found = some.rows_of_each(statement, wanted)
        assert found == [some.rows(statement, values) for values in wanted]
        assert found[0] == [(5, "a"), (4, "a"), (3, "a")]
        assert some.rows_of_each(statement, []) == []


def test_a_result_is_stored_once_with_its_figures(database):
    made = a_result(1, figures=(Figure("n", 2.5, "ms"),))
    failed = a_result(2, Outcome.FAIL, step="one", reason="it \0 said", output="µ\n")
    with Store(database) as store:
        assert store.add([made, made, failed]) == 2
        assert store.add([made]) == 0
        found = store.results("p", "t", BEGIN, BEGIN + 10 * HOUR)
    assert keyless(found) == keyless([made, replace(failed, reason="it \ufffd said")])


def test_two_results_of_the_same_microsecond_are_both_kept(database):
    both = [a_result(1), replace(a_result(1), key="another", outcome=Outcome.FAIL)]
    with Store(database) as store:
        assert store.add(both) == 2
        assert store.add(both) == 0
        found = store.results("p", "t", 0, math.inf)
    assert [one.outcome for one in found] == [Outcome.PASS, Outcome.FAIL]


def test_counts_and_sums_of_days_equal_a_rebuild(database):
    rng = random.Random(1)
    made = [
        a_result(
            number,
            rng.choice(list(Outcome)),
            figures=(Figure("n", rng.random(), "ms"), Figure("m", rng.random(), "s")),
            release={"kernel": str(number // 70)},
        )
        for number in range(200)
    ]
    rng.shuffle(made)

    first = int(BEGIN // DAY)
    each_day = [(day, day + 1) for day in range(first, first + 9)]

    def kept(store: Store) -> list[object]:
        return [
            store.probe_counts([("p", "t")], each_day)[0],
            *store.series_days([one.number for one in store.series()], 0, 1 << 30),
            store.observations("p", "t", BEGIN, BEGIN + 200 * HOUR, HOUR),
        ]

    with Store(database) as store:
        for begin in range(0, 200, 7):
            store.add(made[begin : begin + 7])
        at_insertion = kept(store)
        store.rebuild_days()
        assert kept(store) == at_insertion
    days = at_insertion[0]
    assert sum(one.passed + one.failed + one.unobserved for one in days) == 200
    assert all(one.first_day == one.last_day == first + one.period for one in days)
    assert len(days) == 11  # nine days, two of them with two releases
    assert at_insertion[1] != at_insertion[2]


def test_answers_by_release_and_month_are_those_of_the_results(tmp_path, postgres):
    """Counted here one by one. Both databases give the same page."""
    rng = random.Random(2)
    # Releases that come back, at any hour; four months, of which the first and last are cut.
    made = [
        a_result(
            12 * number,
            rng.choice(list(Outcome)),
            key=f"{probe} {number}",
            probe=probe,
            release={"kernel": str(number // 50 % 3)},
            step="one",
            reason=f"reason {number}",
        )
        for number in range(30, 200)
        for probe in ("p", "q")
        if probe == "p" or number % 3
    ]
    begin, end = BEGIN + 20 * DAY + 7 * HOUR, BEGIN + 95 * DAY + 5 * HOUR
    days = [one for one in made if begin // DAY * DAY <= one.began < math.ceil(end / DAY) * DAY]
    second = SITE.partition("\n")[2].replace("probe.p", "probe.q")
    site = written(tmp_path / "s.toml", SITE + second)
    pages = []
    for database in (site.database, postgres.new_database()):
        with Store(database) as store:
            store.add(rng.sample(made, len(made)))
            found = summarize(site, store, begin, end)
        write_summary(found, tmp_path / "page.html")
        pages.append((tmp_path / "page.html").read_text())
        for probe in found.probes:
            assert_counted(probe, [one for one in days if one.probe == probe.probe])
        for release in found.releases:
            ran = [
                one.began // DAY for one in days if fingerprint(one.release) == release.fingerprint
            ]
            assert (release.first_day, release.last_day) == (min(ran), max(ran))
    assert pages[0] == pages[1]


def assert_counted(probe: ProbeSummary, results: list[Result]) -> None:
    by_month: dict[str, list[Result]] = {}
    by_release: dict[str, list[Result]] = {}
    for one in results:
        by_month.setdefault(f"{datetime.fromtimestamp(one.began, UTC):%Y-%m}", []).append(one)
        by_release.setdefault(fingerprint(one.release), []).append(one)
    assert [one.name for one in probe.months] == list(by_month)
    assert [one.answers.name for one in probe.releases] == list(by_release)
    assert probe.last().answers.name == fingerprint(results[-1].release) != list(by_release)[-1]
    for answers in (*probe.months, *(one.answers for one in probe.releases)):
        ran = (by_month | by_release)[answers.name]
        counts = [sum(one.outcome is kind for one in ran) for kind in OUTCOMES]
        assert [answers.passed, answers.failed, answers.unobserved] == counts
    for release in probe.releases:
        ran = by_release[release.answers.name]
        last = [one for one in ran if one.outcome is not Outcome.NOT_OBSERVED][-1]
        assert release.works is (last.outcome is Outcome.PASS)
        assert release.why == ("" if release.works else f"step one: {last.reason}")


def test_days_on_which_all_passed_leave_the_availability_as_it_is(database):
    """Observations leave most of them out."""
    rng = random.Random(3)
    hours_run = [hour for hour in range(24 * 40) if not 300 <= hour < 340]
    down = {hour for at in (30, 31, 500, 510, 700) for hour in range(at, at + rng.randint(1, 9))}
    made = [a_result(hour, Outcome.FAIL if hour in down else Outcome.PASS) for hour in hours_run]
    end, reboots = BEGIN + 24 * 40 * HOUR, [BEGIN + 800.4 * HOUR]
    with Store(database) as store:
        store.add(made)
        short = store.observations("p", "t", BEGIN, end, 1.5 * HOUR, reboots)
    assert len(short) < len(made) / 3
    found, expected = (
        availability(samples_of(each, [], True), BEGIN, end, 1.5 * HOUR, reboots=reboots)
        for each in (short, made)
    )
    assert found.estimate.value == pytest.approx(expected.estimate.value)
    assert found.estimate.low == pytest.approx(expected.estimate.low)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
    assert found.observed == pytest.approx(expected.observed)
    assert incidents_of(short, reboots, []) == incidents_of(made, reboots, [])


def test_the_last_before_and_the_first_after_come_with_a_period(database):
    with Store(database) as store:
        store.add([a_result(number) for number in range(10)])
        found = store.observations("p", "t", BEGIN + 3.5 * HOUR, BEGIN + 5.5 * HOUR, 0.5 * HOUR)
        last = store.last("p", "t")
    assert [one.began for one in found] == [BEGIN + hour * HOUR for hour in (3, 4, 5, 6)]
    assert last.began == BEGIN + 9 * HOUR


def test_a_reboot_on_a_day_without_results_is_between_results(database):
    week = 24 * 7
    made = [a_result(week * number, Outcome.PASS) for number in range(52)]
    end, reboots = BEGIN + week * 52 * HOUR, [BEGIN + (week * 20 + 75) * HOUR]
    gap = 1.5 * week * HOUR
    with Store(database) as store:
        store.add(made)
        short = store.observations("p", "t", BEGIN, end, gap, reboots)
    found, expected = (
        availability(samples_of(each, [], True), BEGIN, end, gap, reboots=reboots).estimate.value
        for each in (short, made)
    )
    assert found == pytest.approx(expected)
    assert found > 0.97


def test_notes_and_boots_are_kept_in_either_database(database):
    note = Note("flood", BEGIN, BEGIN + HOUR, True, "t")
    with Store(database) as store:
        store.add_note(note)
        for boot, booted in (("a", 1.0), ("b", 5.0), ("b", 6.0)):
            store.add_boot(boot, booted)
        store.add_boot("c", 3.0, "t", "node1")
        store.add_boot("d", 4.0, "t", "node1")
        assert (store.notes(), store.notes("t"), store.notes("u")) == ([note], [note], [])
        assert (store.boots("t"), store.boots("t", is_here=False)) == ([4.0, 5.0], [4.0])
        assert (store.boots("u"), store.boots("u", is_here=False)) == ([5.0], [])


def test_a_database_of_the_first_version_keeps_its_results(tmp_path):
    path = tmp_path / "first.db"
    with sqlite3.connect(path) as old:
        old.executescript(FIRST.format(id="INTEGER PRIMARY KEY", clustered="WITHOUT ROWID"))
        old.executescript(
            """
            INSERT INTO release VALUES (1, 'x', '{"kernel": "1"}');
            INSERT INTO result VALUES (5, 'k', 'p', 't', 1e9, 2.5, 'fail', 's', 'why', 'out', 1);
            INSERT INTO result VALUES (6, 'l', 'p', 't', 2e9, 2.5, 'pass', '', '', '', 1);
            INSERT INTO figure VALUES (6, 'n', 3.5, 'ms');
            INSERT INTO boot VALUES ('b', 7);
            INSERT INTO boot VALUES ('c', 8.5);
            INSERT INTO note VALUES (1, 'flood', 1, 2, 1);
            PRAGMA user_version = 1;
            """
        )
    old.close()
    with Store(path) as store:
        found = store.results("p", "t", 0, math.inf)
        assert store.notes() == [Note("flood", 1, 2, True)]
        assert store.boots() == [8.5]
        assert store.add([replace(a_result(0), key="k", began=1e9)]) == 0
    assert [one.outcome for one in found] == [Outcome.FAIL, Outcome.PASS]
    assert (found[0].step, found[0].reason, found[0].output) == ("s", "why", "out")
    assert found[1].figures == (Figure("n", 3.5, "ms"),)


def test_runs_of_the_second_version_have_no_load(database):
    old = open_database(database)
    old.script(FIRST)
    old.script(SECOND)
    old.script(MOVE)
    old.set_version(2)
    old.run("INSERT INTO release (fingerprint, facts) VALUES ('x', '{}')")
    old.run("INSERT INTO probe (name, target) VALUES ('p', 't')")
    old.run("INSERT INTO result VALUES (1, 5000000, 7, 2.5, 0, 1)")
    old.close()
    with Store(database) as store:
        new = [
            replace(a_result(1), load=Load(15.75, 0.5)),
            replace(a_result(2), load=Load(0.25)),
            a_result(3),
        ]
        assert store.add(new) == 3
        found = store.results("p", "t", 0, math.inf)
        at = [("p", "t", one.began) for one in found]
        assert store.loads_at([*at, ("none", "t", 5.0)]) == [*(one.load for one in found), None]
    assert [one.load for one in found] == [None, Load(15.75, 0.5), Load(0.25), None]
    with Store(database) as store:  # a second time, there is nothing to do
        assert len(store.results("p", "t", 0, math.inf)) == 4


def test_loads_of_the_third_version_come_with_their_results(database):
    old = open_database(database)
    for script in (FIRST, SECOND, MOVE, THIRD):
        old.script(script)
    old.set_version(3)
    old.run("INSERT INTO release (fingerprint, facts) VALUES ('x', '{}')")
    old.run("INSERT INTO probe (name, target) VALUES ('p', 't')")
    for second, load in enumerate([(15.75, 0.5), (0.25, None), None], 1):
        old.run("INSERT INTO result VALUES (1, ?, ?, 2.5, 0, 1)", (second * 1_000_000, second))
        if load:
            old.run("INSERT INTO machine_load VALUES (1, ?, ?, ?)", (second * 1_000_000, *load))
    old.close()
    with Store(database) as store:
        found = store.results("p", "t", 0, math.inf)
        assert store.add([a_result(1)]) == 1
    assert [one.began for one in found] == [1, 2, 3]
    assert [one.load for one in found] == [Load(15.75, 0.5), Load(0.25), None]


def test_a_curve_is_kept_whole_with_each_run(database):
    """Under one release three runs, of which the first has other sizes; one under another."""
    runs = [((1, 2, 4), (1, 2, 4)), ((1, 2), (1, 2)), ((1, 2), (3, 6)), ((1, 2), (5.5, math.nan))]
    made = [
        a_result(number, curves=(Curve("rate", "B/s", "B", x, y),), release={"kernel": kernel})
        for number, ((x, y), kernel) in enumerate(zip(runs, "1112", strict=True))
    ]
    releases = [fingerprint({"kernel": kernel}) for kernel in "12"]
    with Store(database) as store:
        assert store.add(made) == 4
        assert store.add(made) == 0
        (curve,) = store.curves()
        asked = [(curve.number, release) for release in releases]
        last, other = store.points(asked, BEGIN, BEGIN + 10 * HOUR, 2)
    assert curve[1:] == ("p", "t", "rate", "B/s", "B")
    assert last == [((1, 2), (3, 6)), ((1, 2), (1, 2))]
    assert other == [((1,), (5.5,))]


def test_a_damaged_and_a_newer_database_are_refused(tmp_path):
    (tmp_path / "no.db").write_bytes(b"this is a text file of some length" * 100)
    with pytest.raises(InputError, match="no database of results"):
        Store(tmp_path / "no.db")
    Store(tmp_path / "new.db").__exit__()
    with sqlite3.connect(tmp_path / "new.db") as connection:
        connection.execute(f"PRAGMA user_version = {VERSION + 1}")
    connection.close()
    with pytest.raises(InputError, match="update Sesame"):
        Store(tmp_path / "new.db")


def test_what_is_due_follows_the_clock(site):
    probe = site.probes["p"]
    at = 100 * HOUR
    assert Latest({}).is_due(probe, at)
    for last, due in ((at - 1, True), (at, False), (at - HOUR - 1, True), (at + 7, True)):
        assert Latest({"p": Last(last, Outcome.PASS)}).is_due(probe, at) is due
    assert not Latest({"p": Last(at + 1, Outcome.PASS)}).is_due(probe, at + HOUR - 1)


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
    assert [one.cause for one in found] == ["p: it failed; unplanned reboot", "unplanned reboot"]
    assert found[1].not_before == BEGIN + 3 * HOUR


def test_planned_maintenance_counts_as_the_site_says():
    planned = [Note("", BEGIN + 0.5 * HOUR, BEGIN + 1.5 * HOUR, True)]
    results = series(PASS, FAIL, OFF, FAIL)
    assert incidents_of(results[:3], [], planned) == []
    ups = [[one.is_up for one in samples_of(results, planned, kind)] for kind in (True, False)]
    assert ups == [[True, True, False], [True, False, False]]


def test_maintenance_that_the_target_itself_announced_counts_as_planned():
    announced = replace(series(PASS, OFF)[1], reason="maintenance: firmware=ACTIVE")
    ups = [[one.is_up for one in samples_of([announced], [], kind)] for kind in (True, False)]
    assert ups == [[True], []]


@pytest.mark.parametrize("maintenance", ["noted", "noted, nothing runs", "announced"])
@pytest.mark.parametrize("counts_as", ["available", "unavailable"])
def test_maintenance_is_no_time_in_which_incidents_are_counted(tmp_path, counts_as, maintenance):
    """Two incidents of an hour in 10 days; then 20 days of maintenance, in which failures do not
    count, whether it was noted or the target itself says so."""
    site = written(tmp_path / "s.toml", f'maintenance = "{counts_as}"\n{SITE}')
    ahead, whole = 240, 720
    with Store(site.database) as store:
        store.add([a_result(n, FAIL if n in (50, 150) else PASS) for n in range(ahead + 1)])
        if maintenance == "announced":
            said = {"reason": f"{MAINTENANCE}firmware"}
            store.add([a_result(hour, OFF, **said) for hour in range(ahead + 1, whole + 1)])
        else:
            begin, end = (BEGIN + HOUR * hour for hour in (ahead, whole))
            store.add_note(Note("firmware", begin, end, True))
        if maintenance == "noted":
            kinds = [FAIL if hour % 50 == 0 else PASS for hour in range(ahead + 1, whole + 1)]
            store.add([a_result(ahead + 1 + n, kind) for n, kind in enumerate(kinds)])
        found = summarize(site, store, BEGIN, BEGIN + whole * HOUR).targets[0]
    assert found.whole.incidents == 2
    # Each took an hour, and began and ended in the middle of an hour on average.
    assert found.whole.time_to_incident.value == pytest.approx((ahead - 2 * 1) * HOUR / 2, rel=1e-6)
    share = found.whole.availability.estimate.value
    assert (share > 0.99) or counts_as == "unavailable"
    assert found.weeks[-1].time_to_incident is None


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


def test_a_week_is_a_period_as_reports_name_it():
    begin, end = moment("2026-W18", "--from"), moment("2026-W18", "--to", is_end=True)
    assert (begin, end) == (moment("2026-04-27", ""), moment("2026-05-04", ""))
    assert [name for name, *_ in weeks(begin, end)] == ["2026-W18"]


@pytest.mark.parametrize(
    "text",
    ["20260503", "2026W18", "2026-W18-3", "2026-W54", "2026-05-03T14", "2026-05-03\n", "٢٠٢٦-٠٥"],
)
def test_a_time_of_another_form_is_refused_and_not_read_as_a_begin(text):
    with pytest.raises(InputError, match="--to: expected a month, a week, a day or a time, got"):
        moment(text, "--to", is_end=True)


@pytest.mark.parametrize("text", ["9999-12-31", "9999-12", "9999-W52"])
def test_the_end_of_the_calendar_is_refused_as_an_end(text):
    with pytest.raises(InputError, match=f"--to: .* got '{text}'"):
        moment(text, "--to", is_end=True)


def test_what_is_not_all_does_not_look_like_all():
    shown = [percent(part) for part in (1, 1 - 1e-16, 0.9996, 0.99999, 0.9994, 0.5678, 0)]
    assert shown == ["100.0 %", "100.0 %", "99.96 %", "99.999 %", "99.9 %", "56.8 %", "0.0 %"]
    assert share(Estimate(0.9997, 0.997, 0.9999, 9)) == "99.97 % (99.70 to 99.99)"


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
    assert (
        "t: p: step one: exit status 1: began 2026-05-05 04:00 UTC "
        "(available at 2026-05-05 03:00), ended 2026-05-05 08:00 (last failed at 2026-05-05 07:00)"
        in found.findings
    )
    assert (
        "not observed from 2026-05-03 01:00 to 2026-05-03 12:00 UTC: the prober did not run"
        in found.findings
    )
    changed = [finding for finding in found.findings if ", when " in finding]
    assert len(changed) == 1
    assert "since 2026-05-07 06:00 UTC, when kernel 6.1 → 6.2" in changed[0]
    assert "p on t: n 19.7 % slower (" in changed[0]
    assert [level.runs for level in found.series[0].releases.values()] == [136, 50]
    month = found.probes[0].months[0]
    assert (month.name, month.passed, month.failed, month.unobserved) == ("2026-05", 186, 4, 0)
    assert [one.works for one in found.probes[0].releases] == [True, True]
    assert [one.name for one in found.releases] == ["R1", "R2"]
    assert found.as_json()["targets"][0]["incidents"][0]["cause"] == "p: step one: exit status 1"


def test_bytes_are_shown_in_a_multiple_that_makes_them_short():
    sizes = {999.0: "999 B", 22_663_725_304.0: "22.66 GB", 8255.0: "8.255 kB", 0.0: "0 B"}
    assert {size: figure(size, "B") for size in sizes} == sizes
    assert figure(11.23e9, "B/s") == "11.23 GB/s"
    assert figure(2e16, "B") == "20,000 TB"


def test_hours_are_shown_as_hours_and_minutes():
    assert hours(7 * HOUR + 51 * 60) == "7:51 h"
    assert hours(31) == "31 s"
    assert hours(96 * HOUR) == "4.0 days"
