"""Block traces made by the test: the same requests in every form that is imported."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sesame.exchange.blktrace import FIELDS, MAGIC, VERSION

RECORD = np.dtype([(name, f"<{kind}") for name, kind in FIELDS])
ISSUE = 7 | 1 << 22  # enum blktrace_act and blktrace_cat
COMPLETE = 8 | 1 << 23
NOTIFY = 1 << 26
CATEGORY = {"R": 1 << 16, "W": 1 << 17}
FIRST_SECOND = 50


@dataclass(frozen=True)
class Request:
    time_ns: int
    latency_ns: int
    device: tuple[int, int]
    sector: int
    sectors: int
    flags: str
    pid: int
    command: str


def random_requests(count: int, seed: int = 7) -> list[Request]:
    """No two at the same place of a device, so that they cannot be taken for each other."""
    random = np.random.default_rng(seed)
    times = np.cumsum(random.integers(1_000, 50_000, count))
    sectors = random.permutation(count) * 1000
    return [
        Request(
            int(times[i]),
            int(random.integers(10_000, 900_000)),
            (7, int(random.integers(2))),
            int(sectors[i]),
            int(random.choice([1, 8, 256])),
            "RW"[int(random.integers(2))],
            100 + int(random.integers(3)),
            "",
        )
        for i in range(count)
    ]


def named(request: Request) -> str:
    return f"prog{request.pid}"


def events_of(requests: list[Request]) -> list[tuple[int, int, Request]]:
    """(time, action, request) in the order of time."""
    events = [(r.time_ns, ISSUE, r) for r in requests]
    events += [(r.time_ns + r.latency_ns, COMPLETE, r) for r in requests]
    return sorted(events, key=lambda e: (e[0], e[1]))


def write_blktrace(directory: Path, requests: list[Request], cpus: int = 2) -> Path:
    """The files of all processors; gives the first."""
    files = [bytearray() for _ in range(cpus)]
    record = np.zeros(1, RECORD)
    record["magic"] = MAGIC | VERSION
    for pid in sorted({r.pid for r in requests}):
        record["pid"], record["action"], record["pdu_len"] = pid, NOTIFY, 16
        files[0] += record.tobytes() + f"prog{pid}".encode().ljust(16, b"\0")
    record["pdu_len"] = 0
    for number, (time, action, r) in enumerate(events_of(requests)):
        record["sequence"], record["time"], record["pid"] = number + 1, time, r.pid
        record["sector"], record["bytes"] = r.sector, r.sectors * 512
        record["action"] = action | CATEGORY[r.flags]
        record["device"] = r.device[0] << 20 | r.device[1]
        record["cpu"] = cpu = number % cpus
        files[cpu] += record.tobytes()
    for cpu, data in enumerate(files):
        (directory / f"sd.blktrace.{cpu}").write_bytes(data)
    return directory / "sd.blktrace.0"


def write_perf(path: Path, requests: list[Request]) -> Path:
    lines = ["# ========", "# captured on a machine", ""]
    for time, action, r in events_of(requests):
        event, size = ("issue", f" {r.sectors * 512}") if action == ISSUE else ("complete", "")
        seconds, ns = divmod(time, 10**9)
        lines.append(
            f"{named(r):>16} {r.pid:5} [001] {FIRST_SECOND + seconds}.{ns:09}: "
            f"block:block_rq_{event}: {r.device[0]},{r.device[1]} {r.flags}{size} () "
            f"{r.sector} + {r.sectors} none,0,0 [{named(r)}]"
        )
    path.write_text("\n".join(lines) + "\n")
    return path


def write_msr(path: Path, requests: list[Request]) -> Path:
    """In ticks of 100 ns."""
    first = 128_166_372_003_061_629
    path.write_text(
        "".join(
            f"{first + r.time_ns // 100},web,{r.device[1]},{'Read' if r.flags == 'R' else 'Write'},"
            f"{r.sector * 512},{r.sectors * 512},{r.latency_ns // 100}\n"
            for r in requests
        )
    )
    return path
