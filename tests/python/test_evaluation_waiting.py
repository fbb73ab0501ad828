"""Results that wait for the database, and those that it refuses."""

from __future__ import annotations

import json
import math
import os
import re
import sqlite3
import time
from dataclasses import asdict, replace
from pathlib import Path
from threading import Thread

import pytest
from tests.python.evaluation_sites import BEGIN, HOUR, SITE, a_result, written

from sesame.evaluation.load import Load
from sesame.evaluation.probing import Figure, Outcome, Result
from sesame.evaluation.runner import run_due, watch
from sesame.evaluation.site import Site, read_site
from sesame.evaluation.store import Store
from sesame.evaluation.waiting import SetAside, Waiting, keep


@pytest.fixture
def site(tmp_path) -> Site:
    return written(tmp_path / "s.toml")


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
        found = [one.began for one in store.results("p", "t", BEGIN, math.inf)]
    assert found == [BEGIN + HOUR * number for number in range(3)]


def test_results_wait_while_the_database_is_full_or_gone(site, tmp_path):
    (tmp_path / "s.toml").write_text(f'database = "gone/s.db"\n{SITE}')
    gone = read_site(tmp_path / "s.toml")
    assert [one.outcome for one in run_due(gone, lambda _: None)] == [Outcome.PASS]
    assert run_due(gone, lambda _: None) == []  # what waits counts as done
    (tmp_path / "gone").mkdir()
    assert run_due(gone, lambda _: None) == []
    with Store(gone.database) as store:
        assert store.last("p", "t").figures == (Figure("n", 5.0, "ms"),)


def test_watch_says_when_results_wait_and_when_they_came_in(tmp_path):
    (tmp_path / "s.toml").write_text(f'database = "gone/s.db"\n{SITE.replace("1h", "1s")}')
    said: list[str] = []

    def warn(text: str) -> None:
        said.append(text)
        if len(said) == 2:
            raise KeyboardInterrupt
        (tmp_path / "gone").mkdir()

    with pytest.raises(KeyboardInterrupt):
        watch(read_site(tmp_path / "s.toml"), lambda _: None, warn)
    assert "s.db: the database is unavailable: " in said[0]
    assert said[0].endswith("s.toml.waiting and come in later")
    assert said[1] == "the database is there again and has the results that waited"
    assert not (tmp_path / "s.toml.waiting").exists()


def test_results_wait_while_a_server_is_gone_and_none_comes_twice(postgres, sesame, tmp_path):
    url = postgres.new_database()
    (tmp_path / "s.toml").write_text(f'database = "{url}"\n{SITE}')
    run = ("evaluate", "run", "s.toml", "--once", "p")
    assert sesame(*run).status == 0
    postgres.stop()
    try:
        for _ in range(2):
            outcome = sesame(*run)
            assert outcome.status == 0, outcome.stderr
            assert "note: the database is unavailable: results wait in " in outcome.stderr
        report = sesame("evaluate", "report", "s.toml")
        assert report.status == 2
        assert "the database is unavailable" in report.stderr and "@" not in report.stderr
    finally:
        postgres.start()
    assert (tmp_path / "s.toml.waiting").exists()
    assert sesame(*run).stderr == ""
    assert not (tmp_path / "s.toml.waiting").exists()
    with Store(url) as store:
        found = store.results("p", "t", 0, math.inf)
    assert len(found) == len({one.began for one in found}) == 4
    assert "t: available" in sesame("evaluate", "report", "s.toml").stdout


def test_no_result_is_lost_that_is_added_while_those_that_wait_are_stored(site, monkeypatch):
    """As `stress` beside `run` does. A lock belongs to an open file, so threads wait for it too."""
    Waiting(site.path).add([a_result(0)])
    adder = Thread(target=Waiting(site.path).add, args=([a_result(1)],))
    add = Store.add

    def add_beside(store: Store, results: list[Result]) -> int:
        adder.start()
        while adder.is_alive() and not waits_for_a_lock():
            time.sleep(0.01)
        return add(store, results)

    monkeypatch.setattr(Store, "add", add_beside)
    keep(site, [])
    adder.join()
    assert [one.key for one in Waiting(site.path).results()] == ["key 1"]
    with Store(site.database) as store:
        assert len(store.results("p", "t", 0, math.inf)) == 1


def waits_for_a_lock() -> bool:
    """A thread of this process."""
    locks = Path("/proc/locks").read_text()
    return re.search(rf"-> FLOCK .* {os.getpid()} ", locks) is not None


NO_TIME = 1e30  # seconds: more microseconds than a database's integer holds


def test_what_the_database_refuses_is_set_aside_and_the_others_are_stored(site, database):
    site = replace(site, database=database)
    Waiting(site.path).add([a_result(1), a_result(2, began=NO_TIME)])
    with pytest.raises(SetAside, match=r"s\.toml\.refused: the database refuses 1 of 3 results"):
        keep(site, [a_result(3)])
    assert not Waiting(site.path).has_any()
    refused = (site.path.parent / "s.toml.refused").read_text()
    assert refused.count('"key": ') == refused.count('"key": "key 2"') == 1
    keep(site, [a_result(4)])
    with Store(site.database) as store:
        assert len(store.results("p", "t", 0, math.inf)) == 3


def test_probes_run_although_the_database_refuses_a_result_that_waited(sesame, site):
    Waiting(site.path).add([a_result(2, began=NO_TIME)])
    outcome = sesame("evaluate", "run", "s.toml")
    assert "p on t: pass" in outcome.stdout
    assert outcome.status == 2
    assert "s.toml.refused: the database refuses 1 of 1 results" in outcome.stderr
    assert "move it away" not in outcome.stderr
    assert sesame("evaluate", "run", "s.toml", "--once", "p").status == 0


def test_status_stores_what_was_refused_once_the_cause_is_fixed(sesame, site):
    with Store(site.database) as store:
        store._database.run(
            "CREATE TRIGGER mine BEFORE INSERT ON result WHEN NEW.took = 77 "
            "BEGIN SELECT RAISE(ABORT, 'no 77'); END"
        )
    results = [replace(a_result(1), took=77.0), a_result(2, began=NO_TIME), a_result(3)]
    with pytest.raises(SetAside, match="`sesame evaluate status` tries them again"):
        keep(site, results)
    refused = Waiting(site.path).refused
    before = refused.read_text()
    outcome = sesame("evaluate", "status", "s.toml")
    assert outcome.status == 0
    assert "note: s.toml.refused: it refuses 2 results: " in outcome.stderr
    assert refused.read_text() == before
    with Store(site.database) as store:
        store._database.run("DROP TRIGGER mine")
    outcome = sesame("evaluate", "status", "s.toml")
    assert (
        "the database accepts 1 result now that it refused; it refuses 1 result: " in outcome.stderr
    )
    with Store(site.database) as store:
        assert [one.took for one in store.results("p", "t", 0, math.inf)] == [
            77.0,
            a_result(3).took,
        ]
    assert refused.read_text().count('"key": ') == 1
    refused.write_text(before)  # nothing comes twice
    sesame("evaluate", "status", "s.toml")
    with Store(site.database) as store:
        assert len(store.results("p", "t", 0, math.inf)) == 2


def test_a_file_of_refused_results_goes_when_all_are_stored(sesame, site):
    Waiting(site.path).add([a_result(1)])
    Waiting(site.path).path.rename(Waiting(site.path).refused)
    outcome = sesame("evaluate", "status", "s.toml")
    assert "s.toml.refused: the database accepts 1 result now" in outcome.stderr
    assert not Waiting(site.path).refused.exists()
    assert sesame("evaluate", "status", "s.toml").stderr == ""


@pytest.mark.parametrize(
    "words",
    [("evaluate", "metrics", "s.toml"), ("reproduce", "paragon-metrics", "--site", "s.toml")],
)
def test_metrics_and_the_report_made_again_take_in_results_that_waited(sesame, site, words):
    Waiting(site.path).add([a_result(0)])
    outcome = sesame(*words)
    assert outcome.status == 0, outcome.stderr
    assert not Waiting(site.path).has_any()
    with Store(site.database) as store:
        assert store.last("p", "t") is not None


def test_status_and_report_show_results_that_waited(sesame, site):
    with Store(site.database) as store:
        blocker = sqlite3.connect(site.database, isolation_level=None)
        blocker.execute("BEGIN IMMEDIATE")  # others can read and not write
        keep(site, [a_result(0)])
        outcome = sesame("evaluate", "status", "s.toml")
        assert outcome.status == 0 and "never" in outcome.stdout
        assert "note: without the results in s.toml.waiting: " in outcome.stderr
        blocker.execute("ROLLBACK")
        blocker.close()
        outcome = sesame("evaluate", "status", "s.toml")
        assert "2026-05-01 00:00" in outcome.stdout and outcome.stderr == ""
        assert store.last("p", "t") is not None
    assert not Waiting(site.path).has_any()


def test_results_that_wait_keep_their_load_and_those_of_an_earlier_sesame_have_none(site):
    waiting = Waiting(site.path)
    waiting.add([replace(a_result(1), load=Load(1.5, 0.5)), a_result(2)])
    waiting.path.write_text(waiting.path.read_text().replace(', "load": null', ""))
    assert "null" not in waiting.path.read_text()
    assert [one.load for one in waiting.results()] == [Load(1.5, 0.5), None]


def as_line(result: Result, **fields: object) -> str:
    return json.dumps({**asdict(result), **fields})


@pytest.mark.few_cases(3)
@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"shape": 3}, "unexpected keyword argument 'shape'"),
        ({"began": math.inf}, "began is inf, expected a finite number"),
        ({"began": "noon"}, "must be real number"),
        ({"figures": 5}, "'int' object is not iterable"),
        ({"key": None}, "key is None, expected text"),
        ({"release": 7}, "'int' object is not iterable"),
    ],
)
def test_a_line_that_this_version_cannot_read_is_kept_and_said(site, sesame, fields, why):
    waiting = Waiting(site.path)
    newer = as_line(a_result(1), **fields)
    waiting.path.write_text(f"{as_line(a_result(0))}\n{newer}\n")
    said = sesame("evaluate", "report", "s.toml").stderr
    assert "s.toml.refused: line 2 of s.toml.waiting is here now: " in said
    assert why in said
    assert not waiting.path.exists()
    for _ in range(2):
        assert newer in waiting.refused.read_text().splitlines()
        number = waiting.refused.read_text().splitlines().index(newer) + 1
        outcome = sesame("evaluate", "status", "s.toml")
        assert outcome.status == 0
        assert f"s.toml.refused: this version cannot read line {number}: " in outcome.stderr
        assert why in outcome.stderr
    with Store(site.database) as store:
        assert len(store.results("p", "t", 0, math.inf)) == 1


def test_lines_that_cannot_be_read_stay_in_their_place(site, sesame):
    refused = Waiting(site.path).refused
    newer = as_line(a_result(1), shape=3)
    lines = [as_line(a_result(0)), newer, as_line(a_result(2, began=NO_TIME))]
    refused.write_text("\n".join(lines))
    said = sesame("evaluate", "status", "s.toml").stderr
    assert "the database accepts 1 result now that it refused; it refuses 1 result: " in said
    assert "cannot read line 2: " in said
    assert refused.read_text().splitlines() == ["", *lines[1:]]


def test_a_reader_of_the_database_reads_although_results_wait(sesame, tmp_path, postgres):
    import psycopg

    url = postgres.new_database()
    (tmp_path / "s.toml").write_text(f'database = "{url.replace("sesame@", "reader@")}"\n{SITE}')
    waiting = Waiting(tmp_path / "s.toml")
    with Store(url) as store, psycopg.connect(url, autocommit=True) as owner:
        store.add([a_result(0)])
        owner.execute("CREATE ROLE reader LOGIN")
        owner.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader")
        try:
            waiting.add([a_result(1)])
            waiting.refused.write_text(as_line(a_result(2)))
            outcome = sesame("evaluate", "status", "s.toml")
            assert outcome.status == 0 and "p " in outcome.stdout
            may = "1 result not stored: this user may only read the database"
            assert f"s.toml.waiting: {may}" in outcome.stderr
            assert "s.toml.refused: not tried again: " in outcome.stderr
            assert waiting.has_any() and waiting.refused.exists()
            owner.execute("DROP TABLE points")
            owner.execute("UPDATE schema_version SET version = 3")
            outcome = sesame("evaluate", "report", "s.toml")
            assert outcome.status == 2
            assert "the database has version 3, this Sesame needs 4, and" in outcome.stderr
            assert "`sesame evaluate run` as a user that may write" in outcome.stderr
        finally:
            owner.execute("DROP OWNED BY reader")
            owner.execute("DROP ROLE reader")
