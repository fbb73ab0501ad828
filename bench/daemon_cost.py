"""What monitoring an idle node costs: Sesame's daemon, PCP and node_exporter, in one run.

Each is started on loopback with its own settings: sesamed with all points on and a collector that
receives its readings; pmcd with pmdalinux and a pmlogger of 108 metrics; node_exporter, whose page
is requested. Prints for each the processor time of one reading (schedstat of its threads), its
share of a processor at an interval of 10 s, and its ratio to that of sesamed. No budget is set
unless one is given, because it limits the cost on a busy node. sesamed batches six readings, so
measure for many times six intervals. Needs root, and Debian's packages pcp and
prometheus-node-exporter; absent ones are reported.

    python bench/daemon_cost.py [--interval 2] [--seconds 60] [--budget 0.1%]
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

SESAME = [sys.executable, "-m", "sesame"]
PMCD = Path("/usr/lib/pcp/bin/pmcd")
PMDA = Path("/var/lib/pcp/pmdas/linux/pmdalinux")
PORTS = {"daemon": 17117, "collector": 17118, "pmcd": 17119, "node_exporter": 17120}
# Leaves of PCP's names: a node of the tree draws in derived metrics that keep pmlogger busy.
STATES = ("user", "nice", "sys", "idle", "irq.hard", "irq.soft", "steal", "guest")
METRICS = [
    *(f"kernel.{of}.cpu.{state}" for of in ("all", "percpu") for state in STATES),
    *("kernel.all.load", "kernel.all.intr", "kernel.all.pswitch", "kernel.all.sysfork"),
    *(
        "kernel.all.nprocs",
        "kernel.all.runnable",
        "kernel.all.blocked",
        "kernel.all.uptime",
        "kernel.all.nusers",
    ),
    *(f"mem.util.{name}" for name in ("used", "free", "bufmem", "cached", "slab", "dirty")),
    *(f"mem.util.{name}" for name in ("active", "inactive", "mapped", "committed_AS", "writeback")),
    *(f"mem.util.{name}" for name in ("anonpages", "pageTables", "kernelStack", "shmem")),
    *(f"mem.vmstat.{name}" for name in ("pgfault", "pgmajfault", "pgpgin", "pgpgout", "pgfree")),
    *(f"mem.vmstat.{name}" for name in ("pswpin", "pswpout", "pgactivate", "pgdeactivate")),
    *(f"mem.vmstat.{name}" for name in ("pgrefill_normal", "pginodesteal", "slabs_scanned")),
    *(f"disk.dev.{name}" for name in ("read", "write", "total", "read_bytes", "write_bytes")),
    *(f"disk.dev.{name}" for name in ("read_merge", "write_merge", "avactive", "aveq")),
    *(f"disk.all.{name}" for name in ("read", "write", "total", "read_bytes", "write_bytes")),
    *(
        f"network.interface.{way}.{name}"
        for way in ("in", "out")
        for name in ("bytes", "packets", "errors", "drops", "fifo", "compressed")
    ),
    *(f"network.tcp.{name}" for name in ("activeopens", "passiveopens", "insegs", "outsegs")),
    *(f"network.tcp.{name}" for name in ("retranssegs", "currestab", "estabresets", "inerrs")),
    *(f"network.udp.{name}" for name in ("indatagrams", "outdatagrams", "noports", "inerrors")),
    *(
        f"network.ip.{name}"
        for name in ("inreceives", "indelivers", "outrequests", "forwdatagrams")
    ),
    *(f"filesys.{name}" for name in ("capacity", "used", "free", "maxfiles", "usedfiles")),
    *("swap.length", "swap.used", "swap.free", "swap.pagesin", "swap.pagesout"),
    *("vfs.files.count", "vfs.inodes.count", "vfs.dentry.count", "ipc.shm.max_seg"),
]


@contextmanager
def started(*command: str | Path, log: Path) -> Iterator[int]:
    with log.open("wb") as out:
        # Where their own logs go, too.
        process = subprocess.Popen(command, stdout=out, stderr=out, cwd=log.parent)
        try:
            yield process.pid
        finally:
            process.terminate()
            process.wait()


def children(pid: int) -> list[int]:
    found = [pid]
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            found += children(int(child))
    return found


def processor_ns(pids: list[int]) -> int:
    """Of all threads, since they began."""
    tasks = [task for pid in pids for task in Path(f"/proc/{pid}/task").iterdir()]
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks)


@contextmanager
def sesame(directory: Path, how: argparse.Namespace) -> Iterator[list[int]]:
    token = directory / "collector-token"
    at = f"127.0.0.1:{PORTS['collector']}"
    options = ["collect", "-o", directory / "out", "--token-file", token, "--listen", at]
    with started(*SESAME, *options, log=directory / "collector.log"):
        while not token.exists():
            time.sleep(0.1)
        options = ["measure", "daemon", "--state-directory", directory, "--level", "summary"]
        options += ["--listen", f"127.0.0.1:{PORTS['daemon']}", "--interval", str(how.interval)]
        options += ["--budget", how.budget]
        options += ["--destination", f"http://{at}", "--destination-token-file", token]
        with started(*SESAME, *options, log=directory / "daemon.log") as daemon:
            while "http" not in (directory / "daemon.log").read_text():  # where it listens
                time.sleep(0.1)
            yield [daemon]


@contextmanager
def pcp(directory: Path, how: argparse.Namespace) -> Iterator[list[int]]:
    names = Path("/var/lib/pcp/pmns")
    if not (names / "root").exists():  # the package makes it when its service starts
        subprocess.run([names / "Rebuild", "-u"], cwd=names, check=True, capture_output=True)
    (directory / "pmcd.conf").write_text(
        f'linux 60 pipe binary {PMDA}\n[access]\nallow "local:*" : all;\n'
    )
    metrics = "\n".join(METRICS)
    logged = f"log mandatory on {round(1000 * how.interval)} msec {{\n{metrics}\n}}\n"
    (directory / "logger.conf").write_text(logged)
    command = [PMCD, "-f", "-A", "-U", "root", "-c", directory / "pmcd.conf"]
    command += [
        "-p",
        str(PORTS["pmcd"]),
        "-s",
        directory / "pmcd.socket",
        "-l",
        directory / "pmcd.log",
    ]
    with started(*command, log=directory / "pmcd.out") as pmcd:
        time.sleep(2)
        logger = ["pmlogger", "-h", f"localhost:{PORTS['pmcd']}", "-c", directory / "logger.conf"]
        logger += ["-U", "root", "-l", directory / "logger.log", directory / "archive"]
        with started(*logger, log=directory / "logger.out") as pmlogger:
            time.sleep(1)
            yield [*children(pmcd), pmlogger]


@contextmanager
def node_exporter(directory: Path, how: argparse.Namespace) -> Iterator[list[int]]:
    address = f"127.0.0.1:{PORTS['node_exporter']}"
    command = ["prometheus-node-exporter", f"--web.listen-address={address}"]
    ended = threading.Event()

    def scrape() -> None:
        while not ended.wait(how.interval):
            urllib.request.urlopen(f"http://{address}/metrics").read()

    with started(*command, log=directory / "exporter.log") as pid:
        thread = threading.Thread(target=scrape)
        thread.start()
        try:
            yield [pid]
        finally:
            ended.set()
            thread.join()


Agent = Callable[[Path, argparse.Namespace], AbstractContextManager[list[int]]]
AGENTS: dict[str, tuple[Agent, str]] = {
    "sesamed, all points": (sesame, ""),
    "PCP, 108 metrics": (pcp, str(PMCD)),
    "node_exporter": (node_exporter, "prometheus-node-exporter"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--interval", type=float, default=2.0)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--budget", default="none")
    arguments = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("probes need root")
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        running: dict[str, list[int]] = {}
        for number, (name, (agent, program)) in enumerate(AGENTS.items()):
            if program and shutil.which(program) is None:
                print(f"{name}: not installed")
                continue
            place = directory / str(number)
            place.mkdir()
            running[name] = stack.enter_context(agent(place, arguments))
        time.sleep(5 * arguments.interval)  # after the initial work
        before = {name: processor_ns(pids) for name, pids in running.items()}
        begin = time.monotonic()
        time.sleep(arguments.seconds)
        readings = (time.monotonic() - begin) / arguments.interval
        took = {name: processor_ns(pids) - before[name] for name, pids in running.items()}
    for name, ns in took.items():
        share = 1e-8 * ns / readings  # per cent of one processor
        print(
            f"{name}: {1e-6 * ns / readings:.2f} ms a reading, {share:.4f} % of a processor "
            f"at 10 s, {ns / took['sesamed, all points']:.2f} times sesamed's"
        )


if __name__ == "__main__":
    main()
