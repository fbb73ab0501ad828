"""Runs what is due every minute, and writes metrics: systemd timers and services, or lines of cron.

Metrics have a timer of their own, as a run may take long.
"""

from __future__ import annotations

import getpass
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sesame.errors import OutputError
from sesame.evaluation.site import Site
from sesame.web.page import write_whole

SYSTEM_UNITS = Path("/etc/systemd/system")
RUNNING = Path("/run/systemd/system")  # there if systemd runs (sd_booted(3))
# A failed probe (1) and one that was not observed (3) are results, no failure of the service.
SERVICE = """\
[Unit]
Description={about} of {site}: sesame evaluate
Documentation=man:sesame
After=network.target

[Service]
Type=oneshot
ExecStart={command}
WorkingDirectory={directory}
SuccessExitStatus=1 3
KillMode=control-group
"""
TIMER = """\
[Unit]
Description={about} of {site}, every minute

[Timer]
OnCalendar=minutely
AccuracySec=1s

[Install]
WantedBy=timers.target
"""


@dataclass(frozen=True)
class Installation:
    """What was written or has to be entered, and how to see it."""

    files: list[Path]
    says: list[str]


@dataclass(frozen=True)
class Job:
    """What runs every minute."""

    name: str  # of its units
    about: str
    command: list[str]


def jobs_of(site: Site, metrics: Path | None, objective: float) -> list[Job]:
    """The probes that are due, and with a file for them the metrics."""
    beside = Path(sys.executable).parent / "sesame"
    program = [str(beside)] if os.access(beside, os.X_OK) else [sys.executable, "-m", "sesame"]
    path = str(site.path.absolute())
    name = "sesame-evaluate-" + re.sub(r"[^A-Za-z0-9_.-]", "-", site.path.stem)
    jobs = [Job(name, "Probes", [*program, "evaluate", "run", path])]
    if metrics is not None:
        words = ["metrics", path, "--objective", repr(objective), "-o", str(metrics.absolute())]
        jobs.append(Job(f"{name}-metrics", "Metrics", [*program, "evaluate", *words]))
    return jobs


def units(site: Site, jobs: Sequence[Job]) -> dict[str, str]:
    """The texts of services and timers by file name."""
    shown = site.name.replace("%", "%%").replace("\n", " ")
    directory = str(site.path.absolute().parent).replace("%", "%%")
    found: dict[str, str] = {}
    for job in jobs:
        words = " ".join(_systemd_word(word) for word in job.command)
        about = {"site": shown, "about": job.about}
        service = SERVICE.format(command=words, directory=directory, **about)
        found |= {f"{job.name}.service": service, f"{job.name}.timer": TIMER.format(**about)}
    return found


def _systemd_word(word: str) -> str:
    """Quoted for ExecStart (systemd.service(5), systemd.unit(5))."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return '"' + escaped.replace("$", "$$") + '"'


def cron_line(job: Job) -> str:
    return f"{_cron(job.command)} >/dev/null 2>&1"


def _cron(words: Sequence[str]) -> str:
    command = shlex.join(words).replace("%", "\\%")
    return f"* * * * * {command}"


def install(site: Site, jobs: Sequence[Job], directory: Path | None) -> Installation:
    """Writes units to `directory` without starting them; without one to systemd's and starts the
    timers; without systemd lines into the user's crontab. Raises OutputError."""
    if directory is not None:
        files = _write(units(site, jobs), directory)
        timers = [f"{job.name}.timer" for job in jobs]
        return Installation(files, [shlex.join(["systemctl", "enable", "--now", *timers])])
    if RUNNING.is_dir():
        return _install_units(site, jobs)
    return _install_lines(jobs, str(site.path.absolute()))


def _write(texts: dict[str, str], directory: Path) -> list[Path]:
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{directory}: cannot make it: {error.strerror}") from error
    for name, text in texts.items():
        write_whole(directory / name, text)
    return [directory / name for name in texts]


def _install_units(site: Site, jobs: Sequence[Job]) -> Installation:
    is_root = os.geteuid() == 0
    home = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    files = _write(units(site, jobs), SYSTEM_UNITS if is_root else home / "systemd/user")
    control = ["systemctl"] if is_root else ["systemctl", "--user"]
    timers = [f"{job.name}.timer" for job in jobs]
    for words in (["daemon-reload"], ["enable", "--now", *timers]):
        _run([*control, *words])
    says = [f"{' '.join(control)} status {' '.join(timers)}"]
    if not is_root:
        says.append(f"loginctl enable-linger {getpass.getuser()}  # to run while logged out")
    return Installation(files, says)


def _install_lines(jobs: Sequence[Job], path: str) -> Installation:
    lines = [cron_line(job) for job in jobs]
    if shutil.which("crontab") is None:
        missing = "there is no systemd and no crontab; enter into cron:"
        return Installation([], [f"{missing} {line}" for line in lines])
    before = _run(["crontab", "-l"], may_fail=True).splitlines()
    # Whatever the options were with which it was installed before.
    begins = tuple(f"{_cron(job.command[: job.command.index(path) + 1])} " for job in jobs)
    after = [line for line in before if line in lines or not line.startswith(begins)]
    after += [line for line in lines if line not in after]
    if after != before:
        _run(["crontab", "-"], text="".join(f"{line}\n" for line in after))
    return Installation([], [f"crontab has: {line}" for line in lines])


def _run(command: list[str], *, text: str = "", may_fail: bool = False) -> str:
    try:
        done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise OutputError(f"{shlex.join(command)}: {error}") from error
    if done.returncode != 0 and not may_fail:
        raise OutputError(f"{shlex.join(command)}: {done.stderr.strip()}")
    return done.stdout if done.returncode == 0 else ""
