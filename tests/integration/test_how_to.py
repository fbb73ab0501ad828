"""The commands of the first page and of how-to pages, as a reader types them, in order."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from pathlib import Path

import pytest
from tests.command_line import SESAME, run
from tests.tutorials import DOCS, commands_of

EXAMPLES = Path(__file__).parents[2] / "examples"
MACHINE = re.compile(r"^```toml\n(.*?)^```", re.M | re.S)
PAGES = {
    "first-prediction.md": ["run.html", "scaling.html", "ethernet.sesame"],
    "how-to/laptop.md": ["scaling.html", "measured.sesame"],
    "how-to/file-systems.md": ["file-systems.html", "checkpoint.html"],
}


@pytest.mark.few_cases(1)
@pytest.mark.parametrize("page", PAGES)
def test_the_commands_of_the_page_work(page, tmp_path, monkeypatch):
    for name in ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"):
        monkeypatch.setenv(name, "1")  # `mpiexec` may be Open MPI's
    for name in ("heat.c", "checkpoint.c"):
        shutil.copy(EXAMPLES / name, tmp_path)
    if machine := MACHINE.search((DOCS / page).read_text()):
        (tmp_path / "cluster.toml").write_text(machine[1])
        run(["mpicc.mpich", "-O2", "-o", "heat", "heat.c", "-lm"], tmp_path)
    for line in commands_of(page):
        words = shlex.split(line)
        command = [*SESAME, *words[1:]] if words[0] == "sesame" else words
        outcome = run(command, tmp_path)
        assert outcome.status == 0, f"{line}\n{outcome.stdout}{outcome.stderr}"
    assert [name for name in PAGES[page] if not (tmp_path / name).exists()] == []


@pytest.mark.few_cases(1)
@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_the_demonstration_takes_the_mpi_that_it_finds(mpi, tmp_path, monkeypatch):
    compiler = shutil.which(f"mpicc.{mpi}")
    if compiler is None:
        pytest.skip(f"mpicc.{mpi} is not here")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/mpicc").write_text(f'#!/bin/sh\nexec {compiler} "$@"\n')
    (tmp_path / "bin/mpicc").chmod(0o755)
    (tmp_path / "examples").symlink_to(EXAMPLES)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    demo = EXAMPLES.parent / "tools/demo.sh"
    command = ["bash", str(demo), str(EXAMPLES.parent / ".venv")]
    assert run([*command, "--compile"], tmp_path).status == 0
    wanted = {"sesame-simulator-mpich", f"sesame-simulator-{mpi}"}
    assert set((tmp_path / "demo/simulators").read_text().strip().split(";")) == wanted
    outcome = run(command, tmp_path)
    assert outcome.status == 0, outcome.stderr
    assert "Predicted from one measurement of the computation" in outcome.stdout
    needed = run(["readelf", "-d", "demo/heat"], tmp_path).stdout
    assert ("libmpi.so.40" in needed) == (mpi == "openmpi")
    assert (tmp_path / "demo/report.html").exists()


def test_commands_of_the_page_on_slurm_use_the_recorded_job(tmp_path):
    """Slurm itself is not installed: `mpiexec` starts the ranks in its place."""
    program = tmp_path / "checkpoint"
    run(["mpicc.mpich", "-O2", "-o", str(program), str(EXAMPLES / "checkpoint.c")], tmp_path)
    script = f"""
        ( eval "$({shlex.join(map(str, SESAME))} trace --environment raw)"
          mpiexec.mpich -n 2 ./checkpoint checkpoint.dat 64 10 own )
    """
    assert run(["bash", "-ec", script], tmp_path).status == 0
    made = run([*SESAME, "trace", "--from-raw", "raw", "-o", "job.sesame"], tmp_path)
    assert "complete" in made.stderr and made.status == 0, made.stderr
    for line in commands_of("how-to/slurm.md"):
        outcome = run([*SESAME, *shlex.split(line)[1:]], tmp_path)
        assert outcome.status == 0, f"{line}\n{outcome.stdout}{outcome.stderr}"
