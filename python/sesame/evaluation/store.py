"""The results of months, in SQLite, and a file where they wait while the database is unavailable.

Times are seconds since 1970, UTC. A result is stored once, known by its key. Counts and sums of
each day are kept in the same transaction; `rebuild_days` makes them again from the results.
docs/decisions/0044-evaluation-store.md says how another database can take the place of SQLite.
"""

from __future__ import annotations

import fcntl
import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sesame.errors import InputError, OutputError
from sesame.evaluation.probing import Figure, Outcome, Result
from sesame.evaluation.release import fingerprint

BUSY_SECONDS = 2.0  # to wait for another writer
MOST_WAITING_BYTES = 256 << 20
# Each entry takes the schema from its number to the next.
MIGRATIONS = (
    """
    CREATE TABLE release (
      id INTEGER PRIMARY KEY, fingerprint TEXT NOT NULL UNIQUE, facts TEXT NOT NULL);
    CREATE TABLE result (
      id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, probe TEXT NOT NULL, target TEXT NOT NULL,
      began REAL NOT NULL, took REAL NOT NULL, outcome TEXT NOT NULL, step TEXT NOT NULL,
      reason TEXT NOT NULL, output TEXT NOT NULL, release INTEGER NOT NULL REFERENCES release);
    CREATE INDEX result_by_time ON result (probe, target, began);
    CREATE TABLE figure (
      result INTEGER NOT NULL REFERENCES result, name TEXT NOT NULL, value REAL NOT NULL,
      unit TEXT NOT NULL, PRIMARY KEY (result, name)) WITHOUT ROWID;
    CREATE TABLE boot (boot TEXT PRIMARY KEY, booted REAL NOT NULL);
    CREATE TABLE note (
      id INTEGER PRIMARY KEY, text TEXT NOT NULL, began REAL NOT NULL, ended REAL NOT NULL,
      planned INTEGER NOT NULL);
    CREATE TABLE day (
      probe TEXT NOT NULL, target TEXT NOT NULL, release INTEGER NOT NULL, day INTEGER NOT NULL,
      passed INTEGER NOT NULL, failed INTEGER NOT NULL, unobserved INTEGER NOT NULL,
      PRIMARY KEY (probe, target, release, day)) WITHOUT ROWID;
    CREATE TABLE figure_day (
      probe TEXT NOT NULL, target TEXT NOT NULL, name TEXT NOT NULL, unit TEXT NOT NULL,
      release INTEGER NOT NULL, day INTEGER NOT NULL, count INTEGER NOT NULL, total REAL NOT NULL,
      least REAL NOT NULL, most REAL NOT NULL,
      PRIMARY KEY (probe, target, name, unit, release, day)) WITHOUT ROWID;
    """,
)
ADD_DAY = """
    INSERT INTO day SELECT probe, target, release, CAST(began / 86400 AS INTEGER),
      SUM(outcome = 'pass'), SUM(outcome = 'fail'), SUM(outcome = 'not observed')
    FROM result WHERE {which} GROUP BY 1, 2, 3, 4
    ON CONFLICT DO UPDATE SET passed = passed + excluded.passed,
      failed = failed + excluded.failed, unobserved = unobserved + excluded.unobserved"""
ADD_FIGURE_DAY = """
    INSERT INTO figure_day SELECT probe, target, name, unit, release,
      CAST(began / 86400 AS INTEGER), COUNT(*), SUM(value), MIN(value), MAX(value)
    FROM result JOIN figure ON figure.result = result.id WHERE {which}
    GROUP BY 1, 2, 3, 4, 5, 6
    ON CONFLICT DO UPDATE SET count = count + excluded.count, total = total + excluded.total,
      least = MIN(least, excluded.least), most = MAX(most, excluded.most)"""


@dataclass(frozen=True)
class Note:
    """What a person entered."""

    text: str
    began: float
    ended: float
    planned: bool


@dataclass(frozen=True)
class Day:
    """The results of a probe on one day (in days since 1970) under one release."""

    probe: str
    target: str
    release: str
    day: int
    passed: int
    failed: int
    unobserved: int


class Store:
    """An open database; use it as a context. Raises InputError if it is damaged or of a newer
    Sesame, sqlite3.OperationalError if it is unavailable."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
        try:
            self._connection.execute("PRAGMA foreign_keys = ON")
            self._migrate()
        except sqlite3.OperationalError:
            self._connection.close()
            raise
        except sqlite3.DatabaseError as error:
            self._connection.close()
            raise InputError(f"this is no database of results: {error}", path=str(path)) from error
        except InputError:
            self._connection.close()
            raise

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def _migrate(self) -> None:
        version = self._version()
        if version > len(MIGRATIONS):
            raise InputError(
                f"the database has version {version}, this Sesame knows {len(MIGRATIONS)}",
                path=str(self._path),
                hint="update Sesame",
            )
        if version == len(MIGRATIONS):
            return
        with self._transaction():
            for number in range(self._version(), len(MIGRATIONS)):
                for statement in MIGRATIONS[number].split(";"):
                    self._connection.execute(statement)
            self._connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")

    def _version(self) -> int:
        return int(self._connection.execute("PRAGMA user_version").fetchone()[0])

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            with suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    def add(self, results: Iterable[Result]) -> int:
        """Stores what is not there yet, all or nothing; returns how many results that were."""
        added = 0
        with self._transaction():
            for result in results:
                added += self._add(result)
        return added

    def _add(self, result: Result) -> int:
        release = self._release(result)
        about = (result.key, result.probe, result.target, result.began, result.took)
        values = (*about, result.outcome, result.step, result.reason, result.output, release)
        done = self._connection.execute(
            "INSERT INTO result (key, probe, target, began, took, outcome, step, reason, output, "
            "release) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO NOTHING",
            values,
        )
        if done.rowcount != 1:
            return 0
        number = done.lastrowid
        rows = [(number, one.name, one.value, one.unit) for one in result.figures]
        self._connection.executemany("INSERT OR REPLACE INTO figure VALUES (?, ?, ?, ?)", rows)
        for statement in (ADD_DAY, ADD_FIGURE_DAY):
            self._connection.execute(statement.format(which="id = ?"), (number,))
        return 1

    def _release(self, result: Result) -> int:
        facts = dict(result.release)
        values = (fingerprint(facts), json.dumps(facts))
        self._connection.execute(
            "INSERT INTO release (fingerprint, facts) VALUES (?, ?) "
            "ON CONFLICT (fingerprint) DO NOTHING",
            values,
        )
        query = "SELECT id FROM release WHERE fingerprint = ?"
        return int(self._connection.execute(query, values[:1]).fetchone()[0])

    def rebuild_days(self) -> None:
        """Makes the counts and sums of days again from the results."""
        with self._transaction():
            for table, statement in (("day", ADD_DAY), ("figure_day", ADD_FIGURE_DAY)):
                self._connection.execute(f"DELETE FROM {table}")
                self._connection.execute(statement.format(which="1"))

    def results(self, probe: str, target: str, begin: float, end: float) -> list[Result]:
        """Those of [begin, end) in order, with the last before and the first after; with their
        figures and without their releases' facts: `release` has the fingerprint only."""
        outside = "SELECT {f}(began) FROM result WHERE probe = ? AND target = ? AND began {op} ?"
        bounds = [
            self._connection.execute(outside.format(f=f, op=op), (probe, target, at)).fetchone()[0]
            for f, op, at in (("MAX", "<", begin), ("MIN", ">=", end))
        ]
        low = begin if bounds[0] is None else bounds[0]
        high = end if bounds[1] is None else bounds[1]
        rows = self._connection.execute(
            "SELECT result.id, key, probe, target, began, took, outcome, step, reason, output, "
            "fingerprint FROM result JOIN release ON release.id = result.release "
            "WHERE probe = ? AND target = ? AND began BETWEEN ? AND ? ORDER BY began",
            (probe, target, low, high),
        ).fetchall()
        figures = self._figures(probe, target, low, high)
        return [
            Result(
                key=row[1],
                probe=row[2],
                target=row[3],
                began=row[4],
                took=row[5],
                outcome=Outcome(row[6]),
                step=row[7],
                reason=row[8],
                output=row[9],
                figures=tuple(figures.get(row[0], ())),
                release={"fingerprint": row[10]},
            )
            for row in rows
        ]

    def _figures(self, probe: str, target: str, low: float, high: float) -> dict[int, list[Figure]]:
        found: dict[int, list[Figure]] = {}
        for number, *values in self._connection.execute(
            "SELECT result, name, value, unit FROM figure JOIN result ON result.id = result "
            "WHERE probe = ? AND target = ? AND began BETWEEN ? AND ?",
            (probe, target, low, high),
        ):
            found.setdefault(number, []).append(Figure(*values))
        return found

    def days(self, begin: int, end: int) -> list[Day]:
        """The counts of the days [begin, end)."""
        rows = self._connection.execute(
            "SELECT probe, target, fingerprint, day, passed, failed, unobserved FROM day "
            "JOIN release ON release.id = release WHERE day >= ? AND day < ? "
            "ORDER BY probe, target, day",
            (begin, end),
        )
        return [Day(*row) for row in rows]

    def figure_days(self, begin: int, end: int) -> list[tuple[Any, ...]]:
        """(probe, target, name, unit, fingerprint, day, count, total, least, most)."""
        return self._connection.execute(
            "SELECT probe, target, name, unit, fingerprint, day, count, total, least, most "
            "FROM figure_day JOIN release ON release.id = release WHERE day >= ? AND day < ? "
            "ORDER BY probe, target, name, day",
            (begin, end),
        ).fetchall()

    def releases(self) -> dict[str, dict[str, str]]:
        """The facts of each fingerprint, in the order in which they were seen first."""
        rows = self._connection.execute("SELECT fingerprint, facts FROM release ORDER BY id")
        return {name: json.loads(facts) for name, facts in rows}

    def first(self) -> float | None:
        """When the first result began."""
        began = self._connection.execute("SELECT MIN(began) FROM result").fetchone()[0]
        return None if began is None else float(began)

    def last(self, probe: str, target: str) -> Result | None:
        """The latest result of a probe."""
        query = "SELECT MAX(began) FROM result WHERE probe = ? AND target = ?"
        began = self._connection.execute(query, (probe, target)).fetchone()[0]
        return None if began is None else self.results(probe, target, began, began)[-1]

    def add_boot(self, boot: str, booted: float) -> None:
        """Keeps the first time that was seen for a boot; the clock may be set later."""
        self._connection.execute("INSERT OR IGNORE INTO boot VALUES (?, ?)", (boot, booted))

    def boots(self) -> list[float]:
        """When the machine booted, in order."""
        rows = self._connection.execute("SELECT booted FROM boot ORDER BY booted")
        return [booted for (booted,) in rows]

    def add_note(self, note: Note) -> None:
        values = (note.text, note.began, note.ended, note.planned)
        self._connection.execute(
            "INSERT INTO note (text, began, ended, planned) VALUES (?, ?, ?, ?)", values
        )

    def notes(self) -> list[Note]:
        rows = self._connection.execute("SELECT text, began, ended, planned FROM note ORDER BY 2")
        return [Note(text, began, ended, bool(planned)) for text, began, ended, planned in rows]


class Waiting:
    """A file beside the site file, where results wait while the database is locked, full or
    gone."""

    def __init__(self, site: Path) -> None:
        self.path = site.with_name(f"{site.name}.waiting")

    def results(self) -> list[Result]:
        """Damaged lines, as of a full disk, are left out."""
        found = []
        with suppress(FileNotFoundError), self.path.open("rb") as file:
            for line in file.read(MOST_WAITING_BYTES).splitlines():
                with suppress(ValueError, TypeError, KeyError):
                    found.append(_result_of(json.loads(line)))
        return found

    def add(self, results: Sequence[Result]) -> None:
        """Raises OutputError if the file cannot be written either."""
        lines = "".join(f"{json.dumps(asdict(result))}\n" for result in results)
        try:
            with self.path.open("ab") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                file.write(b"\n" + lines.encode())  # a line that a full disk cut ends here
        except OSError as error:
            raise OutputError(f"{self.path}: cannot keep results: {error.strerror}") from error

    def clear(self) -> None:
        self.path.unlink(missing_ok=True)


def _result_of(table: dict[str, Any]) -> Result:
    figures = tuple(Figure(**one) for one in table["figures"])
    return Result(**{**table, "outcome": Outcome(table["outcome"]), "figures": figures})
