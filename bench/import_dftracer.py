"""Calls per second that `sesame import` reads from DFTracer traces, and its ratio to json.loads.

Rates are by processor time, also that of `json.loads` alone for the same lines; the column "of
time" is the wall-clock rate of the import, which reads with a thread for each core. The last column
is the import's processor time over that of `json.loads`.

    python bench/import_dftracer.py [CALLS [FILES]]
"""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import time
from pathlib import Path

from sesame.exchange import import_trace

HOST = {"hhash": "6882804a826580cd"}


def write_trace(path: Path, pid: int, calls: int) -> None:
    """Reads and writes of one file, with a seek among each 64, as DFTracer 2.0.3 writes them."""
    head = {"cat": "dftracer", "type": 1, "pid": pid, "tid": pid, "ph": 4}
    with path.open("w") as file:

        def put(event: dict[str, object]) -> None:
            file.write(json.dumps(event, separators=(",", ":")) + "\n")

        for kind, name, value in (
            ("HH", "vm", HOST["hhash"]),
            ("CM", "time_metric", "US"),
            ("FH", "/data/x", "0b985a423d764486"),
        ):
            put({"name": kind, **head, "args": {**HOST, "name": name, "value": value}})
        for number in range(calls):
            seeks = number % 64 == 63
            name = "lseek" if seeks else ("read", "write")[number % 2]
            place = {"offset": number * 4096, "whence": 0, "ret": number * 4096}
            rest = place if seeks else {"count": 4096, "ret": 4096}
            put(
                {"id": number, "name": name, "cat": "POSIX", "type": 3, "pid": pid, "tid": pid}
                | {"ts": 1795288456764067 + 20 * number, "dur": 12, "ph": 1}
                | {"args": {**HOST, "fhash": "0b985a423d764486", **rest}}
            )


def processor_s() -> float:
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


def main(calls: int = 1_000_000, files: int = 2) -> None:
    with tempfile.TemporaryDirectory() as directory:
        traces = Path(directory) / "traces"
        traces.mkdir()
        for number in range(files):
            write_trace(traces / f"{number}.pfw", 1000 + number, calls // files)
        begin = processor_s()
        for trace in traces.iterdir():
            for line in trace.open("rb"):
                json.loads(line)
        loads = processor_s() - begin
        begin, clock = processor_s(), time.monotonic()
        import_trace(traces, Path(directory) / "run.sesame")
        used, passed = processor_s() - begin, time.monotonic() - clock
    print(
        "| calls | files | json.loads, calls/s | import, calls/s of processor time | of time "
        "| import / json.loads, processor time |"
    )
    print("|---|---|---|---|---|---|")
    rates = (f"{calls / seconds:,.0f}" for seconds in (loads, used, passed))
    print(f"| {calls:,} | {files} | {' | '.join(rates)} | {used / loads:.2f} |")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
