"""Runs what is due every minute: a systemd timer and service, or a line of cron."""

from __future__ import annotations

import getpass
import os
import re
import shlex
import shutil
import subprocess
import sys
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
Description=Probes of {site}: sesame evaluate
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
Description=Probes of {site} that are due

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


def command_of(site: Path) -> list[str]:
    beside = Path(sys.executable).parent / "sesame"
    program = [str(beside)] if os.access(beside, os.X_OK) else [sys.executable, "-m", "sesame"]
    return [*program, "evaluate", "run", str(site.absolute())]


def unit_name(site: Site) -> str:
    return "sesame-evaluate-" + re.sub(r"[^A-Za-z0-9_.-]", "-", site.path.stem)


def units(site: Site) -> dict[str, str]:
    """The texts of the service and the timer by file name."""
    path = site.path.absolute()
    words = " ".join(_systemd_word(word) for word in command_of(path))
    name = site.name.replace("%", "%%").replace("\n", " ")
    directory = str(path.parent).replace("%", "%%")
    return {
        f"{unit_name(site)}.service": SERVICE.format(site=name, command=words, directory=directory),
        f"{unit_name(site)}.timer": TIMER.format(site=name),
    }


def _systemd_word(word: str) -> str:
    """Quoted for ExecStart (systemd.service(5), systemd.unit(5))."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return '"' + escaped.replace("$", "$$") + '"'


def cron_line(site: Site) -> str:
    command = shlex.join(command_of(site.path)).replace("%", "\\%")
    return f"* * * * * {command} >/dev/null 2>&1"


def install(site: Site, directory: Path | None) -> Installation:
    """Writes units to `directory` without starting them; without one to systemd's and starts the
    timer; without systemd a line into the user's crontab. Raises OutputError."""
    if directory is not None:
        files = _write(site, directory)
        start = shlex.join(["systemctl", "enable", "--now", f"{unit_name(site)}.timer"])
        return Installation(files, [start])
    if RUNNING.is_dir():
        return _install_units(site)
    return _install_line(site)


def _write(site: Site, directory: Path) -> list[Path]:
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{directory}: cannot make it: {error.strerror}") from error
    for name, text in units(site).items():
        write_whole(directory / name, text)
    return [directory / name for name in units(site)]


def _install_units(site: Site) -> Installation:
    is_root = os.geteuid() == 0
    home = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    files = _write(site, SYSTEM_UNITS if is_root else home / "systemd/user")
    control = ["systemctl"] if is_root else ["systemctl", "--user"]
    timer = f"{unit_name(site)}.timer"
    for words in (["daemon-reload"], ["enable", "--now", timer]):
        _run([*control, *words])
    says = [f"{' '.join(control)} status {timer}"]
    if not is_root:
        says.append(f"loginctl enable-linger {getpass.getuser()}  # to run while logged out")
    return Installation(files, says)


def _install_line(site: Site) -> Installation:
    line = cron_line(site)
    if shutil.which("crontab") is None:
        return Installation([], [f"there is no systemd and no crontab; enter into cron: {line}"])
    before = _run(["crontab", "-l"], may_fail=True)
    if line not in before.splitlines():
        kept = before if before.endswith("\n") or not before else f"{before}\n"
        _run(["crontab", "-"], text=f"{kept}{line}\n")
    return Installation([], [f"crontab has: {line}"])


def _run(command: list[str], *, text: str = "", may_fail: bool = False) -> str:
    try:
        done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise OutputError(f"{shlex.join(command)}: {error}") from error
    if done.returncode != 0 and not may_fail:
        raise OutputError(f"{shlex.join(command)}: {done.stderr.strip()}")
    return done.stdout if done.returncode == 0 else ""
