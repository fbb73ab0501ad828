#!/usr/bin/env bash
# build.sh: builds the wheel in a fresh Debian 12 and puts it into dist/. The root stays in
# build/wheel for next time; remove it to begin anew.
set -euo pipefail
cd "$(dirname "$0")/../.."
here=$PWD/tools/wheel
root=$PWD/build/wheel/bookworm
"$here/make_root.sh" bookworm "$root" build-essential ccache clang cmake ninja-build libbpf-dev \
  liblz4-dev libmpich-dev libtomlplusplus-dev nlohmann-json3-dev python3-dev python3-venv

rm -rf "$root/wheels"
mkdir -p "$root/source"
find "$root/source" -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf {} +
git ls-files -z --cached --others --exclude-standard | tar --null --create --files-from=- | tar --extract --directory="$root/source"
"$here/in_root.sh" "$root" bash /source/tools/wheel/build_inside.sh
mkdir -p dist
cp "$root"/wheels/*.whl dist/
ls -l dist
