"""Threads of Python that call MPI: each exchanges objects with the same one of other ranks."""

import queue
import sys
import threading
import time

from mpi4py import MPI

THREADS = 3
world = MPI.COMM_WORLD
rank, size = world.Get_rank(), world.Get_size()
results: "queue.Queue[tuple[int, list[object]]]" = queue.Queue()


def exchange(number: int) -> None:
    got = []
    for turn in range(4):
        peer = (rank + 1) % size
        request = world.isend({"from": rank, "turn": turn}, dest=peer, tag=number)
        got.append(world.recv(source=(rank - 1) % size, tag=number)["turn"])
        request.wait()
    time.sleep(number + 1)
    results.put((number, got))


assert MPI.Query_thread() == MPI.THREAD_MULTIPLE
threads = [threading.Thread(target=exchange, args=(number,)) for number in range(THREADS)]
for thread in threads:
    thread.start()
received = sorted(results.get() for _ in threads)
for thread in threads:
    thread.join()
slept = round(MPI.Wtime())
summed = world.allreduce(rank)
# Lines of several ranks stay whole if each is one write.
sys.stdout.write(f"{rank}: {received} in {slept} s, sum {summed}\n")
