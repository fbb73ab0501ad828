"""The cost of years of results: 5 years of 50 hourly probes and 200 half-hourly series, each series
a probe of its own: 19.7 million results.

    python bench/evaluation_store.py fill DIR      some minutes, about 3 GB
    python bench/evaluation_store.py report DIR    times a report of all, and of one month

`fill DIR --database postgresql://USER@HOST/NAME` fills an empty database of PostgreSQL in place of
a file in DIR, and has it vacuum its tables, which a server does by itself some time after.

Probes fail in outages of some hours, 12 a year; one of 50 probes is off for two days a year; every
tenth series becomes 3 % slower once. Results are inserted row by row, and the sums of days are then
made by `rebuild_days`, which gives the same as insertion by `Store.add` (a test).
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from sesame.evaluation.database import Database, Postgres
from sesame.evaluation.periods import moment
from sesame.evaluation.probing import Outcome, Result
from sesame.evaluation.site import Site, read_site
from sesame.evaluation.store import Store
from sesame.evaluation.summary import summarize

HOUR = 3600.0
HOURLY, SERIES, YEARS = 50, 200, 5
BEGIN = moment("2021-01", "")
END = moment("2025-12", "", is_end=True)
RELEASES = 12
GIB = 1 << 30
STEP = '[[probe.{}.step]]\ncommand = ["true"]\ntimeout = "1min"\n'
Rows = Iterator[tuple[Any, ...]]


def site_text(database: str | None) -> str:
    parts = [f'database = "{database}"\n' if database else "", "[target.here]\n"]
    for number in range(HOURLY):
        name = f"probe{number}"
        parts.append(f'[target.node{number}]\n[probe.{name}]\ntarget = "node{number}"\n')
        parts.append(f'interval = "1h"\navailability = true\n{STEP.format(name)}')
    for number in range(SERIES):
        name = f"series{number}"
        parts.append(f'[probe.{name}]\ntarget = "here"\ninterval = "30min"\n{STEP.format(name)}')
        parts.append("numbers = [{ name = 'time', pattern = '(.*)', unit = 's' }]\n")
    return "".join(parts)


def fill(directory: Path, url: str | None) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / "site.toml"
    path.write_text(site_text(url))
    site = read_site(path)
    rng = np.random.default_rng(1)
    with Store(site.database) as store:
        _first_results(site, store)
        database = store._database
        with database.transaction():
            for number in range(1, HOURLY + SERIES + 1):
                is_series = number > HOURLY
                times = np.arange(BEGIN + 60 + number, END, HOUR / 2 if is_series else HOUR)
                rows = _results(rng, number, times, is_series)
                _insert(database, "result", 8, rows)
                if is_series:
                    figures = _figures(rng, number - HOURLY, times)
                    _insert(database, "figure", 3, figures)
            database.run(
                "INSERT INTO detail SELECT probe, began, 'run', 'exit status 1', '' FROM result "
                "WHERE outcome = 1"
            )
        store.rebuild_days()
        if isinstance(database, Postgres):
            database.run("VACUUM ANALYZE")


def _insert(database: Database, table: str, columns: int, rows: Rows) -> None:
    if not isinstance(database, Postgres):
        marks = ", ".join("?" * columns)
        database.run_many(f"INSERT INTO {table} VALUES ({marks})", rows)
        return
    with database._connection.cursor() as cursor, cursor.copy(f"COPY {table} FROM STDIN") as copy:
        for row in rows:
            copy.write_row(row)


def _size(store: Store, database: Path | str) -> int:
    """Bytes, with indices."""
    if isinstance(store._database, Postgres):
        found = store._database.rows("SELECT pg_database_size(current_database())")
        return int(found[0][0])
    return Path(database).stat().st_size


def _first_results(site: Site, store: Store) -> None:
    """Makes the numbers of probes, series and releases; removes the results again."""
    from sesame.evaluation.probing import Figure

    results = []
    for number, probe in enumerate(site.probes.values()):
        figures = (Figure("time", 1.0, "s"),) if probe.name.startswith("series") else ()
        release = {"kernel": f"6.{number % RELEASES}"}
        name = probe.target.name
        results.append(
            Result(
                probe.name, probe.name, name, BEGIN, 1, Outcome.PASS, "", "", "", figures, release
            )
        )
    store.add(results)
    for table in ("result", "figure", "probe_day", "series_day"):
        store._database.run(f"DELETE FROM {table}")


def _results(rng: np.random.Generator, probe: int, times: Any, is_series: bool) -> Rows:
    outcomes = np.zeros(len(times), int)
    if not is_series:
        for at in rng.integers(0, len(times), 12 * YEARS):
            outcomes[at : at + rng.integers(1, 8)] = 1
        if probe == HOURLY:
            for at in rng.integers(0, len(times), YEARS):
                outcomes[at : at + 48] = 2
    releases = 1 + ((times - BEGIN) / (END - BEGIN) * RELEASES).astype(int)
    keys = rng.integers(0, 1 << 62, len(times))
    began = (1e6 * times).astype(np.int64)
    columns = (began, keys, outcomes, releases)
    for at, key, outcome, release in zip(*(one.tolist() for one in columns), strict=True):
        yield probe, at, key, 1.25, outcome, release, 0.5, 0.1


def _figures(rng: np.random.Generator, series: int, times: Any) -> Rows:
    values = rng.normal(10, 0.1, len(times))
    if series % 10 == 0:
        values[len(times) // 3 :] *= 1.03
    began = (1e6 * times).astype(np.int64)
    for at, value in zip(began.tolist(), values.tolist(), strict=True):
        yield series, at, value


def report(directory: Path) -> None:
    site = read_site(directory / "site.toml")
    with Store(site.database) as store:
        size = _size(store, site.database)
        results = store._database.rows("SELECT SUM(passed + failed + unobserved) FROM probe_day")
    print(f"results: {results[0][0]:,} in {size / GIB:.2f} GiB")
    periods = {"5 years": (BEGIN, END), "one month": (moment("2025-06", ""), moment("2025-07", ""))}
    for name, period in periods.items():
        for _ in range(2):
            begin, used = time.perf_counter(), time.process_time()
            with Store(site.database) as store:
                found = summarize(site, store, *period)
            took, busy = time.perf_counter() - begin, time.process_time() - used
            print(f"report of {name}: {took:.2f} s, {busy:.2f} s of processor time")
        sure = [one for each in found.series for one in each.changes if one.change.is_confirmed]
        print(f"  {len(found.targets)} targets, {len(found.series)} series, {len(sure)} changes")
        for line in found.findings[:3] + found.findings[-2:]:
            print(f"  {line}")
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"most memory: {most:.0f} MiB")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("action", choices=("fill", "report"))
    parser.add_argument("directory", type=Path)
    parser.add_argument("--database", metavar="URL", help="to fill, in place of a file in DIR")
    options = parser.parse_args()
    if options.action == "fill":
        fill(options.directory, options.database)
    else:
        report(options.directory)


if __name__ == "__main__":
    main()
