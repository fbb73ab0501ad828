"""Files of MPI with mpi4py, as in its tutorial; prints what the file holds then.

usage: files.py PATH
"""

import sys
from array import array

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
path = sys.argv[1]


def say(text: str) -> None:
    """In one write, so that lines of ranks that run at once stay whole."""
    sys.stdout.write(f"{rank}: {text}\n")
    sys.stdout.flush()


def contents() -> list[int]:
    file = MPI.File.Open(comm, path, MPI.MODE_RDONLY)
    values = array("i", bytes(file.Get_size()))
    status = MPI.Status()
    file.Read_at_all(0, values, status)
    assert status.Get_count(MPI.INT) == len(values)
    file.Close()
    return values.tolist()


file = MPI.File.Open(comm, path, MPI.MODE_WRONLY | MPI.MODE_CREATE)
file.Write_at_all(rank * 12, array("i", [rank, 10 * rank, 100 * rank]))
file.Close()
say(f"blocks {contents()}")

# Each rank writes every size-th item, through a view; small and large.
for count in (2, 5000):
    file = MPI.File.Open(comm, path, MPI.MODE_RDWR)
    view = MPI.INT.Create_vector(count, 1, size).Commit()
    file.Set_view(rank * MPI.INT.size, MPI.INT, view)
    file.Write_all(array("i", range(rank * count, (rank + 1) * count)))
    file.Close()
    view.Free()
    items = contents()
    right = all(items[i] == i % size * count + i // size for i in range(size * count))
    say(f"view of {count}: {items[:5]} {right}")

file = MPI.File.Open(comm, path, MPI.MODE_RDWR)
requests = [file.Iwrite_at(rank * 4, array("i", [rank + 7])), file.Iread_at(0, bytearray(4))]
MPI.Request.Waitall(requests)
file.Sync()
comm.Barrier()
later = array("i", bytes(4 * size))
file.Iread_at(0, later).Wait()
say(f"nonblocking {later.tolist()} of {file.Get_size()} bytes")
file.Set_view(0, MPI.INT, MPI.INT, "external32")
file.Write_ordered(array("i", [rank, -1]))
file.Sync()
comm.Barrier()
file.Set_view(0, MPI.BYTE, MPI.BYTE, "native")
turned = bytearray(8 * size)
file.Read_at_all(0, turned)
say(f"external32 {turned.hex()}")
file.Close()
try:
    MPI.File.Open(comm, path + "-absent", MPI.MODE_RDONLY)
except MPI.Exception as error:
    say(f"{error.Get_error_class() == MPI.ERR_NO_SUCH_FILE}")
