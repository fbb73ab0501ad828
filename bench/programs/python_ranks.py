"""Ranks with NumPy and mpi4py. Rank 0 prints the memory of all, with each shared page once."""

import os
import sys
from pathlib import Path

import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
total = world.allreduce(world.rank)
assert total == world.size * (world.size - 1) // 2
values = np.full(8, float(world.rank))
world.Allreduce(MPI.IN_PLACE, values, op=MPI.MAX)
pids = world.gather(os.getpid())
if world.rank == 0 and "memory" in sys.argv:
    texts = [Path(f"/proc/{pid}/smaps_rollup").read_text() for pid in pids]
    lines = [line for text in texts for line in text.splitlines()]
    kib = sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    print(f"memory {kib * 1024 / world.size / 2**20:.2f} MiB a rank")
world.Barrier()
