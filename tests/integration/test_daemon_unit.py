"""The unit file of systemd, as far as that goes without it: its commands, with its privileges."""

from __future__ import annotations

import configparser
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from networks import why_not

from conftest import ROOT, VENV_BIN

UNIT = ROOT / "control/sesamed.service"
pytestmark = pytest.mark.skipif(
    bool(why_not()) or shutil.which("setpriv") is None, reason=why_not() or "takes setpriv"
)


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
def begun(folder: Path, exec_start: str, privileges: list[str]) -> Iterator[subprocess.Popen[str]]:
    settings = folder / "sesamed.toml"
    settings.write_text('interval = 1\n[levels]\nfs = "summary"\n')
    words = exec_start.replace("/etc/sesame/sesamed.toml", str(settings)).split()
    assert words[0] == "sesamed"
    program = [sys.executable, "-c", "from sesame.cli.measure_daemon import sesamed; sesamed()"]
    place = ["--folder", str(folder / "state"), "--listen", "127.0.0.1:0"]
    process = subprocess.Popen(
        ["setpriv", "--no-new-privs", *privileges, *program, *words[1:], *place],
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"NOTIFY_SOCKET": str(folder / "notify")},
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


def test_the_units_privileges_are_enough(tmp_path, systemd, service):
    bounds = ["--bounding-set", f"-all,{sets(service['CapabilityBoundingSet'])}"]
    with begun(tmp_path, service["ExecStart"], bounds) as process:
        said = check_life(process, systemd, service["ExecReload"])
    assert "is left out" not in said


NOBODY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]


def nobody_can_run_this_python() -> bool:
    # A shell between them, as setpriv itself still has root's right to read everything.
    command = [*NOBODY, "sh", "-c", f"exec '{sys.executable}' -c ''"]
    return subprocess.run(command, capture_output=True).returncode == 0


@pytest.mark.skipif(
    not nobody_can_run_this_python(), reason=f"other users cannot read {sys.executable}"
)
def test_two_capabilities_are_enough_for_another_user(tmp_path, systemd, service):
    two = "+bpf,+perfmon"
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_mode & 0o005 != 0o005:
            folder.chmod(0o755)
    tmp_path.chmod(0o777)
    nobody = [
        *NOBODY[1:],
        "--bounding-set",
        f"-all,{two}",
        "--inh-caps",
        two,
        "--ambient-caps",
        two,
    ]
    with begun(tmp_path, service["ExecStart"], nobody) as process:
        said = check_life(process, systemd, service["ExecReload"])
    left_out = {line.split()[1] for line in said.splitlines() if "is left out" in line}
    assert left_out <= {"vm.page-out"}
