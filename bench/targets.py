"""File systems that differ, for measurements: contexts that give a directory. Root only."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

SIZE, MEMORY = "600M", "700M"
# A real device uses no processor of the ranks. So the processes that emulate one get priority over
# the ranks, and a session of their own, since the kernel divides processors among sessions first.
FIRST = ["setsid", "sh", "-c", 'echo -19 > /proc/self/autogroup; exec nice -n -19 "$@"', "sh"]
DELAY = "2ms"
RATE, BURST = "256M", "0.05"  # bit/s; s: at most the quota of this time is saved for later
# Work that a file system would finish in the background would disturb the measurement.
COMPLETE = {"ext4": ("-E", "lazy_itable_init=0,lazy_journal_init=0")}
ADDRESS = "10.9.9.1"
LIMIT = 32 << 20  # bytes/s that the kernel lets pass
LIMITS = [
    Path(f"/sys/fs/cgroup/blkio/blkio.throttle.{way}_bps_device") for way in ("read", "write")
]
ZRAM = Path("/sys/class/zram-control")


def run(*command: str | Path) -> str:
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@contextmanager
def directory() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="sesame-target-") as name:
        yield Path(name)


@contextmanager
def mounted(what: str | Path, place: Path, *options: str) -> Iterator[Path]:
    place.mkdir(exist_ok=True)
    run("mount", *options, what, place)
    try:
        yield place
    finally:
        run("umount", "--lazy", place)


@contextmanager
def in_memory(name: Path) -> Iterator[Path]:
    """Memory in place of a disk: the machine's own disk may be shared, and its times vary."""
    with mounted("sesame", name, "-t", "tmpfs", "-o", f"size={MEMORY}") as m:
        yield m


@contextmanager
def tmpfs() -> Iterator[Path]:
    with directory() as name, in_memory(name / "m") as m:
        yield m


@contextmanager
def on_loop(image: Path, kind: str, *options: str) -> Iterator[Path]:
    device = run("losetup", "-f", "--show", *options, image)
    try:
        run(f"mkfs.{kind}", *COMPLETE.get(kind, ()), device)
        with mounted(device, image.parent.parent / "on-loop") as place:
            yield place
    finally:
        run("losetup", "-d", device)


def loop(kind: str) -> Callable[[], AbstractContextManager[Path]]:
    @contextmanager
    def make() -> Iterator[Path]:
        with directory() as name, in_memory(name / "image") as memory:
            run("truncate", "-s", SIZE, memory / "disk")
            with on_loop(memory / "disk", kind) as place:
                yield place

    return make


@contextmanager
def fuse() -> Iterator[Path]:
    with directory() as name:
        (name / "below").mkdir()
        (name / "m").mkdir()
        run(*FIRST, "bindfs", name / "below", name / "m")
        try:
            yield name / "m"
        finally:
            run("umount", "--lazy", name / "m")


def disk(*filter_and_its_options: str) -> Callable[[], AbstractContextManager[Path]]:
    """ext4 on a disk in memory that a filter of nbdkit makes slow."""

    @contextmanager
    def make() -> Iterator[Path]:
        filtered, *options = filter_and_its_options
        with directory() as name:
            (name / "nbd").mkdir()
            socket = name / "socket"
            plugin = [f"--filter={filtered}", "memory", SIZE, *options]
            server = subprocess.Popen([*FIRST, "nbdkit", "-f", "-U", str(socket), *plugin])
            wait_for(socket)
            address = f"nbd+unix:///?socket={socket}"
            client = subprocess.Popen([*FIRST, "nbdfuse", str(name / "nbd"), address])
            try:
                wait_for(name / "nbd/nbd")
                with on_loop(name / "nbd/nbd", "ext4", "--direct-io=on") as place:
                    yield place
            finally:
                subprocess.run(["umount", "--lazy", str(name / "nbd")], check=False)
                for process in (client, server):
                    process.terminate()
                    process.wait()

    return make


@contextmanager
def limited() -> Iterator[Path]:
    """ext4 in compressed memory. The kernel limits its rate; no process emulates the device."""
    number = (ZRAM / "hot_add").read_text().strip()
    device = Path("/sys/block") / f"zram{number}"
    try:
        (device / "disksize").write_text(SIZE)
        limit = (device / "dev").read_text().strip()
        for file in LIMITS:
            file.write_text(f"{limit} {LIMIT}")
        try:
            run("mkfs.ext4", *COMPLETE["ext4"], f"/dev/{device.name}")
            with directory() as name, mounted(f"/dev/{device.name}", name / "m") as place:
                yield place
        finally:
            for file in LIMITS:
                file.write_text(f"{limit} 0")
    finally:
        (ZRAM / "hot_remove").write_text(number)


@contextmanager
def gluster() -> Iterator[Path]:
    """Two bricks in memory, their servers and the client in a network of their own."""
    network = f"sesame-{os.getpid()}"
    with directory() as name, in_memory(name / "bricks") as bricks, network_of(network):
        inside = ["nsenter", f"--net=/run/netns/{network}"]
        volume = [*inside, "gluster", "--mode=script", "volume"]
        text = Path("/etc/glusterfs/glusterd.vol").read_text()
        (name / "glusterd.vol").write_text(text.replace("/var/lib/glusterd", f"{name}/work"))
        (name / "work").mkdir()
        options = ["-f", name / "glusterd.vol", "-l", name / "log", "-p", name / "pid"]
        run(*inside, *FIRST, "glusterd", *options)
        wait_for(Path("/var/run/glusterd.socket"))
        try:
            run(*volume, "create", "gv0", *(f"{ADDRESS}:{bricks}/{i}" for i in (0, 1)), "force")
            run(*volume, "start", "gv0")
            (name / "m").mkdir()
            run(*inside, *FIRST, "mount", "-t", "glusterfs", f"{ADDRESS}:/gv0", name / "m")
            try:
                yield name / "m"
            finally:
                run("umount", "--lazy", name / "m")
                run(*volume, "stop", "gv0", "force")
        finally:
            run("kill", (name / "pid").read_text().strip())


@contextmanager
def network_of(name: str) -> Iterator[None]:
    run("ip", "netns", "add", name)
    try:
        for words in (
            "link set lo up",
            "link add near type veth peer name far",
            f"addr add {ADDRESS}/24 dev near",
            "link set near up",
            "link set far up",
        ):
            run("ip", "-n", name, *words.split())
        yield
    finally:
        run("ip", "netns", "del", name)


def wait_for(path: Path) -> None:
    end = time.monotonic() + 10
    while not path.exists():
        if time.monotonic() > end:
            raise TimeoutError(f"{path} does not appear")
        time.sleep(0.05)


TARGETS: dict[str, Callable[[], AbstractContextManager[Path]]] = {
    "tmpfs": tmpfs,
    "ext4": loop("ext4"),
    "xfs": loop("xfs"),
    "btrfs": loop("btrfs"),
    "fuse": fuse,
    "gluster": gluster,
    "delayed": disk("delay", f"rdelay={DELAY}", f"wdelay={DELAY}"),
    "limited": limited,
    "throttled": disk("rate", f"rate={RATE}", f"burstiness={BURST}"),
}
