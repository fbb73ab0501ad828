#!/usr/bin/env bash
# demo.sh VENV [--compile]: compiles examples/heat.c with the mpicc that it finds, of MPICH, Open MPI
# or another MPI, and predicts it on two machines.
# The second run repeats the computation that the first one measured, so that the two differ in
# the machine alone.
# With --compile, only compiles, and writes the names of the simulators that the program needs into
# demo/simulators: that for its MPI, and the one that inspects programs.
set -euo pipefail
venv=$1
ranks=16
sesame=$venv/bin/sesame

mpicc=
for candidate in mpicc "$venv/bin/mpicc" mpicc.mpich mpicc.openmpi; do
  if command -v "$candidate" >/dev/null; then
    mpicc=$candidate
    break
  fi
done
if [ -z "$mpicc" ]; then
  echo "demo: no mpicc; install an MPI (Debian: libopenmpi-dev or libmpich-dev)" >&2
  exit 1
fi
mkdir -p demo
echo "\$ $mpicc -O2 -o demo/heat examples/heat.c -lm"
"$mpicc" -O2 -o demo/heat examples/heat.c -lm
if [ "${2-}" = --compile ]; then
  case $(readelf --dynamic demo/heat) in
    *libmpi.so.40*) more=";sesame-simulator-openmpi" ;;
    *libmpi_abi.so*) more=";sesame-simulator-mpiabi" ;;
    *) more= ;;
  esac
  echo "sesame-simulator-mpich$more" >demo/simulators
  exit
fi

predict() {  # predict MACHINE OPTIONS…
  echo
  echo "\$ sesame simulate -n $ranks --machine $* -- demo/heat"
  "$sesame" simulate -n "$ranks" --machine "$@" --force -- demo/heat
}

predict infiniband -o demo/infiniband.sesame --report demo/report.html
predict paragon -o demo/paragon.sesame --report demo/report-paragon.html \
  --compute recorded:demo/infiniband.sesame

echo
echo "Predicted from one measurement of the computation, on $ranks ranks:"
for machine in infiniband paragon; do
  "$sesame" info --json "demo/$machine.sesame" | "$venv/bin/python" -c '
import json, sys

result = json.load(sys.stdin)["result"]
print("  {:<12}{:.4g} s".format(result["machine"], result["predicted_time_s"]))'
done
echo "Open in a browser:"
echo "  $PWD/demo/report.html          (infiniband)"
echo "  $PWD/demo/report-paragon.html  (paragon)"
echo "Or with play-back, comparison and search: $sesame serve demo"
