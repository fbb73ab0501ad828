#!/usr/bin/env bash
# Records what three programs of the Earth and space sciences ask of a disk: the system alone, each
# program alone, and all at once. Makes baseline, ppm, wavelet, nbody and combined.sesame here.
#
# Programs get little more memory than they fill: else the page cache of today keeps everything from
# the disk. Needs root, for a file system of its own on a file, control groups of version 1, and
# probes in the kernel.
set -euo pipefail
idle_s=${1:-30}
scale=${2:-1} # of the lengths of ppm and nbody
sesame=${SESAME:-sesame}
group=/sys/fs/cgroup/memory/characterize.$$

mkdir disk "$group"
truncate -s 600M disk.img
device=$(losetup -f --show disk.img)
logger=
clean_up() {
  [ -z "$logger" ] || kill "$logger"
  wait
  umount disk
  losetup -d "$device"
  rm -f disk.img
  rmdir disk
  find "$group" -depth -type d -exec rmdir {} \;
}
trap clean_up EXIT
trap 'exit 1' INT TERM
mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 "$device"
mount "$device" disk

# The system's own work: a line of a log each second, that must be on the disk.
(while sleep 1; do date >>disk/log && sync -d disk/log; done) &
logger=$!

# Programs and data are on the disk, as the nodes of the study had all on theirs.
for program in ppm:24 wavelet:50 nbody:16; do
  name=${program%:*}
  "$sesame" bench run "$name" -n 1 >/dev/null
  built=$(find "${XDG_CACHE_HOME:-$HOME/.cache}/sesame/workloads" -name "$name" -type f -perm -1 \
    -printf '%T@ %p\n' | sort -n | tail -n 1 | cut -d' ' -f2)
  mkdir "disk/$name" "$group/$name"
  echo "${program#*:}M" >"$group/$name/memory.limit_in_bytes"
  cp "$built" "disk/$name/$name"
done
{ printf 'P5 1024 1024 255\n'; head -c 1048576 /dev/urandom; } >disk/image.pgm

cat >disk/limited <<END
#!/bin/sh
echo \$\$ >$group/\$1/cgroup.procs
cd disk/\$1
exec ./"\$@"
END
chmod +x disk/limited
ppm="disk/limited ppm --width 480 --height 240 --steps $((100 * scale)) --output results"
wavelet="disk/limited wavelet --image ../image.pgm --output bands"
nbody="disk/limited nbody --bodies 2048 --steps $((50 * scale)) \
  --statistics statistics"

# What was written before is on the disk when a recording begins, and what it writes is when it
# ends; programs and the image are in no memory.
record() {
  sync -f disk
  for file in disk/image.pgm disk/*/ppm disk/*/wavelet disk/*/nbody; do
    dd if="$file" iflag=nocache count=0 status=none
  done
  rm -rf disk/ppm/results disk/wavelet/bands disk/nbody/statistics
  mkdir disk/ppm/results disk/wavelet/bands
  "$sesame" measure run --only block --trace block.issue,block.complete --force \
    -o "$1.sesame" -- sh -c "$2 sync -f disk"
}

record baseline "sleep $idle_s;"
record ppm "$ppm;"
record wavelet "$wavelet;"
record nbody "$nbody;"
record combined "$ppm & $wavelet & $nbody & wait;"

"$sesame" characterize --baseline baseline.sesame --compare ppm.sesame wavelet.sesame nbody.sesame \
  --combined combined.sesame --device "$(lsblk -dno MAJ:MIN "$device" | tr -d ' ' | tr : ,)"
cat <<'END'

Table 1 of the study (a node of the Beowulf cluster of 1995: 16 MB, blocks of 1 KB):
 run       reads  writes  requests per s  total requests
 Baseline    0 %   100 %             0.9           1,782
 PPM         4 %    96 %             1.4             358
 Wavelet    49 %    51 %           294.5          88,342
 N-Body     13 %    87 %             1.0             638
END
