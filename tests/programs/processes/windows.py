"""One-sided communication with mpi4py, as in its tutorial and its demonstrations."""

import sys
from array import array

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
after, before = (rank + 1) % size, (rank - 1) % size


def say(text: str) -> None:
    """In one write, so that lines of ranks that run at once stay whole."""
    sys.stdout.write(f"{rank}: {text}\n")
    sys.stdout.flush()


# Memory of the program, between fences; small and large.
for count in (3, 20000):
    memory = array("i", [-1] * count)
    window = MPI.Win.Create(memory, MPI.INT.size, comm=comm)
    window.Fence()
    window.Put(array("i", [rank] * count), after)
    window.Fence()
    got = array("i", bytes(4 * count))
    window.Get(got, after)
    window.Fence()
    say(f"{count} put {set(memory)} got {set(got)}")
    window.Free()

# Memory of MPI at rank 0, with locks: a counter and a sum.
window = MPI.Win.Allocate(16 if rank == 0 else 0, 8, comm=comm)
if rank == 0:
    memoryview(window.tomemory()).cast("q")[:] = array("q", [100, 0])
comm.Barrier()
before_me = array("q", [0])
window.Lock(0)
window.Fetch_and_op(array("q", [1]), before_me, 0)
window.Flush(0)
window.Accumulate(array("q", [rank + 1]), 0, target=1)
window.Unlock(0)
counts = sorted(comm.allgather(before_me[0]))
both = array("q", [0, 0])
window.Lock(0, MPI.LOCK_SHARED)
window.Get(both, 0)
window.Unlock(0)
say(f"counted {counts}, then {both.tolist()}")
comm.Barrier()
swapped = array("q", [0])
window.Lock(0)
window.Compare_and_swap(array("q", [7]), array("q", [100 + size]), swapped, 0)
window.Unlock(0)
comm.Barrier()
swaps = sorted(comm.allgather(swapped[0]))
say(f"swapped {swaps}")
window.Free()

# Start and post.
window = MPI.Win.Allocate(8, 8, comm=comm)
group = comm.Get_group()
window.Post(group.Incl([before]))
window.Start(group.Incl([after]))
window.Put(array("d", [rank + 0.5]), after)
window.Complete()
window.Wait()
say(f"posted {memoryview(window.tomemory()).cast('d')[0]}")
window.Free()

# Memory that ranks of a node share.
node = comm.Split_type(MPI.COMM_TYPE_SHARED)
window = MPI.Win.Allocate_shared(8, 8, comm=node)
mine = memoryview(window.tomemory()).cast("q")
window.Lock_all()
mine[0] = rank * 11
window.Sync()
node.Barrier()
window.Sync()
memory, unit = window.Shared_query((node.rank + 1) % node.size)
theirs = memoryview(memory).cast("q")
say(f"neighbour on the node has {theirs[0]}, in units of {unit}")
node.Barrier()
theirs[0] += 1
window.Sync()
node.Barrier()
say(f"the neighbour has added one: {mine[0] == rank * 11 + 1}")
window.Unlock_all()
window.Free()

# Memory attached later.
window = MPI.Win.Create_dynamic(comm=comm)
memory = array("i", [rank, 0])
window.Attach(memory)
addresses = comm.allgather(MPI.Get_address(memory))
window.Fence()
window.Put(array("i", [rank + 1]), after, target=addresses[after] + 4)
window.Fence()
say(f"attached {memory.tolist()}")
window.Detach(memory)
window.Free()
