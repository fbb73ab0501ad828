"""Calls on files by file system: a program's counts on each mount are what it did there.

All happens in mount namespaces of the test's own, so that no other process uses these file systems.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("kernel_probes")

# Start of the scripts below. `counted_since` gives events and bytes written since the last reading,
# by class.
BEGIN = """
import ctypes, json, os, subprocess, sys
from pathlib import Path
from sesame.measurement import Session, Wanted, loaded, subsystems
from sesame.measurement.counters import Counters

place = Path(sys.argv[1])

MS_BIND = 4096
system = ctypes.CDLL(None, use_errno=True)

def mount(name, kind="tmpfs", options="", source="none", flags=0):
    (place / name).mkdir(exist_ok=True)
    words = (os.fsencode(one) for one in (source, place / name, kind))
    assert system.mount(*words, flags, os.fsencode(options)) == 0, os.strerror(ctypes.get_errno())

def unmount(name):
    assert system.umount2(os.fsencode(place / name), 0) == 0, os.strerror(ctypes.get_errno())

def write(name, count, size):
    file = os.open(place / name / "file", os.O_WRONLY | os.O_CREAT)
    for _ in range(count):
        assert os.write(file, bytes(size)) == size
    os.close(file)

def counted_since(session, is_last=False):
    before = len(session.rows["kernel_summary"])
    session.read(is_last=is_last)
    found = {}
    for row in session.rows["kernel_summary"][before:]:
        if row["point"] == "write":
            count, size = found.get(row["class"], (0, 0))
            found[row["class"]] = (count + row["count"], size + row["bytes"])
    return found

def all_points():
    return {("fs", i) for i in range(len(subsystems()["fs"].points))}
"""


def in_own_namespace(script: str, place: Path):
    """What it prints, as JSON; `counted_since` by class without the place's name."""
    command = ["unshare", "-m", sys.executable, "-c", BEGIN + script, str(place)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.replace(f"{place}/", ""))


def test_counts_of_two_mounts_of_one_type_and_of_one_that_comes_later_are_exact(tmp_path):
    script = """
mount("a"); mount("a b")
with loaded(["fs"]) as probes:
    session = Session(probes, Wanted(all_points(), budget=None))
    with session.running():
        write("a", 300, 1000)
        write("a b", 200, 5000)
        first = counted_since(session)
        mount("c", source=place / "a", flags=MS_BIND)
        write("c", 40, 10)
        mount("d")
        write("d", 100, 7)
        last = counted_since(session, is_last=True)
    sums = Counters([probes["fs"]]).read()[:, 2:].sum()
rows = session.rows
print(json.dumps({
    "first": first,
    "last": last,
    "parts": sum(row["count"] for row in rows["kernel_summary"]),
    "sums": int(sums),
    "accounts": sum(row["events"] for row in rows["measurement_cost"]),
    "opened": sum(r["count"] for r in rows["kernel_summary"]
                  if r["point"] == "open" and r["class"] == f"tmpfs {place}/a"),
}))
"""
    found = in_own_namespace(script, tmp_path)
    assert found["first"]["tmpfs a"] == [300, 300_000]
    assert found["first"]["tmpfs a b"] == [200, 1_000_000]
    assert found["last"]["tmpfs a"] == [40, 400]  # through another mount of the same file system
    assert found["last"]["tmpfs d"] == [100, 700]
    assert found["opened"] == 2
    assert found["parts"] == found["sums"] == found["accounts"]


def test_a_mount_that_comes_and_goes_between_two_readings_has_its_name(tmp_path):
    script = """
import time
with loaded(["fs"]) as probes:
    session = Session(probes, Wanted(all_points(), budget=None))
    with session.running():
        mount("short")
        write("short", 30, 100)
        end = time.monotonic() + 60
        while not any("short" in name for name in probes["fs"]._classes):  # named by the session
            assert time.monotonic() < end
            time.sleep(0.01)
        write("short", 20, 100)
        unmount("short")
        found = counted_since(session, is_last=True)
print(json.dumps(found))
"""
    assert in_own_namespace(script, tmp_path)["tmpfs short"] == [50, 5000]


def test_control_characters_of_a_path_are_escaped(tmp_path):
    """A collector refuses names with them; any user could make it refuse a node's readings."""
    script = """
with loaded(["fs"]) as probes:
    session = Session(probes, Wanted(all_points(), budget=None))
    with session.running():
        mount("a\\x1b[31m")
        write("a\\x1b[31m", 30, 100)
        found = counted_since(session, is_last=True)
print(json.dumps(found))
"""
    assert in_own_namespace(script, tmp_path)["tmpfs a\\033[31m"] == [30, 3000]


def test_a_mount_in_the_place_of_another_is_not_taken_for_it(tmp_path):
    """The kernel gives the number, and often the address, of the first to the second."""
    script = """
mount("a")
with loaded(["fs"]) as probes:
    session = Session(probes, Wanted(all_points(), budget=None))
    with session.running():
        write("a", 300, 1000)
        readings = [counted_since(session)]
        write("a", 20, 1000)
        unmount("a")
        readings.append(counted_since(session))
        mount("b")
        write("b", 50, 1000)
        readings.append(counted_since(session))
        unmount("b")
        mount("c")
        write("c", 70, 1000)
        readings.append(counted_since(session))
        write("c", 80, 1000)
        readings.append(counted_since(session, is_last=True))
print(json.dumps(readings))
"""
    readings = in_own_namespace(script, tmp_path)
    assert [one.get("tmpfs a") for one in readings[:3]] == [[300, 300_000], [20, 20_000], None]
    assert readings[2]["tmpfs b"] == [50, 50_000]
    # Of c, in whose interval b went, it may not be known more than the type.
    assert "tmpfs b" not in readings[3]
    either = (readings[3].get("tmpfs c", [0, 0])[0], readings[3].get("tmpfs", [0, 0])[0])
    assert sum(either) >= 70
    assert readings[4]["tmpfs c"] == [80, 80_000]


def test_classes_of_what_was_unmounted_are_given_to_others_when_a_daemon_frees_them(tmp_path):
    script = """
with loaded(["fs"]) as probes:
    fs = probes["fs"]
    session = Session(probes, Wanted(all_points(), budget=None))
    with session.running():
        for i in range(70):
            mount(f"m{i}")
            write(f"m{i}", 3, 10)
        first = counted_since(session)
        for i in range(70): unmount(f"m{i}")
        for _ in range(3):
            fs.free_classes()
            counted_since(session)
        mount("new")
        write("new", 5, 10)
        last = counted_since(session, is_last=True)
    new = fs.classes.index(f"tmpfs {place}/new")
    print(json.dumps({"first": first, "last": last, "total": int(fs.totals()["count"][1, new])}))
"""
    found = in_own_namespace(script, tmp_path)
    own = [counted for name, counted in found["first"].items() if name.startswith("tmpfs m")]
    assert 50 <= len(own) <= 64  # others of this machine have some
    assert set(map(tuple, own)) == {(3, 30)}
    assert found["first"]["tmpfs"][0] >= 3 * (70 - len(own))  # the rest, by type
    assert found["last"]["tmpfs new"] == [5, 50]
    assert found["total"] == 5  # without what another counted in this class


def test_file_systems_that_are_not_tmpfs_and_those_without_a_mount(tmp_path):
    script = """
mount("below")
for name in ("lower", "upper", "work"): (place / "below" / name).mkdir()
directories = ",".join(f"{n}dir={place}/below/{n}" for n in ("lower", "upper", "work"))
mount("merged", "overlay", directories)
there, back = os.pipe()
memory = os.memfd_create("memory")
with loaded(["fs"]) as probes:
    session = Session(probes, Wanted(all_points(), budget=None))
    with session.running():
        write("merged", 30, 1000)
        for _ in range(20): os.write(back, b"x"); os.write(memory, b"xy")
        Path("/proc/self/comm").write_text("name")
        found = counted_since(session, is_last=True)
print(json.dumps(found))
"""
    found = in_own_namespace(script, tmp_path)
    assert found["overlay merged"] == [30, 30_000]
    assert "tmpfs below" not in found  # what the kernel does there is no call
    assert found["pipe"][0] >= 20
    assert found["tmpfs"][0] >= 20
    assert found["proc"][0] >= 1


def test_a_mount_that_only_another_process_sees_is_named_as_that_sees_it(tmp_path):
    other = "mount('x'); write('x', 60, 500); print('done', flush=True); sys.stdin.read()"
    script = f"""
with loaded(["fs"]) as probes:
    session = Session(probes, Wanted(all_points(), budget=None))
    with session.running():
        command = ["unshare", "-m", sys.executable, "-c", {BEGIN + other!r}, str(place)]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert process.stdout.readline() == b"done\\n"
        found = counted_since(session, is_last=True)
        process.communicate(b"")
print(json.dumps(found))
"""
    found = in_own_namespace(script, tmp_path)
    [(name, counted)] = [one for one in found.items() if one[0].startswith("tmpfs x")]
    assert re.fullmatch(r"tmpfs x \(mount \d+\)", name)
    assert counted == [60, 30_000]


def test_a_mount_of_processes_that_end_at_once_is_named_as_their_parent_sees_it(tmp_path):
    script = """
(place / "x").mkdir()
in_shell = 'mount -t tmpfs none "$0" && dd if=/dev/zero of="$0/f" bs=123 count=7; sleep 0.5'
command = ["unshare", "-m", "sh", "-c", in_shell, str(place / "x")]
with loaded(["fs"]) as probes:
    session = Session(probes, Wanted(all_points(), budget=None))
    with session.running():
        subprocess.run(command, check=True, capture_output=True)
        found = counted_since(session, is_last=True)
print(json.dumps(found))
"""
    found = in_own_namespace(script, tmp_path)
    [counted] = [found[name] for name in found if re.fullmatch(r"tmpfs x \(mount \d+\)", name)]
    assert counted == [7, 861]


def test_traced_events_have_the_class_of_the_summary(tmp_path):
    script = """
from sesame.datasets import DataSet
from sesame.measurement import record_kernel
mount("a")
command = ["dd", "if=/dev/zero", f"of={place}/a/f", "bs=123", "count=25", "status=none"]
wanted = Wanted(all_points(), {("fs", 1)}, budget=None)
record_kernel(place / "m.sesame", wanted, lambda _: subprocess.call(command))
events = DataSet(place / "m.sesame").table("kernel_event").to_pylist()
print(json.dumps([event["class"] for event in events if event["bytes"] == 123]))
"""
    assert in_own_namespace(script, tmp_path) == ["tmpfs a"] * 25
