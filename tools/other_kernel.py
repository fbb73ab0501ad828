"""Runs a command on another kernel: a Debian kernel package in QEMU, on this machine's files.

The package is unpacked, not installed. The guest sees this machine's files, cannot change them, and
has its own /dev, /proc, /run and /sys; what the command prints is printed here, and its status is
ours. Needs qemu-system-x86 and busybox-static; newer kernels come in several packages.

With --systemd the command is run by this machine's systemd as the guest's first process, and all
files can be changed: changes are in the guest's memory.

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
from contextlib import suppress
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
    "overlay",
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
@SYSTEMD@
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

# Of the unit that runs the command; the guest ends with it.
UNIT = """[Unit]
Requires=basic.target
After=basic.target
SuccessAction=poweroff-force
FailureAction=poweroff-force
[Service]
Type=oneshot
ExecStart=/bin/bash -c '/bin/bash /mnt/command > /mnt/output 2>&1; echo $? > /mnt/status; sync'
"""

# In place of the rest of INIT.
SYSTEMD = f"""busybox mkdir -p /changes /whole
busybox mount -t tmpfs none /changes
busybox mkdir -p /changes/upper /changes/work
busybox mount -t overlay -o lowerdir=/root,upperdir=/changes/upper,workdir=/changes/work none /whole
busybox mount -o move /root/mnt /whole/mnt
busybox cat > /whole/etc/systemd/system/command.service << 'END'
{UNIT}END
: > /whole/etc/fstab
# It would remove this machine's temporary files one by one.
busybox ln -s /dev/null /whole/etc/systemd/system/systemd-tmpfiles-setup.service
exec busybox switch_root /whole /lib/systemd/systemd --unit=command.service
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


def make_start(directory: Path, modules: list[Path], is_systemd: bool) -> Path:
    """Makes the initial file system of the guest; returns the path of its archive."""
    start = directory / "start"
    for name in ("bin", "modules"):
        (start / name).mkdir(parents=True)
    shutil.copy2(shutil.which("busybox") or "/bin/busybox", start / "bin/busybox")
    (start / "init").write_text(INIT.replace("@SYSTEMD@", SYSTEMD if is_systemd else ""))
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
    """Boots the guest and waits until it powers off, or ends it; returns its kernel's messages."""
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
    log = exchange.parent / "messages"
    with log.open("wb") as file, suppress(subprocess.TimeoutExpired):
        subprocess.run(
            command, stdout=file, stderr=file, timeout=timeout_s, stdin=subprocess.DEVNULL
        )
    return log.read_text(errors="replace")


def run(
    packages: list[Path], command: list[str], timeout_s: float = 600, *, is_systemd: bool = False
) -> tuple[int, str]:
    """Status and output of the command on the kernel of the packages."""
    with tempfile.TemporaryDirectory() as name:
        directory, exchange = Path(name), Path(name) / "exchange"
        exchange.mkdir()
        kernel, modules = unpack(packages, directory / "kernel")
        # Programs can write to /run.
        settings = "export HOME=/run TMPDIR=/run PATH=/usr/sbin:/usr/bin; cd /run\n"
        (exchange / "command").write_text(settings + shlex.join(command) + "\n")
        messages = boot(kernel, make_start(directory, modules, is_systemd), exchange, timeout_s)
        output = exchange / "output"
        printed = output.read_text() if output.exists() else ""
        if not (exchange / "status").exists():
            raise SystemExit(f"{printed}the guest did not finish; it said:\n{messages[-4000:]}")
        return int((exchange / "status").read_text()), printed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("packages", type=Path, nargs="+", metavar="DEB")
    parser.add_argument("--timeout", type=float, default=600, metavar="SECONDS")
    parser.add_argument("--systemd", action="store_true", help="under systemd")
    words = sys.argv[1:]
    if "--" not in words:
        parser.error("expected -- and a command after the packages")
    cut = words.index("--")
    options = parser.parse_args(words[:cut])
    status, output = run(
        options.packages, words[cut + 1 :], options.timeout, is_systemd=options.systemd
    )
    sys.stdout.write(output)
    return status


if __name__ == "__main__":
    sys.exit(main())
