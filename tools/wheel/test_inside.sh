# Runs inside a root: installs the wheel that fits and runs what needs no compiler. First without
# any MPI, then with Debian's MPICH.
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

quiet env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends mpich
say sesame trace -o run.sesame -- mpiexec -n 4 ./heat
say sesame report run.sesame run.html
say sesame simulate run.sesame --machine paragon
ls -l -- *.html
