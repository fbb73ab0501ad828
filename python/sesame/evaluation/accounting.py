"""Use of a machine by its scheduler's own accounting (Slurm)."""

from __future__ import annotations

import os
import re
import subprocess
import time
from dataclasses import dataclass

from sesame.errors import SesameError

PERIOD_S = 3600.0  # that jobs are counted in
# Seconds since 1970: local times are ambiguous when the clock is set back, and a user's own format
# may be anything.
TIME_FORMAT = {"SLURM_TIME_FORMAT": "%s"}
NO_TIME = ("Unknown", "None")
# Parts of the states of nodes (sinfo(1)) and what they count as; the first that fits counts. A node
# that is both reserved and down is down, and so is one that does not answer (`*`).
STATES = (
    ("down", re.compile(r"\*$|down|fail|not_?responding|unk|power|boot", re.I)),
    ("drained", re.compile(r"drain|drng", re.I)),
    ("reserved", re.compile(r"resv|reserved|maint|planned", re.I)),
    ("allocated", re.compile(r"alloc|mix|comp", re.I)),
    ("idle", re.compile(r"idle", re.I)),
)


class AccountingError(SesameError):
    """The scheduler does not answer."""


@dataclass(frozen=True)
class Job:
    """A job of `sacct`: its state, begin and end (infinite while it runs), and processors."""

    state: str
    began: float
    ended: float
    processors: float


def slurm_use() -> list[tuple[str, float, str]]:
    """Nodes in each state now, processors in use, load, and what jobs had in the last hour."""
    nodes = _answer(["sinfo", "-h", "-N", "-o", "%N|%T|%C|%O"])
    rows = node_rows(nodes)
    now = time.time()
    begin = f"now-{PERIOD_S:.0f}seconds"
    fields = "State,Start,End,AllocCPUS"
    command = ["sacct", "-a", "-X", "-n", "-P", "-S", begin, "-E", "now", "-o", fields]
    try:
        jobs = _answer(command)
    except AccountingError:  # there is no slurmdbd: what sinfo says is all there is
        return rows
    return rows + job_rows(jobs_of(jobs, now), now - PERIOD_S, now)


def node_rows(text: str) -> list[tuple[str, float, str]]:
    """Of `sinfo -h -N -o "%N|%T|%C|%O"`; a node in several partitions counts once."""
    counts = dict.fromkeys([name for name, _ in STATES], 0)
    processors = {"allocated": 0, "total": 0}
    loads = []
    seen: dict[str, list[str]] = {}
    for line in text.splitlines():
        words = line.split("|")
        if len(words) == 4:
            seen.setdefault(words[0], words)
    for _, state, cpus, load in seen.values():
        kind = next((name for name, pattern in STATES if pattern.search(state)), "down")
        counts[kind] += 1
        allocated, _, _, total = (int(number) for number in cpus.split("/"))
        processors["allocated"] += allocated
        processors["total"] += total
        if re.fullmatch(r"[0-9.]+", load):
            loads.append(float(load))
    total = max(processors["total"], 1)
    rows = [(f"nodes {name}", float(count), "1") for name, count in counts.items()]
    rows.append(("processors allocated", 100.0 * processors["allocated"] / total, "%"))
    if loads:
        rows.append(("load average of the nodes", sum(loads) / len(loads), "1"))
    return rows


def jobs_of(text: str, now: float) -> list[Job]:
    """Those that began, of `sacct -n -P -o State,Start,End,AllocCPUS`, with TIME_FORMAT. Raises
    AccountingError."""
    jobs = []
    for line in text.splitlines():
        try:
            state, start, end, processors = line.split("|")
            began, ended = (None if one in NO_TIME else float(int(one)) for one in (start, end))
            if began is not None:
                ended = now if ended is None else ended
                jobs.append(Job(state.split()[0], began, ended, float(processors or 0)))
        except (ValueError, IndexError):
            expected = "State|Start|End|AllocCPUS with times in seconds since 1970"
            raise AccountingError(f"sacct: expected {expected}, got {line!r}") from None
    return jobs


def job_rows(jobs: list[Job], begin: float, end: float) -> list[tuple[str, float, str]]:
    """Processor hours that jobs had in [begin, end), and how jobs ended."""
    seconds = sum(
        job.processors * max(min(job.ended, end) - max(job.began, begin), 0.0) for job in jobs
    )
    rows = [("processor time of jobs in the last hour", seconds, "s")]
    ended = [job for job in jobs if begin <= job.ended < end]
    for name, states in (
        ("jobs completed", ("COMPLETED",)),
        ("jobs failed", ("FAILED", "TIMEOUT", "OUT_OF_MEMORY", "NODE_FAIL", "BOOT_FAIL")),
    ):
        count = sum(job.state in states for job in ended)
        rows.append((f"{name} in the last hour", float(count), "1"))
    return rows


def _answer(command: list[str]) -> str:
    try:
        environment = {**os.environ, **TIME_FORMAT}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    except OSError as error:
        raise AccountingError(f"{command[0]} cannot be started: {error.strerror}") from error
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip()[-300:]
        raise AccountingError(f"{command[0]} ended with status {done.returncode}: {said}")
    return done.stdout
