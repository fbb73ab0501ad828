"""Counts words in chunks of a text and exchanges pickled dictionaries. Argument: rounds. Prints the
time."""

import sys
from collections import Counter

from mpi4py import MPI

world = MPI.COMM_WORLD
rank = world.rank  # a call of MPI each time
world.Barrier()
begin = MPI.Wtime()
counts: Counter[str] = Counter()
for step in range(int(sys.argv[1])):
    text = " ".join(f"word{(i * 7919 + step + rank) % 997}" for i in range(20000))
    counts.update(text.split())
    for of_rank in world.allgather(dict(counts.most_common(100))):
        counts.update(of_rank)
if world.rank == 0:
    print(f"{len(counts)} words, {MPI.Wtime() - begin:.6f} s")
