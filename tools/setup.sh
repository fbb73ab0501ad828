#!/usr/bin/env bash
# setup.sh VENV PACKAGE…: installs the Debian packages that are missing (as root; else names
# them) and makes the Python environment VENV with everything that building and testing needs.
set -euo pipefail
venv=$1
shift

missing=()
if command -v dpkg-query >/dev/null; then
  for package in "$@"; do
    if [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" != installed ]; then
      missing+=("$package")
    fi
  done
else
  echo "setup: this is not Debian; make sure that it has what these packages give: $*" >&2
fi

if [ ${#missing[@]} -gt 0 ]; then
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "setup: installing ${missing[*]}" >&2
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
      "${missing[@]}" >/dev/null
  else
    echo "setup: please have these installed: sudo apt-get install ${missing[*]}" >&2
  fi
fi

python=${SESAME_PYTHON:-python3}
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
  echo "setup: Sesame needs Python 3.11 or newer; set SESAME_PYTHON to one" >&2
  exit 1
fi
[ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
# The versions are in pyproject.toml and nowhere else.
"$venv/bin/python" - <<'LIST' >"$venv/requirements.txt"
import tomllib

with open("pyproject.toml", "rb") as file:
    project = tomllib.load(file)["project"]
extras = project["optional-dependencies"]
packages = {package for extra in extras.values() for package in extra}
packages = {package for package in packages if not package.startswith(project["name"])}
print(*project["dependencies"], *sorted(packages), sep="\n")
LIST
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check -r "$venv/requirements.txt"
