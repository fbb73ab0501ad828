"""What recording costs: the halo exchange simulated without records, with sums only, and with every
call and message (`-o`).

Prints processor time (of the whole command with its children) and elapsed time, both as medians of
runs made in turn and as ratios to the run without `-o`, and the size of the data set in bytes a
message. Needs mpicc.

    python bench/recording.py [--ranks 16,1024] [--messages 1200000] [--repeat 5]
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from message_rate import MESSAGES_PER_ROUND, build, find_mpicc

WAYS = {"without -o": [], "-o --no-records": ["--no-records"], "-o": []}


def run(program: Path, ranks: int, rounds: int, options: list[str]) -> tuple[float, float]:
    """Processor time and elapsed time, in seconds."""
    job = ["-n", str(ranks), "--machine", "infiniband", "--compute", "none", *options]
    command = [sys.executable, "-m", "sesame", "simulate", *job, "--", str(program), str(rounds)]
    with tempfile.TemporaryFile("w+") as output:
        begin = time.monotonic()
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        _, status, used = os.wait4(process.pid, 0)
        elapsed = time.monotonic() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        if process.returncode != 0 or "correct" not in (text := output.read()):
            raise SystemExit(f"wrong answer from {' '.join(command)}:\n{text}")
    return used.ru_utime + used.ru_stime, elapsed


def show(program: Path, ranks: int, messages: int, repeat: int, directory: Path) -> None:
    rounds = max(messages // (ranks * MESSAGES_PER_ROUND["halo"]), 1)
    data_set = directory / "run.sesame"
    found: dict[str, list[tuple[float, float]]] = {way: [] for way in WAYS}
    for _ in range(repeat):
        for way, options in WAYS.items():
            shutil.rmtree(data_set, ignore_errors=True)
            output = ["-o", str(data_set)] if way != "without -o" else []
            found[way].append(run(program, ranks, rounds, [*output, *options]))
    medians = {
        way: [statistics.median(each) for each in zip(*runs, strict=True)]
        for way, runs in found.items()
    }
    base = medians["without -o"]
    for way, (processor, elapsed) in medians.items():
        print(
            f"{ranks:5} ranks, {way:15}: processor {processor:5.2f} s, {processor / base[0]:4.2f} "
            f"times; elapsed {elapsed:5.2f} s, {elapsed / base[1]:4.2f} times",
            flush=True,
        )
    size = sum(file.stat().st_size for file in data_set.rglob("*") if file.is_file())
    each = size / (rounds * ranks * MESSAGES_PER_ROUND["halo"])
    print(f"{ranks:5} ranks: {each:.1f} bytes a message", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", default="16,1024")
    parser.add_argument("--messages", type=int, default=1_200_000)
    parser.add_argument("--repeat", type=int, default=5)
    arguments = parser.parse_args()
    compiler = find_mpicc()
    with tempfile.TemporaryDirectory() as name:
        program = build(compiler, "halo", Path(name))
        for ranks in (int(n) for n in arguments.ranks.split(",")):
            show(program, ranks, arguments.messages, arguments.repeat, Path(name))


if __name__ == "__main__":
    main()
