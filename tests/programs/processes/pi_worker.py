"""A worker of pi.py."""

import numpy
from mpi4py import MPI

parent = MPI.Comm.Get_parent()
size, rank = parent.Get_size(), parent.Get_rank()
steps = numpy.array(0, "i")
parent.Bcast([steps, MPI.INT], root=0)
middles = (numpy.arange(rank, int(steps), size) + 0.5) / int(steps)
part = numpy.array((4 / (1 + middles**2)).sum() / int(steps), "d")
parent.Reduce([part, MPI.DOUBLE], None, op=MPI.SUM, root=0)
parent.gather(f"worker {rank} of {size}", root=0)
parent.Disconnect()
