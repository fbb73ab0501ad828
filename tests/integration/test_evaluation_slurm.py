"""Probes whose steps are jobs of a real Slurm of one node."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys

import pytest
from tests.command_line import sesame
from tests.slurm_cluster import DEADLINE_S, Cluster

PROBE = """\
[target.nodes]
launcher = "slurm"
queue_limit = "{limit}"
options = [{options}]
ranks = {ranks}
[probe.p]
target = "nodes"
interval = "1h"
availability = true
[[probe.p.step]]
name = "job"
launch = true
timeout = "{timeout}"
{step}
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory, debian_program):
    if os.geteuid() != 0:
        pytest.skip("munge and Slurm are started as root")
    for name in ("slurmctld", "slurmd", "sbatch"):
        debian_program("slurm-wlm", name)
    debian_program("munge", "munged")
    cluster = Cluster(tmp_path_factory.mktemp("slurm"))
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture
def probe(cluster, tmp_path, monkeypatch):
    """Runs the probe p; returns what was printed."""
    monkeypatch.setenv("SLURM_CONF", cluster.environment["SLURM_CONF"])
    monkeypatch.delenv("MPICH_INTERFACE_HOSTNAME", raising=False)

    def run(step: str, *, limit="60s", options="", ranks=1, timeout="60s"):
        text = PROBE.format(step=step, limit=limit, options=options, ranks=ranks, timeout=timeout)
        (tmp_path / "s.toml").write_text(text)
        return sesame("evaluate", "run", "s.toml", "--once", "p", cwd=tmp_path)

    return run


def queued(cluster: Cluster) -> str:
    return cluster.ask("squeue", "-h")


def test_a_job_passes_with_its_ranks(probe, cluster):
    ranks = min(os.cpu_count() or 1, 2)
    expected = "\\n".join(str(rank) for rank in range(ranks))
    step = "shell = 'echo $SLURM_PROCID'\npattern = '^[01]$'\n"
    done = probe(step, ranks=ranks)
    assert (done.status, done.stdout[:18]) == (0, "p on nodes: pass, "), done.stdout
    assert expected and queued(cluster) == ""


def test_a_job_that_fails_or_takes_too_long(probe, cluster):
    assert "step job: exit status 3" in probe("shell = 'exit 3'").stdout
    done = probe("command = ['sleep', '1000']", timeout="1s")
    assert "fail" in done.stdout and "it took longer than 1 s" in done.stdout
    cluster.wait_for(lambda: queued(cluster) == "")


def test_a_full_machine_is_not_observed(probe, cluster):
    cluster.ask("sbatch", "--exclusive", "-o", "/dev/null", "--wrap", "exec sleep 1000")
    try:
        done = probe("command = ['true']", limit="0.5s", options='"--exclusive"')
    finally:
        cluster.ask("scancel", "-u", "root")
        cluster.wait_for(lambda: queued(cluster) == "")
    assert done.status == 3
    said = r"the queue did not start job \d+ within 0.5 s: JobState=PENDING, Reason="
    # The reason is Priority until Slurm has looked for resources, at most a second later.
    assert re.search(said + "(Resources|Priority)", done.stdout), done.stdout


def test_a_job_that_another_ends_is_a_failure(probe, cluster, tmp_path):
    # A process that the shell starts while it is ended would stay, and the job not end: this
    # Slurm finds processes by their parents.
    step = "shell = 'scancel $SLURM_JOB_ID; exec sleep 1000'"
    done = probe(step)
    assert done.status == 1
    assert re.search(r"job \d+ ended before its command did: JobState=CANCELLED", done.stdout)


def test_a_partition_that_is_not_there(probe, cluster):
    done = probe("command = ['true']", options='"--partition=none"')
    assert done.status == 1
    assert "cannot be submitted: sbatch: error: " in done.stdout


def test_a_job_that_waits_for_a_node_that_is_down_is_a_failure(probe, cluster):
    node = ("scontrol", "update", "nodename=node")
    cluster.ask(*node, "state=down", "reason=test")
    try:
        cluster.wait_for_node("down")
        done = probe("command = ['true']", limit="1s")
        assert done.status == 1, done.stdout
        assert re.search(r"job \d+ cannot start, (all )?nodes are down: ", done.stdout), done.stdout
    finally:
        cluster.ask(*node, "state=resume")
        cluster.wait_for_node("idle")


def test_a_reservation_for_maintenance_is_looked_up(probe, cluster, tmp_path):
    probe("command = ['true']")  # writes the file
    made = cluster.ask(
        *("scontrol", "create", "reservation", "ReservationName=firmware", "StartTime=now"),
        *("Duration=10", "Nodes=node", "Flags=MAINT,IGNORE_JOBS", "Users=root"),
    )
    assert "Reservation created" in made
    try:
        (tmp_path / "s.db").unlink()
        done = sesame("evaluate", "run", "s.toml", cwd=tmp_path)
        assert done.status == 3
        assert "not observed" in done.stdout and "maintenance: ReservationName=" in done.stdout
    finally:
        cluster.ask("scontrol", "delete", "ReservationName=firmware")


def test_a_job_that_waits_for_the_end_of_maintenance_is_not_observed(probe, cluster):
    """The reservation begins before a job of two minutes would end."""
    made = cluster.ask(
        *("scontrol", "create", "reservation", "ReservationName=disks", "StartTime=now+1minute"),
        *("Duration=10", "Nodes=node", "Flags=MAINT,IGNORE_JOBS", "Users=root"),
    )
    assert "Reservation created" in made
    try:
        done = probe("command = ['true']", limit="2s", timeout="110s")
        assert done.status == 3, done.stdout
        said = r"maintenance: job \d+ waits for its end: JobState=PENDING, Reason=ReqNodeNotAvail,"
        assert re.search(said, done.stdout), done.stdout
    finally:
        cluster.ask("scontrol", "delete", "ReservationName=disks")
    cluster.wait_for(lambda: queued(cluster) == "")


def test_a_prober_that_is_killed_leaves_no_job(probe, cluster, tmp_path):
    probe("command = ['true']")
    text = (tmp_path / "s.toml").read_text().replace("'true'", "'sleep', '1000'")
    (tmp_path / "s.toml").write_text(text)
    prober = subprocess.Popen(
        [sys.executable, "-m", "sesame", "evaluate", "run", "s.toml", "--once", "p"],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    cluster.wait_for(lambda: " R " in queued(cluster))
    prober.send_signal(signal.SIGKILL)
    prober.wait(DEADLINE_S)
    cluster.wait_for(lambda: queued(cluster) == "")


def test_use_of_the_nodes_by_sinfo(probe, cluster, monkeypatch):
    cluster.wait_for(lambda: queued(cluster) == "")
    cluster.wait_for_node("idle")
    command = [sys.executable, "-m", "sesame.evaluation.measures", "slurm"]

    def nodes() -> dict[str, float]:
        figures = json.loads(cluster.ask(*command))["figures"]
        return {one["name"]: one["value"] for one in figures}

    idle = nodes()
    assert idle["nodes idle"] == 1 and idle["processors allocated"] == 0
    cluster.ask("sbatch", "--exclusive", "-o", "/dev/null", "--wrap", "exec sleep 1000")
    cluster.wait_for(lambda: nodes()["nodes allocated"] == 1)
    assert nodes()["processors allocated"] == 100
    cluster.ask("scancel", "-u", "root")
    cluster.wait_for(lambda: queued(cluster) == "")


@pytest.mark.long
def test_jobs_are_counted_as_slurmdbd_has_them(tmp_path_factory, debian_program):
    if os.geteuid() != 0:
        pytest.skip("munge and Slurm are started as root")
    for package, name in (
        *(("slurm-wlm", "slurmctld"), ("munge", "munged")),
        *(("slurmdbd", "slurmdbd"), ("mariadb-server", "mariadbd")),
    ):
        debian_program(package, name)
    cluster = Cluster(tmp_path_factory.mktemp("accounted"), has_accounting=True)
    try:
        cluster.start()
        cluster.ask("sbatch", "--exclusive", "-o", "/dev/null", "--wrap", "sleep 2")
        cluster.ask("sbatch", "-o", "/dev/null", "--wrap", "sleep 1; exit 3")
        sacct = ("sacct", "-a", "-X", "-n", "-P", "-o", "State,ElapsedRaw,AllocCPUS")
        cluster.wait_for(
            lambda: (
                sorted(line.split("|")[0] for line in cluster.ask(*sacct).splitlines())
                == ["COMPLETED", "FAILED"]
            )
        )
        jobs = [line.split("|") for line in cluster.ask(*sacct).splitlines()]
        answer = cluster.ask(sys.executable, "-m", "sesame.evaluation.measures", "slurm")
        found = {one["name"]: one["value"] for one in json.loads(answer)["figures"]}
    finally:
        cluster.stop()
    spent = sum(int(seconds) * int(processors) for _, seconds, processors in jobs)
    assert spent >= 2 * (os.cpu_count() or 1)
    assert found["processor time of jobs in the last hour"] == spent
    assert found["jobs completed in the last hour"] == 1
    assert found["jobs failed in the last hour"] == 1
