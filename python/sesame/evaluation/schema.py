"""The tables of results, and how a database of an earlier Sesame becomes one of this."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

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
VERSION = 3


def migrate(database: Database, version: int, add: Callable[[Iterator[Result]], object]) -> None:
    """Takes the schema from `version` to VERSION, within a transaction. `add` stores results."""
    if version < 1:
        database.script(FIRST)
    if version < 2:
        database.script(SECOND)
        add(_results_of_first(database))
        database.script(MOVE)
    if version < 3:
        database.script(THIRD)
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
