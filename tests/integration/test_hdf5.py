"""Parallel HDF5 as Debian builds it for MPICH: the same files under the simulator as under
mpiexec, byte for byte."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tests.command_line import run
from tests.integration.installations import IN_PLACE, ROOT

RANKS = 4


@pytest.fixture(scope="session")
def hdf5_program(debian_program, tmp_path_factory) -> Path:
    directory = tmp_path_factory.mktemp("hdf5")
    compiler = debian_program("libhdf5-mpich-dev", "h5pcc.mpich")
    source = ROOT / "tests/programs/hdf5/parallel.c"
    made = subprocess.run(
        [compiler, "-O2", str(source), "-o", str(directory / "parallel")],
        cwd=directory,
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stdout + made.stderr
    return directory / "parallel"


@pytest.fixture(scope="module")
def real_run(hdf5_program, tmp_path_factory):
    """What the ranks say under mpiexec, and the file they leave."""
    directory = tmp_path_factory.mktemp("real")
    command = ["mpiexec.mpich", "-n", str(RANKS), str(hdf5_program), "file.h5"]
    done = run(command, directory)
    assert done.status == 0, done.stderr
    return said(done.stdout), (directory / "file.h5").read_bytes()


def said(text: str) -> list[str]:
    return sorted(line for line in text.splitlines() if line.startswith("rank "))


@pytest.mark.few_cases(1)
@pytest.mark.parametrize("strategy", ["barrier", "grouping", "two-phase", "disk-directed"])
def test_every_strategy_leaves_the_file_that_mpich_leaves(
    strategy, hdf5_program, real_run, simulate, tmp_path
):
    chosen = ("--machine", "infiniband", "--collective", strategy, "--files", "kept")
    ours = simulate("-n", RANKS, *chosen, "--", hdf5_program, "file.h5")
    assert ours.status == 0, ours.stderr
    lines, contents = real_run
    assert said(ours.stdout) == lines != []
    assert (tmp_path / "kept/file.h5").read_bytes() == contents


def test_other_tools_read_the_file(hdf5_program, debian_program, simulate, tmp_path):
    dump = debian_program("hdf5-tools", "h5dump")
    ours = simulate("-n", 2, "--machine", "paragon", *IN_PLACE, "--", hdf5_program, "file.h5")
    assert ours.status == 0, ours.stderr
    attribute = run([dump, "-a", "/ranks", "file.h5"], tmp_path)
    assert attribute.status == 0, attribute.stderr
    assert "(0): 2" in attribute.stdout
    for name in ("contiguous", "alone", "chunked", "chunks alone", "compressed", "points"):
        dataset = run([dump, "-d", f"/layouts/{name}", "file.h5"], tmp_path)
        assert dataset.status == 0, dataset.stderr
        assert "(0,0): " in dataset.stdout
