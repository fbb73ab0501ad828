"""Computes pi by workers that it spawns, as in mpi4py's tutorial. Argument: the worker's script."""

import sys

import numpy
from mpi4py import MPI

workers = MPI.COMM_SELF.Spawn(sys.executable, args=[sys.argv[1]], maxprocs=5)
workers.Bcast([numpy.array(100, "i"), MPI.INT], root=MPI.ROOT)
pi = numpy.array(0.0, "d")
workers.Reduce(None, [pi, MPI.DOUBLE], op=MPI.SUM, root=MPI.ROOT)
sent = workers.gather(None, root=MPI.ROOT)
workers.Disconnect()
print(f"{float(pi):.16f} by {sent}")
