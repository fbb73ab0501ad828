"""What the probes count is what the kernel's own counters count, on every load, and traces lose
nothing that is not counted.

Two things are compared: whole-system counts with counters that are read around the measurement
(kernel_counters.py), and what one process or device did with what the kernel keeps about it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.integration.kernel_counters import (
    MAJOR_FAULTS,
    MAP_CALLS,
    MINOR_FAULTS,
    STARTED,
    Bounds,
    Event,
    Watch,
    missed_runs,
)
from tests.integration.test_measure import all_points

from sesame.installed import find_installed
from sesame.measurement import (
    Detail,
    LoadedProbes,
    Session,
    TraceWriter,
    Wanted,
    loaded,
    subsystems,
)
from sesame.measurement.counters import Counters
from sesame.measurement.probes import EVENT

pytestmark = pytest.mark.usefixtures("kernel_probes")


def _ends_of(calls: str) -> list[Event]:
    return [Event(f"syscalls/sys_exit_{call}") for call in calls.split()]


# What each point counts, as the kernel's own counters have it. A write of nothing only carries a
# flush.
COUNTERS = {
    "task.create": [Event("sched/sched_process_fork")],
    "task.exec": [Event("sched/sched_process_exec")],
    "task.exit": [Event("sched/sched_process_exit")],
    "vm.total": [Event(MINOR_FAULTS), Event(MAJOR_FAULTS)],
    "vm.page-in": [Event(MAJOR_FAULTS)],
    "vm.page-out": [Event("vmscan/mm_vmscan_write_folio"), Event("vmscan/mm_vmscan_writepage")],
    "ipc.send": [Event("sock/sock_send_length", "ret > 0")],
    "ipc.receive": [Event("sock/sock_recv_length", "ret > 0 && !(flags & 2)")],
    "ipc.transmit": [Event("net/net_dev_start_xmit")],
    "fs.read": _ends_of("read pread64 readv preadv preadv2"),
    "fs.write": _ends_of("write pwrite64 writev pwritev pwritev2"),
    "fs.sync": _ends_of("fsync fdatasync"),
    "fs.open": _ends_of("open openat openat2 creat"),
    "block.insert": [Event("block/block_rq_insert")],
    "block.issue": [Event("block/block_rq_issue")],
    "block.complete": [
        Event("block/block_rq_complete", 'nr_sector != 0 || !(rwbs ~ "*W*")'),
    ],
    # The counters miss switches from the idle task. A processor leaves it as often as it comes to
    # it, or once more or less, so that switches to tasks are as many as those from tasks.
    "sched.run": [Event("sched/sched_switch", "prev_pid != 0")],
    "sched.wait": [Event("sched/sched_switch", "prev_pid != 0")],
}

# Does one thing for so many seconds.
REPEAT = (
    "import ctypes, sys, time\n"
    "library, load, seconds = sys.argv[1:]\n"
    "run = ctypes.CDLL(library).sesame_probes_run_load\n"
    "run.argtypes = [ctypes.c_char_p, ctypes.c_long]\n"
    "end = time.monotonic() + float(seconds)\n"
    "while time.monotonic() < end: run(load.encode(), 1000)\n"
)


def repeat(load: str, seconds: float) -> list[str]:
    library = str(find_installed("libsesame-probes.so"))
    return [sys.executable, "-S", "-c", REPEAT, library, load, str(seconds)]


LOADS = {
    "fork storm": ["sh", "-c", "for i in $(seq 200); do /bin/true; done"],
    "page touching": repeat("touch", 0.5),
    "file I/O": repeat("read", 0.5),
    "loopback network": repeat("packet", 0.5),
    "switches": repeat("turn", 0.5),
}
PROCESSORS = os.cpu_count() or 1
PARTS = ("page-in", "reactivation", "zero-fill", "copy-on-write", "protection", "first-touch")


AllProbes = Mapping[str, LoadedProbes]


@pytest.fixture(scope="module")
def all_probes(kernel_probes: None) -> Iterator[AllProbes]:
    """All subsystems, loaded once: that takes longer than most of these tests. Their programs run
    only while a session has switched points on."""
    with loaded(list(subsystems())) as probes:
        yield probes


def some(probes: AllProbes, *names: str) -> AllProbes:
    return {name: probes[name] for name in names}


def counts_of(session: Session) -> dict[str, int]:
    counts = {
        f"{name}.{point.name}": 0 for name, one in subsystems().items() for point in one.points
    }
    for row in session.rows["kernel_summary"]:
        counts[f"{row['subsystem']}.{row['point']}"] += row["count"]
    return counts


def measure(session: Session, watch: Watch, load: Callable[[], object]) -> dict[str, int]:
    """What each point counts while the load runs."""
    watch.read()
    with session.running():
        watch.read()
        load()
        watch.read()
        session.read(is_last=True)
        watch.read()
    return counts_of(session)


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("detail", [Detail.COUNT, Detail.DURATION])
@pytest.mark.parametrize("name", LOADS)
def test_every_point_counts_what_the_kernel_counts(name, detail, all_probes):
    with Watch(COUNTERS | STARTED | MAP_CALLS) as watch:
        wanted = Wanted(all_points(*all_probes), detail=detail, budget=None)
        session = Session(all_probes, wanted)

        def load() -> None:
            process = subprocess.Popen(LOADS[name])
            while process.poll() is None:
                time.sleep(0.1)
                session.read()

        missed = -missed_runs()
        counts = measure(session, watch, load)
        missed += missed_runs()
    bounds = watch.bounds
    started, map_calls = bounds.pop("started"), bounds.pop("bpf")
    bounds["sched.wait"] = bounds["sched.wait"].wider(PROCESSORS)
    if detail == Detail.COUNT:  # at their begin: also faults that fail
        ended = bounds["vm.total"]
        bounds["vm.total"] = Bounds(ended.least - watch.faults_in_progress, started.most)
    elif map_calls.least > 0:  # of other programs (docs/models/measuring.md)
        bounds["vm.total"] = bounds["vm.total"].wider(0, below=bounds["vm.total"].least // 50)
    # The acknowledgement that an interrupt sends while the program runs for another packet.
    bounds["ipc.transmit"] = bounds["ipc.transmit"].wider(0, below=missed)
    # Batches of 32 or 64 completions happen without a call (docs/models/measuring.md).
    bounds["block.complete"] = bounds["block.complete"].wider(0, below=256)
    wrong = {p: (b, counts[p]) for p, b in bounds.items() if counts[p] not in b}
    if detail == Detail.COUNT:
        wrong.pop("vm.page-in", None)  # counted with the next first touch of the processor
    assert wrong == {}
    assert sum(counts[f"vm.{part}"] for part in PARTS) == counts["vm.total"]


def reads_of(process: int) -> int:
    lines = Path(f"/proc/{process}/io").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("syscr"))


@pytest.mark.parametrize("detail", [Detail.COUNT, Detail.DURATION])
def test_events_that_happen_while_a_session_is_prepared_are_in_no_account(detail, all_probes):
    """Each point is attached for a moment to see whether this kernel can."""
    counters = Counters(list(all_probes.values()))
    with subprocess.Popen(repeat("read", 60)) as reading:
        before = reads_of(reading.pid)
        while reads_of(reading.pid) < before + 10_000:
            time.sleep(0.01)
        sums = counters.read()
        Session(all_probes, Wanted(all_points(*all_probes), detail=detail, budget=None))
        reading.kill()
    assert (counters.read() == sums).all()


# Prints how late it is woken, in seconds: the 99th of 100, and the worst.
PROBE = (
    "import sys, time\n"
    "end = time.monotonic() + float(sys.argv[1])\n"
    "late = []\n"
    "while (begin := time.monotonic()) < end:\n"
    "    time.sleep(0.01)\n"
    "    late.append(time.monotonic() - begin - 0.01)\n"
    "late.sort()\n"
    "print(late[len(late) * 99 // 100], late[-1])\n"
)


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


class SlowWriter(TraceWriter):
    """As if the disk took long."""

    def write(self, events: NDArray[np.void]) -> None:
        time.sleep(1.5)
        super().write(events)


@pytest.mark.long
@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize(
    ("writer", "seconds"),
    [
        (TraceWriter, 2),
        pytest.param(SlowWriter, 5, marks=pytest.mark.long),
        pytest.param(TraceWriter, 60, marks=pytest.mark.long),
    ],
)
def test_traces_of_everything_lose_nothing_that_is_not_counted(
    writer, seconds, all_probes, tmp_path, record_property
):
    others = {"seen": [e for point in COUNTERS for e in COUNTERS[point] if point != "vm.page-in"]}
    others["seen"] += [
        replace(event, is_own=True)
        for event in others["seen"]
        if not str(event.name).startswith("block/")
    ]
    resident: list[int] = []
    probe_said = ""

    def load() -> None:
        nonlocal probe_said
        with ExitStack() as stack:
            for name in ("process", "touch", "read", "packet", "turn"):
                stack.enter_context(subprocess.Popen(repeat(name, seconds)))
            probe = subprocess.Popen(
                [sys.executable, "-S", "-c", PROBE, str(seconds)], stdout=subprocess.PIPE, text=True
            )
            while probe.poll() is None:
                resident.append(resident_bytes())
                time.sleep(0.2)
            probe_said = probe.communicate()[0]

    with Watch(others) as watch, closing(writer(tmp_path / "events", all_probes)) as trace:
        points = all_points(*all_probes)
        measure(Session(all_probes, Wanted(points, points, budget=None), trace), watch, load)
        counts = trace.counts()
    late, latest = map(float, probe_said.split())
    figures = {
        "seconds": seconds,
        **counts,
        "resident_mb": [round(value / 1e6) for value in (resident[0], max(resident), resident[-1])],
        "late_ms": [round(1e3 * late, 1), round(1e3 * latest, 1)],
    }
    record_property("figures", json.dumps(figures))
    print(figures)
    assert counts["seen"] == counts["written"] + counts["lost"]
    assert counts["seen"] in watch.bounds["seen"].wider(PROCESSORS), (counts, watch.bounds)
    assert (tmp_path / "events").stat().st_size == counts["written"] * EVENT.itemsize
    assert counts["lost"] > 0 or writer is TraceWriter
    # What waits has a place of fixed size, whatever the rate.
    assert max(resident) - resident[0] < 64 << 20
    assert latest < 2


ROOT = Path(__file__).resolve().parents[2]
NS_FOR_AN_EVENT = 100_000  # at least, while a process reads its counts and others compete
TRACED = ("vm.total", "sched.run", "fs.read", "fs.write", "ipc.send", "ipc.receive")


def points_called(names: Sequence[str]) -> set[tuple[str, int]]:
    return {
        (name, number)
        for name, one in subsystems().items()
        for number, point in enumerate(one.points)
        if f"{name}.{point.name}" in names
    }


@pytest.fixture(scope="module")
def known(
    all_probes: AllProbes, tmp_path_factory: pytest.TempPathFactory
) -> tuple[dict, NDArray[np.void]]:
    """What a process says that it has done, and its events in a trace."""
    place = tmp_path_factory.mktemp("known")
    points = points_called(TRACED)
    probes = some(all_probes, *sorted({name for name, _ in points}))
    with closing(TraceWriter(place / "events", probes)) as trace:
        session = Session(probes, Wanted(points, points, budget=None), trace)
        with session.running():
            command = [sys.executable, "-S", ROOT / "tests/programs/kernels/known.py"]
            done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=True)
            session.read(is_last=True)
    said = json.loads(done.stdout)
    events = np.fromfile(place / "events", EVENT)
    return said, events[events["pid"] == said["pid"]]


def bounds_of(said: dict, events: NDArray[np.void], point: str) -> tuple[Bounds, Bounds]:
    """Number and bytes of its events between the readings, and with them."""
    ((name, number),) = points_called([point])
    subsystem = list(subsystems()).index(name)
    its = events[(events["subsystem"] == subsystem) & (events["point"] == number)]
    first, second, third, fourth = said["moments"]
    inner = its[(its["time_ns"] > second) & (its["time_ns"] < third)]
    outer = its[(its["time_ns"] > first) & (its["time_ns"] < fourth)]
    # On a busy machine reading takes milliseconds, in which it gets and loses its processor.
    reading_ns = second - first + fourth - third
    assert len(outer) - len(inner) < 8 + reading_ns / NS_FOR_AN_EVENT, (point, reading_ns)
    return Bounds(len(inner), len(outer)), Bounds(
        int(inner["bytes"].sum()), int(outer["bytes"].sum())
    )


@pytest.mark.parametrize(
    ("what", "figure", "size", "point"),
    [
        ("touch", "faults", None, "vm.total"),
        ("switches", "switches", None, "sched.run"),
        ("file", "syscr", "rchar", "fs.read"),
        ("file", "syscw", "wchar", "fs.write"),
    ],
)
def test_events_of_a_process_are_those_that_the_kernel_has_counted_of_it(
    known, what, figure, size, point
):
    said, events = known
    count, sizes = bounds_of(said[what], events, point)
    assert said[what][figure] >= 1000
    assert said[what][figure] in count
    assert size is None or said[what][size] in sizes


@pytest.mark.every_case
@pytest.mark.parametrize("point", ["ipc.send", "ipc.receive"])
@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_messages_of_a_process_are_those_that_it_sent(known, point, protocol):
    said, events = known
    classes = subsystems()["ipc"].classes
    its = events[events["class"] == classes.index(protocol)]
    count, sizes = bounds_of(said["messages"], its, point)
    assert count == Bounds(said["messages"]["messages"], said["messages"]["messages"])
    assert sizes == Bounds(said["messages"]["bytes"], said["messages"]["bytes"])


@dataclass(frozen=True)
class Disk:
    """A loop device of its own, and how it was used."""

    number: int  # as in traces
    accounts: dict[str, int]  # the kernel's, of requests and bytes
    fio: dict[str, int]
    empty_writes: int
    left_out: int  # completed requests, of all devices, that the kernel did not report to probes
    events: NDArray[np.void]


@pytest.fixture(scope="module")
def disk(
    all_probes: AllProbes, tmp_path_factory: pytest.TempPathFactory, debian_program
) -> Iterator[Disk]:
    for package, name in (("util-linux", "losetup"), ("fio", "fio"), ("e2fsprogs", "mkfs.ext4")):
        debian_program(package, name)
    place = tmp_path_factory.mktemp("disk")
    subprocess.run(["truncate", "-s", "64M", place / "image"], check=True)
    make = ["losetup", "-f", "--show", "--direct-io=on", place / "image"]
    done = subprocess.run(make, check=True, capture_output=True, text=True)
    device = Path(done.stdout.strip())
    try:
        yield use_disk(device, place, some(all_probes, "block"))
    finally:
        subprocess.run(["losetup", "-d", device], check=True)


def accounts_of(device: Path) -> dict[str, int]:
    """Documentation/admin-guide/iostats.rst"""
    fields = [int(word) for word in Path(f"/sys/block/{device.name}/stat").read_text().split()]
    names = {"read": 0, "write": 4, "discard": 11, "flush": 15}
    requests = {name: fields[first] for name, first in names.items()}
    sizes = {f"{n} bytes": 512 * fields[first + 2] for n, first in names.items() if n != "flush"}
    return requests | sizes


def use_disk(device: Path, place: Path, probes: AllProbes) -> Disk:
    # Without it the kernel does not note when a request was given to the device.
    with suppress(OSError):
        Path(f"/sys/block/{device.name}/queue/wbt_lat_usec").write_text("0")
    major, minor = (int(n) for n in Path(f"/sys/block/{device.name}/dev").read_text().split(":"))
    empty = Event("block/block_bio_queue", f"dev == {major << 20 | minor} && nr_sector == 0")
    mounted = place / "mounted"
    mounted.mkdir()
    fio = ["fio", "--name=f", f"--filename={device}", "--direct=1", "--rw=randrw", "--bs=4k"]
    fio += ["--io_size=8m", "--fsync=64", "--output-format=json"]
    before = accounts_of(device)
    watched = {"empty": [empty], "complete": COUNTERS["block.complete"]}
    with (
        Watch(watched) as watch,
        closing(TraceWriter(place / "events", probes)) as trace,
    ):
        session = Session(
            probes, Wanted(all_points("block"), all_points("block"), budget=None), trace
        )

        def load() -> None:
            nonlocal said
            done = subprocess.run(fio, check=True, capture_output=True, text=True)
            said = json.loads(done.stdout)["jobs"][0]
            subprocess.run(["mkfs.ext4", "-q", device], check=True)
            # Elsewhere another test's mount namespace would keep it mounted.
            mount = f"mount {device} {mounted}"
            write = f"dd if=/dev/zero of={mounted}/data bs=64k count=128"
            script = f"{mount} && {write} && umount {mounted}"
            subprocess.run(["unshare", "-m", "sh", "-c", script], check=True, capture_output=True)

        said: dict = {}
        counts = measure(session, watch, load)
    after = accounts_of(device)
    events = np.fromfile(place / "events", EVENT)
    return Disk(
        major << 20 | minor,
        {name: after[name] - before[name] for name in after},
        {name: said[name]["total_ios"] for name in ("read", "write")},
        watch.bounds["empty"].most,
        max(watch.bounds["complete"].most - counts["block.complete"], 0),
        events[events["what"] == (major << 20 | minor)],
    )


# What /proc/diskstats has as what: zeroes to be written are writes, and so is nothing with a flush,
# which the device sees as a flush only.
KINDS = {"read": ["read"], "write": ["write", "other"], "discard": ["discard"], "flush": ["flush"]}


@pytest.mark.parametrize("kind", KINDS)
def test_requests_of_a_device_are_those_that_the_kernel_has_counted_of_it(disk, kind):
    block = subsystems()["block"]
    points = [point.name for point in block.points]
    classes = [block.classes.index(name) for name in KINDS[kind]]
    its = disk.events[np.isin(disk.events["class"], classes)]
    complete = its[its["point"] == points.index("complete")]
    issued = its[its["point"] == points.index("issue")]
    expected = disk.accounts[kind] - (disk.empty_writes if kind == "write" else 0)
    assert len(issued) == expected
    # On a busy machine Linux 6.18 does not call the program for some of them
    # (docs/models/measuring.md); on a quiet one `left_out` is 0.
    missing = expected - len(complete)
    assert 0 <= missing <= min(disk.left_out, expected // 100)
    if kind != "flush":
        assert issued["bytes"].sum() == disk.accounts[f"{kind} bytes"]
        assert missing or complete["bytes"].sum() == issued["bytes"].sum()
    assert (complete["duration_ns"] > 0).all()
    if kind in disk.fio:
        assert len(complete) >= disk.fio[kind] > 100


def test_a_fault_that_began_before_it_could_be_seen_is_counted_at_its_end(all_probes, tmp_path):
    probes = some(all_probes, "vm")
    program = [sys.executable, "-S", ROOT / "tests/programs/kernels/held.py"]
    points = points_called(["vm.total"])
    with (
        subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as held,
        closing(TraceWriter(tmp_path / "events", probes)) as trace,
    ):
        assert held.stdout is not None
        address = int(held.stdout.readline())
        session = Session(probes, Wanted(points, points, budget=None), trace)
        with session.running():
            held.communicate("\n")
            session.read(is_last=True)
    assert held.returncode == 0
    events = np.fromfile(tmp_path / "events", EVENT)
    [fault] = events[(events["process"] == held.pid) & (events["where"] == address)]
    assert fault["duration_ns"] == 0  # when it began is not known


def of_stat(word: str) -> int:
    lines = Path("/proc/stat").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(word))


def of_vmstat(word: str) -> int:
    Path("/proc/sys/vm/stat_refresh").read_text()  # what CPUs have not handed in yet
    lines = Path("/proc/vmstat").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.split()[0] == word)


@contextmanager
def little_memory(megabytes: int) -> Iterator[list[str]]:
    """What begins a command that may use so much, while there is a device to swap to."""
    if not Path("/sys/class/zram-control").exists() or not Path("/sys/fs/cgroup/memory").is_dir():
        pytest.skip("needs zram and control groups for memory, to have pages written out")
    number = Path("/sys/class/zram-control/hot_add").read_text().strip()
    device = Path(f"/dev/zram{number}")
    group = Path(f"/sys/fs/cgroup/memory/sesame-test-{os.getpid()}")
    try:
        Path(f"/sys/block/{device.name}/disksize").write_text("256M")
        subprocess.run(["mkswap", "-q", device], check=True, capture_output=True)
        subprocess.run(["swapon", device], check=True)
        group.mkdir()
        (group / "memory.limit_in_bytes").write_text(f"{megabytes << 20}")
        yield ["sh", "-c", f'echo $$ > {group}/cgroup.procs; exec "$@"', "sh"]
    finally:
        if group.is_dir():
            group.rmdir()
        subprocess.run(["swapoff", device], check=False, capture_output=True)
        Path("/sys/class/zram-control/hot_remove").write_text(number)


FILL = (
    "import mmap\n"
    "m = mmap.mmap(-1, 96 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)\n"
    "for _ in range(2):\n"
    "    for at in range(0, len(m), 4096): m[at] = 1\n"
)


@pytest.mark.usefixtures("alone")
def test_pages_written_out_and_read_in_again_are_those_of_vmstat(all_probes):
    points = points_called(["vm.page-in", "vm.page-out", "vm.total"])
    inner = 0

    def load() -> None:
        nonlocal inner
        before = of_vmstat("nr_vmscan_write")
        subprocess.run([*begin, sys.executable, "-S", "-c", FILL], check=False)
        inner = of_vmstat("nr_vmscan_write") - before

    with little_memory(48) as begin, Watch(COUNTERS) as watch:
        session = Session(some(all_probes, "vm"), Wanted(points, budget=None))
        outer = of_vmstat("nr_vmscan_write")
        counts = measure(session, watch, load)
        outer = of_vmstat("nr_vmscan_write") - outer
    assert counts["vm.page-out"] in watch.bounds["vm.page-out"]
    assert counts["vm.page-in"] in watch.bounds["vm.page-in"]
    out = [row for row in session.rows["kernel_summary"] if row["point"] == "page-out"]
    # More may be written before and after the load than while it runs.
    assert sum(row["bytes"] for row in out) == 4096 * counts["vm.page-out"]
    assert 10_000 < inner <= counts["vm.page-out"] <= outer
    assert {row["class"] for row in out} == {"internal"}


@pytest.mark.usefixtures("alone")
def test_processes_and_switches_are_within_those_of_the_whole_system(all_probes):
    points = points_called(["task.create", "sched.run"])
    session = Session(some(all_probes, "task", "sched"), Wanted(points, budget=None))
    outer = of_stat("processes"), of_stat("ctxt")
    with session.running():
        inner = of_stat("processes")
        subprocess.run(LOADS["fork storm"], check=True)
        inner = of_stat("processes") - inner
        session.read(is_last=True)
    outer = of_stat("processes") - outer[0], of_stat("ctxt") - outer[1]
    counts = counts_of(session)
    assert 200 <= inner <= counts["task.create"] <= outer[0]
    # The kernel also counts switches away from the idle task, which neither runs nor waits.
    assert counts["sched.run"] < outer[1]
