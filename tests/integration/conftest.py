"""What the integration tests share: real compilers, real mpiexec, the real simulator.

Programs are compiled once in a session. A test whose tool is not installed is skipped, and says
which one.
"""

from __future__ import annotations

import fcntl
import functools
import os
import resource
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.built_programs import build_program
from tests.built_workloads import missing, use_cache
from tests.command_line import SESAME, Outcome, run
from tests.integration.installations import MPIS, OPEN_MPI, ROOT, unless_sigpipe
from tests.products import mark_further_cases

from sesame.errors import SesameError
from sesame.measurement import LoadedProbes
from sesame.workloads import build_workload, find_compiler, find_workload


@pytest.hookimpl(tryfirst=True)  # before pytest leaves out those that are `long`
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    mark_further_cases(item for item in items if item.path.is_relative_to(here))


@pytest.fixture(scope="session")
def compiled() -> Callable[..., Path]:
    """compiled(source, mpi="debian", flags=()): the program made from one of our sources."""

    @functools.cache
    def compile_program(source: str, mpi: str = "debian", flags: tuple[str, ...] = ()) -> Path:
        path = ROOT / source
        # A case that no installation can run would stand for its values (tests/products.py).
        compiler = MPIS[mpi].compilers.get(path.suffix[1:])
        assert compiler is not None, f"{MPIS[mpi].name} never has a compiler for {path.suffix}"
        if shutil.which(compiler) is None:
            pytest.skip(f"{compiler} is not installed")
        name = f"{path.stem}-{mpi}"
        return build_program(name, path, compiler, "-O2", "-w", *flags, str(path), "-lm")

    return compile_program


@pytest.fixture(scope="module", autouse=True)
def yielding() -> Iterator[None]:
    """Ranks of real runs that wait yield the processor, and then sleep between polls.

    There are more ranks than processors. Ranks that only poll use several times the processor
    time, and on a busy machine some runs do not end.
    """
    source = ROOT / "tests/programs/yielding/yielding_ranks.c"
    library = build_program("yielding.so", source, "cc", "-O2", "-shared", "-fPIC", str(source))
    libraries = [os.environ.get("LD_PRELOAD"), str(library)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LD_PRELOAD", ":".join(filter(None, libraries)))
        yield


@pytest.fixture
def mpiexec(tmp_path: Path) -> Callable[..., Outcome]:
    """mpiexec(ranks, program, *arguments, mpi="debian"): a real run."""

    def execute(ranks: int, program: Path, *arguments: str, mpi: str = "debian") -> Outcome:
        starter = MPIS[mpi].mpiexec
        if shutil.which(starter) is None:
            pytest.skip(f"{starter} is not installed")
        command = [starter, "-n", str(ranks), str(program), *arguments]
        return unless_sigpipe(lambda: run(command, tmp_path, env=os.environ | OPEN_MPI))

    return execute


@pytest.fixture
def simulate(tmp_path: Path) -> Callable[..., Outcome]:
    """simulate(*options_and_program): `sesame simulate …` in an empty directory."""

    def execute(*arguments: object, cwd: Path | None = None, stdin: str | None = None) -> Outcome:
        command = [*SESAME, "simulate", *map(str, arguments)]
        return run(command, cwd or tmp_path, stdin=stdin)

    return execute


@pytest.fixture(scope="session", autouse=True)
def cache() -> Path:
    """Workloads are those that are built before the tests, whichever test runs them."""
    return use_cache()


@pytest.fixture(scope="session")
def program(cache: Path) -> Callable[[str], Path]:
    """program(name): the workload, built with Debian's MPICH."""
    if missing():
        pytest.skip(missing())
    compiler = find_compiler(MPIS["debian"].compilers["cc"])
    return functools.cache(lambda name: build_workload(find_workload(name), compiler).program)


@pytest.fixture(scope="session")
def kit_program(
    program: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Path]:
    """kit_program(name): a program of tests/programs/workloads, linked to the workloads' kit."""

    def build(name: str) -> Path:
        kit = program("ep").parent / "libworkload_kit.a"
        made = tmp_path_factory.mktemp("kit") / name
        source = ROOT / f"tests/programs/workloads/{name}.cc"
        command = ["mpicxx.mpich", "-std=c++20", f"-I{ROOT / 'workloads'}", str(source), str(kit)]
        subprocess.run([*command, "-o", str(made)], check=True)
        return made

    return build


@pytest.fixture
def bench(cache: Path, tmp_path: Path) -> Callable[..., Outcome]:
    """bench(*arguments): `sesame bench run …` in an empty directory."""

    def execute(*arguments: object) -> Outcome:
        return run([*SESAME, "bench", "run", *map(str, arguments)], tmp_path)

    return execute


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """The directory disk, a file system of 6 MB: writes to it fail when it is full."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=6m", "sesame-test", str(place)]
    if os.geteuid() != 0 or subprocess.run(mount, check=False).returncode != 0:
        pytest.skip("needs root, to mount a small file system")
    yield place
    # Processes that are being ended may still hold a file.
    subprocess.run(["umount", "--lazy", str(place)], check=True)


@pytest.fixture(scope="session")
def kernel_probes() -> None:
    """Skips where this kernel takes no probes. Collecting tests loads none."""
    if os.geteuid() != 0:
        pytest.skip("probes need root")
    if not Path("/sys/kernel/btf/vmlinux").exists():
        pytest.skip("this kernel does not describe its structures (no /sys/kernel/btf/vmlinux)")
    try:
        LoadedProbes("task").close()
    except (SesameError, OSError) as error:
        pytest.skip(f"this kernel takes no probes: {error}")


@pytest.fixture(scope="session")
def network_namespaces(kernel_probes: None) -> None:
    """Skips where daemons cannot have network namespaces, and probes, of their own."""
    if shutil.which("ip") is None:
        pytest.skip("network namespaces need iproute2")
    if subprocess.run(["unshare", "--net", "true"], check=False).returncode != 0:
        pytest.skip("no network namespaces here")


@pytest.fixture
def alone() -> Iterator[None]:
    """No other test that has this runs meanwhile, in whatever process: these count what the whole
    system does, or do it so often that it shows."""
    with (Path(tempfile.gettempdir()) / "sesame-tests-alone.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@pytest.fixture
def small_files() -> Iterator[None]:
    """No file can grow beyond 16 MiB, more than MPICH's shared memory needs: a write in the middle
    fails."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (16 << 20, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
