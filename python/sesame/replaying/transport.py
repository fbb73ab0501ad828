"""A replay in several processes: this process's share, and the transport over the user's MPI."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import sesame
from sesame.errors import BuildError, InputError
from sesame.replaying.plan import Share
from sesame.workloads import find_compiler

# Variables that launchers set, rank and size: MPICH and others with PMI; Open MPI.
OPEN_MPI = ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE")
VARIABLES = (("PMI_RANK", "PMI_SIZE"), OPEN_MPI)
SOURCE = "core/replay/mpi_transport.c"


def share_of_environment() -> Share:
    """The share of this process, from its launcher's variables; all streams without a launcher."""
    for rank, size in VARIABLES:
        if rank in os.environ and size in os.environ:
            return Share(int(os.environ[rank]), int(os.environ[size]))
    return Share()


def build_transport(wanted: str | None) -> Path:
    """Builds the library with the wanted MPI's C compiler wrapper, by default one of the launcher's
    MPI, unless it is in the cache."""
    compiler = _c_wrapper(find_compiler(wanted or _wrapper_of_launcher()).wrapper)
    source = _source()
    digest = hashlib.sha256(source.read_bytes())
    digest.update(source.with_suffix(".h").read_bytes())
    digest.update(str(compiler).encode())
    shown = subprocess.run([compiler, "-show"], capture_output=True, check=False).stdout
    digest.update(shown)
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    directory = Path(base) / "sesame/replay" / digest.hexdigest()[:16]
    library = directory / "libsesame_transport.so"
    if not library.is_file():
        directory.mkdir(parents=True, exist_ok=True)
        _compile(compiler, source, library)
    return library


def _wrapper_of_launcher() -> str | None:
    """Open MPI's wrapper if Open MPI started this process; else that of `find_compiler`."""
    if not all(name in os.environ for name in OPEN_MPI):
        return None
    return next((n for n in ("mpicxx.openmpi", "mpicxx") if shutil.which(n) is not None), None)


def _compile(compiler: Path, source: Path, library: Path) -> None:
    """Compiles to a temporary file and renames it, since several processes may do it at once."""
    handle, name = tempfile.mkstemp(suffix=".so", dir=library.parent)
    os.close(handle)
    command: list[str | Path] = [
        compiler,
        "-std=c11",
        "-O2",
        "-fPIC",
        "-shared",
        f"-I{source.parents[2]}",
    ]
    done = subprocess.run(
        [*command, f"-I{source.parents[2]}", source, "-o", name],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        Path(name).unlink()
        said = "\n".join(done.stderr.strip().splitlines()[:30])
        raise BuildError(f"{compiler} does not compile the transport:\n{said}")
    Path(name).replace(library)


def _c_wrapper(wrapper: Path) -> Path:
    """The C wrapper for a C++ wrapper: mpicc.mpich for mpicxx.mpich."""
    name = wrapper.name.replace("mpicxx", "mpicc").replace("mpic++", "mpicc")
    found = shutil.which(str(wrapper.with_name(name)))
    if found is None:
        raise InputError(f"{wrapper}: expected the C compiler wrapper {name} beside it")
    return Path(found)


def _source() -> Path:
    """The transport's source: in the installed package, or at the root of the source tree."""
    packages = [Path(entry).resolve() for entry in sesame.__path__]
    module = Path(__file__).resolve().parent
    for root in [*(p / "replaying/sources" for p in packages), module.parents[2]]:
        if (root / SOURCE).is_file():
            return root / SOURCE
    raise BuildError(f"{SOURCE} is missing", hint="install sesame again")
