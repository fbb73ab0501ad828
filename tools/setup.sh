#!/usr/bin/env bash
# setup.sh VENV PACKAGE…: installs the Debian packages that are missing (as root; else names
# them), an MPI if there is none, and makes the Python environment VENV with everything that building
# and testing needs. With SESAME_DEV_MPI=yes also the Python package mpich, for tests.
set -euo pipefail
venv=$1
shift

# Any MPI will do; Debian's default where there is none.
command -v mpicc >/dev/null || set -- "$@" mpi-default-dev
bash "$(dirname "$0")/install_packages.sh" "$@"

python=${SESAME_PYTHON:-python3}
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
  echo "setup: Sesame needs Python 3.11 or newer; set SESAME_PYTHON to one" >&2
  exit 1
fi
[ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
with_mpi=${SESAME_DEV_MPI:-}
command -v mpicc >/dev/null || with_mpi=yes
# The versions are in pyproject.toml and nowhere else.
SESAME_DEV_MPI=$with_mpi "$venv/bin/python" - <<'LIST' >"$venv/requirements.txt"
import os
import tomllib

with open("pyproject.toml", "rb") as file:
    project = tomllib.load(file)["project"]
extras = project["optional-dependencies"]
if not os.environ["SESAME_DEV_MPI"]:
    del extras["dev-mpi"]
packages = {package for extra in extras.values() for package in extra}
packages = {package for package in packages if not package.startswith(project["name"])}
print(*project["dependencies"], *sorted(packages), sep="\n")
LIST
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check -r "$venv/requirements.txt"
