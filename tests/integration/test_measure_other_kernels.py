"""Probes in kernels that lack something, and that this one lacks nothing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.integration.kernel_counters import tracepoint
from tests.integration.test_measure import ROOT, SESAME, TALK, build_probes

pytestmark = pytest.mark.usefixtures("kernel_probes")


@dataclass(frozen=True)
class Altered:
    """Probes as another kernel would have them: areas of memory lie elsewhere, sockets have no
    tracepoints, and one program is refused; with a subsystem more."""

    environment: dict[str, str]

    def rows(self, record: str, directory: Path, *words: str) -> list[dict]:
        command = [*SESAME, "measure", "run", "--budget", "none", *words]
        subprocess.run(
            command, check=True, capture_output=True, env=self.environment, cwd=directory
        )
        return pq.read_table(directory / f"measured.sesame/{record}.parquet").to_pylist()


ALTERATIONS = (
    ("vm/area.bpf.h", "#define RANGE_SLOTS 16", "#define RANGE_SLOTS 14"),
    ("ipc/ipc.bpf.c", "tp_btf/sock_send_length", "tp_btf/no_send_length"),
    ("ipc/ipc.bpf.c", "tp_btf/sock_recv_length", "tp_btf/no_recv_length"),
    # The kernel's checker says EACCES, as it says to a process without capabilities.
    ("task/task.bpf.c", "seen(TASK_EXIT, task, 0)", "((struct task_struct*)task)->pid = 0"),
)


@pytest.fixture(scope="module")
def altered(tmp_path_factory) -> Altered:
    place = tmp_path_factory.mktemp("altered")
    shutil.copytree(ROOT / "probes", place / "probes")
    shutil.copytree(ROOT / "examples/subsystem/signal", place / "probes/signal")
    for name, old, new in ALTERATIONS:
        text = (place / "probes" / name).read_text()
        assert text.count(old) == 1
        (place / "probes" / name).write_text(text.replace(old, new))
    build_probes(place)
    return Altered(os.environ | {"SESAME_BIN": str(place / "b/probes")})


@pytest.fixture(scope="module")
def missing(altered) -> dict[str, str | None]:
    """Why points are unavailable."""
    command = [*SESAME, "measure", "list", "--json"]
    done = subprocess.run(
        command, check=True, capture_output=True, text=True, env=altered.environment
    )
    return {row["point"]: row["missing"] for row in json.loads(done.stdout)["points"]}


def test_this_kernel_takes_the_programs_of_all_points():
    if not tracepoint("sock/sock_send_length").exists():
        pytest.skip("this kernel is older than Linux 6.3")
    done = subprocess.run(
        [*SESAME, "measure", "list", "--json"], check=True, capture_output=True, text=True
    )
    rows = json.loads(done.stdout)["points"]
    assert [row["point"] for row in rows if row["substituted"]] == []
    assert [row["point"] for row in rows if "refuses" in (row["missing"] or "")] == []


def test_a_new_subsystem_is_a_directory_and_touches_nothing_else(altered, tmp_path):
    command = ("--only", "signal", "--", "sh", "-c", "kill -CONT $$")
    rows = altered.rows("kernel_summary", tmp_path, *command)
    counts = {row["class"]: row["count"] for row in rows}
    assert counts["process"] >= 2  # SIGCONT, and SIGCHLD when the shell ends


def test_areas_of_memory_that_are_not_as_expected_are_unknown(altered, missing, tmp_path):
    assert "the areas of memory are not where" in missing["vm.zero-fill"]
    assert missing["vm.total"] is None
    rows = altered.rows("kernel_summary", tmp_path, "--only", "vm", "--", "true")
    assert {row["class"] for row in rows if row["point"] == "total"} == {"unknown"}
    assert sum(row["count"] for row in rows if row["point"] == "first-touch") > 0


def test_without_tracepoints_of_sockets_calls_on_them_tell_the_same(altered, missing, tmp_path):
    assert missing["ipc.send"] is missing["ipc.receive"] is None
    talk = f"{TALK}for _ in range(20_000): os.getppid()\n"
    command = ("--only", "ipc", "--trace", "ipc", "--", sys.executable, "-c", talk)
    rows = altered.rows("kernel_event", tmp_path, *command)
    info = json.loads((tmp_path / "measured.sesame/info.json").read_text())
    assert "sendmmsg" in info["substituted"]["ipc.send"]
    assert "no tracepoint no_send_length" in info["substituted"]["ipc.send"]
    mine = {row["point"]: row for row in rows if row["bytes"] == 1234 and row["class"] == "unix"}
    assert mine["send"]["where"] == mine["receive"]["where"] != 0
    # Its program runs at the end of other calls, too, which costs.
    costs = pq.read_table(tmp_path / "measured.sesame/measurement_cost.parquet").to_pylist()
    assert sum(row["estimated_ns"] for row in costs if row["subsystem"] == "ipc") > 20_000 * 20


def test_a_program_that_the_kernel_refuses_takes_its_point_only_and_is_not_about_rights(
    altered, missing, tmp_path
):
    assert missing["task.create"] is missing["task.exec"] is None
    assert "refuses the program of this point" in missing["task.exit"]
    assert "only read is supported" in missing["task.exit"]
    command = [*SESAME, "measure", "run", "--only", "task.exit", "--", "true"]
    done = subprocess.run(
        command, capture_output=True, text=True, env=altered.environment, cwd=tmp_path
    )
    assert "task.exit" in done.stderr
    assert "only read is supported" in done.stderr
    for word in ("root", "CAP_", "Permission", "user"):
        assert word not in done.stderr
    assert done.returncode == 0
