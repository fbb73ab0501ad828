"""Results do not depend on the order in which the simulator runs ranks (decision 0015)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

COMPUTE = ("--compute", "none", "--placement", "cyclic")
# What the simulation cost on this machine, and what differs by name.
OF_THE_HOST = {"wall_time_s", "startup_s", "messages_per_second", "peak_rss_bytes"}

Contents = dict[str, object]


def contents(directory: Path) -> Contents:
    """All tables of a data set, and the result without what belongs to this machine."""
    found: Contents = {
        path.name: pq.read_table(path).to_pydict() for path in sorted(directory.glob("*.parquet"))
    }
    info = json.loads((directory / "info.json").read_text())
    found["result"] = {k: v for k, v in info["result"].items() if k not in OF_THE_HOST}
    return found


def differences(a: Contents, b: Contents) -> list[str]:
    """Which tables and columns differ, and where first."""
    found = [f"only one has {name}" for name in sorted(a.keys() ^ b.keys())]
    for name in sorted(a.keys() & b.keys()):
        ours, theirs = a[name], b[name]
        assert isinstance(ours, dict) and isinstance(theirs, dict)
        found += [f"{name}: {k}: {ours[k]}" for k in ours if ours[k] != theirs.get(k)][:3]
    return [text[:400] for text in found]


def assert_same_whatever_the_order(
    simulate: Callable, directory: Path, shuffles: int, *arguments: object
) -> None:
    runs = []
    for number in range(shuffles + 1):
        output = directory / str(number)
        shuffle = () if number == 0 else ("--shuffle", number)
        done = simulate(*COMPUTE, "-o", output, *shuffle, *arguments)
        assert done.status == 0, done.stdout + done.stderr
        runs.append(contents(output))
    assert len(runs[0]) > 3
    for other in runs[1:]:
        assert differences(runs[0], other) == []


@pytest.mark.parametrize("seed", range(1, 7))
def test_random_programs_give_the_same_data_in_any_order(seed, compiled, simulate, tmp_path):
    program = compiled("tests/programs/model/schedule.c")
    machine = ("--machine", ("infiniband", "ethernet", "sp2")[seed % 3], "-n", 2 + seed)
    command = (*machine, "--", program, seed, 40, *(["shared"] if seed % 2 else []))
    assert_same_whatever_the_order(simulate, tmp_path, 2, *command)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(7, 107))
def test_a_hundred_random_programs(seed, compiled, simulate, tmp_path):
    test_random_programs_give_the_same_data_in_any_order(seed, compiled, simulate, tmp_path)


def seconds(done) -> list[float]:
    assert done.status == 0, done.stdout + done.stderr
    return [float(text) for text in re.findall(r"(\d+\.\d{12}) s", done.stdout)]


@pytest.mark.parametrize("ranks", [3, 8])
def test_a_renumbered_program_takes_the_same_time(ranks, compiled, simulate):
    """Large sends under way while the sender works and sends on, in either direction."""
    program = compiled("tests/programs/model/mirror.c")
    machine = (*COMPUTE, "--machine", "infiniband", "-n", ranks)
    up, down = (seconds(simulate(*machine, "--", program, way)) for way in ("up", "down"))
    assert len(up) == ranks
    assert up == down[::-1]
    # (3): the data does not wait for what its sender sends 10 ms later.
    assert all(0 <= time < 1e-3 for time in up)


OPERATIONS = ["isend", "iallreduce", "ibcast", "ialltoall", "put", "iwrite"]


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_non_blocking_operation_behind_work_costs_its_overheads(operation, compiled, simulate):
    """Whatever is sent meanwhile; nothing is shared."""
    program = compiled("tests/programs/model/overlap.c")
    machine = (*COMPUTE, "--machine", "infiniband", "-n", 4)
    for sends in (0, 1, 5):
        (wait,) = seconds(simulate(*machine, "--", program, operation, sends))
        assert wait < 5e-6, f"{sends} messages meanwhile"
