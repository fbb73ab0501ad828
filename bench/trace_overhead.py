"""Time that tracing adds to a call, in ns, and the ratio to a public tracer in the same run.

One long-lived process without a tracer and one with each tracer run batches of calls by turns, so
that other work of the machine affects all alike. Prints for each call the time without a tracer
and what each tracer adds, for the fastest and for the median batch.

    python bench/trace_overhead.py --library libsesame-trace.so [--darshan libdarshan.so]
        [--calls pwrite,fprintf] [--batches 300] [--directory /dev/shm]
"""

import argparse
import os
import shutil
import statistics
import subprocess
import tempfile
from pathlib import Path

PROGRAM = Path(__file__).parent / "programs" / "trace_calls.c"
CALLS = "pwrite,pread,write,read,lseek,stat,fprintf,fwrite,fputc"
CALLS_PER_BATCH = 2000


class Runner:
    """A process that waits for batches to run."""

    def __init__(self, program: Path, directory: Path, name: str, extra: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            [str(program), str(directory / f"data.{name}")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=dict(os.environ, **extra),
        )

    def ns_per_call(self, call: str) -> float:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(f"{call} {CALLS_PER_BATCH}\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def end(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait()


def runners(
    arguments: argparse.Namespace, program: Path, directory: Path, records: Path
) -> dict[str, Runner]:
    environments = {
        "none": {},
        "sesame": {
            "LD_PRELOAD": str(arguments.library.resolve()),
            "SESAME_TRACE_DIRECTORY": str(records),
        },
    }
    if arguments.darshan:
        darshan = {
            "LD_PRELOAD": str(arguments.darshan.resolve()),
            "DARSHAN_ENABLE_NONMPI": "1",
            "DARSHAN_EXCLUDE_DIRS": "none",  # else it leaves /dev out
            "DARSHAN_LOGPATH": str(records),
        }
        environments["darshan"] = darshan
        environments["darshan dxt"] = {**darshan, "DARSHAN_MOD_ENABLE": "DXT_POSIX,DXT_STDIO"}
    return {
        name: Runner(program, directory, name.replace(" ", "_"), extra)
        for name, extra in environments.items()
    }


def compare(call: str, running: dict[str, Runner], batches: int) -> str:
    times: dict[str, list[float]] = {name: [] for name in running}
    for _ in range(batches):
        for name, runner in running.items():
            times[name].append(runner.ns_per_call(call))
    least = {name: min(some) for name, some in times.items()}
    middle = {name: statistics.median(some) for name, some in times.items()}
    line = f"{call:8} none {least['none']:7.1f} {middle['none']:7.1f}"
    for name in list(running)[1:]:
        added = least[name] - least["none"]
        line += f" | {name} +{added:6.1f} +{middle[name] - middle['none']:6.1f}"
        if name != "sesame":
            line += f" ({added / (least['sesame'] - least['none']):.1f}x)"
    return line


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", type=Path, required=True)
    parser.add_argument("--darshan", type=Path)
    parser.add_argument("--calls", default=CALLS)
    parser.add_argument("--batches", type=int, default=300)
    parser.add_argument("--directory", type=Path, default=Path("/dev/shm"))
    arguments = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="sesame-bench-", dir=arguments.directory))
    records = Path(tempfile.mkdtemp(prefix="sesame-bench-"))
    try:
        program = directory / "trace_calls"
        subprocess.run(["cc", "-O2", str(PROGRAM), "-o", str(program)], check=True)
        running = runners(arguments, program, directory, records)
        print("ns per call, fastest and median batch: without a tracer; what each tracer adds")
        for call in arguments.calls.split(","):
            print(compare(call, running, arguments.batches), flush=True)
        for runner in running.values():
            runner.end()
    finally:
        shutil.rmtree(directory)
        shutil.rmtree(records)


if __name__ == "__main__":
    main()
