"""Runs a command on another kernel: a Debian kernel package in QEMU, on this machine's files.

The package is unpacked, not installed. The guest sees this machine's files, cannot change them, and
has its own /dev, /proc, /run and /sys; what the command prints is printed here, and its status is
ours. Needs qemu-system-x86 and busybox-static; newer kernels come in several packages.

    python tools/other_kernel.py linux-image-6.1.0-56-amd64_6.1.192-2_amd64.deb -- uname -r
"""

from __future__ import annotations

import argparse
import lzma
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

# The modules for access to the host's files (9p over virtio) and for block devices.
MODULES = [
    "virtio",
    "virtio_ring",
    "virtio_pci_legacy_dev",
    "virtio_pci_modern_dev",
    "virtio_pci",
    "fscache",
    "netfs",
    "9pnet",
    "9pnet_virtio",
    "9p",
    "loop",
]

# The order of modules differs between kernels: those that were too early are tried again.
INIT = """#!/bin/busybox sh
export PATH=/bin
busybox mkdir -p /proc /sys /dev /root
busybox mount -t proc none /proc
busybox mount -t devtmpfs none /dev
for again in 1 2 3 4; do
  for module in /modules/*; do busybox insmod $module; done
done 2> /dev/null
options=trans=virtio,version=9p2000.L,msize=262144
busybox mount -t 9p -o ro,cache=loose,$options files /root
busybox mount -t 9p -o $options exchange /root/mnt
cd /root
busybox mount -t proc none proc
busybox mount -t sysfs none sys
busybox mount -t devtmpfs none dev
busybox mount -t tmpfs none dev/shm
busybox mount -t tmpfs none run
busybox mount -t tracefs none sys/kernel/tracing
busybox ip link set lo up
busybox chroot /root /bin/bash /mnt/command < /dev/null > /root/mnt/output 2>&1
echo $? > /root/mnt/status
busybox poweroff -f
"""


def unpack(packages: list[Path], directory: Path) -> tuple[Path, list[Path]]:
    """Unpacks the packages; returns the kernel image and the modules of `MODULES`."""
    for package in packages:
        subprocess.run(["dpkg-deb", "--extract", package, directory], check=True)
    kernels = list(directory.rglob("vmlinuz*"))
    if len(kernels) != 1:
        raise SystemExit(f"expected one kernel in these packages, found {len(kernels)}")
    wanted = [p for p in directory.rglob("*.ko*") if p.name.split(".")[0] in MODULES]
    return kernels[0], wanted


def make_start(directory: Path, modules: list[Path]) -> Path:
    """Makes the initial file system of the guest; returns the path of its archive."""
    start = directory / "start"
    for name in ("bin", "modules"):
        (start / name).mkdir(parents=True)
    shutil.copy2(shutil.which("busybox") or "/bin/busybox", start / "bin/busybox")
    (start / "init").write_text(INIT)
    (start / "init").chmod(0o755)
    for module in modules:
        data = module.read_bytes()
        is_packed = module.suffix == ".xz"
        name = module.name.split(".")[0]
        (start / f"modules/{name}.ko").write_bytes(lzma.decompress(data) if is_packed else data)
    archive = directory / "start.cpio"
    make = "find . | busybox cpio -o -H newc"
    with archive.open("wb") as file:
        subprocess.run(make, shell=True, cwd=start, stdout=file, stderr=subprocess.DEVNULL)
    return archive


def boot(kernel: Path, start: Path, exchange: Path, timeout_s: float) -> str:
    """Boots the guest and waits until it powers off; returns its kernel's messages."""
    shared = "local,security_model=none,multidevs=remap"
    command = [
        "qemu-system-x86_64",
        "-accel",
        "tcg,thread=multi",
        "-cpu",
        "max",
        "-m",
        "1536",
        "-smp",
        "2",
    ]
    command += ["-kernel", str(kernel), "-initrd", str(start), "-nographic", "-no-reboot"]
    command += ["-append", "console=ttyS0 panic=-1 net.ifnames=0"]
    command += ["-virtfs", f"{shared},path=/,mount_tag=files,readonly=on"]
    command += ["-virtfs", f"{shared},path={exchange},mount_tag=exchange"]
    done = subprocess.run(command, capture_output=True, timeout=timeout_s, stdin=subprocess.DEVNULL)
    return (done.stdout + done.stderr).decode(errors="replace")


def run(packages: list[Path], command: list[str], timeout_s: float = 600) -> tuple[int, str]:
    """Status and output of the command on the kernel of the packages."""
    with tempfile.TemporaryDirectory() as name:
        directory, exchange = Path(name), Path(name) / "exchange"
        exchange.mkdir()
        kernel, modules = unpack(packages, directory / "kernel")
        # Programs can write to /run.
        settings = "export HOME=/run TMPDIR=/run PATH=/usr/sbin:/usr/bin; cd /run\n"
        (exchange / "command").write_text(settings + shlex.join(command) + "\n")
        messages = boot(kernel, make_start(directory, modules), exchange, timeout_s)
        if not (exchange / "status").exists():
            raise SystemExit(f"the guest did not finish; its messages:\n{messages[-4000:]}")
        return int((exchange / "status").read_text()), (exchange / "output").read_text()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("packages", type=Path, nargs="+", metavar="DEB")
    parser.add_argument("--timeout", type=float, default=600, metavar="SECONDS")
    words = sys.argv[1:]
    if "--" not in words:
        parser.error("expected -- and a command after the packages")
    cut = words.index("--")
    options = parser.parse_args(words[:cut])
    status, output = run(options.packages, words[cut + 1 :], options.timeout)
    sys.stdout.write(output)
    return status


if __name__ == "__main__":
    sys.exit(main())
