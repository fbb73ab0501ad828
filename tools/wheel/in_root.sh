#!/usr/bin/env bash
# in_root.sh ROOT COMMAND…: runs COMMAND in the root file system ROOT with this machine's kernel,
# devices and network. Needs root. The mounts end with the command.
set -euo pipefail
root=$(realpath "$1")
shift
for file in /etc/resolv.conf /etc/hosts /etc/ssl/certs/ca-certificates.crt; do
  [ ! -e "$root$(dirname $file)" ] || cp -L $file "$root$file"
done
exec unshare --mount bash -c '
  for directory in proc sys dev; do mount --rbind /$directory "$0/$directory"; done
  exec chroot "$0" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 "$@"
' "$root" "$@"
