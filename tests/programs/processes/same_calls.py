"""The calls of same_calls.c: a file of its own for each rank, and one that both read."""

import os

from mpi4py import MPI

world = MPI.COMM_WORLD
rank = world.rank
begin = MPI.Wtime()
data = bytes([ord("a") + rank]) * 100_000
file = os.open(f"own-{rank}", os.O_RDWR | os.O_CREAT, 0o644)
os.write(file, data)
os.pwrite(file, data[:1000], 250_000)
os.writev(file, [data[:10], data[50:70]])
os.fsync(file)
os.ftruncate(file, 200_000)
copy = os.dup(file)
os.close(file)
place = os.lseek(copy, -5, os.SEEK_END)
last = len(os.read(copy, 100))
os.close(copy)
world.Barrier()
file = os.open(f"own-{1 - rank}", os.O_RDONLY)
seen = os.pread(file, 1, 99).decode()
size = os.fstat(file).st_size
os.close(file)
world.Barrier()
os.mkdir(f"dir-{rank}", 0o755)
os.rename(f"own-{rank}", f"dir-{rank}/moved")
is_left = os.access(f"own-{rank}", os.F_OK)
os.unlink(f"dir-{rank}/moved")
os.rmdir(f"dir-{rank}")
passed = "time passed" if MPI.Wtime() - begin > 1e-4 else "no time"
print(f"{rank}: {place} {last} {seen} {size} {int(is_left)} {passed}")
