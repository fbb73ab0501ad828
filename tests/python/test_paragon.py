"""`sesame reproduce paragon-metrics`: the published tables, and the same measures of a site."""

from __future__ import annotations

import pytest
from tests.python.evaluation_sites import AVAILABILITY

from sesame.evaluation import paragon
from sesame.evaluation.periods import moment
from sesame.evaluation.probing import Figure, Outcome, Result
from sesame.evaluation.store import Store

SITE = f"""\
{AVAILABILITY}[[probe.p.step]]
command = ["true"]
timeout = "1min"
"""


def test_the_published_tables_are_printed_and_their_text_is_checked_against_them(sesame):
    found = {one["name"]: one for one in sesame("reproduce", "paragon-metrics", "--json").json}
    assert [f"paragon-{number}" for number in range(1, 10)] == list(found)
    findings = {one["text"]: one for each in found.values() for one in each["findings"]}
    reboots = findings["Reboots averaged four per day."]
    assert not reboots["is_reproduced"]  # 674 reboots in 196 days
    assert reboots["seen"].startswith("674 reboots in 196 days: 3.4 a day")
    assert findings["Over the period the average uptime was about fifty percent."]["is_reproduced"]
    cells = found["paragon-9"]["tables"][0]["rows"][0]
    assert cells == ["EP", "2^28", "39.45", "19.72", "12.33", "1.30", "6.40"]


def test_limits_of_the_published_mean_times_follow_from_the_incidents_that_they_imply():
    april = paragon.incident_estimates()[0]
    assert april.samples == 50  # 54.66 % of 720 h by 7.85 h
    # Garwood's limits of 50 are 37.11 and 65.92 (Biometrika Tables I, table 40).
    up = 0.5466 * 720 * 3600
    assert april.low == pytest.approx(up / 65.92, rel=1e-3)
    assert april.high == pytest.approx(up / 37.11, rel=1e-3)


def test_the_same_measures_of_a_site_stand_beside_the_published(sesame, tmp_path):
    (tmp_path / "s.toml").write_text(SITE)
    begin = moment("2026-05", "")
    with Store(tmp_path / "s.db") as store:
        store.add(
            Result(
                str(hour),
                *("p", "t", begin + 3600 * hour, 1),
                Outcome.FAIL if hour == 30 else Outcome.PASS,
                figures=(Figure("users", 3, "1"), Figure("latency", 2 + hour % 2, "us")),
            )
            for hour in range(48)
        )
    words = ("reproduce", "paragon-metrics", "--site", "s.toml", "--report", "p.html", "--json")
    rows = sesame(*words).json[-1]["tables"][0]["rows"]
    here = {row[0]: row[1:] for row in rows}
    assert here["users, on average (table 4)"] == ["4.85", "3 (users, 48 runs)"]
    assert here["message latency (table 6)"][1].startswith("2.5 us (latency, 48 runs)")
    assert here["message bandwidth (table 6)"] == ["28 MB/s", "not measured"]
    assert "The same measures of s" in (tmp_path / "p.html").read_text()


def test_a_site_is_for_the_metrics_only(sesame):
    outcome = sesame("reproduce", "paradyn-1", "--site", "s.toml")
    assert outcome.status == 2
    assert "--site is for paragon-metrics only" in outcome.stderr
