#!/usr/bin/env bash
# install_packages.sh PACKAGE…: installs the Debian packages that are missing, as root; otherwise
# names them and leaves it at that.
set -euo pipefail

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
