"""What `--sensitivity` costs: the time of a run with it over that of the same run without.

Runs the ring, the 2-D halo exchange and receives of rank 0 from any source (bench/programs), of
8-byte messages, compute time not counted: the most simulated work for each second of a user's run.
Both simulators run in turn; the ratio is that of their medians of --repeat runs. Prints one line
for each; the aim is 2.

    python bench/sensitivity_cost.py [--ranks 16,1024] [--repeat 5]
"""

import argparse
import statistics
import tempfile
from pathlib import Path

from message_rate import MESSAGES_PER_ROUND, build, find_mpicc, sesame_run

MESSAGES = 1_500_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", default="16,1024")
    parser.add_argument("--repeat", type=int, default=5)
    arguments = parser.parse_args()
    compiler = find_mpicc()
    with tempfile.TemporaryDirectory() as name:
        for program_name, per_round in MESSAGES_PER_ROUND.items():
            program = build(compiler, program_name, Path(name))
            for ranks in (int(n) for n in arguments.ranks.split(",")):
                rounds = max(MESSAGES // (ranks * per_round), 10)
                times: dict[bool, list[float]] = {False: [], True: []}
                for _ in range(arguments.repeat):
                    for sensitivity, found in times.items():
                        options = ["--sensitivity"] if sensitivity else []
                        run = sesame_run(program, ranks, rounds, "fibers", *options)
                        found.append(run["wall_time_s"])
                without, with_it = (statistics.median(times[one]) for one in (False, True))
                print(
                    f"{program_name:9} {ranks:5} ranks: {without:6.2f} s, with sensitivity "
                    f"{with_it:6.2f} s, ratio {with_it / without:.2f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
