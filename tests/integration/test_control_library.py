"""libsesame in C, Fortran and Python: a real daemon where probes are available, and none at all."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.command_line import SESAME, Outcome, run

from sesame import control
from sesame.datasets import DataSet
from sesame.errors import SesameError
from sesame.installed import find_installed
from sesame.measurement import LoadedProbes

C = r"""
#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
#include "sesame.h"
static void fsyncs(void) {
  int file = open("/dev/shm/sesame-control", O_CREAT | O_RDWR, 0600);
  for (int i = 0; i < 2000; ++i) fsync(file);
  close(file);
  unlink("/dev/shm/sesame-control");
}
int main(void) {
  struct sesame_counts a, b, c;
  int on = sesame_on("fs.sync");
  sesame_read("fs.sync", &a);
  sesame_phase_begin("outer \"quoted\"");
  sesame_phase_begin("inner");
  fsyncs();
  int ended = sesame_phase_end("inner");
  sesame_read("fs.sync", &b);
  int off = sesame_off("fs.sync");
  fsyncs();
  int child = fork();
  if (child == 0) {
    sesame_phase_begin("child");
    _exit(sesame_phase_end("child") != 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  sesame_read("fs.sync", &c);
  sesame_phase_end("outer \"quoted\"");
  printf("%d %d %d %d %llu %llu\n", on, ended, off, status, (unsigned long long)(b.count - a.count),
         (unsigned long long)(c.count - b.count));
  if (sesame_on("fs.seek") != -1) return 1;
  fprintf(stderr, "%s\n", sesame_error());
  return sesame_on("../x") == -1 && sesame_phase_end("never") == -1 ? 0 : 1;
}
"""
FORTRAN = """
program main
  use sesame
  implicit none
  type(sesame_counts) :: counts
  integer :: results(5)
  results(1) = sesame_on("fs.open")
  results(2) = sesame_phase_begin("from Fortran")
  results(3) = sesame_phase_end("from Fortran ")
  results(4) = sesame_read("fs.open", counts)
  results(5) = sesame_off()
  print "(5(i0, 1x))", results
end program main
"""
PYTHON = """
from sesame import control
print(control.on("task"))
with control.phase("from Python"):
    pass
print(control.read("task.exec") is not None, control.off())
print(control.read("task.none"), control.error())
"""


@pytest.fixture(scope="module")
def programs(tmp_path_factory) -> Path:
    """The directory of ./c and ./fortran."""
    directory = tmp_path_factory.mktemp("control")
    library = find_installed("libsesame.so").parent
    linked = [f"-L{library}", f"-Wl,-rpath,{library}", "-lsesame"]
    (directory / "main.c").write_text(C)
    flags = ["-Wall", "-Werror", f"-I{library}"]
    subprocess.run(["cc", *flags, "main.c", "-o", "c", *linked], cwd=directory, check=True)
    if shutil.which("gfortran"):
        (directory / "main.f90").write_text(FORTRAN)
        sources = [str(library / "sesame.f90"), "main.f90"]
        subprocess.run(
            ["gfortran", "-Wall", *sources, "-o", "fortran", *linked], cwd=directory, check=True
        )
    return directory


def play(programs: Path, name: str, **environment: str) -> Outcome:
    command = [sys.executable, "-c", PYTHON] if name == "python" else [str(programs / name)]
    words = [f"{key}={value}" for key, value in environment.items()]
    return run(["env", "-u", "SESAME_TOKEN", *words, *command], programs)


@pytest.mark.parametrize(
    "environment",
    [{}, {"SESAME_TOKEN": "x" * 20, "SESAME_DAEMON": "127.0.0.1:9"}],
    ids=["no token", "no daemon"],
)
def test_where_there_is_no_daemon_nothing_happens(programs, environment):
    outcome = play(programs, "c", **environment)
    assert (outcome.status, outcome.stdout) == (0, "-1 -1 -1 256 0 0\n")
    reason = "no daemon at 127.0.0.1:9: Connection refused" if environment else "give no token"
    assert reason in outcome.stderr
    if (programs / "fortran").exists():
        assert play(programs, "fortran", **environment).stdout.split()[0] == "-1"
    assert play(programs, "python", **environment).stdout.startswith("False\nFalse False\nNone")


def test_the_python_module_says_why_it_did_nothing(monkeypatch):
    monkeypatch.delenv("SESAME_TOKEN", raising=False)
    monkeypatch.delenv("SESAME_TOKEN_FILE", raising=False)
    assert control.read("fs.sync") is None
    assert control.error() == "SESAME_TOKEN and SESAME_TOKEN_FILE give no token"


@pytest.fixture
def daemon(tmp_path) -> Iterator[dict[str, str]]:
    """What programs must know of one."""
    try:
        LoadedProbes("fs").close()
    except (SesameError, OSError) as error:
        pytest.skip(f"this kernel takes no probes: {error}")
    where = ["--state-directory", str(tmp_path), "--listen", "127.0.0.1:0"]
    # Without a budget: on a busy machine a point may cost more than it may, and is switched off.
    destination = ["--destination", str(tmp_path / "sets"), "--budget", "none"]
    process = subprocess.Popen(
        [*SESAME, "measure", "daemon", *where, *destination], stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    line = process.stderr.readline()
    address = line.split("http://")[1].split(",")[0]
    yield {"SESAME_TOKEN_FILE": str(tmp_path / "token"), "SESAME_DAEMON": address}
    process.terminate()
    process.communicate(timeout=30)


def test_programs_switch_points_read_them_and_name_phases(programs, daemon, tmp_path):
    before = os.times().elapsed
    outcome = play(programs, "c", **daemon)
    assert outcome.status == 0
    on, ended, off, child, counted, after = map(int, outcome.stdout.split())
    assert (on, ended, off, child) == (0, 0, 0, 0)
    # Others of this machine do it too, but a disk does few in the time of so many.
    assert 2_000 <= counted < 2_200
    assert after < 200
    assert "fs has no point seek" in outcome.stderr
    assert play(programs, "fortran", **daemon).stdout == "0 0 0 0 0\n"
    assert play(programs, "python", **daemon).stdout.splitlines() == [
        "True",
        "True True",
        "None task has no point none",
    ]
    where = ["--nodes", daemon["SESAME_DAEMON"], "--token-file", daemon["SESAME_TOKEN_FILE"]]
    assert run([*SESAME, "measure", "set", *where, "--destination", ""], tmp_path).status == 0
    [data_set] = map(DataSet, (tmp_path / "sets").glob("*.sesame"))
    phases = {row["name"]: row for row in data_set.table("kernel_phase").to_pylist()}
    assert set(phases) == {'outer "quoted"', "inner", "child", "from Fortran", "from Python"}
    outer, inner, child = (phases[name] for name in ('outer "quoted"', "inner", "child"))
    assert outer["begin_ns"] <= inner["begin_ns"] < inner["end_ns"] <= child["begin_ns"]
    assert child["end_ns"] <= outer["end_ns"]
    assert outer["pid"] == inner["pid"] != child["pid"]
    assert outer["end_ns"] - outer["begin_ns"] < 1e9 * (os.times().elapsed - before)
