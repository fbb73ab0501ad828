#!/usr/bin/env python3
"""A stand-in for the native simulator: the same command line, scenario, result.json, tables and raw
streams, with a made-up program: every rank computes, passes a message round a ring and joins an
all-reduce, some times over. What `program` is called decides how the run ends; `files` also writes
a simulated file, of `varying` each run in a directory that measures computes longer, and of
`failing-second` the second of these fails, too.

It starts twice for each run, so it loads little: numpy, which takes longer than the rest, only for
raw streams.
"""

from __future__ import annotations

import json
import os
import sys
import time
from array import array
from itertools import accumulate
from pathlib import Path

CALLS = ["MPI_Init", "MPI_Send", "MPI_Recv", "MPI_Allreduce", "MPI_Test", "MPI_Finalize"]
US = 1_000_000  # ps


def inspect(program: str) -> int:
    if program == "not-mpi":
        print("not-mpi: this is not an MPI program\nhint: link it to MPICH", file=sys.stderr)
        return 2
    interface = "mpiabi" if program == "abi" else "mpich"
    print(json.dumps({"interface": interface, "ranks_as": "fibers", "why": "it can be copied"}))
    return 0


def machine_of(scenario: dict) -> dict:
    from sesame import native

    return native.read_machine(scenario["machine"], scenario["overrides"])


def latency_ps(scenario: dict) -> int:
    model = machine_of(scenario)
    return round(model["network"]["latency_s"] * 1e12)


def simulate(scenario: dict) -> int:
    program = scenario["program"]
    output = sys.stderr if scenario["program_stdout"] == "stderr" else sys.stdout
    print(f"hello from {program} {' '.join(scenario['arguments'])}", file=output, flush=True)
    if program == "refused":
        print("refused: more ranks than mappings\nhint: raise vm.max_map_count", file=sys.stderr)
        return 2
    if program == "crashing-host":
        print("assertion failed", file=sys.stderr, flush=True)
        os.abort()
    if program == "slow":
        for i in range(100):
            report = {"simulated_time_s": i, "messages": i, "ranks_finished": 0, "wall_time_s": i}
            if scenario["progress_fd"] >= 0:
                os.write(scenario["progress_fd"], json.dumps(report).encode() + b"\n")
            time.sleep(0.1)
    ranks = scenario["ranks"]
    rounds = next((int(word) for word in scenario["arguments"] if word.isdecimal()), 5)
    run = Run(ranks, rounds, latency_ps(scenario), compute_of(scenario))
    recorded = {}
    if "tables" in scenario:
        recorded = run.write_tables(scenario, with_files=program == "files")
    if scenario["raw"]:
        run.write_raw(Path(scenario["output_directory"]) / "raw")
    if scenario["compute"]["save"] is not None:
        run.save_compute(scenario["compute"]["save"])
    fails_now = program == "failing-second" and Path("turns").read_text() == "xx"
    measures = scenario["compute"]["mode"] == "measured"
    status = 3 if program == "failing" or (fails_now and measures) else 0
    result = run.result(status) | {"recorded_rows": recorded}
    if scenario["compute"]["mode"] == "measured":
        result |= measured_result()
    if program == "files":
        keep_bytes(scenario)
        result |= storage_result(machine_of(scenario))
    (Path(scenario["output_directory"]) / "result.json").write_text(json.dumps(result))
    return status


def compute_of(scenario: dict) -> list[list[int]] | int:
    compute = scenario["compute"]
    if compute["mode"] == "recorded":
        words = array("q", Path(compute["recorded"]).read_bytes())
        counts, times = words[1 : 1 + words[0]], words[1 + words[0] :].tolist()
        ends = list(accumulate(counts))
        return [times[end - count : end] for end, count in zip(ends, counts, strict=True)]
    if compute["mode"] == "measured" and scenario["program"] in ("varying", "failing-second"):
        turns = Path("turns")
        turn = len(turns.read_text()) if turns.exists() else 0
        turns.write_text("x" * (turn + 1))
        return 37 * US * (1 + turn)
    return {"none": 0, "fixed": compute["fixed_ps"], "measured": 37 * US}[compute["mode"]]


def measured_result() -> dict:
    """Samples that differ by a third, on a machine that did nothing else."""
    compute = {
        "reading_s": 2e-8,
        "samples": 40,
        "regions": 5,
        "sampled_s": 4e-3,
        "short_s": 4e-5,
    }
    compute |= {"repeated_s": 3e-3, "difference_s": 1e-3, "fastest_s": 2.7e-3}
    return {
        "compute": compute,
        "host_process": {"preemptions": 1, "cpu_time_s": 0.5, "delayed_s": 0.001},
    }


def keep_bytes(scenario: dict) -> None:
    directory = Path(scenario["files_directory"] or scenario["output_directory"] + "/files")
    directory.mkdir(exist_ok=True)
    (directory / "data").write_bytes(b"simulated")


def storage_result(model: dict) -> dict:
    """What a run left that wrote one file to as many I/O nodes as the machine has."""
    ionodes = model["storage"]["ionodes"]
    counted = ("evictions", "written_back", "invalidations", "forwarded", "read_ahead")
    cache = dict.fromkeys(("read_hits", "read_misses", "write_hits", "write_misses", *counted), 0)
    device = dict.fromkeys(("reads", "bytes_read", "seeks", "queued_s", "longest_queue"), 0)
    device |= {"writes": 6, "bytes_written": 6 << 16, "busy_s": 0.003, "transfer_s": 0.003}
    device |= {"seek_s": 0.0, "rotation_s": 0.0}
    ionode = {"requests": 6, "bytes_read": 0, "bytes_written": 6 << 16, "busy_s": 0.001}
    ionode |= {"longest_queue": 2, "cache": {**cache, "write_hits": 3, "write_misses": 1}}
    ionode |= {"device": device, "slice_s": 0.004, "busy_by_slice_s": [0.001, 0.002]}
    written = {"name": "/pfs/data", "opens": 4, "reads": 0, "writes": 6 * ionodes}
    written |= {"read_seeks": 0, "write_seeks": 1}
    written |= {"bytes_read": 0, "bytes_written": ionodes * 6 << 16, "read_s": 0.0}
    written |= {"write_s": 0.01, "metadata_s": 0.0}
    system = {"name": "storage", "node": -1, "files": [written], "ionodes": [ionode] * ionodes}
    return {
        "storage": [{**system, "cnode_caches": [{**cache, "node": 1, "read_hits": 5}]}],
        "recorded_files": ["/pfs/data"],
        "io_time_s": 0.02 / ionodes,
        "device_reads": 0,
        "device_writes": 6 * ionodes,
        "file_bytes_read": 0,
        "file_bytes_written": ionodes * 6 << 16,
    }


class Run:
    def __init__(self, ranks: int, rounds: int, latency: int, compute: object) -> None:
        self.ranks, self.latency, self.compute = ranks, latency, compute
        self.calls: list[list[tuple]] = [[] for _ in range(ranks)]
        self.messages: list[list[tuple]] = [[] for _ in range(ranks)]
        now = [0] * ranks
        for _ in range(rounds):
            sent = [0] * ranks
            for rank in range(ranks):
                sent[rank] = self.call(rank, now, 1, 10 * US, (rank + 1) % ranks, 64)
            for rank in range(ranks):
                source = (rank - 1) % ranks
                arrival = sent[source] + self.latency
                self.call(rank, now, 4, US, source, 0, poll=True)
                begin = now[rank] + self.compute_time(rank)
                self.call(rank, now, 2, max(arrival - begin, US), source, 64)
                message = (sent[source], arrival, now[rank], 64, source, rank, 7, 0, 0, 0)
                self.messages[rank].append(message)
            end = max(now[r] + self.compute_time(r) for r in range(ranks)) + 3 * self.latency
            for rank in range(ranks):
                self.call(rank, now, 3, end - now[rank] - self.compute_time(rank), -1, 8)
        self.end = [time + self.compute_after_calls(rank) for rank, time in enumerate(now)]

    def compute_time(self, rank: int) -> int:
        if isinstance(self.compute, int):
            return self.compute * (1 + rank % 3)
        return self.compute[rank][len(self.calls[rank])]

    def poll_compute_time(self, rank: int) -> int:
        if isinstance(self.compute, int):
            return self.compute // 10
        return ~self.compute[rank][len(self.calls[rank])]

    def compute_after_calls(self, rank: int) -> int:
        return self.compute * 5 if isinstance(self.compute, int) else self.compute[rank][-1]

    def call(self, rank, now, call, duration, peer, size, poll=False) -> int:
        compute = self.poll_compute_time(rank) if poll else self.compute_time(rank)
        begin = now[rank] + compute
        now[rank] = begin + duration
        record = (begin, now[rank], compute, size, peer, 7, 0, call, int(poll))
        self.calls[rank].append(record)
        return begin

    def save_compute(self, path: str) -> None:
        """As docs/formats/scenario.md has it."""
        times = [
            [~call[2] if call[8] else call[2] for call in calls] + [self.compute_after_calls(rank)]
            for rank, calls in enumerate(self.calls)
        ]
        words = [self.ranks, *map(len, times), *(time for rank in times for time in rank)]
        Path(path).write_bytes(array("q", words))

    def write_tables(self, scenario: dict, *, with_files: bool) -> dict[str, int]:
        """The number of rows by table."""
        from sesame import native

        calls = [(rank, *call) for rank, calls in enumerate(self.calls) for call in calls]
        rows = {
            "call": [(*call[:8], CALLS[call[8]], call[9]) for call in calls],
            "message": [
                (*message[:8], ["eager", "rendezvous"][message[8]], message[9])
                for messages in self.messages
                for message in messages
            ],
        }
        if with_files:
            rows["io"] = [row for rank in range(self.ranks) for row in self.io_rows(rank)]
        for name, table in scenario["tables"].items():
            if name in rows:
                fields = [tuple(field.values()) for field in table["fields"]]
                values = [[row[i] for row in rows[name]] for i in range(len(fields))]
                path = f"{scenario['output_directory']}/{name}.parquet"
                described = (table["meaning"], table["complete"])
                native.write_table(path, name, *described, fields, values)
        return {name: len(those) for name, those in rows.items()}

    def io_rows(self, rank: int) -> list[tuple]:
        """A call of MPI-IO with one of POSIX inside."""
        end, size = self.end[rank], 1 << 16
        times = [(end - 4 * US, end, "MPI_File_write_at", 0), (end - 3 * US, end - US, "pwrite", 1)]
        return [
            (
                *(rank, 0, begin // 1000, ended // 1000 - begin // 1000, name),
                *(0, -1, 3, rank * size, size, size, -1, 0, 0, flags),
            )
            for begin, ended, name, flags in times
        ]

    def write_raw(self, directory: Path) -> None:
        import numpy as np

        from sesame import native

        dtypes = {
            described["name"]: np.dtype([(f["name"], f["dtype"]) for f in described["fields"]])
            for described in native.record_types()
        }
        directory.mkdir()
        writer = native.TraceWriter.open(str(directory), self.ranks, CALLS, [("machine", "fake")])
        for rank in range(self.ranks):
            writer.append_calls(rank, np.array(self.calls[rank], dtypes["call"]).tobytes())
            writer.append_messages(rank, np.array(self.messages[rank], dtypes["message"]).tobytes())
        writer.close()

    def result(self, status: int) -> dict:
        rounds = len(self.messages[0])
        compute = [sum(call[2] for call in calls) * 1e-12 for calls in self.calls]
        inside = [sum(call[1] - call[0] for call in calls) * 1e-12 for calls in self.calls]
        by_name: dict[int, list[tuple]] = {}
        for call in (call for calls in self.calls for call in calls):
            by_name.setdefault(call[7], []).append(call)
        return {
            "predicted_time_s": max(self.end) * 1e-12,
            "ranks": self.ranks,
            "computed_together": 1,
            "machine": "fake",
            "messages": self.ranks * rounds,
            "bytes": self.ranks * rounds * 64,
            "wall_time_s": 0.01,
            "startup_s": 0.001,
            "messages_per_second": self.ranks * rounds / 0.01,
            "exit_status": status,
            "outcome": "failed" if status else "completed",
            "outcome_text": f"rank 0 ended with status {status}" if status else "",
            "rank_table": {
                "end_s": [end * 1e-12 for end in self.end],
                "compute_s": compute,
                "communication_s": [0.4 * time for time in inside],
                "wait_s": [0.6 * time for time in inside],
                "io_s": [0.0] * self.ranks,
                "messages_sent": [rounds] * self.ranks,
                "bytes_sent": [64 * rounds] * self.ranks,
                "compute_after_calls_ps": [
                    self.compute_after_calls(rank) for rank in range(self.ranks)
                ],
                "exit_status": [status] + [0] * (self.ranks - 1),
                "begin_s": [0.0] * self.ranks,
                "world": [0] * self.ranks,
                "world_rank": list(range(self.ranks)),
            },
            "calls": [
                {
                    "name": CALLS[name],
                    "count": len(calls),
                    "time_s": sum(call[1] - call[0] for call in calls) * 1e-12,
                    "bytes": sum(call[3] for call in calls),
                    "max_rank_time_s": max(call[1] - call[0] for call in calls) * 1e-12,
                }
                for name, calls in sorted(by_name.items())
            ],
            "matrix": [[r, (r + 1) % self.ranks, rounds, 64 * rounds] for r in range(self.ranks)],
            "message_sizes": [[6, self.ranks * rounds, 64 * self.ranks * rounds]],
            "peak_rss_bytes": 1 << 24,
        }


if __name__ == "__main__":
    if sys.argv[1] == "--inspect":
        sys.exit(inspect(sys.argv[2]))
    sys.exit(simulate(json.loads(Path(sys.argv[1]).read_text())))
