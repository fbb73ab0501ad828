"""Programs that are linked to Open MPI, as its compiler links them, as simulated ranks."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.command_line import SESAME, run

from sesame.datasets import DataSet

PROGRAMS = Path(__file__).resolve().parents[1] / "programs"
INTERFACE = Path(__file__).resolve().parents[2] / "core/abi/programs/interface.c"
pytestmark = pytest.mark.skipif(
    shutil.which("mpicc.openmpi") is None, reason="Open MPI's compiler (libopenmpi-dev) is not here"
)


SUM = """
#include <mpi.h>
#include <iostream>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, sum = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Reduce(&rank, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) std::cout << "sum " << sum << std::endl;
  MPI_Finalize();
}
"""


def build(source: Path, directory: Path, compiler: str = "mpicc.openmpi") -> Path:
    program = directory / source.stem
    subprocess.run([compiler, "-w", source, "-o", program], check=True)
    return program


@pytest.mark.parametrize("ranks", [1, 2, 5, 16])
def test_what_differs_between_interfaces_is_translated(ranks, simulate, tmp_path):
    """The program compares handles, statuses, constants, callbacks and attributes."""
    program = build(INTERFACE, tmp_path)
    done = simulate("-n", ranks, "--machine", "infiniband", "--", program)
    assert "0 checks failed" in done.stdout
    assert done.status == 0, done.stderr


@pytest.mark.parametrize("way", ["file", "spawn", "connect"])
def test_every_function_can_be_called(way, compiled, simulate):
    """A program that calls all of MPI, for the tracer: arguments that were passed on untranslated
    would end it."""
    program = compiled("tests/programs/trace/mpi_coverage.c", "openmpi")
    done = simulate("-n", 2, "--machine", "infiniband", "--", program, way)
    assert done.status == 0, done.stderr


def test_environment_and_extensions_are_those_of_a_real_run(compiled, mpiexec, simulate):
    program = compiled("tests/programs/answers/open_mpi.c", "openmpi")
    for ranks in (1, 3):
        real = mpiexec(ranks, program, "one", "two words", mpi="openmpi")
        # All ranks on one node, as in the real run.
        ours = simulate("-n", ranks, "--machine", "infiniband", "--", program, "one", "two words")
        assert real.status == 0, real.stderr
        assert ours.status == 0, ours.stderr
        assert sorted(ours.stdout.splitlines()) == sorted(real.stdout.splitlines())


def test_ranks_know_their_place_on_their_node(compiled, simulate, monkeypatch):
    """Also if the command itself was started by mpirun."""
    monkeypatch.setenv("OMPI_COMM_WORLD_RANK", "77")
    program = compiled("tests/programs/answers/open_mpi.c", "openmpi")
    nodes = ("--set", "nodes=2", "--set", "node.cores=2", "--placement", "cyclic")
    ours = simulate("-n", 3, "--machine", "ethernet", *nodes, "--", program)
    for line in ("2: OMPI_COMM_WORLD_LOCAL_RANK=1", "2: OMPI_COMM_WORLD_LOCAL_SIZE=2",
                 "1: OMPI_COMM_WORLD_LOCAL_SIZE=1", "2: was 2", "2: OMPI_ARGV=unset"):  # fmt: skip
        assert line in ours.stdout.splitlines()


def test_programs_of_other_mpis_do_not_see_the_variables(compiled, simulate):
    program = compiled("tests/programs/answers/getenv.c")
    ours = simulate("-n", 1, "--machine", "infiniband", "--", program, "OMPI_COMM_WORLD_RANK")
    assert ours.stdout.splitlines() == ["OMPI_COMM_WORLD_RANK is not set"]


SPLIT = """
#include <mpi.h>
#include <stdio.h>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int type = OMPI_COMM_TYPE_HWTHREAD; type <= OMPI_COMM_TYPE_HOST; type++) {
    MPI_Comm part;
    int size;
    MPI_Comm_split_type(MPI_COMM_WORLD, type, 0, MPI_INFO_NULL, &part);
    MPI_Comm_size(part, &size);
    printf("%d: %d has %d\\n", rank, type, size);
  }
  MPI_Finalize();
}
"""


def test_open_mpis_split_types_go_by_core_or_node(simulate, tmp_path):
    (tmp_path / "split.c").write_text(SPLIT)
    nodes = ("--set", "nodes=2", "--set", "node.cores=2", "--placement", "cyclic")
    program = build(tmp_path / "split.c", tmp_path)
    done = simulate("-n", 3, "--machine", "ethernet", *nodes, "--", program)
    assert done.status == 0, done.stderr
    alone, shared = range(1, 5), range(5, 10)
    expected = [f"{rank}: {type} has 1" for rank in range(3) for type in alone]
    expected += [f"{rank}: {type} has {2 - rank % 2}" for rank in range(3) for type in shared]
    assert sorted(done.stdout.splitlines()) == sorted(expected)


BCAST = """
#include <mpi.h>
static char data[1 << 20];
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Bcast(data, sizeof data, MPI_CHAR, 0, MPI_COMM_WORLD);
  MPI_Finalize();
}
"""


def test_collectives_use_the_algorithms_of_the_programs_mpi_or_of_the_chosen_one(
    simulate, tmp_path
):
    """The root of 12 ranks sends 1 MiB to each in Open MPI, and in MPICH a part to each."""
    if shutil.which("mpicc.mpich") is None:
        pytest.skip("libmpich-dev is not here")
    times = {}
    for mpi in ("openmpi", "mpich"):
        source = tmp_path / f"{mpi}.c"
        source.write_text(BCAST)
        program = build(source, tmp_path, f"mpicc.{mpi}")
        for rules in ("program", "openmpi", "mpich"):
            done = simulate(
                "-n", 12, "--machine", "ethernet", "--compute", "none", "--json", "-o",
                "run.sesame", "--force", "--set", f"network.collectives={rules}", "--", program,
            )  # fmt: skip
            assert done.status == 0, done.stderr
            times[mpi, rules] = done.json["predicted_time_s"]
            used = DataSet(tmp_path / "run.sesame").info["result"]["collectives"]
            assert used == (mpi if rules == "program" else rules)
    for mpi in ("openmpi", "mpich"):
        assert times[mpi, "program"] == times["openmpi", mpi] == times["mpich", mpi]
    assert times["openmpi", "program"] > 3 * times["mpich", "program"]


def test_an_unknown_choice_of_collectives_is_refused(simulate):
    options = ("--machine", "infiniband", "--set", "network.collectives=mvapich")
    done = simulate("-n", 2, *options, "--", "true")
    done.assert_refused("expected program, mpich or openmpi")


def test_netpipe_runs_as_it_is(simulate):
    program = shutil.which("NPopenmpi")
    if program is None:
        pytest.skip("netpipe-openmpi is not here")
    options = ("-n", 2, "--machine", "infiniband", "--compute", "none", "--")
    done = simulate(*options, program, "-u", 4096, "-n", 10, "-o", "np.out")
    assert re.search(r" 4096 bytes +10 times", done.stderr), done.stderr
    assert done.status == 0


def test_cpp_programs_run_with_their_layer(simulate, tmp_path):
    source = tmp_path / "sum.cc"
    source.write_text(SUM)
    done = simulate(
        "-n", 3, "--machine", "infiniband", "--", build(source, tmp_path, "mpicxx.openmpi")
    )
    assert done.stdout.splitlines()[0] == "sum 3"


def link(directory: Path, *steps: str) -> Path:
    """The program `app` that these commands make; f.c has the function f, main.c calls it."""
    (directory / "f.c").write_text("int f(void) { return 0; }\n")
    (directory / "main.c").write_text("int f(void); int main(void) { return f(); }\n")
    for step in steps:
        subprocess.run(step, shell=True, cwd=directory, check=True)
    return directory / "app"


SHARED = "cc -shared -fPIC"


def stub(soname: str, source: str = "f.c") -> str:
    return f"{SHARED} {source} -o {soname} -Wl,-soname,{soname}"


@pytest.mark.parametrize("soname", ["libmpi.so.20", "libmpi.so.1"])
def test_programs_of_older_versions_are_refused_in_a_sentence(soname, simulate, tmp_path):
    program = link(tmp_path, stub(soname), f"cc main.c -o app -L. -l:{soname} -Wl,-rpath,$PWD")
    done = simulate("-n", 2, "--machine", "infiniband", "--", program)
    done.assert_refused(f"is linked to Open MPI 3 or older ({soname}), expected Open MPI 4")
    assert "hint: rebuild it with Open MPI 4 or 5" in done.stderr


def test_open_mpi_one_has_the_name_of_mpichs_library(simulate, tmp_path):
    (tmp_path / "f.c").write_text("")
    (tmp_path / "old.c").write_text("int ompi_mpi_comm_world; int g(void) { return 0; }\n")
    (tmp_path / "use.c").write_text(
        "extern int ompi_mpi_comm_world; int g(void);"
        "int main(void) { return g() + ompi_mpi_comm_world; }\n"
    )
    program = link(
        tmp_path,
        stub("libmpi.so.12", "old.c"),
        "cc use.c -o app -L. -l:libmpi.so.12 -Wl,-rpath,$PWD",
    )
    done = simulate("-n", 2, "--machine", "infiniband", "--", program)
    done.assert_refused("is linked to Open MPI 3 or older (libmpi.so.12)")


def test_a_library_that_is_missing_is_named(simulate, tmp_path):
    (tmp_path / "gone.c").write_text("int f(void) { return 0; }\n")
    (tmp_path / "app.c").write_text(
        "#include <mpi.h>\nint f(void); int main(void) { return MPI_Init(0, 0) + f(); }\n"
    )
    program = link(
        tmp_path, stub("libgone.so", "gone.c"), "mpicc.openmpi app.c -o app -L. -lgone",
        "rm libgone.so",
    )  # fmt: skip
    done = simulate("-n", 2, "--machine", "infiniband", "--", program)
    done.assert_refused("needs shared libraries that are not found: libgone.so")


@pytest.fixture
def of_mpich(tmp_path: Path) -> Path:
    """A library that is linked to MPICH."""
    if shutil.which("mpicc.mpich") is None:
        pytest.skip("libmpich-dev is not here")
    (tmp_path / "two.c").write_text(
        "#include <mpi.h>\nint f(void) { int size; return MPI_Comm_size(MPI_COMM_WORLD, &size); }\n"
    )
    link(tmp_path, "mpicc.mpich -shared -fPIC two.c -o libtwo.so -Wl,-soname,libtwo.so")
    return tmp_path / "libtwo.so"


def test_two_mpis_in_a_program_are_refused_in_a_sentence(of_mpich, simulate, tmp_path):
    (tmp_path / "mixed.c").write_text(
        "#include <mpi.h>\nint f(void); int main(void) { return MPI_Init(0, 0) + f(); }\n"
    )
    program = link(tmp_path, "mpicc.openmpi mixed.c -o app -L. -ltwo -Wl,-rpath,$PWD")
    done = simulate("-n", 2, "--machine", "infiniband", "--", program)
    done.assert_refused("needs both MPICH's binary interface and Open MPI's (libmpich.so.12 for")
    assert "libtwo.so" in done.stderr


def test_a_library_of_another_mpi_cannot_be_opened(of_mpich, simulate, tmp_path):
    (tmp_path / "opens.c").write_text(
        "#include <dlfcn.h>\n#include <mpi.h>\n#include <stdio.h>\n"
        "int main(int argc, char** argv) { MPI_Init(&argc, &argv);"
        "if (dlopen(argv[1], RTLD_NOW) == NULL) puts(dlerror()); MPI_Finalize(); return 0; }\n"
    )
    program = link(tmp_path, "mpicc.openmpi opens.c -o app")
    done = simulate("-n", 1, "--machine", "infiniband", "--", program, of_mpich)
    assert "needs MPICH's binary interface (libmpich.so.12), which is not the MPI of the" in (
        done.stdout
    )
    assert done.status == 0, done.stderr


def test_a_traced_run_uses_the_collectives_of_its_program(simulate, tmp_path):
    """The root sends 1 MiB to each rank in Open MPI, and in MPICH a part to each."""
    source = tmp_path / "bcast.c"
    source.write_text(BCAST)
    program = build(source, tmp_path)
    launcher = ["mpiexec.openmpi", "--oversubscribe", "-n", "4", str(program)]
    as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    traced = run(
        [*SESAME, "trace", "-o", "run.sesame", "--", *launcher],
        tmp_path,
        env={**os.environ, **as_root},
    )
    assert traced.status == 0, traced.stderr
    times = {}
    for rules in ("program", "openmpi", "mpich"):
        options = ("--compute", "none", "--json", "--set", f"network.collectives={rules}")
        done = simulate("run.sesame", "--machine", "ethernet", *options)
        assert done.status == 0, done.stderr
        times[rules] = done.json["predicted_time_s"]
    assert times["program"] == times["openmpi"] != times["mpich"]
