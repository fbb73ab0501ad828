"""File systems that differ, for measurements: contexts that give a directory. Root only."""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

SIZE = "600M"
# A device has no part in the ranks' processors: what stands for one goes before all of them.
FIRST = ["nice", "-n", "-19"]
DELAY = "2ms"


def run(*command: str | Path) -> str:
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@contextmanager
def folder() -> Iterator[Path]:
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
def tmpfs() -> Iterator[Path]:
    with folder() as name, mounted("sesame", name / "m", "-t", "tmpfs", "-o", f"size={SIZE}") as m:
        yield m


@contextmanager
def on_loop(image: Path, kind: str, *options: str) -> Iterator[Path]:
    device = run("losetup", "-f", "--show", *options, image)
    try:
        run(f"mkfs.{kind}", device)
        with mounted(device, image.parent.parent / "on-loop") as place:
            yield place
    finally:
        run("losetup", "-d", device)


def loop(kind: str) -> Callable[[], AbstractContextManager[Path]]:
    @contextmanager
    def make() -> Iterator[Path]:
        with folder() as name:
            (name / "image").mkdir()
            image = name / "image/disk"
            run("truncate", "-s", SIZE, image)
            with on_loop(image, kind) as place:
                yield place

    return make


@contextmanager
def fuse() -> Iterator[Path]:
    with folder() as name:
        (name / "below").mkdir()
        (name / "m").mkdir()
        run(*FIRST, "bindfs", name / "below", name / "m")
        try:
            yield name / "m"
        finally:
            run("umount", "--lazy", name / "m")


@contextmanager
def delayed() -> Iterator[Path]:
    """ext4 on a disk in memory whose requests take 2 ms more."""
    with folder() as name:
        (name / "nbd").mkdir()
        socket = name / "socket"
        plugin = ["--filter=delay", "memory", SIZE, f"rdelay={DELAY}", f"wdelay={DELAY}"]
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
    "delayed": delayed,
}
