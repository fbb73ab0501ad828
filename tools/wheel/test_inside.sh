# Runs inside a root: installs the wheel that fits and runs what needs no compiler, without any MPI.
# Then with Debian's default MPI only, which is Open MPI 4 in Debian 12 and Open MPI 5 in Debian 13, and
# its compilers. Then with Debian's MPICH.
set -euo pipefail
cd /try
if command -v cc gcc clang >/dev/null; then
  echo "there is a compiler here" >&2
  exit 1
fi
say() {
  echo "+ $*"
  "$@"
}
quiet() {
  echo "+ $*"
  "$@" >/dev/null
}
say python3 -m venv environment
export PATH=$PWD/environment/bin:$PATH
say pip install --quiet --disable-pip-version-check --only-binary :all: ./*.whl

say sesame --version
say sesame simulate -n 16 --machine infiniband -o heat.sesame --report heat.html -- ./heat
say sesame info heat.sesame
say sesame trace -o copy.sesame -- cp heat copied
say sesame simulate copy.sesame --machine paragon
mkdir replayed
say sesame replay copy.sesame --dir replayed
quiet sesame measure list
say sesame measure run -o measured.sesame -- cp heat copied
say sesame report measured.sesame measured.html

install() {
  quiet env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@"
}

# Each of the programs prints how many of its checks failed.
passes() {
  say sesame simulate -n 5 --machine infiniband -- "$1" | tee said
  grep -q '^0 checks failed' said
}

install mpi-default-dev g++ gfortran
say mpicc -O2 -w -o app heat.c -lm
say sesame simulate -n 64 --machine infiniband -- ./app
say mpicc -w -o interface programs/interface.c
passes ./interface
say mpicxx -w -o streams programs/iostream.cc
say sesame simulate -n 5 --machine infiniband -- ./streams
say mpicc -c programs/interface_c.c
say mpifort -w -DMPIF_H -fallow-argument-mismatch -o mpif programs/interface.F90 interface_c.o
passes ./mpif
say mpifort -w -o module programs/interface.F90 interface_c.o
passes ./module
say mpifort -w -o f08 programs/interface_f08.f90
passes ./f08

if mpicc --showme:version | grep -q 'Open MPI 5'; then
  say mpicc -o mpi4 programs/mpi4.c
  passes ./mpi4
  say mpifort -o mpi4-f08 programs/mpi4.f90
  passes ./mpi4-f08
  say mpicc -o partitioned programs/partitioned.c
  if sesame simulate -n 2 --machine infiniband -- ./partitioned 2>said; then exit 1; fi
  grep 'called MPI_P[a-z]*_init, which the simulated MPI does not have' said
fi
# Its constants and symbols against ours.
simulator=$(echo environment/lib/python3*/site-packages/sesame/bin/sesame-simulator-openmpi)
say python3 source/core/abi/check_constants.py source openmpi /usr/lib/*/openmpi/include/mpi.h
say python3 source/core/abi/check_exports.py "$simulator" /usr/lib/*/libmpi{,_mpifh}.so.40

install mpich
say sesame trace -o run.sesame -- mpiexec.mpich -n 4 ./heat
say sesame report run.sesame run.html
say sesame simulate run.sesame --machine paragon
ls -l -- *.html
