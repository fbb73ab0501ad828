"""Files by what Python programs use: open, NumPy, shutil, several threads, a child."""

import concurrent.futures
import os
import shutil
import subprocess
import sys

import numpy
from mpi4py import MPI

rank = MPI.COMM_WORLD.rank
begin = MPI.Wtime()
with open(f"text-{rank}", "w") as file:
    for number in range(1000):
        print("line", number, file=file)
with open(f"text-{rank}") as file:
    print(f"{rank}: text {len(file.read())}")

values = numpy.arange(10_000.0) + rank
numpy.save(f"array-{rank}.npy", values)
print(f"{rank}: loaded {(numpy.load(f'array-{rank}.npy') == values).all()}")
print(f"{rank}: mapped {numpy.load(f'array-{rank}.npy', mmap_mode='r')[5]}")
values.tofile(f"raw-{rank}")
print(f"{rank}: raw {(numpy.fromfile(f'raw-{rank}') == values).all()}")

os.makedirs(f"deep-{rank}/er")
shutil.copy(f"text-{rank}", f"deep-{rank}/copy")
kinds = sorted((entry.name, entry.is_dir()) for entry in os.scandir(f"deep-{rank}"))
print(f"{rank}: names {kinds} {os.listdir(f'deep-{rank}/er')}")
shutil.rmtree(f"deep-{rank}")
print(f"{rank}: gone {not os.path.exists(f'deep-{rank}')}")


def write_and_read(number: int) -> int:
    name = f"of-{rank}-{number}"
    for letter in (b"a", b"b", b"c"):
        with open(name, "wb") as file:
            file.write(letter * 10_000)
        with open(name, "rb") as file:
            assert file.read() == letter * 10_000
    size = os.path.getsize(name)
    os.unlink(name)
    return size


with concurrent.futures.ThreadPoolExecutor(4) as threads:
    print(f"{rank}: threads {sum(threads.map(write_and_read, range(12)))}")

os.mkdir(f"in-{rank}")
os.chdir(f"in-{rank}")
with open("here", "w") as file:
    file.write("x")
print(f"{rank}: in {os.path.basename(os.getcwd())} {os.stat('here').st_size}")
said = subprocess.run([sys.executable, "-c", "print('child')"], capture_output=True, check=True)
print(f"{rank}: {said.stdout.decode().strip()}")
print(f"{rank}: {'time passed' if MPI.Wtime() - begin > 1e-4 else 'no time'}")
