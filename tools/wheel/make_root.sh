#!/usr/bin/env bash
# make_root.sh RELEASE ROOT PACKAGE…: a fresh root file system of the Debian RELEASE in ROOT, with
# PACKAGES. Needs root and debootstrap. An existing ROOT is left as it is.
set -euo pipefail
release=$1 root=$2
shift 2
[ ! -d "$root" ] || exit 0
if [ "$(id -u)" != 0 ]; then
  echo "make_root: run as root: a root file system has files of several users" >&2
  exit 1
fi
bash "$(dirname "$0")/../install_packages.sh" debootstrap
mkdir -p "$(dirname "$root")"
rm -rf "$root.part"
debootstrap --variant=minbase --include=ca-certificates "$release" "$root.part" \
  "${DEBIAN_MIRROR:-http://deb.debian.org/debian}" >"$root.log"
"$(dirname "$0")/in_root.sh" "$root.part" env DEBIAN_FRONTEND=noninteractive \
  apt-get install -y -qq --no-install-recommends "$@" >>"$root.log"
mv "$root.part" "$root"
