"""Heat on a square grid, rows divided among ranks: NumPy arrays exchanged as buffers. Arguments:
rows, steps. Prints the time."""

import sys

import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
size, steps = int(sys.argv[1]), int(sys.argv[2])
rows = size // world.size
heat = np.zeros((rows + 2, size))
heat[1, :] = 1.0
up = world.rank - 1 if world.rank > 0 else MPI.PROC_NULL
down = world.rank + 1 if world.rank + 1 < world.size else MPI.PROC_NULL
world.Barrier()
begin = MPI.Wtime()
for _ in range(steps):
    world.Sendrecv(heat[1], dest=up, recvbuf=heat[-1], source=down)
    world.Sendrecv(heat[-2], dest=down, recvbuf=heat[0], source=up)
    inner = heat[1:-1, 1:-1]
    inner += 0.1 * (heat[:-2, 1:-1] + heat[2:, 1:-1] + heat[1:-1, :-2] + heat[1:-1, 2:] - 4 * inner)
total = world.allreduce(float(heat[1:-1].sum()))
if world.rank == 0:
    print(f"total {total:.3f}, {MPI.Wtime() - begin:.6f} s")
