#!/usr/bin/env bash
# setup.sh VENV WHAT PACKAGE…: installs the Debian packages that are missing (as root; else names
# them) and, in the Python environment VENV, which it makes,
#   build   what building needs, and what the command line imports
#   all     what the extras and developers need
#   mpi     the Python package mpich, for tests
# Where there is no MPI, Debian's or, without root rights, the Python package is installed, too.
set -euo pipefail
venv=$1 what=$2
shift 2

# Any MPI will do; Debian's default where there is none.
command -v mpicc >/dev/null || set -- "$@" mpi-default-dev
bash "$(dirname "$0")/install_packages.sh" "$@"

python=${SESAME_PYTHON:-python3}
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
  echo "setup: Sesame needs Python 3.11 or newer; set SESAME_PYTHON to one" >&2
  exit 1
fi
[ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
command -v mpicc >/dev/null || what="$what mpi"
# requirements WHAT…: the packages. Their versions are in pyproject.toml and nowhere else.
requirements() {
  "$venv/bin/python" - "$@" <<'LIST'
import sys
import tomllib

with open("pyproject.toml", "rb") as file:
    content = tomllib.load(file)
project = content["project"]
extras = project["optional-dependencies"]
others = [name for name in extras if name not in ("all", "dev-mpi", "dev-setup")]
packages = {
    "build": [*project["dependencies"], *content["build-system"]["requires"]],
    "all": [package for name in others for package in extras[name]],
    "mpi": extras["dev-mpi"],
    "setup": extras["dev-setup"],
}
print(*sorted({package for what in sys.argv[1:] for package in packages[what]}), sep="\n")
LIST
}
# Python compiles files when they are imported, and most are never imported. uv needs a third of pip's
# processor time, but does not know pip's settings: where these name another index or a proxy, and
# where uv fails, pip installs.
list=$venv/requirements-${what// /-}.txt
requirements $what >"$list"
pip=("$venv/bin/python" -m pip --disable-pip-version-check)
install_with_uv() {
  [[ ! $("${pip[@]}" config list) =~ index|proxy ]] || return
  [ -x "$venv/bin/uv" ] || "${pip[@]}" install --quiet --no-compile $(requirements setup) || return
  "$venv/bin/uv" pip install --quiet --python "$venv/bin/python" -r "$list"
}
install_with_uv || "${pip[@]}" install --quiet --no-compile -r "$list"
