"""The results of months in a database.

Times are seconds since 1970, UTC; the database has microseconds. A result is stored once, known by
its key. The counts and sums of a day are made again from its results in the transaction that adds
one, so that they equal those that `rebuild_days` makes.
docs/decisions/0044-evaluation-store.md and 0050-evaluation-databases.md have the reasons.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Sequence, Set
from functools import cached_property
from pathlib import Path
from typing import Any

from sesame.errors import InputError
from sesame.evaluation.columns import (
    DAY_US,
    OUTCOMES,
    Floats,
    bounds,
    joined,
    observations,
    packed,
    place_of,
    unpacked,
)
from sesame.evaluation.database import NotAllowed, Unavailable, is_url, open_database, shown_url
from sesame.evaluation.load import Load
from sesame.evaluation.periods import DAY
from sesame.evaluation.probing import Figure, Outcome, Result
from sesame.evaluation.records import (
    CurveName,
    Note,
    Observation,
    ProbeCounts,
    Series,
    SeriesDays,
)
from sesame.evaluation.release import SAME_BOOT_S, WTMP, fingerprint
from sesame.evaluation.schema import ADD_PROBE_DAYS, ADD_SERIES_DAYS, VERSION, migrate

__all__ = ["Note", "Observation", "ProbeCounts", "Series", "SeriesDays", "Store", "Unavailable"]

# By table, the columns that name what its numbers stand for.
NAMES = {
    "probe": "name, target",
    "series": "probe, name, unit",
    "curve": "probe, name, unit, x_unit",
}
LATEST_S = 2.0**42  # an end of all times, whose microseconds fit in 64 bits


class Store:
    """An open database; use it as a context. Raises InputError if it is damaged or of a newer
    Sesame, Unavailable if it is locked, full or gone."""

    def __init__(self, database: Path | str) -> None:
        self._shown = shown_url(str(database)) if is_url(database) else str(database)
        self._database = open_database(database)
        try:
            self._migrate()
        except BaseException:
            self._database.close()
            raise

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()

    def _migrate(self) -> None:
        version = self._database.version()
        if version > VERSION:
            raise InputError(
                f"the database has version {version}, this Sesame knows {VERSION}",
                path=self._shown,
                hint="update Sesame",
            )
        if version < VERSION:
            try:
                with self._database.transaction():
                    version = self._database.version()  # another process may have been first
                    if version < VERSION:
                        migrate(self._database, version, self._add_all)
            except NotAllowed as error:
                raise NotAllowed(
                    f"the database has version {version}, this Sesame needs {VERSION}, and this "
                    "user may only read it",
                    path=self._shown,
                    hint="bring it up to date: `sesame evaluate run` as a user that may write",
                ) from error

    def add(self, results: Iterable[Result]) -> int:
        """Stores what is not there yet, all or nothing; returns how many results that were."""
        try:
            with self._database.transaction():
                return self._add_all(results)
        except BaseException:
            self._numbers.clear()  # those that were given in the transaction are void
            raise

    def _add_all(self, results: Iterable[Result]) -> int:
        added = 0
        days: set[tuple[int, int]] = set()
        series_days: set[tuple[int, int]] = set()
        for result in results:
            probe = self._number("probe", result.probe, result.target)
            began = self._add(probe, result)
            if began is None:
                continue
            added += 1
            days.add((probe, began // DAY_US))
            figures = {(one.name, one.unit): one.value for one in result.figures}
            for (name, unit), value in figures.items():
                series = self._number("series", probe, name, unit)
                self._database.run("INSERT INTO figure VALUES (?, ?, ?)", (series, began, value))
                series_days.add((series, began // DAY_US))
            for curve in result.curves:
                number = self._number("curve", probe, curve.name, curve.unit, curve.x_unit)
                insert = "INSERT INTO points VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
                self._database.run(insert, (number, began, packed(curve)))
        self._refresh(days, series_days)
        return added

    def _add(self, probe: int, result: Result) -> int | None:
        """When it began, or None if it is there already. Two results of a probe that began in the
        same microsecond (the clock was set back) are kept one after the other."""
        began = round(1e6 * result.began)
        key = int.from_bytes(hashlib.blake2b(result.key.encode(), digest_size=8).digest()) >> 1
        outcome, release = OUTCOMES.index(result.outcome), self._release(result)
        load = (result.load.average, result.load.others) if result.load else (None, None)
        values = (key, result.took, outcome, release, *load)
        insert = "INSERT INTO result VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
        while self._database.run(insert, (probe, began, *values)) != 1:
            at = "SELECT key FROM result WHERE probe = ? AND began = ?"
            if self._database.rows(at, (probe, began)) == [(key,)]:
                return None
            began += 1
        if result.step or result.reason or result.output:
            texts = (result.step, result.reason, result.output)
            self._database.run("INSERT INTO detail VALUES (?, ?, ?, ?, ?)", (probe, began, *texts))
        return began

    def _refresh(self, days: set[tuple[int, int]], series_days: set[tuple[int, int]]) -> None:
        """Makes the counts and sums of these days again."""
        for table, kind, statement, touched in (
            ("probe_day", "probe", ADD_PROBE_DAYS, days),
            ("series_day", "series", ADD_SERIES_DAYS, series_days),
        ):
            source = "result" if kind == "probe" else "figure"
            which = f"WHERE {source}.{kind} = ? AND {source}.began >= ? AND {source}.began < ?"
            for number, day in sorted(touched):
                delete = f"DELETE FROM {table} WHERE {kind} = ? AND day = ?"
                self._database.run(delete, (number, day))
                within = (number, day * DAY_US, (day + 1) * DAY_US)
                self._database.run(statement.format(which=which), within)

    def rebuild_days(self) -> None:
        """Makes the counts and sums of all days again from the results."""
        with self._database.transaction():
            for table, statement in (
                ("probe_day", ADD_PROBE_DAYS),
                ("series_day", ADD_SERIES_DAYS),
            ):
                self._database.run(f"DELETE FROM {table}")
                self._database.run(statement.format(which=""))

    def _release(self, result: Result) -> int:
        facts = dict(result.release)
        name = fingerprint(facts)
        if ("release", name) not in self._numbers:
            values = (name, json.dumps(facts))
            self._insert("release", "fingerprint, facts", values)
            rows = self._database.rows("SELECT id FROM release WHERE fingerprint = ?", (name,))
            self._numbers["release", name] = rows[0][0]
        return self._numbers["release", name]

    def _number(self, table: str, *names: Any) -> int:
        """The number of a probe, a series or a curve, a new one if there is none."""
        if (table, *names) not in self._numbers:
            columns = NAMES[table]
            which = " AND ".join(f"{column} = ?" for column in columns.split(", "))
            find = f"SELECT id FROM {table} WHERE {which}"
            if not self._database.rows(find, names):
                self._insert(table, columns, names)
            self._numbers[(table, *names)] = self._database.rows(find, names)[0][0]
        return self._numbers[(table, *names)]

    def _insert(self, table: str, columns: str, values: Sequence[Any]) -> None:
        marks = ", ".join("?" * len(values))
        statement = f"INSERT INTO {table} ({columns}) VALUES ({marks}) ON CONFLICT DO NOTHING"
        self._database.run(statement, values)

    @cached_property
    def _numbers(self) -> dict[tuple[Any, ...], int]:
        """The numbers of releases, probes, series and curves that were looked up."""
        return {}

    # What follows reads.

    def probe(self, name: str, target: str) -> int | None:
        """The number of a probe that has results."""
        if ("probe", name, target) not in self._numbers:
            for number, *names in self._database.rows("SELECT id, name, target FROM probe"):
                self._numbers["probe", *names] = number
        return self._numbers.get(("probe", name, target))

    def probes(self) -> list[tuple[str, str]]:
        """(name, target) of those that have results."""
        return [(one[0], one[1]) for one in self._database.rows("SELECT name, target FROM probe")]

    def results(
        self, probe: str, target: str, begin: float, end: float, most: int | None = None
    ) -> list[Result]:
        """Those of [begin, end) in order, at most the last `most`; without their curves. `release`
        has the fingerprint only."""
        number = self.probe(probe, target)
        within = (number, *bounds(begin, end))
        rows = self._database.rows(
            "SELECT result.began, key, took, outcome, step, reason, output, fingerprint, "
            "average, others FROM result JOIN release ON release.id = result.release "
            "LEFT JOIN detail ON detail.probe = result.probe AND detail.began = result.began "
            "WHERE result.probe = ? AND result.began >= ? AND result.began < ? "
            f"ORDER BY result.began DESC {f'LIMIT {most}' if most else ''}",
            within,
        )
        if not rows:
            return []
        figures: dict[int, list[Figure]] = {}
        for began, *values in self._database.rows(
            "SELECT began, name, value, unit FROM series JOIN figure ON figure.series = series.id "
            "WHERE probe = ? AND began >= ? AND began <= ?",
            (number, rows[-1][0], rows[0][0]),
        ):
            figures.setdefault(began, []).append(Figure(*values))
        return [
            Result(
                f"{key:016x}",
                probe,
                target,
                began / 1e6,
                took,
                OUTCOMES[outcome],
                step or "",
                reason or "",
                output or "",
                figures=tuple(figures.get(began, ())),
                release={"fingerprint": release},
                load=None if load[0] is None else Load(*load),
            )
            for began, key, took, outcome, step, reason, output, release, *load in reversed(rows)
        ]

    def last(self, probe: str, target: str, before: float = math.inf) -> Result | None:
        """The latest result of a probe, of those that began before a time: results of the future,
        before the clock was set back, are left out so."""
        limit = round(1e6 * min(before, LATEST_S))
        find = "SELECT MAX(began) FROM result WHERE probe = ? AND began < ?"
        began = self._database.rows(find, (self.probe(probe, target), limit))[0][0]
        if began is None:
            return None
        return self.results(probe, target, began / 1e6, (began + 1) / 1e6 + 1e-6)[-1]

    def first(self) -> float | None:
        """When the first result began."""
        day = self._database.rows("SELECT MIN(earliest) FROM probe_day")[0][0]
        return None if day is None else float(day) / 1e6

    def all_passed_since(self, probes: Sequence[tuple[str, str]]) -> float:
        """The begin of the last day since which each (probe, target) with results passed, or began.
        Infinite if none has results."""
        last = "SELECT day FROM probe_day WHERE probe = ? AND passed > 0 ORDER BY day DESC LIMIT 1"
        first = "SELECT MIN(day) FROM probe_day WHERE probe = ?"
        numbers = [(self.probe(*one),) for one in probes]
        passed, began = (self._database.rows_of_each(one, numbers) for one in (last, first))
        days = [(one or other)[0][0] for one, other in zip(passed, began, strict=True)]
        return DAY * min((day for day in days if day is not None), default=math.inf)

    def observations(
        self,
        probe: str,
        target: str,
        begin: float,
        end: float,
        longest_gap: float,
        reboots: Iterable[float] = (),
    ) -> list[Observation]:
        """The results of [begin, end) in order, with the last before and the first after. Of
        stretches of days on which all passed, without a reboot and a gap longer than
        `longest_gap`, the first and the last: what happened between them is known."""
        number = self.probe(probe, target)
        low, high = self._around(number, *bounds(begin, end))
        booted = {int(1e6 * at) // DAY_US for at in reboots}
        longest = round(1e6 * longest_gap)
        found: list[Observation] = []
        others: list[tuple[int, int]] = []
        for first, last, is_plain in self._stretches(number, (low, high), longest, booted):
            if not is_plain:
                others.append((first, last))
                continue
            found.append(Observation(probe, first / 1e6, Outcome.PASS))
            if last > first:
                found.append(Observation(probe, last / 1e6, Outcome.PASS, is_joined=True))
        found += self._read(probe, number, others)
        return sorted(found, key=lambda one: one.began)

    def _stretches(
        self, probe: int | None, period: tuple[int, int], longest_gap: int, booted: Set[int]
    ) -> list[tuple[int, int, bool]]:
        """(begin, end, is plain) of stretches of days, in order. Plain ones begin and end with
        their first and last result, which say all."""
        low, high = period
        found: list[tuple[int, int, bool]] = []
        for day, first, last, gap, bad in self._database.rows(
            "SELECT day, MIN(earliest), MAX(latest), MAX(longest_gap), SUM(failed + unobserved) "
            "FROM probe_day WHERE probe = ? AND day >= ? AND day < ? GROUP BY day ORDER BY day",
            (probe, low // DAY_US, -(-high // DAY_US)),
        ):
            is_whole = low <= first and last < high
            is_plain = is_whole and bad == 0 and gap <= longest_gap and day not in booted
            begin, end = max(day * DAY_US, low), min((day + 1) * DAY_US, high)
            if is_plain:
                begin, end = first, last
            is_joined = found and found[-1][2] is is_plain
            if is_joined and is_plain:
                last_day = found[-1][1] // DAY_US
                is_joined = begin - found[-1][1] <= longest_gap and booted.isdisjoint(
                    range(last_day + 1, day)
                )
            if is_joined:
                begin = found.pop()[0]
            found.append((begin, end, is_plain))
        return found

    def _around(self, probe: int | None, low: int, high: int) -> tuple[int, int]:
        """[low, high) with the last result before and the first after."""
        before = "SELECT MAX(began) FROM result WHERE probe = ? AND began < ?"
        after = "SELECT MIN(began) FROM result WHERE probe = ? AND began >= ?"
        found = self._database.rows(before, (probe, low))[0][0]
        last = self._database.rows(after, (probe, high))[0][0]
        return low if found is None else found, high if last is None else last + 1

    def _read(
        self, probe: str, number: int | None, spans: Sequence[tuple[int, int]]
    ) -> list[Observation]:
        """The results of each [low, high)."""
        found = self._database.rows_of_each(
            "SELECT result.began, outcome, step, reason, average, others FROM result "
            "LEFT JOIN detail ON detail.probe = result.probe AND detail.began = result.began "
            "WHERE result.probe = ? AND result.began >= ? AND result.began < ? ORDER BY 1",
            [(number, *span) for span in spans],
        )
        return [one for rows in found for one in observations(probe, rows)]

    def around_failures(
        self, probes: Sequence[tuple[str, str]], begin: float, end: float
    ) -> list[list[Observation]]:
        """For each (probe, target), the results of the days of [begin, end) on which it failed,
        with the last pass before such days and the first after."""
        low, high = bounds(begin, end)
        days: dict[int, list[int]] = {}
        for number, day in self._database.rows(
            "SELECT DISTINCT probe, day FROM probe_day WHERE failed > 0 AND day >= ? AND day < ? "
            "ORDER BY probe, day",
            (low // DAY_US, -(-high // DAY_US)),
        ):
            days.setdefault(number, []).append(day)
        found = []
        for probe, target in probes:
            number = self.probe(probe, target)
            spans = joined(days.get(number or 0, []))
            found.append(self._read(probe, number, self._with_passes(number, spans)))
        return found

    def ran_on(
        self, probe: str, target: str, begin: float, end: float
    ) -> list[tuple[float, float, float]]:
        """For each day of [begin, end) with results, when the first and the last began, and the
        longest time between two, in seconds."""
        low, high = bounds(begin, end)
        rows = self._database.rows(
            "SELECT MIN(earliest), MAX(latest), MAX(longest_gap) FROM probe_day "
            "WHERE probe = ? AND day >= ? AND day < ? GROUP BY day ORDER BY day",
            (self.probe(probe, target), low // DAY_US, -(-high // DAY_US)),
        )
        return [(first / 1e6, last / 1e6, gap / 1e6) for first, last, gap in rows]

    def times(self, probe: str, target: str, begin: float, end: float) -> list[float]:
        """When the runs of a probe began that began in [begin, end), in order."""
        rows = self._database.rows(
            "SELECT began FROM result WHERE probe = ? AND began >= ? AND began < ? ORDER BY began",
            (self.probe(probe, target), *bounds(begin, end)),
        )
        return [began / 1e6 for (began,) in rows]

    def runs_in(self, windows: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
        """When the runs of all probes began that began in one of several [begin, end), in order,
        and how long they took."""
        probes = self._database.rows("SELECT id FROM probe")
        rows = self._database.rows_of_each(
            "SELECT began, took FROM result WHERE probe = ? AND began >= ? AND began < ?",
            [(number, *bounds(*window)) for (number,) in probes for window in windows],
        )
        return sorted((began / 1e6, took) for each in rows for began, took in each)

    def _with_passes(
        self, number: int | None, spans: Sequence[tuple[int, int]]
    ) -> list[tuple[int, int]]:
        """Each [begin, end), from the last pass before to the first after; those that touch are
        one."""
        first = "SELECT MAX(began) FROM result WHERE probe = ? AND began < ? AND outcome = 0"
        last = "SELECT MIN(began) FROM result WHERE probe = ? AND began >= ? AND outcome = 0"
        before = self._database.rows_of_each(first, [(number, begin) for begin, _ in spans])
        after = self._database.rows_of_each(last, [(number, end) for _, end in spans])
        found: list[tuple[int, int]] = []
        for (begin, end), low, high in zip(spans, before, after, strict=True):
            begin = begin if low[0][0] is None else low[0][0]
            end = end if high[0][0] is None else high[0][0] + 1
            if found and begin < found[-1][1]:
                begin = found.pop()[0]
            found.append((begin, end))
        return found

    def probe_counts(
        self, probes: Sequence[tuple[str, str]], periods: Sequence[tuple[int, int]]
    ) -> list[list[ProbeCounts]]:
        """For each (probe, target), the sums of the days [first, last) of each period, in the order
        in which releases and periods appear. Each period begins where the one before ends."""
        if not periods:
            return [[] for _ in probes]
        found = self._database.rows_of_each(
            f"SELECT {place_of(periods)} AS place, fingerprint, SUM(passed), SUM(failed), "
            "SUM(unobserved), MIN(day), MAX(day), MAX(CASE WHEN passed + failed > 0 THEN day END), "
            "MAX(latest) FROM probe_day JOIN release ON release.id = probe_day.release "
            "WHERE probe = ? AND day >= ? AND day < ? "
            "GROUP BY place, fingerprint ORDER BY MIN(earliest)",
            [(self.probe(*one), periods[0][0], periods[-1][1]) for one in probes],
        )
        return [[ProbeCounts._make((*row[:-1], row[-1] / 1e6)) for row in rows] for rows in found]

    def last_observed(self, days: Sequence[tuple[str, str, str, int]]) -> list[Observation | None]:
        """For each (probe, target, release, day), the last result that passed or failed."""
        unobserved = OUTCOMES.index(Outcome.NOT_OBSERVED)
        found = self._database.rows_of_each(
            "SELECT result.began, outcome, step, reason, average, others FROM result "
            "JOIN release ON release.id = result.release LEFT JOIN detail "
            "ON detail.probe = result.probe AND detail.began = result.began "
            "WHERE result.probe = ? AND result.began >= ? AND result.began < ? "
            "AND fingerprint = ? AND outcome <> ? ORDER BY result.began DESC LIMIT 1",
            [
                (self.probe(probe, target), day * DAY_US, (day + 1) * DAY_US, release, unobserved)
                for probe, target, release, day in days
            ],
        )
        return [
            observations(probe, rows)[0] if rows else None
            for (probe, *_), rows in zip(days, found, strict=True)
        ]

    def series(self) -> list[Series]:
        rows = self._database.rows(
            "SELECT series.id, probe.name, target, series.name, unit FROM series "
            "JOIN probe ON probe.id = series.probe ORDER BY series.id"
        )
        return [Series(*row) for row in rows]

    def series_days(self, series: Sequence[int], begin: int, end: int) -> list[SeriesDays]:
        """The figures of the days [begin, end) of each series."""
        found = self._database.rows_of_each(
            "SELECT day, fingerprint, runs, total, least, most FROM series_day "
            "JOIN release ON release.id = release WHERE series = ? AND day >= ? AND day < ? "
            "ORDER BY day, release",
            [(number, begin, end) for number in series],
        )
        return [SeriesDays(*zip(*rows, strict=True)) for rows in found]

    def figures(
        self, series: Sequence[int], begin: float, end: float
    ) -> list[tuple[list[float], list[float]]]:
        """Of each series, when its runs began, in order, and their values."""
        each = self._database.rows_of_each(
            "SELECT began, value FROM figure WHERE series = ? AND began >= ? AND began < ? "
            "ORDER BY began",
            [(number, *bounds(begin, end)) for number in series],
        )
        return [([began / 1e6 for began, _ in rows], [value for _, value in rows]) for rows in each]

    def curves(self) -> list[CurveName]:
        rows = self._database.rows(
            "SELECT curve.id, probe.name, target, curve.name, unit, x_unit FROM curve "
            "JOIN probe ON probe.id = curve.probe ORDER BY curve.id"
        )
        return [CurveName(*row) for row in rows]

    def points(
        self, curves: Sequence[tuple[int, str]], begin: float, end: float, most: int
    ) -> list[list[tuple[Floats, Floats]]]:
        """For each (curve, fingerprint of a release), the x and y of the last runs of [begin, end)
        under it, at most `most`, the latest first."""
        found = self._database.rows_of_each(
            "SELECT packed FROM points JOIN curve ON curve.id = points.curve "
            "JOIN result ON result.probe = curve.probe AND result.began = points.began "
            "JOIN release ON release.id = result.release "
            "WHERE points.curve = ? AND fingerprint = ? AND points.began >= ? "
            f"AND points.began < ? ORDER BY points.began DESC LIMIT {most}",
            [(*one, *bounds(begin, end)) for one in curves],
        )
        return [[unpacked(data) for (data,) in rows] for rows in found]

    def releases_at(self, times: Sequence[tuple[int, float]]) -> list[str]:
        """The fingerprints under which figures of series were measured at times."""
        found = self._database.rows_of_each(
            "SELECT fingerprint FROM series JOIN result ON result.probe = series.probe "
            "JOIN release ON release.id = result.release WHERE series.id = ? AND result.began = ?",
            [(series, round(1e6 * began)) for series, began in times],
        )
        return [str(rows[0][0]) for rows in found]

    def loads_at(self, runs: Sequence[tuple[str, str, float]]) -> list[Load | None]:
        """Of the runs of (probe, target) that began at times; None if it is not known."""
        found = self._database.rows_of_each(
            "SELECT average, others FROM result "
            "WHERE probe = ? AND began = ? AND average IS NOT NULL",
            [(self.probe(probe, target), round(1e6 * began)) for probe, target, began in runs],
        )
        return [Load(*rows[0]) if rows else None for rows in found]

    def load_averages(
        self, series: int, begin: float, end: float, most: int, *, last: bool = False
    ) -> list[float]:
        """Of the first or the last runs of [begin, end) of the probe of a series."""
        rows = self._database.rows(
            "SELECT average FROM result WHERE probe = (SELECT probe FROM series WHERE id = ?) "
            "AND began >= ? AND began < ? AND average IS NOT NULL "
            f"ORDER BY began {'DESC' if last else 'ASC'} LIMIT {most}",
            (series, *bounds(begin, end)),
        )
        return [average for (average,) in rows]

    def releases(self) -> dict[str, dict[str, str]]:
        """The facts of each fingerprint, in the order in which they were seen first."""
        rows = self._database.rows("SELECT fingerprint, facts FROM release ORDER BY id")
        return {name: json.loads(facts) for name, facts in rows}

    def add_boot(self, boot: str, booted: float, target: str = "", node: str = "") -> None:
        """Keeps the first time that was seen for a boot; the clock may be set later. An empty
        target means the machine that probes."""
        self._insert(
            "boot", "target, node, boot, booted", (target, node, boot, round(1e6 * booted))
        )

    def boots(self, target: str = "", *, is_here: bool = True) -> list[float]:
        """When a target's nodes booted again, in order. The first known boot of each node was
        before its first result. A target that `is_here` has the boots of the machine that probes.
        What is known twice of a boot counts once: by its id, and by its time if it is of wtmp."""
        rows = self._database.rows(
            "SELECT booted, boot, target, node FROM boot WHERE target IN (?, ?) ORDER BY booted",
            (target, "" if is_here else target),
        )
        known = [booted for booted, boot, *_ in rows if not boot.startswith(WTMP)]
        near = 1e6 * SAME_BOOT_S
        seen: set[tuple[str, str]] = set()
        found: dict[str, float] = {}
        for booted, boot, *where in rows:
            if boot.startswith(WTMP) and any(abs(booted - one) < near for one in known):
                continue
            if tuple(where) in seen:
                found.setdefault(boot, booted / 1e6)
            seen.add(tuple(where))
        return list(found.values())

    def add_note(self, note: Note) -> None:
        times = (round(1e6 * note.began), round(1e6 * note.ended))
        values = (note.text, *times, int(note.planned), note.target)
        self._insert("note", "text, began, ended, planned, target", values)

    def notes(self, target: str = "") -> list[Note]:
        """Those of a target and those of all targets; without a name, all notes."""
        rows = self._database.rows(
            "SELECT text, began, ended, planned, target FROM note ORDER BY began, id"
        )
        notes = [Note(one[0], one[1] / 1e6, one[2] / 1e6, bool(one[3]), one[4]) for one in rows]
        return [one for one in notes if not target or one.target in ("", target)]
