"""The workloads that tests run, built once: they stay in build/workloads-cache, by their sources.

`python -m tests.built_workloads JOBS` builds them all, before the tests: one that a test has to
build itself holds up all tests that wait for it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from sesame.errors import BuildError
from sesame.workloads import all_workloads, build_workload, find_compiler, find_workload

CACHE = Path(__file__).resolve().parents[1] / "build/workloads-cache"
# By the wrapper that compiles them; those of Open MPI compare the two.
WANTED = {
    "mpicxx.mpich": sorted(all_workloads()),
    "mpicxx.openmpi": ["ep", "messages"],
}


def use_cache() -> Path:
    """From here on, workloads of this process and its children are those of the cache."""
    os.environ["XDG_CACHE_HOME"] = str(CACHE)
    return CACHE


def missing() -> str:
    """What building needs and is not installed; nothing otherwise."""
    if shutil.which("mpicxx.mpich") is None or not Path("/usr/include/CLI").is_dir():
        return "needs Debian's MPICH and libcli11-dev"
    return ""


def build_all(jobs: int) -> None:
    """Builds what WANTED names, `jobs` files at a time. Raises BuildError for the first program."""
    use_cache()
    for wrapper, names in WANTED.items():
        if shutil.which(wrapper) is None:
            continue
        compiler = find_compiler(wrapper)
        # The one in Fortran configures for both languages.
        first = next((n for n in names if find_workload(n).language == "Fortran"), names[0])
        directory = build_workload(find_workload(first), compiler).program.parent
        command = ["cmake", "--build", str(directory), "--parallel", str(jobs), "--target", *names]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def main(jobs: int) -> None:
    """Tests skip what cannot be built, or say why: that is no reason to end here."""
    if missing():
        print(f"no workloads for the tests: {missing()}", file=sys.stderr)
        return
    try:
        build_all(jobs)
    except (BuildError, subprocess.CalledProcessError) as error:
        print(f"not all workloads for the tests: {error}", file=sys.stderr)


if __name__ == "__main__":
    main(int(sys.argv[1]))
