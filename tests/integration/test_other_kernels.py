"""The probes on Debian's other kernels, in an emulated machine: they count what was done."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.integration.test_measure import ROOT

from sesame.installed import find_installed

pytestmark = pytest.mark.long

COUNT = 2000  # as in points.py
NAME = re.compile(r"linux-image-(?P<series>\d+\.\d+)[-.]\S*\d\S*-amd64")


def newest_of(series: str) -> str | None:
    """The package with the newest kernel of a series that apt knows."""
    search = ["apt-cache", "search", "--names-only", f"^linux-image-{re.escape(series)}"]
    words = subprocess.run(search, capture_output=True, text=True, check=True).stdout.split("\n")
    found = [line.split()[0] for line in words if line]
    fit = [
        name
        for name in found
        if (match := NAME.fullmatch(name))
        and match["series"] == series
        and not re.search("cloud|rt-|dbg|unsigned", name)
    ]
    return max(fit, key=lambda name: [int(n) for n in re.findall(r"\d+", name)], default=None)


@pytest.fixture(scope="module", params=["6.1", "6.12"])
def points(request, tmp_path_factory, debian_program) -> dict[str, dict]:
    """By point: why it is missing, or its counts by class."""
    debian_program("qemu-system-x86", "qemu-system-x86_64")
    debian_program("busybox-static", "busybox")
    if shutil.which("apt-cache") is None:
        pytest.skip("apt-cache is not here, to find other kernels with")
    package = newest_of(request.param)
    if package is None:
        pytest.skip(f"apt knows no kernel {request.param}: apt-get update")
    place = tmp_path_factory.mktemp("kernel")
    subprocess.run(["apt-get", "download", package], cwd=place, check=True, capture_output=True)
    (file,) = place.glob("*.deb")
    script = ROOT / "tests/programs/kernels/points.py"
    library = find_installed("libsesame-probes.so").resolve()
    command = [sys.executable, ROOT / "tools/other_kernel.py", "--timeout", "1500", file, "--"]
    command += [Path(sys.executable).resolve(), script, library]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    answer = json.loads(done.stdout)
    assert answer["release"].startswith(request.param)
    return answer["points"]


def test_every_point_is_there_or_says_why_not(points):
    assert {name: one["missing"] for name, one in points.items() if one["missing"]} == {}


@pytest.mark.parametrize(
    ("point", "class_"),
    [
        ("vm.zero-fill", "internal"),
        ("vm.copy-on-write", "file"),
        ("vm.reactivation", "file"),
        ("fs.read", "tmpfs"),
        ("fs.write", "tmpfs /run"),
        ("ipc.send", "udp"),
        ("ipc.receive", "udp"),
        ("ipc.transmit", "other"),
        ("task.create", "process"),
        ("task.exit", "process"),
    ],
)
def test_what_is_counted_is_what_was_done(points, point, class_):
    assert COUNT <= points[point]["counts"][class_] < 1.2 * COUNT


def test_requests_to_the_device_are_counted(points):
    assert points["block.issue"]["counts"]["write"] == 64
    assert points["block.complete"]["counts"]["write"] == 64


def test_faults_without_a_known_area_are_few(points):
    assert points["vm.total"]["counts"].get("unknown", 0) < COUNT / 100
