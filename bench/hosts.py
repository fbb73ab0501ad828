"""Speed of `sesame simulate --hosts` on two hosts: two network namespaces of this machine.

A pair of virtual Ethernet devices connects them. With --delay a relay does (programs/relay.c): it
holds each packet for this time, between two TUN devices, since few kernels can delay packets
themselves (netem). Each end is limited to 10 Gbit/s by a token bucket (HTB). Prints the
round-trip time of one byte between the hosts (TCP), with a relay also that without delay, which is
the relay's own; then for
each program the elapsed time of the whole command with one process (t1), with two workers on one
host (t2) and with a worker on each host (th), the speed-ups t1 / t2 and t1 / th, rounds and frames.
Times are the shortest of --repeat runs; the kinds of run take turns. The predicted times must be
equal. Both hosts share this machine's processors, and each also has a supervisor that copies
frames: so two workers on two hosts need four processors to be undisturbed. Needs root, ip, tc,
mpicc and idle processors.

    python bench/hosts.py [--repeat 3] [--only cg] [--small] [--delay 50us]
"""

import argparse
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from message_rate import build, find_mpicc

from sesame.native import parse_duration_ps
from sesame.workloads import build_workload, find_compiler, find_workload

NAMES = [f"sesame-bench-{end}" for end in "ab"]
ADDRESSES = ["10.77.84.1", "10.77.84.2"]
DEVICE = "link0"
MTU = 9000  # of Ethernet with jumbo frames, which clusters use
RATE = "10gbit"
OPTIONS = ["--compute", "none", "--set", "node.cores=8"]
CASES = [
    ("cg", 64, ("--class", "A"), ("--class", "S")),
    ("bt", 16, ("--class", "A"), ("--class", "S")),
]
SHARING = ("none", "interface")  # without rounds, and with many
PINGS = 2_000
PING_PORT = 7177

PONG = f"""
import socket
with socket.create_server(("{ADDRESSES[1]}", {PING_PORT})) as listening:
    print(flush=True)
    connection = listening.accept()[0]
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while data := connection.recv(1):
        connection.sendall(data)
"""


def ip(*words: str) -> None:
    subprocess.run(["ip", *" ".join(words).split()], check=True)


@contextmanager
def two_hosts(delay_ns: int | None) -> Iterator[None]:
    """Connected by a relay with this delay; None: by virtual Ethernet devices."""
    relay = None
    try:
        for name in NAMES:
            ip("netns add", name)
        if delay_ns is None:
            ip(f"-n {NAMES[0]} link add {DEVICE} type veth peer name {DEVICE} netns {NAMES[1]}")
        else:
            relay = start_relay(delay_ns)
        for name, address in zip(NAMES, ADDRESSES, strict=True):
            ip(f"-n {name} addr add {address}/24 dev {DEVICE}")
            ip(f"-n {name} link set {DEVICE} mtu {MTU} up")
            ip(f"-n {name} link set lo up")
            limit(name)
        yield
    finally:
        if relay is not None:
            relay.kill()
            relay.wait()
        for name in NAMES:
            subprocess.run(["ip", "netns", "del", name], check=False, stderr=subprocess.DEVNULL)


def start_relay(delay_ns: int) -> subprocess.Popen[str]:
    with tempfile.TemporaryDirectory() as directory:
        program = build("cc", "relay", Path(directory))
        relay = subprocess.Popen(
            [program, *NAMES, DEVICE, str(delay_ns)], stdout=subprocess.PIPE, text=True
        )
        assert relay.stdout is not None
        if not relay.stdout.readline():
            raise SystemExit(f"the relay ended with status {relay.wait()}")
    return relay


def limit(name: str) -> None:
    shape = f"ip netns exec {name} tc"
    for words in (
        f"qdisc add dev {DEVICE} root handle 1: htb default 1",
        f"class add dev {DEVICE} parent 1: classid 1:1 htb rate {RATE} burst 1m cburst 1m "
        "quantum 60000",
    ):
        subprocess.run([*shape.split(), *words.split()], check=True)


def ping() -> None:
    """Runs in the first namespace: prints the median round trip, s."""
    with socket.create_connection((ADDRESSES[1], PING_PORT)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        times = []
        for _ in range(PINGS):
            begin = time.perf_counter()
            connection.sendall(b"x")
            connection.recv(1)
            times.append(time.perf_counter() - begin)
    print(statistics.median(times))


def round_trip_s() -> float:
    inside = ["ip", "netns", "exec"]
    pong = subprocess.Popen(
        [*inside, NAMES[1], sys.executable, "-c", PONG], stdout=subprocess.PIPE, text=True
    )
    assert pong.stdout is not None
    pong.stdout.readline()
    command = [*inside, NAMES[0], sys.executable, __file__, "--ping"]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    pong.wait()
    return float(found.stdout)


def run(options: Sequence[str], program: Sequence[str]) -> tuple[float, Any]:
    """The elapsed time of the command in the first namespace, s, and its result."""
    sesame = [sys.executable, "-m", "sesame", "simulate", "--json", "--machine", "infiniband"]
    command = ["ip", "netns", "exec", NAMES[0], *sesame, *OPTIONS, *options, "--", *program]
    begin = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    elapsed = time.monotonic() - begin
    if done.returncode != 0:
        raise SystemExit(f"failed: {' '.join(command)}\n{done.stderr}")
    return elapsed, json.loads(done.stdout)


def show(name: str, ranks: int, program: Sequence[str], sharing: str, repeat: int) -> None:
    common = ["-n", str(ranks), "--set", f"network.sharing={sharing}"]
    launcher = f"ip netns exec {NAMES[1]}"
    kinds = [
        common,
        [*common, "--workers", "2"],
        [*common, "--workers", "2", "--hosts", ADDRESSES[1], "--launcher", launcher],
    ]
    times: list[list[float]] = [[] for _ in kinds]
    results: list[Any] = [None] * len(kinds)
    for _ in range(repeat):
        for i, options in enumerate(kinds):
            elapsed, results[i] = run(options, program)
            times[i].append(elapsed)
    predicted = {result["predicted_time_s"] for result in results}
    if len(predicted) > 1:
        raise SystemExit(f"{name}: the predicted times differ: {predicted}")
    one, two, hosts = map(min, times)
    parallel = results[2]["parallel"]
    print(
        f"{name} at {ranks}, {sharing}: t1 {one:.2f} s, t2 {two:.2f} s, th {hosts:.2f} s; "
        f"t1/t2 {one / two:.2f}, t1/th {one / hosts:.2f}; "
        f"{parallel['rounds']} rounds, {parallel['frames']} frames",
        flush=True,
    )


def nanoseconds(text: str) -> int:
    return round(parse_duration_ps(text) / 1e3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", help="only this program")
    parser.add_argument("--small", action="store_true", help="problems of a second or so")
    parser.add_argument(
        "--delay", type=nanoseconds, help="of each packet, such as 50us: adds a relay"
    )
    parser.add_argument("--ping", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.ping:
        return ping()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # removes the namespaces
    compiler = find_compiler(find_mpicc().replace("mpicc", "mpicxx"))
    own = ""
    if arguments.delay is not None:
        with two_hosts(0):
            own = f", {round_trip_s() * 1e6:.0f} us without the delay"
    with two_hosts(arguments.delay):
        print(f"{os.cpu_count()} processors; round trip {round_trip_s() * 1e6:.0f} us{own}")
        for name, ranks, large, small in CASES:
            if arguments.only not in (None, name):
                continue
            program = str(build_workload(find_workload(name), compiler).program)
            words = [program, *(small if arguments.small else large)]
            for sharing in SHARING:
                show(name, ranks, words, sharing, arguments.repeat)


if __name__ == "__main__":
    main()
