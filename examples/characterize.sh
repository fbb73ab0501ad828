#!/bin/sh
# Records what three programs of the Earth and space sciences ask of a disk: the system alone, each
# program alone, and all at once. Makes baseline, ppm, wavelet, nbody and combined.sesame here.
#
# Needs root: a file system of its own on a file, and probes in the kernel.
set -eu
idle_s=${1:-30}
scale=${2:-1} # of the programs' lengths
sesame=${SESAME:-sesame}

mkdir disk
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
}
trap clean_up EXIT
mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 "$device"
mount "$device" disk

# The system's own work: a line of a log each second, that must be on the disk.
(while sleep 1; do date >>disk/log && sync -d disk/log; done) &
logger=$!

# A greymap of noise, larger than the study's 512 x 512: to a disk of today that is two requests.
mkdir disk/ppm disk/wavelet disk/nbody
{ printf 'P5 1024 1024 255\n'; head -c 1048576 /dev/urandom; } >disk/image.pgm

ppm="$sesame bench run ppm -n 2 --width 480 --height 240 --steps $((200 * scale)) --dir disk/ppm \
  --output disk/ppm/results"
wavelet="$sesame bench run wavelet -n 2 --image disk/image.pgm --dir disk/wavelet \
  --output disk/wavelet/bands"
nbody="$sesame bench run nbody -n 2 --bodies 2048 --steps $((50 * scale)) \
  --statistics disk/nbody/statistics"

# What was written before is on the disk when a recording begins, and what it writes is when it
# ends; the image is in no memory.
record() {
  sync -f disk
  dd if=disk/image.pgm iflag=nocache count=0 status=none
  rm -rf disk/ppm/* disk/wavelet/* disk/nbody/*
  "$sesame" measure run --only block --trace block.issue,block.complete --force \
    -o "$1.sesame" -- sh -c "$2 sync -f disk"
}

record baseline "sleep $idle_s;"
record ppm "$ppm;"
record wavelet "$wavelet;"
record nbody "$nbody;"
record combined "$ppm & $wavelet & $nbody & wait;"
