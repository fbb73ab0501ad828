"""The tables of results, how days are summed, and how a database of an earlier Sesame becomes one
of this."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from sesame.evaluation.columns import DAY_US
from sesame.evaluation.database import Database
from sesame.evaluation.probing import Figure, Outcome, Result

# Version 1: names and keys in each result, sums without gaps. SQLite only.
FIRST = """
    CREATE TABLE release (
      id {id}, fingerprint TEXT NOT NULL UNIQUE, facts TEXT NOT NULL);
    CREATE TABLE result (
      id {id}, key TEXT NOT NULL UNIQUE, probe TEXT NOT NULL, target TEXT NOT NULL,
      began REAL NOT NULL, took REAL NOT NULL, outcome TEXT NOT NULL, step TEXT NOT NULL,
      reason TEXT NOT NULL, output TEXT NOT NULL, release INTEGER NOT NULL REFERENCES release);
    CREATE TABLE figure (
      result INTEGER NOT NULL REFERENCES result, name TEXT NOT NULL, value REAL NOT NULL,
      unit TEXT NOT NULL, PRIMARY KEY (result, name)) {clustered};
    CREATE TABLE boot (boot TEXT PRIMARY KEY, booted REAL NOT NULL);
    CREATE TABLE note (
      id {id}, text TEXT NOT NULL, began REAL NOT NULL, ended REAL NOT NULL,
      planned INTEGER NOT NULL);
    CREATE TABLE day (day INTEGER);
    CREATE TABLE figure_day (day INTEGER)
"""
# Times are microseconds since 1970, days whole days since then. Tables with many rows are in the
# order of their key, without another index: what a report reads is then side by side.
SECOND = """
    ALTER TABLE result RENAME TO old_result;
    ALTER TABLE figure RENAME TO old_figure;
    ALTER TABLE boot RENAME TO old_boot;
    ALTER TABLE note RENAME TO old_note;
    DROP TABLE day;
    DROP TABLE figure_day;
    CREATE TABLE probe (
      id {id}, name TEXT NOT NULL, target TEXT NOT NULL, UNIQUE (name, target));
    CREATE TABLE series (
      id {id}, probe INTEGER NOT NULL REFERENCES probe, name TEXT NOT NULL, unit TEXT NOT NULL,
      UNIQUE (probe, name, unit));
    CREATE TABLE result (
      probe INTEGER NOT NULL REFERENCES probe, began BIGINT NOT NULL, key BIGINT NOT NULL,
      took DOUBLE PRECISION NOT NULL, outcome SMALLINT NOT NULL,
      release INTEGER NOT NULL REFERENCES release, PRIMARY KEY (probe, began)) {clustered};
    CREATE TABLE detail (
      probe INTEGER NOT NULL, began BIGINT NOT NULL, step TEXT NOT NULL, reason TEXT NOT NULL,
      output TEXT NOT NULL, PRIMARY KEY (probe, began)) {clustered};
    CREATE TABLE figure (
      series INTEGER NOT NULL REFERENCES series, began BIGINT NOT NULL,
      value DOUBLE PRECISION NOT NULL, PRIMARY KEY (series, began)) {clustered};
    CREATE TABLE probe_day (
      probe INTEGER NOT NULL, day INTEGER NOT NULL, release INTEGER NOT NULL,
      passed INTEGER NOT NULL, failed INTEGER NOT NULL, unobserved INTEGER NOT NULL,
      earliest BIGINT NOT NULL, latest BIGINT NOT NULL, longest_gap BIGINT NOT NULL,
      PRIMARY KEY (probe, day, release)) {clustered};
    CREATE TABLE series_day (
      series INTEGER NOT NULL, day INTEGER NOT NULL, release INTEGER NOT NULL,
      runs INTEGER NOT NULL, total DOUBLE PRECISION NOT NULL, least DOUBLE PRECISION NOT NULL,
      most DOUBLE PRECISION NOT NULL, PRIMARY KEY (series, day, release)) {clustered};
    CREATE TABLE boot (
      target TEXT NOT NULL, node TEXT NOT NULL, boot TEXT NOT NULL, booted BIGINT NOT NULL,
      PRIMARY KEY (target, node, boot));
    CREATE TABLE note (
      id {id}, text TEXT NOT NULL, began BIGINT NOT NULL, ended BIGINT NOT NULL,
      planned INTEGER NOT NULL, target TEXT NOT NULL)
"""
MOVE = """
    INSERT INTO boot SELECT '', '', boot, CAST(1e6 * booted AS BIGINT) FROM old_boot;
    INSERT INTO note (text, began, ended, planned, target) SELECT text,
      CAST(1e6 * began AS BIGINT), CAST(1e6 * ended AS BIGINT), planned, '' FROM old_note;
    DROP TABLE old_boot;
    DROP TABLE old_note;
    DROP TABLE old_figure;
    DROP TABLE old_result
"""
# Runs of earlier versions, and those on other machines, have no load.
THIRD = """
    CREATE TABLE machine_load (
      probe INTEGER NOT NULL, began BIGINT NOT NULL, average DOUBLE PRECISION NOT NULL,
      others DOUBLE PRECISION, PRIMARY KEY (probe, began)) {clustered}
"""
# Loads are in their results. A curve is kept whole: its points are no series of their own.
FOURTH = """
    ALTER TABLE result RENAME TO earlier_result;
    CREATE TABLE result (
      probe INTEGER NOT NULL REFERENCES probe, began BIGINT NOT NULL, key BIGINT NOT NULL,
      took DOUBLE PRECISION NOT NULL, outcome SMALLINT NOT NULL,
      release INTEGER NOT NULL REFERENCES release, average DOUBLE PRECISION,
      others DOUBLE PRECISION, PRIMARY KEY (probe, began)) {clustered};
    INSERT INTO result
      SELECT ran.probe, ran.began, key, took, outcome, release, average, others
      FROM earlier_result AS ran LEFT JOIN machine_load AS load
      ON load.probe = ran.probe AND load.began = ran.began ORDER BY ran.probe, ran.began;
    DROP TABLE earlier_result;
    DROP TABLE machine_load;
    CREATE TABLE curve (
      id {id}, probe INTEGER NOT NULL REFERENCES probe, name TEXT NOT NULL, unit TEXT NOT NULL,
      x_unit TEXT NOT NULL, UNIQUE (probe, name, unit, x_unit));
    CREATE TABLE points (
      curve INTEGER NOT NULL REFERENCES curve, began BIGINT NOT NULL, packed {bytes} NOT NULL,
      PRIMARY KEY (curve, began)) {clustered}
"""
VERSION = 4
# The sums of days, from results.
ADD_PROBE_DAYS = f"""
    INSERT INTO probe_day SELECT probe, day, release, SUM(CASE outcome WHEN 0 THEN 1 ELSE 0 END),
      SUM(CASE outcome WHEN 1 THEN 1 ELSE 0 END), SUM(CASE outcome WHEN 2 THEN 1 ELSE 0 END),
      MIN(began), MAX(began), COALESCE(MAX(gap), 0)
    FROM (SELECT probe, began / {DAY_US} AS day, release, outcome, began, began - LAG(began) OVER
      (PARTITION BY probe, began / {DAY_US} ORDER BY began) AS gap FROM result {{which}}) AS ran
    GROUP BY probe, day, release"""
# In the order of time, so that sums are the same to the last digit however they are made.
ADD_SERIES_DAYS = f"""
    INSERT INTO series_day SELECT series, day, release, COUNT(*), SUM(value), MIN(value), MAX(value)
    FROM (SELECT figure.series, figure.began / {DAY_US} AS day, release, value
      FROM figure JOIN series ON series.id = figure.series
      JOIN result ON result.probe = series.probe AND result.began = figure.began {{which}}
      ORDER BY figure.series, figure.began) AS measured
    GROUP BY series, day, release"""


def migrate(database: Database, version: int, add: Callable[[Iterator[Result]], object]) -> None:
    """Takes the schema from `version` to VERSION, within a transaction. `add` stores results."""
    if version < 1:
        database.script(FIRST)
    if version < 2:
        database.script(SECOND)
    if version < 3:
        database.script(THIRD)
    if version < 4:
        database.script(FOURTH)
    if version < 2:
        add(_results_of_first(database))
        database.script(MOVE)
    database.set_version(VERSION)


def _results_of_first(database: Database) -> Iterator[Result]:
    figures: dict[int, list[Figure]] = {}
    for number, *values in database.rows("SELECT result, name, value, unit FROM old_figure"):
        figures.setdefault(number, []).append(Figure(*values))
    for number, facts, outcome, *values in database.rows(
        "SELECT old_result.id, facts, outcome, key, probe, target, began, took, step, reason, "
        "output FROM old_result JOIN release ON release.id = release ORDER BY began"
    ):
        key, probe, target, began, took, step, reason, output = values
        more: dict[str, Any] = {"step": step, "reason": reason, "output": output}
        found = tuple(figures.get(number, ()))
        release = json.loads(facts)
        kind = Outcome(outcome)
        yield Result(key, probe, target, began, took, kind, figures=found, release=release, **more)
