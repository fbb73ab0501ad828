"""Cancels a receive 200 ns before and after its message arrives, and prints what happened."""

import time

from mpi4py import MPI

world = MPI.COMM_WORLD


def sleep_until(moment: float) -> None:
    time.sleep(max(moment - MPI.Wtime(), 0))


def send_at(start: float, data: bytearray) -> None:
    sleep_until(start)
    world.Send(data, dest=0, tag=1)


def find_arrival(start: float, data: bytearray) -> float:
    world.Probe(source=1, tag=1)
    arrival = MPI.Wtime() - start
    world.Recv(data, source=1, tag=1)
    return arrival


def cancel_at(moment: float, data: bytearray) -> bool:
    request = world.Irecv(data, source=1, tag=1)
    sleep_until(moment)
    request.Cancel()
    status = MPI.Status()
    request.Wait(status)
    if status.Is_cancelled():
        world.Recv(data, source=1, tag=1)
    return status.Is_cancelled()


start = 1
for size in (100, 200_000):
    data = bytearray(size)
    if world.rank == 1:
        for moment in range(start, start + 5):
            send_at(moment, data)
    else:
        arrival = find_arrival(start, data)
        for number, after in enumerate((-200, 200, 200, -200), 1):
            cancelled = cancel_at(start + number + arrival + after * 1e-9, data)
            print(f"{size} bytes, {after:+} ns: {'cancelled' if cancelled else 'received'}")
    start += 6
