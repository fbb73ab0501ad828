"""Measures the kernel while a command runs, and writes the result as a data set."""

from __future__ import annotations

import resource
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sesame.datasets import DataSetWriter, HostMachine, Info, Instrument, Kind
from sesame.errors import OutputError
from sesame.measurement.clocks import own_offset
from sesame.measurement.providers import opened
from sesame.measurement.session import Session, Wanted, columns
from sesame.measurement.trace import TraceWriter, read_events

BLOCK_BYTES = 512  # of ru_inblock and ru_oublock on Linux


@dataclass(frozen=True)
class Recorded:
    status: int  # the exit status of `work`
    rows: dict[str, list[dict[str, Any]]]  # summaries by record type
    events: dict[str, int] | None  # seen, written, lost; None without a trace


def record_kernel(
    output: Path,
    wanted: Wanted,
    work: Callable[[Mapping[str, str]], int],
    *,
    command: Sequence[str] = (),
    force: bool = False,
    say: Callable[[str], None] = lambda _: None,
) -> Recorded:
    """Runs `work` and measures meanwhile; writes the data set `output`.

    `work` gets the environment variables that its programs need, and returns an exit status. Points
    that are left out, or count otherwise in this kernel, are reported by `say`. Raises OutputError.
    """
    used = {name for name, _ in wanted.points | wanted.tracing}
    with DataSetWriter(output, force=force) as writer, opened(used) as probes:
        spool = writer.directory / "events"
        with ExitStack() as stack:
            trace = None
            if wanted.tracing:
                trace = stack.enter_context(closing(TraceWriter(spool, probes)))
            session = Session(probes, wanted, trace)
            for point, reason in session.left_out.items():
                say(f"{point} is left out: {reason}")
            for point, otherwise in session.substituted.items():
                say(f"{point} is {otherwise}")
            environment = {k: v for one in probes.values() for k, v in one.environment.items()}
            before, begin_s = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
            status = _read_while(lambda: work(environment), session, wanted.interval_s)
            usage = _usage_since(before, begin_s)
        since_1970 = own_offset()
        begin_ns = session.begin_ns + since_1970.offset_ns
        more: dict[str, Any] = {
            "budget": wanted.budget,
            "left_out": session.left_out,
            "substituted": session.substituted,
            "command_usage": usage,
            "begin_monotonic_ns": session.begin_ns,
            "begin_realtime_ns": begin_ns,
        }
        for record, rows in session.rows.items():
            writer.write_records(record, columns(record, rows))
        if trace is not None:
            more["events"] = trace.counts()
            events = read_events(spool, probes, session.node, session.begin_ns)
            writer.write_batches("kernel_event", events)
        info = Info(
            kind=Kind.MEASURED,
            title="kernel measurement",
            instrument=Instrument.ours("sesame measure run"),
            host=HostMachine.here(with_processors=True),
            begin_time=datetime.fromtimestamp(begin_ns / 1e9, UTC).isoformat(),
            command=command,
            result={"exit_status": status},
            more=more,
        )
        writer.finish(info)
    if trace is not None and trace.trouble is not None:
        raise OutputError(f"{output}: cannot write all events: {trace.trouble.strerror}")
    return Recorded(status, session.rows, more.get("events"))


def _usage_since(before: resource.struct_rusage, begin_s: float) -> dict[str, float]:
    """Resource usage by getrusage(2) of the command's processes that were waited for."""
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "elapsed_s": time.monotonic() - begin_s,
        "user_s": now.ru_utime - before.ru_utime,
        "system_s": now.ru_stime - before.ru_stime,
        "page_faults": now.ru_minflt - before.ru_minflt + now.ru_majflt - before.ru_majflt,
        "page_faults_from_disk": now.ru_majflt - before.ru_majflt,
        "device_bytes_read": BLOCK_BYTES * (now.ru_inblock - before.ru_inblock),
        "device_bytes_written": BLOCK_BYTES * (now.ru_oublock - before.ru_oublock),
        "switches_to_wait": now.ru_nvcsw - before.ru_nvcsw,
        "switches_preempted": now.ru_nivcsw - before.ru_nivcsw,
    }


def _read_while(work: Callable[[], int], session: Session, interval: float) -> int:
    ended = threading.Event()

    def read() -> None:
        while not ended.wait(interval):
            session.read()

    thread = threading.Thread(target=read)
    with session.running():
        thread.start()
        try:
            return work()
        finally:
            ended.set()
            thread.join()
            session.read(is_last=True)
