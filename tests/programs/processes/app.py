"""Messages, pickled objects, buffers and reductions with mpi4py; prints the same on every run."""

import sys
import time
from array import array

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
after, before = (rank + 1) % size, (rank - 1) % size


def say(text: str) -> None:
    """In one write, so that lines of ranks that run at once stay whole."""
    sys.stdout.write(f"{rank}: {text}\n")
    sys.stdout.flush()


given = comm.bcast({"of": "rank", "list": [1, 2.5, None]} if rank == 0 else None)
sent = comm.isend({"from": rank, "text": "x" * 5000}, dest=after, tag=3)
got = comm.recv(source=before, tag=3)
sent.wait()
say(f"{given['list']} and {len(got['text'])} letters from {got['from']}")

summed = array("d", [0.0] * 1000)
comm.Allreduce(array("d", [rank + 1.0] * 1000), summed, op=MPI.SUM)
longest = MPI.Op.Create(
    lambda left, right, _: right.cast("B").__setitem__(
        slice(None), bytes(map(max, left.cast("B"), right.cast("B")))
    ),
    commute=True,
)
most = bytearray(3)
comm.Allreduce([bytes([rank, 9 - rank, 7]), MPI.BYTE], [most, MPI.BYTE], op=longest)
say(f"{summed[999]} {list(most)} {comm.allreduce(str(rank))} {comm.gather(rank**2)}")

half = comm.Split(rank % 2, -rank)
begin, monotonic = time.time(), time.monotonic()
time.sleep(2)
slept = [round(time.time() - begin, 3), round(time.monotonic() - monotonic, 3)]
say(f"half of {half.size}, slept {slept}, on {MPI.Get_processor_name()}")
try:
    comm.send(None, dest=size + 7)
except MPI.Exception as error:
    say(f"{error.Get_error_class() == MPI.ERR_RANK}")
