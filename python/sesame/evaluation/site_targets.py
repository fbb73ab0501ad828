"""The tables [target.NAME] of a site file: launchers and batch systems."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sesame.evaluation.site import Maintenance, Queue, Target
from sesame.evaluation.site_tables import Keys, Tables

# For each launcher the keys that it has beside those of all.
LAUNCHERS: dict[str, tuple[str, ...]] = {
    "local": (),
    "mpiexec": ("options",),
    "template": ("command",),
    "ssh": ("host", "options"),
    "slurm": ("options", "start", "queue_limit"),
    "batch": (
        *("submit", "job", "state", "waiting", "running", "unavailable", "gone", "cancel"),
        *("start", "queue_limit"),
    ),
}
ALL = ("launcher", "ranks", "nodes", "directory", "maintenance")
# Slurm's own commands. `scontrol show job` knows a job for some minutes after its end, squeue does
# not. Reasons: those for which a job waits because nodes are down or drained (squeue(1)); reserved
# nodes are up.
SLURM: dict[str, Any] = {
    "submit": [
        *("sbatch", "--parsable", "--no-requeue", "-J", "{name}", "-n", "{ranks}", "-N", "{nodes}"),
        *("-t", "{minutes}", "-o", "/dev/null"),
    ],
    "job": r"^(\d+)",
    "state": ["scontrol", "-o", "show", "job", "{job}"],
    "waiting": r"JobState=(PENDING|CONFIGURING|REQUEUED|REQUEUE_HOLD|SPECIAL_EXIT|RESV_DEL_HOLD)\b",
    "running": r"JobState=(RUNNING|COMPLETING|SUSPENDED|STOPPED|SIGNALING|STAGE_OUT|RESIZING)\b",
    "unavailable": (
        r"Reason=(ReqNodeNotAvail(?!\S*[Rr]eserved)|NodeDown|PartitionDown|PartitionInactive|DOWN)\S*"
    ),
    "gone": r"Invalid job id",
    "cancel": ["scancel", "{job}"],
    "start": ["srun"],
}
SLURM_MAINTENANCE: dict[str, Any] = {
    "command": ["scontrol", "-o", "show", "reservations"],
    "pattern": r"ReservationName=\S+.*\bFlags=\S*MAINT.*\bState=ACTIVE",
}
# Options of ssh(1): it asks nothing, and an unreachable host is noticed.
SSH = ("ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-o", "ServerAliveInterval=15")


class TargetTables(Tables):
    """Turns the tables into targets."""

    def targets(self, table: dict[str, Any]) -> dict[str, Target]:
        return {name: self._target(name, one) for name, one in self.named(table, "target")}

    def _target(self, name: str, table: dict[str, Any]) -> Target:
        keys = ("target", name)
        kind = self.one_of(table, keys, "launcher", tuple(LAUNCHERS))
        known = (*ALL, *LAUNCHERS[kind])
        for key in table:
            others = [other for other, own in LAUNCHERS.items() if key in own]
            if key not in known and others:
                said = f"the launcher {kind} has no `{key}`, it belongs to {', '.join(others)}"
                raise self.wrong((*keys, key), said)
        self.check_keys(table, keys, known)
        directory = self.text(table, keys, "directory", "")
        return Target(
            name,
            self._prefix(kind, table, keys),
            self.whole(table, keys, "ranks", 1, least=1),
            self.whole(table, keys, "nodes", 1, least=1),
            kind == "ssh",
            self._queue(kind, table, keys),
            self._maintenance(kind, table, keys),
            self._path.absolute().parent / directory if directory else self._shared(kind),
            bool(directory),
        )

    def _shared(self, kind: str) -> Path | None:
        """Jobs run on other nodes, so their directories are beside the site file, not in /tmp."""
        return self._path.absolute().parent if kind in ("slurm", "batch") else None

    def _prefix(self, kind: str, table: dict[str, Any], keys: Keys) -> tuple[str, ...]:
        if kind == "template":
            return self.words(table, keys, "command")
        if kind == "mpiexec":
            return ("mpiexec", "-n", "{ranks}", *self.words(table, keys, "options", ()))
        if kind == "ssh":
            host = self.text(table, keys, "host")
            if not host or host.startswith("-"):
                raise self.wrong((*keys, "host"), f"{host!r} is no name of a host")
            return (*SSH, *self.words(table, keys, "options", ()), host)
        return ()

    def _queue(self, kind: str, table: dict[str, Any], keys: Keys) -> Queue | None:
        if kind not in ("slurm", "batch"):
            return None
        given = table
        if kind == "slurm":
            submit = [*SLURM["submit"], *self.words(table, keys, "options", ()), "{script}"]
            given = {**SLURM, **table, "submit": submit}
        unavailable, gone = (
            None if given.get(key) is None else self.pattern(given, keys, key)
            for key in ("unavailable", "gone")
        )
        return Queue(
            self.words(given, keys, "submit"),
            self.pattern(given, keys, "job", group=True),
            self.words(given, keys, "state"),
            self.pattern(given, keys, "waiting"),
            self.pattern(given, keys, "running"),
            unavailable,
            self.words(given, keys, "cancel"),
            self.words(given, keys, "start", ()),
            self.duration(table, keys, "queue_limit", "30min"),
            gone,
            self._nodes(table, keys) if kind == "slurm" else (),
        )

    def _nodes(self, table: dict[str, Any], keys: Keys) -> tuple[str, ...]:
        """Asks for the nodes of the partition that the options name, or for all."""
        options = self.words(table, keys, "options", ())
        partition = [one for one in options if one.startswith("--partition=")]
        return ("sinfo", "-h", "-N", "-o", "%T", *partition)

    def _maintenance(self, kind: str, table: dict[str, Any], keys: Keys) -> Maintenance | None:
        given = table.get("maintenance", SLURM_MAINTENANCE if kind == "slurm" else None)
        if given is None:
            return None
        keys = (*keys, "maintenance")
        self.check_keys(given, keys, ("command", "pattern"))
        command = self.words(given, keys, "command")
        return Maintenance(command, self.pattern(given, keys, "pattern", ""))
