#!/usr/bin/env bash
# make_root.sh RELEASE ROOT PACKAGE…: a fresh root file system of the Debian RELEASE in ROOT, with
# PACKAGES. Needs root and debootstrap. An existing ROOT is left as it is.
set -euo pipefail
release=$1 root=$2
shift 2
[ ! -d "$root" ] || exit 0
if [ "$(id -u)" != 0 ] || ! command -v debootstrap >/dev/null; then
  echo "make_root: run as root with debootstrap installed (apt-get install debootstrap)" >&2
  exit 1
fi
mkdir -p "$(dirname "$root")"
rm -rf "$root.part"
debootstrap --variant=minbase --include=ca-certificates "$release" "$root.part" \
  "${DEBIAN_MIRROR:-http://deb.debian.org/debian}" >"$root.log"
"$(dirname "$0")/in_root.sh" "$root.part" env DEBIAN_FRONTEND=noninteractive \
  apt-get install -y -qq --no-install-recommends "$@" >>"$root.log"
mv "$root.part" "$root"
