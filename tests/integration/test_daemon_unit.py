"""The unit file of systemd, as far as that goes without it: its commands, with its user's
privileges."""

from __future__ import annotations

import configparser
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.integration.installations import ROOT, VENV_BIN

UNIT = ROOT / "control/sesamed.service"
pytestmark = [
    pytest.mark.skipif(shutil.which("setpriv") is None, reason="needs setpriv"),
    pytest.mark.usefixtures("network_namespaces"),
]


@pytest.fixture(scope="module")
def service() -> configparser.SectionProxy:
    unit = configparser.ConfigParser(interpolation=None, strict=False)
    unit.optionxform = str
    unit.read(UNIT)
    return unit["Service"]


@pytest.fixture
def systemd(tmp_path) -> Iterator[socket.socket]:
    """Where a service says how it is."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as opened:
        opened.bind(str(tmp_path / "notify"))
        (tmp_path / "notify").chmod(0o777)
        opened.settimeout(100)
        yield opened


@contextmanager
def started(
    directory: Path, exec_start: str, privileges: list[str], begin: Sequence[str] = ()
) -> Iterator[subprocess.Popen[str]]:
    settings = directory / "sesamed.toml"
    settings.write_text('interval = 1\n[levels]\nfs = "summary"\n')
    words = exec_start.replace("/etc/sesame/sesamed.toml", str(settings)).split()
    own = {
        "/var/lib/sesame": str(directory / "state"),
        "/run/sesame/counters": str(directory / "c"),
    }
    words = [own.get(word, word) for word in words]
    assert words[0] == "sesamed"
    program = [sys.executable, "-c", "from sesame.cli.measure_daemon import sesamed; sesamed()"]
    place = ["--listen", "127.0.0.1:0"]
    process = subprocess.Popen(
        [*begin, "setpriv", "--no-new-privs", *privileges, *program, *words[1:], *place],
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"NOTIFY_SOCKET": str(directory / "notify")},
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def sets(capabilities: str) -> str:
    """As setpriv wants them."""
    return ",".join(f"+{one.removeprefix('CAP_').lower()}" for one in capabilities.split())


def check_life(process: subprocess.Popen[str], systemd: socket.socket, reload: str) -> str:
    """Ready, read again, ended; gives what it said."""
    assert systemd.recv(100) == b"READY=1"
    subprocess.run(reload.replace("$MAINPID", str(process.pid)).split(), check=True)
    said = ""
    while "read again" not in said:
        line = process.stderr.readline()
        assert line, said
        said += line
    process.send_signal(signal.SIGTERM)
    assert systemd.recv(100) == b"STOPPING=1"
    assert process.wait(60) == 0
    return said


def test_systemd_takes_the_unit(tmp_path, debian_program):
    text = UNIT.read_text().replace("ExecStart=sesamed", f"ExecStart={VENV_BIN / 'sesamed'}")
    (tmp_path / UNIT.name).write_text(text)
    verify = [debian_program("systemd", "systemd-analyze"), "verify", str(tmp_path / UNIT.name)]
    done = subprocess.run(verify, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


UNPRIVILEGED = ["--reuid", "65534", "--regid", "65534", "--clear-groups"]


def is_closed(directory: Path) -> bool:
    return not directory.stat().st_mode & 0o001


def opened(*places: str | Path) -> list[str]:
    """What begins a command for which others can reach these, though a directory above is closed to
    them: in its own view of the file systems nothing else is in that directory."""
    needed = [str(Path(place).resolve()) for place in places]
    above = [next(filter(is_closed, [*Path(one).parents][::-1]), None) for one in needed]
    steps = ["mount -t tmpfs none /mnt"]
    steps += [f"mkdir /mnt/{i}; mount --rbind '{one}' /mnt/{i}" for i, one in enumerate(needed)]
    steps += [f"mount -t tmpfs -o mode=755 none '{one}'" for one in {*above} - {None}]
    steps += [
        f"mkdir -p '{one}'; mount --rbind /mnt/{i} '{one}'"
        for i, (one, closed) in enumerate(zip(needed, above, strict=True))
        if closed is not None
    ]
    return ["unshare", "-m", "sh", "-ec", "; ".join([*steps, 'exec "$@"']), "sh"]


def test_the_units_privileges_are_enough_for_its_user(tmp_path, systemd, service):
    """The unit names the user; here it is one that every system has."""
    assert service["User"] == "sesame"
    ambient, bounds = sets(service["AmbientCapabilities"]), sets(service["CapabilityBoundingSet"])
    assert ambient == bounds == "+bpf,+perfmon"
    for directory in (tmp_path, *tmp_path.parents):
        if directory.stat().st_mode & 0o005 != 0o005:
            directory.chmod(0o755)
    tmp_path.chmod(0o777)
    unprivileged = [
        *UNPRIVILEGED,
        "--bounding-set",
        f"-all,{bounds}",
        "--inh-caps",
        ambient,
        "--ambient-caps",
        ambient,
    ]
    reach = opened(ROOT, sys.prefix, sys.base_prefix)
    with started(tmp_path, service["ExecStart"], unprivileged, reach) as process:
        said = check_life(process, systemd, service["ExecReload"])
    left_out = {line.split()[1] for line in said.splitlines() if "is left out" in line}
    assert left_out <= {"vm.page-out"}


def test_the_unit_limits_the_daemon(service):
    for limit in ("MemoryMax", "CPUQuota", "TasksMax", "LimitNOFILE", "SystemCallFilter"):
        assert service[limit] not in ("", "infinity"), limit


def test_root_becomes_another_user_once_the_probes_are_loaded(tmp_path, systemd, service):
    """With all that a first start of root may have left in its directory."""
    for directory in (tmp_path, *tmp_path.parents):
        if directory.stat().st_mode & 0o005 != 0o005:
            directory.chmod(0o755)
    reach = opened(ROOT, sys.prefix, sys.base_prefix)
    other = pwd.getpwuid(65534)
    for user in ("root", other.pw_name):
        command = f"{service['ExecStart']} --user {user}"
        with started(tmp_path, command, [], reach) as process:
            assert systemd.recv(100) == b"READY=1"
            status = Path(f"/proc/{process.pid}/status").read_text()
            [uids] = [line.split()[1:] for line in status.splitlines() if line.startswith("Uid:")]
            process.send_signal(signal.SIGTERM)
            assert systemd.recv(100) == b"STOPPING=1"
            assert process.wait(60) == 0
        assert set(uids) == {str(pwd.getpwnam(user).pw_uid)}
    for name in ("token", "audit.log", "audit-no-token.log"):
        assert (tmp_path / "state" / name).stat().st_uid == other.pw_uid
