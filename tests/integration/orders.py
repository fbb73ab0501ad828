"""Runs that differ only in the order of execution (`--shuffle`), and what differs between them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq

# What the simulation cost on this machine.
OF_THE_HOST = {"wall_time_s", "startup_s", "messages_per_second", "peak_rss_bytes", "parallel"}


def result(directory: Path) -> dict[str, object]:
    """The result, predicted time included, without what belongs to this machine."""
    found = json.loads((directory / "info.json").read_text())["result"]
    return {name: value for name, value in found.items() if name not in OF_THE_HOST}


def table_differences(a: Path, b: Path) -> list[str]:
    """Which columns of a table differ, and where first."""
    ours, theirs = pq.read_table(a), pq.read_table(b)
    found = []
    if ours.num_rows != theirs.num_rows:
        found.append(f"{a.name}: {ours.num_rows} rows, {theirs.num_rows} rows")
    for name in ours.column_names:
        pairs = zip(ours[name].to_pylist(), theirs[name].to_pylist(), strict=False)
        first = next(((row, *pair) for row, pair in enumerate(pairs) if pair[0] != pair[1]), None)
        if first is not None:
            found.append(f"{a.name}: {name}: row {first[0]}: {first[1]}, {first[2]}")
    return found or [f"{a.name}: equal values, other bytes"]


def differences(a: Path, b: Path) -> list[str]:
    """What differs between two data sets: tables byte by byte, then the result."""
    tables, others = ({path.name for path in run.glob("*.parquet")} for run in (a, b))
    assert len(tables) > 3
    found = [f"only one run has {name}" for name in sorted(tables ^ others)]
    for name in sorted(tables & others):
        if (a / name).read_bytes() != (b / name).read_bytes():
            found += table_differences(a / name, b / name)
    ours, theirs = result(a), result(b)
    if ours != theirs:
        names = sorted(ours.keys() | theirs.keys())
        found += [
            f"{name}: {ours.get(name)}, {theirs.get(name)}"
            for name in names
            if ours.get(name) != theirs.get(name)
        ]
    return [text[:400] for text in found]


# The ends of tests/programs/model/endings.c.
ENDS = ("deadlock", "locks", "abort", "crash", "exit")


def assert_ends_as_with_one_process(
    simulate: Callable, workers: tuple[object, ...], *arguments: object
) -> None:
    """`sesame simulate ARGUMENTS` fails, with the same status and words with these options."""
    options = ("-n", 6, "--machine", "infiniband", "--json")
    alone = simulate(*options, *arguments)
    several = simulate(*options, *workers, *arguments)
    assert alone.status != 0
    assert several.status == alone.status

    def messages(text: str) -> list[str]:  # without addresses, which differ
        return [line.split(" at ")[0] for line in text.splitlines()]

    assert messages(several.stderr) == messages(alone.stderr)
    if alone.stdout:
        names = ("outcome", "outcome_text", "exit_status")
        assert [several.json[n] for n in names] == [alone.json[n] for n in names]


def assert_same_in_any_order(
    simulate: Callable, directory: Path, shuffles: int, *arguments: object, inputs: int = 0
) -> None:
    """Runs `sesame simulate ARGUMENTS` in the order of the simulator and in random ones, each in
    a directory of the same name (tables hold it) with `inputs` files: the data sets are equal."""
    working = directory / "work"
    runs = []
    for number in range(shuffles + 1):
        working.mkdir()
        for i in range(inputs):
            (working / f"input{i}").write_bytes(bytes(10_000 * (i + 1)))
        run = directory / f"{number}.sesame"
        shuffle = () if number == 0 else ("--shuffle", number)
        done = simulate("-o", run, *shuffle, *arguments, cwd=working)
        assert done.status == 0, done.stderr[:2000]
        shutil.rmtree(working)
        runs.append(run)
    found = {number: differences(runs[0], run) for number, run in enumerate(runs[1:], 1)}
    assert not any(found.values()), found
