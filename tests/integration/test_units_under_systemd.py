"""The units of daemon and collector under a real systemd, in an emulated machine."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.integration.test_measure import ROOT
from tests.integration.test_other_kernels import newest_of

pytestmark = pytest.mark.long

SERIES = "6.1"
CAP_NET_BIND_SERVICE, CAP_PERFMON, CAP_BPF = 1 << 10, 1 << 38, 1 << 39  # linux/capability.h


@pytest.fixture(scope="module")
def facts(tmp_path_factory, debian_program) -> dict[str, str]:
    """What tests/programs/units/check.sh prints in the guest."""
    debian_program("qemu-system-x86", "qemu-system-x86_64")
    debian_program("busybox-static", "busybox")
    if not Path("/lib/systemd/systemd").exists() or shutil.which("apt-cache") is None:
        pytest.skip("needs Debian with systemd")
    package = newest_of(SERIES)
    if package is None:
        pytest.skip(f"apt knows no kernel {SERIES}: apt-get update")
    place = tmp_path_factory.mktemp("kernel")
    subprocess.run(["apt-get", "download", package], cwd=place, check=True, capture_output=True)
    (file,) = place.glob("*.deb")
    command = [sys.executable, ROOT / "tools/other_kernel.py", "--systemd", "--timeout", "1500"]
    script = ROOT / "tests/programs/units/check.sh"
    command += [file, "--", "bash", script, ROOT, sys.prefix, sys.base_prefix]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    print(done.stdout)  # pytest shows it where a test fails
    lines = [line.partition(": ") for line in done.stdout.replace("\t", " ").splitlines()]
    return {name: value.strip() for name, _, value in lines if name != "journal"}


@pytest.mark.parametrize("unit", ["sesamed", "sesame-collector"])
def test_a_unit_starts_reloads_comes_back_after_kill_9_and_stops(facts, unit):
    steps = ("start", "reload", "read again", "again")
    assert {step: facts[f"{unit} {step}"] for step in steps} == dict.fromkeys(steps, "0")
    assert (facts[f"{unit} stop"], facts[f"{unit} stopped"]) == ("0", "success")


def test_the_daemon_answers_after_its_restart(facts):
    assert facts["sesamed answers"] == "0"


def test_the_daemon_measures_everything_without_being_root(facts):
    assert facts["sesamed is without"] == ""
    assert int(facts["sesamed has points"]) > 20


def test_the_daemon_says_which_setting_of_the_kernel_is_in_its_way(facts):
    assert facts["sesamed says why not"] == "0"


@pytest.mark.parametrize(
    ("unit", "user", "capabilities"),
    [
        ("sesamed", "sesame", CAP_BPF | CAP_PERFMON),
        ("sesame-collector", "sesame-collector", CAP_NET_BIND_SERVICE),
    ],
)
def test_a_unit_is_never_root(facts, unit, user, capabilities):
    assert facts[f"{unit} user"] == facts[f"{unit} user again"] == user
    assert int(facts[f"{unit} CapPrm"], 16) == int(facts[f"{unit} CapBnd"], 16) == capabilities
    assert facts[f"{unit} NoNewPrivs"] == "1"
    assert facts[f"{unit} Seccomp"] == "2"  # a filter


@pytest.mark.parametrize("unit", ["sesamed", "sesame-collector"])
def test_a_unit_sees_no_place_to_write_but_its_own(facts, unit):
    assert facts[f"{unit} writes its own"] == "0"
    for directory in ("/etc", "/usr", "/var/lib"):
        assert facts[f"{unit} writes {directory}"] != "0"


@pytest.mark.parametrize(
    ("unit", "memory", "cpu", "tasks", "files"),
    [
        ("sesamed", 1 << 30, "50000 100000", 64, 4096),
        ("sesame-collector", 2 << 30, "200000 100000", 256, 16384),
    ],
)
def test_the_limits_of_a_unit_hold_in_its_control_group(facts, unit, memory, cpu, tasks, files):
    assert facts[f"{unit} memory.max"] == str(memory)
    assert facts[f"{unit} cpu.max"] == cpu
    assert facts[f"{unit} pids.max"] == str(tasks)
    assert facts[f"{unit} files"] == str(files)


def test_a_wrong_setting_is_not_tried_again(facts):
    assert facts["collector with a wrong setting"] != "0"
    assert facts["restarts then"] == "0"
