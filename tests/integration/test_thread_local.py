"""Programs with thread-local variables, threads and plug-ins answer as under mpiexec."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

MACHINE = ("--machine", "infiniband", "--compute", "none")
DIRECTORY = "tests/programs/answers"


@pytest.mark.few_cases(2)
@pytest.mark.parametrize(
    ("source", "flags"),
    [
        ("thread_local.cc", ("-pthread",)),
        ("openmp.c", ("-fopenmp",)),
        ("thread_private.f90", ("-fopenmp",)),
    ],
)
def test_a_program_gives_the_same_answer_as_under_mpiexec(
    source, flags, compiled, mpiexec, simulate
):
    program = compiled(f"{DIRECTORY}/{source}", "debian", flags)
    for ranks in (1, 2, 5):
        real = mpiexec(ranks, program)
        ours = simulate("-n", ranks, *MACHINE, "--", program)
        assert real.status == 0, real.stderr
        assert ours.status == 0, ours.stderr
        assert sorted(ours.stdout.splitlines()) == sorted(real.stdout.splitlines()) != []


def plugin(tmp_path: Path, text: str, *flags: str) -> Path:
    source, library = tmp_path / "plugin.c", tmp_path / "plugin.so"
    source.write_text(text)
    command = ["mpicc.mpich", "-w", "-shared", "-fPIC", str(source), "-o", str(library), *flags]
    subprocess.run(command, check=True)
    return library


FAILING = """
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
__thread int own;
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int failed = 0;
  for (int i = 0; i < 10; ++i) failed += dlopen(argv[1], RTLD_NOW) == NULL;
  printf("failed %d opened %d\\n", failed, dlopen(argv[2], RTLD_NOW) != NULL);
  MPI_Finalize();
}
"""


def test_a_plugin_that_cannot_be_opened_keeps_no_memory(compiled, simulate, tmp_path):
    """Thread-local variables of each take over half of what ranks have for all."""
    source = tmp_path / "opens.c"
    source.write_text(FAILING)
    large = "__thread char large_%s[40000]; int use_%s(void) { return large_%s[0]; }"
    flags = ("-ftls-model=initial-exec", "-Wl,--no-as-needed")
    second = plugin(tmp_path, large.replace("%s", "second"), *flags).rename(tmp_path / "second.so")
    needs = (str(second), f"-Wl,-rpath,{tmp_path}")
    failing = plugin(tmp_path, large.replace("%s", "first"), *flags, *needs)
    failing = failing.rename(tmp_path / "failing.so")
    fitting = plugin(tmp_path, large.replace("%s", "fitting"), *flags)
    private = ("--private-library", "second*")
    ours = simulate("-n", 2, *MACHINE, *private, "--", compiled(str(source)), failing, fitting)
    assert ours.status == 0, ours.stderr
    assert ours.stdout == "failed 10 opened 1\n" * 2, ours.stderr


def test_a_plugin_with_state_calls_mpi_for_its_rank(compiled, mpiexec, simulate, tmp_path):
    program = compiled(f"{DIRECTORY}/opens_plugin.c")
    library = plugin(
        tmp_path,
        "#include <mpi.h>\nstatic int state;\n"
        "int plug(int x) { int sum; state += x; MPI_Allreduce(&state, &sum, 1, MPI_INT, MPI_SUM,"
        " MPI_COMM_WORLD); return 1000 * sum + state; }",
    )
    real = mpiexec(3, program, str(library))
    ours = simulate("-n", 3, *MACHINE, "--", program, library)
    assert real.status == ours.status == 0, ours.stderr
    assert sorted(ours.stdout.splitlines()) == sorted(real.stdout.splitlines()) != []


def test_a_library_that_a_shared_library_opens_is_named(compiled, simulate, tmp_path):
    program = compiled(f"{DIRECTORY}/opens_plugin.c")
    inner = plugin(tmp_path, "static int state; int inner(int x) { return state += x; }")
    inner = inner.rename(tmp_path / "inner.so")
    opener = tmp_path / "libopener.so"
    (tmp_path / "opener.c").write_text(
        "#include <dlfcn.h>\nint opened(const char *p, int x) {"
        ' int (*f)(int) = (int (*)(int))dlsym(dlopen(p, RTLD_NOW), "inner"); return f(x); }'
    )
    subprocess.run(
        ["cc", "-shared", "-fPIC", str(tmp_path / "opener.c"), "-o", str(opener)], check=True
    )
    outer = plugin(
        tmp_path,
        f'int opened(const char *, int);\nint plug(int x) {{ return opened("{inner}", x); }}',
        str(opener),
    )
    shared = simulate("-n", 3, *MACHINE, "--", program, outer)
    assert shared.status == 0, shared.stderr
    assert "note: a shared library opened inner.so, whose static data all ranks" in shared.stderr
    private = simulate("-n", 3, *MACHINE, "--private-library", "libopener*", "--", program, outer)
    assert private.status == 0, private.stderr
    assert "inner.so" not in private.stderr
    assert "rank 2 gave 3 and 6" in private.stdout


def test_a_thread_that_calls_mpi_is_named(compiled, simulate):
    program = compiled(f"{DIRECTORY}/thread_calls.c", "debian", ("-pthread",))
    ours = simulate("-n", 2, *MACHINE, "--ranks-as", "fibers", "--", program)
    assert ours.status == 2
    assert "a thread that the program started itself called MPI" in ours.stderr
    assert "use --ranks-as processes" in ours.stderr
