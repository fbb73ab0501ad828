#!/usr/bin/env bash
# test.sh RELEASE…: tries the wheel of dist/ in fresh roots of Debian RELEASEs (bookworm, trixie),
# first without a compiler. The program that is simulated then is compiled in the root of build.sh.
set -euo pipefail
cd "$(dirname "$0")/../.."
here=$PWD/tools/wheel
directory=$PWD/build/wheel
if ! compgen -G 'dist/*.whl' >/dev/null || [ ! -x "$directory/bookworm/usr/bin/mpicc.mpich" ]; then
  echo "test-wheel: there is no wheel in dist/, or no root that it was built in; run make wheel" >&2
  exit 1
fi
mkdir -p "$directory/bookworm/var/tmp/heat"
cp examples/heat.c "$directory/bookworm/var/tmp/heat"
"$here/in_root.sh" "$directory/bookworm" mpicc.mpich -O2 -w -o /var/tmp/heat/heat /var/tmp/heat/heat.c \
  -lm

for release in "$@"; do
  "$here/make_root.sh" "$release" "$directory/test-$release" python3-venv
  root=$directory/try-$release  # a copy, so that it is fresh each time
  rm -rf "$root"
  cp -a "$directory/test-$release" "$root"
  mkdir "$root/try"
  cp dist/*.whl "$here/test_inside.sh" "$directory/bookworm/var/tmp/heat/heat" examples/heat.c "$root/try"
  mkdir "$root/try/programs" "$root/try/source"
  cp --parents core/abi/check_*.py core/abi/openmpi_*.def "$root/try/source"
  cp core/abi/programs/interface.c tests/programs/fortran/* tests/programs/files/iostream.cc \
    tests/programs/answers/{mpi4.*,partitioned.c} "$root/try/programs"
  "$here/in_root.sh" "$root" bash /try/test_inside.sh </dev/null
  rm -rf "$root"
  echo "$release: passed"
done
