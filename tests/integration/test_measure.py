"""Probes in the running kernel: what they count is what others count, and nothing is lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests import command_line
from tests.command_line import Outcome, sesame
from tests.integration.kernel_counters import FAULTS, MAP_CALLS, STARTED, Watch
from tests.tutorials import commands_of

from sesame.measurement import (
    Detail,
    Session,
    Wanted,
    loaded,
    subsystems,
)

ROOT = Path(__file__).resolve().parents[2]
SESAME = [sys.executable, "-m", "sesame"]

pytestmark = pytest.mark.usefixtures("kernel_probes")


def all_points(*names: str) -> set[tuple[str, int]]:
    return {(name, i) for name in names for i in range(len(subsystems()[name].points))}


def measured(names: list[str], command: list[str]) -> dict[str, dict[str, int]]:
    """Counts by subsystem and point while a command runs, with no budget."""
    with loaded(names) as probes:
        session = Session(probes, Wanted(all_points(*names), budget=None))
        with session.running():
            subprocess.run(command, check=True, capture_output=True)
            session.read(is_last=True)
    counts: dict[str, dict[str, int]] = {name: {} for name in names}
    for row in session.rows["kernel_summary"]:
        points = counts[row["subsystem"]]
        points[row["point"]] = points.get(row["point"], 0) + row["count"]
    return counts


def run(*arguments: str, status: int = 0, cwd: Path | None = None) -> Outcome:
    done = sesame(*arguments, cwd=cwd)
    assert done.status == status, done.stderr
    return done


def test_every_point_says_whether_it_is_available():
    answer = json.loads(run("measure", "list", "--json").stdout)
    points = {row["point"]: row["missing"] for row in answer["points"]}
    assert {"task.create", "vm.total", "ipc.send", "fs.read", "block.complete"} <= set(points)
    assert points["fs.read"] is None


def test_faults_add_up_and_are_those_that_the_process_had():
    touch = (
        "import mmap, resource, sys\n"
        "m = mmap.mmap(-1, 64 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)\n"
        "m.madvise(mmap.MADV_NOHUGEPAGE)\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt\n"
        "for i in range(0, 64 << 20, 4096): m[i] = 1\n"
        "assert resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before >= 16384\n"
    )
    before, _ = vmstat()
    counts = measured(["vm"], [sys.executable, "-c", touch])["vm"]
    after, _ = vmstat()
    parts = sum(count for point, count in counts.items() if point not in ("total", "page-out"))
    assert parts == counts["total"]
    assert counts["zero-fill"] >= 16384
    assert counts["total"] <= after - before


def vmstat() -> tuple[int, int]:
    """Faults of the whole machine, and the major ones of them."""
    values = dict(line.split() for line in Path("/proc/vmstat").read_text().splitlines())
    return int(values["pgfault"]), int(values["pgmajfault"])


@pytest.mark.parametrize("detail", [Detail.COUNT, Detail.DURATION])
def test_faults_are_those_of_vmstat_however_closely_points_look(tmp_path, detail):
    data = tmp_path / "data"
    data.write_bytes(b"x" * (8 << 20))
    read_and_touch = (
        "import mmap, os, sys\n"
        "file = os.open(sys.argv[1], os.O_RDONLY)\n"
        "os.fsync(file)\n"
        "os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)\n"
        "m = mmap.mmap(file, 0, prot=mmap.PROT_READ)\n"
        "m.madvise(mmap.MADV_RANDOM)\n"
        "for i in range(0, 8 << 20, 4096): m[i]\n"
        "m = mmap.mmap(-1, 64 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)\n"
        "m.madvise(mmap.MADV_NOHUGEPAGE)\n"
        "for i in range(0, 64 << 20, 4096): m[i] = 1\n"
    )
    with loaded(["vm"]) as probes, Watch(FAULTS | STARTED | MAP_CALLS) as watch:
        session = Session(probes, Wanted(all_points("vm"), detail=detail, budget=None))
        before = vmstat()
        watch.read()
        with session.running():
            watch.read()
            subprocess.run([sys.executable, "-c", read_and_touch, data], check=True)
            watch.read()
            session.read(is_last=True)
            watch.read()
        most, most_major = (b - a for a, b in zip(before, vmstat(), strict=True))
    counts: dict[str, int] = {}
    for row in session.rows["kernel_summary"]:
        counts[row["point"]] = counts.get(row["point"], 0) + row["count"]
    parts = sum(count for point, count in counts.items() if point not in ("total", "page-out"))
    assert parts == counts["total"]
    # Pages that the kernel touches itself, and faults that fail, are in vmstat only; a major fault
    # is in it before it has ended.
    least = watch.bounds["all"].least
    assert least >= 18_432
    if detail == Detail.COUNT:  # at their begin
        least, most = least - watch.faults_in_progress, watch.bounds["started"].most
    elif watch.bounds["bpf"].least > 0:  # by other programs (docs/models/measuring.md)
        least -= least // 50
    assert least <= counts["total"] <= most
    assert watch.bounds["major"].least - 4 <= counts["page-in"] <= most_major + 4


def test_switching_off_takes_less_than_ten_milliseconds():
    with loaded(list(subsystems())) as probes:
        for one in probes.values():
            times = []
            for _ in range(9):
                for point in range(len(one.subsystem.points)):
                    one.set(point, Detail.DURATION)
                begin = time.monotonic()
                for point in range(len(one.subsystem.points)):
                    one.set(point, Detail.OFF)
                times.append(time.monotonic() - begin)
            # The least: other tests may have the processors now and then.
            assert min(times) < 0.01, one.subsystem.name


def test_the_kinds_of_faults_are_distinguished(tmp_path):
    data = tmp_path / "data"
    data.write_bytes(b"x" * (8 << 20))
    touch = (
        "import mmap, os, sys\n"
        "file = os.open(sys.argv[1], os.O_RDWR)\n"
        "m = mmap.mmap(file, 0, mmap.MAP_PRIVATE)\n"
        "m.madvise(mmap.MADV_RANDOM)\n"
        "for i in range(0, 8 << 20, 4096): m[i]\n"
        "for i in range(0, 8 << 20, 4096): m[i] = 1\n"
    )
    counts = measured(["vm"], [sys.executable, "-c", touch, str(data)])["vm"]
    assert counts["copy-on-write"] >= 2048  # each page was there, and then written


def test_processes_are_those_that_the_scheduler_counts():
    def made() -> int:
        lines = Path("/proc/stat").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("processes")).split()[1])

    before = made()
    counts = measured(["task"], ["sh", "-c", "for i in 1 2 3 4 5 6 7 8 9 10; do /bin/true; done"])
    after = made()
    assert 11 <= counts["task"]["create"] <= after - before
    assert counts["task"]["exec"] >= 11


def test_calls_on_files_are_counted_with_their_bytes(tmp_path):
    with loaded(["fs"]) as probes:
        session = Session(probes, Wanted(all_points("fs"), budget=None))
        with session.running():
            block = b"x" * 10_000
            with (tmp_path / "file").open("wb", buffering=0) as file:
                for _ in range(1000):
                    file.write(block)
                os.fsync(file.fileno())
            session.read(is_last=True)
    rows = [row for row in session.rows["kernel_summary"] if row["point"] == "write"]
    group = [row for row in rows if row["at_least_bytes"] == 4096]
    assert sum(row["count"] for row in group) >= 1000
    assert sum(row["bytes"] for row in group) >= 10_000_000
    # A write of another process may have started before.
    assert sum(row["timed"] for row in group) >= 1000
    assert any(row["point"] == "sync" for row in session.rows["kernel_summary"])


def test_requests_to_devices_are_those_of_diskstats(tmp_path, debian_program):
    debian_program("util-linux", "losetup")
    debian_program("e2fsprogs", "mkfs.ext4")
    image, place = tmp_path / "image", tmp_path / "m"
    place.mkdir()
    subprocess.run(["truncate", "-s", "200M", image], check=True)
    loop = ["losetup", "-f", "--show", "--direct-io=on", image]
    device = subprocess.run(loop, check=True, capture_output=True, text=True).stdout.strip()
    try:
        subprocess.run(["mkfs.ext4", "-q", device], check=True)
        with loaded(["block"]) as probes:
            session = Session(probes, Wanted(all_points("block"), budget=None))
            with session.running():
                subprocess.run(["mount", device, place], check=True)
                with (place / "data").open("wb") as file:
                    file.write(b"x" * (32 << 20))
                    file.flush()
                    os.fsync(file.fileno())  # umount writes nothing while a namespace has a copy
                subprocess.run(["umount", place], check=True)
                session.read(is_last=True)
        statistics = Path(f"/sys/block/{Path(device).name}/stat").read_text().split()
    finally:
        subprocess.run(["losetup", "-d", device], check=True)
    written = {
        point: sum(
            row["bytes"]
            for row in session.rows["kernel_summary"]
            if row["point"] == point and row["class"] == "write"
        )
        for point in ("issue", "complete")
    }
    # Sectors written since the loop device was made; mkfs wrote some of them before.
    assert written["issue"] >= 32 << 20
    # Some batches complete without a call of the program (docs/models/measuring.md).
    assert written["complete"] > 0
    assert int(statistics[6]) * 512 >= 32 << 20


def test_every_event_is_written_or_counted_as_lost(tmp_path):
    output = tmp_path / "m.sesame"
    script = (
        "import os\nf = os.open('/dev/zero', os.O_RDONLY)\nfor i in range(200000): os.read(f, 1)"
    )
    run(
        "measure",
        "run",
        "--only",
        "fs",
        "--trace",
        "fs.read",
        "-o",
        str(output),
        "--",
        sys.executable,
        "-c",
        script,
    )
    events = json.loads((output / "info.json").read_text())["events"]
    assert events["seen"] == events["written"] + events["lost"]
    assert events["seen"] >= 200_000
    table = pq.read_table(output / "kernel_event.parquet")
    assert table.num_rows == events["written"]
    times = table.column("time_ns").to_numpy()
    assert times.min() >= 0
    summary = pq.read_table(output / "kernel_summary.parquet").to_pylist()
    reads = sum(row["count"] for row in summary if row["point"] == "read")
    assert reads >= events["seen"]  # the recorder's own are counted and not traced
    assert not (output / "events").exists()


def attached() -> int:
    """Links between programs and the kernel that this process holds."""
    links = 0
    for entry in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            links += "bpf_link" in str(entry.readlink())
    return links


def test_a_point_that_is_off_is_attached_to_nothing():
    with loaded(["fs"]) as probes:
        assert attached() == 0
        probes["fs"].set(0, Detail.COUNT)
        assert attached() == 1  # exits of calls tell enough
        probes["fs"].set(1, Detail.DURATION)
        assert attached() == 2  # entries and exits, for both points together
        probes["fs"].set(0, Detail.OFF)
        assert attached() == 2
        probes["fs"].set(1, Detail.OFF)
        assert attached() == 0


def test_what_began_before_points_came_on_is_not_timed():
    """A reader sleeps in one call when they go off, and in another one when they are back."""
    place, data = os.pipe()
    reader = threading.Thread(target=lambda: [os.read(place, 1) for _ in range(3)])
    lengths = []
    with loaded(["fs", "sched"]) as probes:

        def set_all(detail: Detail) -> None:
            for one in probes.values():
                one.set(0, detail)
                one.set(1, detail)

        for begins in (reader.start, lambda: None):
            on = time.monotonic_ns()
            set_all(Detail.DURATION)
            begins()
            time.sleep(0.1)
            os.write(data, b"x")
            time.sleep(0.05)
            set_all(Detail.OFF)
            lengths.append(time.monotonic_ns() - on)
            os.write(data, b"x")  # what follows begins unseen
            time.sleep(0.5)
        reader.join()
        longest = {name: int(one.cells["max_ns"].max()) for name, one in probes.items()}
        timed = {name: int(one.cells["timed"].sum()) for name, one in probes.items()}
    assert min(timed.values()) > 0
    assert max(longest.values()) <= max(lengths)


def test_the_status_is_that_of_the_command(tmp_path):
    run(
        "measure",
        "run",
        "--only",
        "task",
        "-o",
        str(tmp_path / "m.sesame"),
        "--",
        "sh",
        "-c",
        "exit 3",
        status=3,
    )


@pytest.mark.few_cases(3)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--only", "disk", "--", "true"], "there is no subsystem disk"),
        (["--only", "fs.erase", "--", "true"], "fs has no point erase"),
        (["--budget", "much", "--", "true"], "expected a percentage"),
        (["--budget", "0.1", "--", "true"], "write 0.1%, or 10% if a share of 0.1 is meant"),
        (["--budget", "0%", "--", "true"], "expected more than 0"),
        (["--budget", "200%", "--", "true"], "expected at most 100%"),
        (["--", "/no/such/program"], "No such file"),
    ],
)
def test_wrong_input_is_named_and_leaves_nothing(tmp_path, arguments, message):
    done = run("measure", "run", *arguments, status=2, cwd=tmp_path)
    assert message in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_without_a_budget_points_are_enabled_all_the_time(tmp_path):
    """Attaching and detaching had counted as time: rows of a short command said "82 %", and
    estimated 6,095 events where 5,000 of 5,000 were counted."""
    path = tmp_path / "short.sesame"
    done = run("measure", "run", "--budget", "none", "-o", str(path), "--", "true")
    assert "estimate of all" not in done.stderr
    costs = pq.read_table(path / "measurement_cost.parquet").to_pylist()
    assert len({row["subsystem"] for row in costs}) > 2
    for row in costs:
        assert row["active_ns"] == row["end_ns"] - row["begin_ns"]


def test_an_interrupted_measurement_leaves_nothing(tmp_path):
    # One process: a shell may lose a signal between the fork and the exec of what it starts.
    program = "print('on', flush=True); import time; time.sleep(60)"
    command = [*SESAME, "measure", "run", "--only", "task", "--", sys.executable, "-c", program]
    process = subprocess.Popen(
        command,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        text=True,
    )
    assert process.stdout.readline() == "on\n"
    assert list(tmp_path.iterdir()) != []
    os.killpg(process.pid, signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == 130
    assert list(tmp_path.iterdir()) == []


@pytest.mark.long
def test_the_tutorial_works(tmp_path):
    for line in commands_of("tutorial-measure.md"):
        line = (
            line.replace("make -j8", "true")
            .replace("./app", "true")
            .replace("--pairs 15", "--pairs 3")
        )
        words = line.split()
        assert words[0] == "sesame"
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"  # its mpiexec runs as root
        environment = os.environ | {"PATH": path, "XDG_CACHE_HOME": str(tmp_path / "cache")}
        done = sesame(*words[1:], cwd=tmp_path, env=environment)
        assert done.status == 0, f"{line}: {done.stderr}"


SPINNERS = ROOT / "tests/programs/processes/spinners.py"
# Computes for 0.2 s in all, and sleeps so shortly that its time is over before it has left its
# processor. Prints the time that it had a processor, as the kernel has it, and the time it took.
NAPS = """\
import ctypes, pathlib, time
ctypes.CDLL(None).prctl(29, 1)  # PR_SET_TIMERSLACK, ns
time.sleep(0.001)  # so that what ran before it has its name is not a part of its first run
pathlib.Path("/proc/self/comm").write_text("napper")
started, begin = time.monotonic(), time.thread_time()
for _ in range(200):
    end = time.thread_time() + 0.001
    while time.thread_time() < end:
        pass
    time.sleep(1e-9)
print(time.thread_time() - begin, time.monotonic() - started)
"""
TALK = (
    "import os, socket\n"
    "a, b = socket.socketpair()\n"
    "if os.fork() == 0: b.recv(1234); os._exit(0)\n"
    "a.send(b'x' * 1234); os.wait()\n"
)


def build_probes(place: Path) -> None:
    """Those in place/probes, in place/b/probes."""
    (place / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(probes LANGUAGES C ASM)\n"
        "set(CMAKE_POSITION_INDEPENDENT_CODE ON)\nadd_subdirectory(probes)\n"
    )
    for command in (
        ["cmake", "-S", place, "-B", place / "b"],
        ["cmake", "--build", place / "b", "--parallel"],
    ):
        subprocess.run(command, check=True, capture_output=True)


def test_without_rights_it_says_which_are_needed(tmp_path):
    rights = ["setpriv", "--bounding-set", "-bpf,-perfmon,-sys_admin"]
    command = [*rights, *SESAME, "measure", "run", "--", "true"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert "CAP_BPF" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_without_descriptions_of_the_kernel_it_says_so(tmp_path):
    hidden = 'mount -t tmpfs none /sys/kernel/btf && exec "$@"'
    command = ["unshare", "-m", "sh", "-c", hidden, "sh", *SESAME, "measure", "run", "--", "true"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert "it has no /sys/kernel/btf/vmlinux" in done.stderr
    assert "hint: " in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_list_says_once_what_is_wrong_with_all_points():
    rights = ["setpriv", "--bounding-set", "-bpf,-perfmon,-sys_admin"]
    done = subprocess.run([*rights, *SESAME, "measure", "list"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "vm.total" in done.stdout
    assert done.stderr.count("CAP_BPF") == 1


def test_a_trace_names_thread_process_and_command(tmp_path):
    path = tmp_path / "named.sesame"
    command = "exec dd if=/dev/zero of=data bs=1000 count=7"
    words = ["--only", "task", "--trace", "fs.write", "-o", str(path)]
    run("measure", "run", *words, "--", "sh", "-c", command, cwd=tmp_path)
    table = pq.read_table(path / "kernel_event.parquet").to_pylist()
    written = [row for row in table if row["command"] == "dd" and row["bytes"] == 1000]
    assert len(written) == 7
    assert {row["pid"] == row["process"] for row in written} == {True}


def test_a_conversation_has_the_same_number_at_both_ends(tmp_path):
    path = tmp_path / "talk.sesame"
    run("measure", "run", "--only", "task", "--trace", "ipc", "-o", str(path), "--", sys.executable,
        "-c", TALK)  # fmt: skip
    table = pq.read_table(path / "kernel_event.parquet").to_pylist()
    mine = {row["point"]: row for row in table if row["bytes"] == 1234 and row["class"] == "unix"}
    assert mine["send"]["where"] == mine["receive"]["where"] != 0
    assert mine["send"]["process"] != mine["receive"]["process"]


@pytest.mark.parametrize("apart", [0, 16384])
def test_who_polls_is_ready_when_it_does_not_run(apart, tmp_path):
    """Two that never wait, on one processor, which the measurement interrupts: each of them runs or
    is ready, all of the time, whatever their numbers are."""
    path = tmp_path / "spin.sesame"
    both = [sys.executable, str(SPINNERS), str(apart)]
    on_one = ["taskset", "-c", str(min(os.sched_getaffinity(0)))]
    words = ["--only", "task", "--trace", "sched", "--interval", "0.02", "-o", str(path)]
    done = command_line.run([*on_one, *SESAME, "measure", "run", *words, "--", *both], tmp_path)
    assert done.status == 0, done.stderr
    table = pq.read_table(path / "kernel_event.parquet").to_pylist()
    own = [row for row in table if row["command"] == "spinner"]
    threads = {row["pid"] for row in own}
    assert len(threads) == 2
    if apart:
        assert max(threads) - min(threads) == apart
    for thread in threads:
        rows = [row for row in own if row["pid"] == thread]
        begin, end = (pick(row["time_ns"] for row in rows) for pick in (min, max))
        known = sum(row["duration_ns"] for row in rows if row["time_ns"] > begin)
        assert end - begin > 200_000_000
        assert 0.95 * (end - begin) < known < 1.05 * (end - begin)


def test_a_thread_that_is_woken_before_it_sleeps_runs_on(tmp_path):
    path = tmp_path / "naps.sesame"
    words = ["--only", "task", "--trace", "sched", "--budget", "none", "-o", str(path)]
    done = run("measure", "run", *words, "--", sys.executable, "-c", NAPS)
    had_s, took_s = map(float, done.stdout.splitlines()[0].split())
    table = pq.read_table(path / "kernel_event.parquet").to_pylist()
    runs = [r for r in table if r["command"] == "napper" and r["point"] == "run"]
    ran_s = sum(row["duration_ns"] for row in runs) / 1e9
    assert 0.95 * had_s < ran_s < took_s + 0.1  # with its end


def test_calls_and_events_of_the_kernel_fit_together_in_one_time_line(tmp_path):
    kernel, traced, merged = (tmp_path / name for name in ("k.sesame", "r.sesame", "m.json"))
    run("measure", "run", "--only", "task", "--trace", "fs.write", "-o", str(kernel), "--", *SESAME,
        "trace", "-o", str(traced), "--", "dd", "if=/dev/zero", f"of={tmp_path}/data", "bs=12345",
        "count=20")  # fmt: skip
    run("export", str(traced), "--to", "chrome", "--kernel", str(kernel), "--file", str(merged))
    events = json.loads(merged.read_text())["traceEvents"]
    sized = [e for e in events if e.get("args", {}).get("bytes") == 12345 and e["pid"] == 0]
    calls = [e for e in sized if e["cat"] == "io" and e["name"] == "write"]
    inside = [e for e in sized if e["cat"] == "kernel"]
    assert len(calls) == len(inside) == 20
    for call, event in zip(calls, inside, strict=True):
        assert call["ts"] - 5 < event["ts"]
        assert event["ts"] + event["dur"] < call["ts"] + call["dur"] + 5


def test_parts_of_faults_are_the_total_while_others_fault(tmp_path):
    path = tmp_path / "sum.sesame"
    busy = "while :; do /bin/true; done & first=$!; sleep 1; kill $first"
    run("measure", "run", "--only", "vm", "--budget", "none", "--interval", "0.1", "-o", str(path),
        "--", "sh", "-c", busy)  # fmt: skip
    rows = pq.read_table(path / "kernel_summary.parquet").to_pylist()
    parts = sum(r["count"] for r in rows if r["point"] not in ("total", "page-out"))
    assert parts == sum(r["count"] for r in rows if r["point"] == "total") > 1000


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to measure the kernel")
def test_the_table_of_a_measured_command_is_not_mixed_with_its_output(tmp_path):
    command = [*SESAME, "measure", "run", "--only", "task", "--", "echo", "its output"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "its output\n"
    assert "task." in done.stderr
