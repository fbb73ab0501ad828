"""The time of searches over 10,000 data sets and 100,000 messages.

    python bench/repository_search.py fill DIR     a minute or two, 0.3 GB
    python bench/repository_search.py time DIR     400 searches; prints 50 %, 95 % and the largest

`--database postgresql+psycopg://USER@HOST/NAME` uses an empty database of PostgreSQL in place of a
file in DIR. Asked (issue 21): 95 % under 100 ms.

Texts have 20,000 words, whose frequency falls with their rank as in natural language (Zipf). Words
of searches have ranks that are uniform in the logarithm: from words of nearly every text to words
of a few. A fifth of the data sets is private. Each search is the whole of what the page and the API
do: parsing, looking for changes, counting, ranking and excerpts.
"""

from __future__ import annotations

import argparse
import itertools
import random
import time
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import insert, text

from sesame.repository.search.pages import search
from sesame.repository.store import Reader, Repository, schema
from sesame.repository.store.files import FileStore
from sesame.repository.store.search_tables import (
    search_entry,
    search_number,
    search_pending,
    search_record,
)

DATA_SETS, MESSAGES, SEARCHES = 10_000, 100_000, 400
WORDS = [f"{'bcdfghjklmnp'[i % 12]}{i:x}word" for i in range(20_000)]
CUMULATIVE = list(itertools.accumulate(1 / (rank + 1) for rank in range(len(WORDS))))
SYSTEMS = ("lumi", "frontier", "mahti", "jupiter", "local cluster")
PROGRAMS = ("lu", "bt", "ior", "osu_allreduce", "gromacs")
ROWS = 2_000


def opened(directory: Path, database: str | None) -> Repository:
    if database is None:
        return Repository.in_directory(directory)
    return Repository(database, FileStore(str(directory)), directory / "cache")


def words(chance: random.Random, count: int) -> str:
    return " ".join(chance.choices(WORDS, cum_weights=CUMULATIVE, k=count))


def data_set(chance: random.Random, number: int, owner: int) -> dict[str, Any]:
    return {
        "id": f"{number:08d}",
        "library": "data",
        "owner": owner,
        "title": words(chance, 6),
        "description": "",
        "licence": "",
        "visibility": "private" if chance.random() < 0.2 else "public",
        "state": "accepted",
        "created": schema.now(),
    }


def entry(chance: random.Random, number: int, thing: str, is_message: bool) -> dict[str, Any]:
    month = f"20{chance.randint(20, 26)}-{chance.randint(1, 12):02d}"
    return {
        "id": number,
        "kind": "message" if is_message else "data",
        "item": f"m{number}" if is_message else thing,
        "thing": thing,
        "several": False,
        "address": f"/d/{thing}",
        "title": words(chance, 6),
        "body": words(chance, 40 if is_message else 120),
        "system": "" if is_message else chance.choice(SYSTEMS),
        "instrument": "" if is_message else chance.choice(("sesame trace 0.1", "Darshan 3.4")),
        "program": "" if is_message else chance.choice(PROGRAMS),
        "person": f"person{chance.randint(1, 200)}",
        "started": "" if is_message else f"{month}-15T10:00:00",
        "changed": schema.now(),
    }


def fill(repository: Repository) -> None:
    chance = random.Random(1)
    with repository.connection() as connection:
        account = insert(schema.account).values(name="filler", role="contributor")
        owner = connection.execute(account).inserted_primary_key[0]
    for first in range(0, DATA_SETS + MESSAGES, ROWS):
        numbers = range(first + 1, first + ROWS + 1)
        is_message = first >= DATA_SETS
        with repository.connection() as connection:
            if not is_message:
                things = [data_set(chance, number, owner) for number in numbers]
                connection.execute(insert(schema.thing), things)
            of = (chance.randint(1, DATA_SETS) if is_message else number for number in numbers)
            rows = [
                entry(chance, number, f"{thing:08d}", is_message)
                for number, thing in zip(numbers, of, strict=True)
            ]
            connection.execute(insert(search_entry), rows)
            if not is_message:
                connection.execute(insert(search_number), list(figures(chance, numbers)))
                connection.execute(insert(search_record), list(records(chance, numbers)))
            connection.execute(search_pending.delete())
    with repository.engine.connect() as connection:
        connection.execution_options(isolation_level="AUTOCOMMIT").execute(text("ANALYZE"))


def figures(chance: random.Random, numbers: range) -> Any:
    for number in numbers:
        yield {"entry": number, "name": "ranks", "value": 2.0 ** chance.randint(0, 14)}
        for each in range(20):
            yield {"entry": number, "name": f"figure_{each}", "value": chance.random()}


def records(chance: random.Random, numbers: range) -> Any:
    for number in numbers:
        for name in chance.sample(("io", "mpi", "process", "file", "kernel_summary"), 3):
            for of in ("", "rank", "begin_ns", "duration_ns", f"{name}_bytes"):
                yield {"entry": number, "name": name, "field": of}


def searches() -> list[tuple[str, str]]:
    """Kind and text of each."""
    chance = random.Random(2)

    def word() -> str:
        return WORDS[int(len(WORDS) ** chance.random()) - 1]

    kinds = {
        "one word": word,
        "two words": lambda: f"{word()} {word()}",
        "three words": lambda: f"{word()} {word()} {word()}",
        "word and system": lambda: f"{word()} system:{chance.choice(SYSTEMS[:4])}",
        "word and library": lambda: f"{word()} in:{chance.choice(('data', 'message'))}",
        "figure": lambda: f"ranks>{2 ** chance.randint(2, 13)} figure_3<{chance.random():.3f}",
        "figure and word": lambda: f"ranks>{2 ** chance.randint(2, 13)} {word()}",
        "record and date": lambda: (
            f"record:io.io_bytes date:20{chance.randint(20, 26)}-0{chance.randint(1, 9)}"
        ),
        "person": lambda: f"person:person{chance.randint(1, 200)} {word()}",
        "begin of a word": lambda: f"{word()[:4]}*",
    }
    return [(kind, make()) for _ in range(SEARCHES // len(kinds)) for kind, make in kinds.items()]


def measure(repository: Repository) -> None:
    reader = Reader(10**6, "outsider")
    search(repository, reader, "first")
    times: dict[str, list[float]] = {}
    slowest = (0.0, "")
    for kind, said in searches():
        begin = time.perf_counter()
        search(repository, reader, said)
        taken = 1e3 * (time.perf_counter() - begin)
        times.setdefault(kind, []).append(taken)
        slowest = max(slowest, (taken, said))
    times["all"] = [one for each in times.values() for one in each]
    for kind, found in times.items():
        middle, most = np.percentile(found, [50, 95])
        print(f"{kind:>20}: 50 % {middle:6.1f} ms, 95 % {most:6.1f} ms, most {max(found):6.1f} ms")
    print(f"slowest: {slowest[1]!r}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["fill", "time"])
    parser.add_argument("directory", type=Path)
    parser.add_argument("--database")
    given = parser.parse_args()
    repository = opened(given.directory, given.database)
    (fill if given.what == "fill" else measure)(repository)
    repository.close()


if __name__ == "__main__":
    main()
