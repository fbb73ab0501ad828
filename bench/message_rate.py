"""Simulated messages per second of `sesame simulate`, and the ratio to SimGrid's SMPI.

Runs the ring, the 2-D halo exchange of 8-byte messages, and receives of rank 0 from any source
(bench/programs) at several numbers of ranks, compute time not counted on either side, with each
network.sharing in turn, then SMPI on the same program in the same run. Prints one line per run;
figures are medians of --repeat runs.
Needs mpicc; SMPI is compared when smpicc and smpirun are installed (Debian: simgrid,
libsimgrid-dev).

    python bench/message_rate.py [--ranks 16,256,1024,4096] [--peer-ranks 1024] [--repeat 3]
                                 [--ranks-as fibers|processes] [--sharing none,interface,links]
                                 [--stack-size 64KiB]

SMPI has stacks of 64 KiB; ours are 8 MiB without --stack-size.
"""

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROGRAMS = Path(__file__).parent / "programs"
MESSAGES_PER_ROUND = {"ring": 1, "halo": 4, "anysource": 1}
# Enough rounds that a run takes a second or so.
TARGET_MESSAGES = {"fibers": 6_000_000, "processes": 300_000}
PEER_MESSAGES = 120_000

PLATFORM = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="cluster" prefix="node-" suffix="" radical="0-{last}" speed="1Gf" bw="12GBps"
           lat="1us"/>
</platform>
"""


def find_mpicc() -> str:
    """MPICH's compiler of C, or the machine's own. Ends the benchmark if there is none."""
    found = shutil.which("mpicc.mpich") or shutil.which("mpicc")
    if found is None:
        raise SystemExit("needs mpicc (Debian package libmpich-dev)")
    return found


def build(compiler: str, name: str, directory: Path) -> Path:
    program = directory / f"{name}.{Path(compiler).name}"
    command = [compiler, "-O2", "-w", str(PROGRAMS / f"{name}.c"), "-o", str(program)]
    subprocess.run(command, check=True)
    return program


def sesame_run(
    program: Path, ranks: int, rounds: int, ranks_as: str = "fibers", *options: str
) -> dict:
    command = [
        sys.executable,
        "-m",
        "sesame",
        "simulate",
        "-n",
        str(ranks),
        "--machine",
        "infiniband",
        "--compute",
        "none",
        "--ranks-as",
        ranks_as,
        "--json",
        *options,
        "--",
        str(program),
        str(rounds),
    ]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    if "correct" not in done.stderr + done.stdout:
        raise SystemExit(f"wrong answer from {' '.join(command)}")
    return json.loads(done.stdout)


def smpi_command(ranks: int, directory: Path) -> list[str]:
    """SMPI, tuned: no compute simulation, no privatisation, raw contexts."""
    platform = directory / "platform.xml"
    platform.write_text(PLATFORM.format(last=ranks - 1))
    hosts = directory / "hosts"
    hosts.write_text("".join(f"node-{i}\n" for i in range(ranks)))
    options = [
        "smpi/simulate-computation:no",
        "smpi/privatization:no",
        "contexts/factory:raw",
        "contexts/stack-size:64",
        "network/optim:Lazy",
        "smpi/display-timing:no",
    ]
    return [
        "smpirun",
        "-np",
        str(ranks),
        "-platform",
        str(platform),
        "-hostfile",
        str(hosts),
        *[f"--cfg={option}" for option in options],
        "--log=root.thres:error",
    ]


def peer_rate(program: Path, ranks: int, rounds: int, messages: int, directory: Path) -> float:
    """Messages per second of SMPI, without its start-up."""
    command = smpi_command(ranks, directory)
    begin = time.monotonic()
    subprocess.run([*command, str(program), "1"], check=True, capture_output=True)
    startup = time.monotonic() - begin
    begin = time.monotonic()
    subprocess.run([*command, str(program), str(rounds)], check=True, capture_output=True)
    return messages / max(time.monotonic() - begin - startup, 1e-9)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", default="16,256,1024,4096")
    parser.add_argument("--peer-ranks", default="1024")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--sharing", default="none,interface,links", help="the first is compared")
    parser.add_argument("--ranks-as", choices=TARGET_MESSAGES, default="fibers")
    parser.add_argument("--stack-size", help="of each rank, in our runs")
    arguments = parser.parse_args()
    peer_ranks = {int(n) for n in arguments.peer_ranks.split(",") if n}
    stacks = ("--stack-size", arguments.stack_size) if arguments.stack_size else ()
    has_peer = shutil.which("smpicc") and shutil.which("smpirun")
    compiler = find_mpicc()
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        for program_name, per_round in MESSAGES_PER_ROUND.items():
            program = build(compiler, program_name, directory)
            rates = {}
            for ranks in (int(n) for n in arguments.ranks.split(",")):
                rounds = max(TARGET_MESSAGES[arguments.ranks_as] // (ranks * per_round), 10)
                common = (program, ranks, rounds, arguments.ranks_as)
                runs = {
                    sharing: [
                        sesame_run(*common, f"--set=network.sharing={sharing}", *stacks)
                        for _ in range(arguments.repeat)
                    ]
                    for sharing in arguments.sharing.split(",")
                }
                medians = {
                    sharing: statistics.median(run["messages_per_second"] for run in repeated)
                    for sharing, repeated in runs.items()
                }
                first, *_ = runs.values()
                rates[ranks], *_ = medians.values()
                startup = statistics.median(run["startup_s"] for run in first)
                memory = statistics.median(run["peak_rss_bytes"] for run in first)
                columns = ", ".join(f"{name} {rate / 1e6:5.2f}" for name, rate in medians.items())
                print(
                    f"{program_name:5} {ranks:5} ranks: million messages/s: {columns}; start-up "
                    f"{startup / ranks * 1e6:6.1f} us/rank, "
                    f"memory {memory / ranks / 1024:7.1f} KiB/rank in all",
                    flush=True,
                )
                if ranks in peer_ranks and has_peer:
                    smpi = build("smpicc", program_name, directory)
                    peer_rounds = max(PEER_MESSAGES // (ranks * per_round), 10)
                    rate = peer_rate(
                        smpi, ranks, peer_rounds, ranks * per_round * peer_rounds, directory
                    )
                    print(
                        f"{program_name:5} {ranks:5} ranks: SMPI {rate / 1e6:.4f} million "
                        f"messages/s, ratio {rates[ranks] / rate:.0f}",
                        flush=True,
                    )
            values = list(rates.values())
            print(f"{program_name:5} flatness (fastest / slowest): {max(values) / min(values):.2f}")
    if not has_peer:
        print("SMPI is not installed: no comparison (Debian packages simgrid, libsimgrid-dev)")


if __name__ == "__main__":
    main()
