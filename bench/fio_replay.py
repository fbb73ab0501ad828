"""Replays a trace by fio, with its timing and without order between ranks, as a replayer of block
or file traces would."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from sesame.datasets import DataSet
from sesame.datasets.traced import IoFlag

ACTIONS = {"read": "read", "pread": "read", "write": "write", "pwrite": "write"}
LONGEST_S = 300
SYNCS = {"fsync": "sync", "fdatasync": "datasync"}


def fio_seconds(run: Path, directory: Path) -> float | None:
    """The time until fio's last job is done, with what came before its first call; None if there
    is no call that it can issue, as with stdio."""
    data_set = DataSet(run)
    rows = data_set.table("io").to_pylist()
    kinds = {row["index"]: row for row in data_set.table("file").to_pylist()}
    processes = data_set.table("process").to_pylist()
    begin = min(row["begin_ns"] for row in processes)
    with tempfile.TemporaryDirectory(dir=directory) as name:
        directory = Path(name)
        ranks = sorted({row["rank"] for row in rows})
        jobs = [job for rank in ranks if (job := _job(directory, rank, rows, kinds, begin))]
        if not jobs:
            return None
        (directory / "jobs.fio").write_text("\n".join(text for _, text in jobs))
        command = ["fio", "--output-format=json", str(directory / "jobs.fio")]
        done = subprocess.run(
            command, check=True, capture_output=True, text=True, cwd=directory, timeout=LONGEST_S
        )
    found = json.loads(done.stdout[done.stdout.index("{") :])["jobs"]
    last = max(row["end_ns"] for row in processes) - begin
    ends = [row["begin_ns"] + row["duration_ns"] - begin for row in rows if _action(row, kinds)]
    heads = [head for head, _ in jobs]
    run_times = [head + 1e-3 * job["job_runtime"] for head, job in zip(heads, found, strict=True)]
    return max(run_times) + 1e-9 * (last - max(ends))


def _action(row: dict[str, Any], kinds: dict[int, Any]) -> str | None:
    regular = row["file"] >= 0 and kinds[row["file"]]["kind"] == "regular"
    outer = "MPI_File" not in row["call"] and row["error"] == 0
    if not regular or not outer or row["flags"] & IoFlag.IMPLIED:
        return None
    if row["call"] in SYNCS:
        return SYNCS[row["call"]]
    return ACTIONS.get(row["call"]) if row["bytes"] > 0 and row["offset"] >= 0 else None


def _job(
    directory: Path, rank: int, rows: list[dict[str, Any]], kinds: dict[int, Any], begin: int
) -> tuple[float, str] | None:
    ours = [row for row in rows if row["rank"] == rank]
    mine = [(row, action) for row in ours if (action := _action(row, kinds))]
    if not mine:
        return None
    lines = ["fio version 3 iolog"]
    names: dict[int, str] = {}
    for row, action in mine:
        # The format's times are microseconds in fio 3.33; the first one counts as zero.
        when = (row["begin_ns"] - begin) // 1000
        if row["file"] not in names:
            names[row["file"]] = name = f"{directory}/{rank}.{row['file']}"
            longest = max(r["offset"] + r["bytes"] for r, _ in mine if r["file"] == row["file"])
            subprocess.run(["truncate", "-s", str(max(longest, 1)), name], check=True)
            lines += [f"{when} {name} add", f"{when} {name} open"]
        place = "0 0" if action in SYNCS.values() else f"{row['offset']} {row['bytes']}"
        lines.append(f"{when} {names[row['file']]} {action} {place}")
    log = directory / f"{rank}.log"
    log.write_text("\n".join(lines) + "\n")
    head = (mine[0][0]["begin_ns"] - begin) // 1000
    job = (
        f"[rank{rank}]\nread_iolog={log}\nreplay_no_stall=0\nioengine=psync\nstartdelay={head}us\n"
    )
    return head * 1e-6, job
