"""Jobs of a batch system, targets at once, what probes need, and maintenance."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from sesame.evaluation import jobs, launchers
from sesame.evaluation.probing import Outcome, run_probe
from sesame.evaluation.runner import run_due
from sesame.evaluation.site import read_site

# A batch system made of a shell and ps: a job is a session, its number that of its first process.
# A job waits while the file `held` is there.
BATCH = '''\
[target.batch]
launcher = "batch"
submit = ["sh", "-c", """
  setsid sh -c "while test -e {held}; do sleep 0.05; done; $0" >/dev/null 2>&1 &
  echo job $!""", "{script}"]
job = 'job (\\d+)'
state = ["sh", "-c", """
  test -e {held} && echo WAITS, Nodes=down && exit
  ps -o stat= -p $0""", "{job}"]
waiting = 'WAITS'
running = '^[RSD]'
cancel = ["sh", "-c", 'kill -KILL -- "-$0"', "{job}"]
queue_limit = "0.5s"
'''
STEP = """
[probe.p]
target = "batch"
interval = "1h"
[[probe.p.step]]
name = "job"
launch = true
"""


@pytest.fixture
def batch(tmp_path):
    """Reads a site with the batch system and the probe p, whose step is given."""

    def read(step: str, more: str = ""):
        text = BATCH.replace("{held}", str(tmp_path / "held")) + more + STEP + step
        (tmp_path / "s.toml").write_text(text)
        return read_site(tmp_path / "s.toml")

    return read


def run(site):
    return run_probe(site.probes["p"], {}).results[0]


def test_a_job_is_judged_as_a_command_is(batch, tmp_path):
    right = run(batch("command = ['echo', 'a; b  c']\npattern = '^a; b  c$'\ntimeout = '20s'"))
    assert (right.outcome, right.reason) == (Outcome.PASS, "")
    assert [(one.name, one.unit) for one in right.figures] == [("job: time in the queue", "s")]
    wrong = run(batch("shell = 'echo broken; exit 4'\ntimeout = '20s'"))
    assert (wrong.outcome, wrong.output) == (Outcome.FAIL, "broken\n")
    assert wrong.reason == "exit status 4, expected exit status 0"
    assert not list(tmp_path.glob("sesame-probe-*"))


def test_a_job_that_takes_too_long_is_cancelled(batch, tmp_path):
    file = tmp_path / "process"
    result = run(batch(f"shell = 'echo $$ > {file}; exec sleep 1000'\ntimeout = '0.5s'"))
    assert (result.outcome, result.reason) == (Outcome.FAIL, "it took longer than 0.5 s")
    status = Path(f"/proc/{file.read_text().strip()}/status")
    assert not status.exists() or re.search(r"^State:\s+[ZX]", status.read_text(), re.M)


def test_a_job_that_the_queue_does_not_start_is_not_observed(batch, tmp_path):
    (tmp_path / "held").touch()
    result = run(batch("command = ['true']\ntimeout = '20s'"))
    assert result.outcome is Outcome.NOT_OBSERVED
    assert re.match(r"the queue did not start job \d+ within 0.5 s: WAITS", result.reason)


def test_a_job_that_waits_for_nodes_that_are_down_is_a_failure(batch, tmp_path):
    (tmp_path / "held").touch()
    result = run(batch("command = ['true']\ntimeout = '20s'", "unavailable = 'Nodes=down'\n"))
    assert result.outcome is Outcome.FAIL
    assert "cannot start, nodes are down: Nodes=down" in result.reason


def test_a_job_that_is_not_accepted_is_a_failure(batch, tmp_path):
    more = "command = ['true']\ntimeout = '20s'"
    text = (batch(more).path).read_text()
    for old, new, says in (
        ("echo job $!", "kill $!; echo no >&2; exit 1", "the job cannot be submitted: no"),
        ("echo job $!", "kill $!; echo nothing", "'nothing', has no 'job"),
        ('submit = ["sh"', 'submit = ["no-such-qsub"', "no-such-qsub cannot be started"),
    ):
        assert old in text
        (tmp_path / "s.toml").write_text(text.replace(old, new))
        result = run(read_site(tmp_path / "s.toml"))
        assert result.outcome is Outcome.FAIL and says in result.reason, result


def test_targets_do_not_wait_for_each_other(tmp_path):
    """The probe of one target waits for a file that the probe of another makes."""
    wait = "while ! test -e made; do sleep 0.02; done"
    make = "sleep 0.2; touch made"
    text = ""
    for name, script in (("a", wait), ("b", make)):
        text += f"[target.{name}]\n[probe.{name}]\ntarget = '{name}'\ninterval = '1h'\n"
        text += f"[[probe.{name}.step]]\ntimeout = '30s'\nshell = 'cd {tmp_path}; {script}'\n"
    (tmp_path / "s.toml").write_text(text)
    shown = []
    results = run_due(read_site(tmp_path / "s.toml"), shown.append)
    assert {one.probe: one.outcome for one in results} == dict.fromkeys("ab", Outcome.PASS)
    assert sorted(shown, key=str) == sorted(results, key=str)


@pytest.mark.parametrize("other", ["a", "b"])
def test_without_what_a_probe_needs_it_is_not_observed(tmp_path, other):
    """On the same target and on another; the order in the file does not matter."""
    text = "[target.a]\n[target.b]\n"
    for name, target, status in (("late", other, 0), ("early", "a", 1)):
        needs = "needs = ['early']\n" if name == "late" else ""
        text += f"[probe.{name}]\ntarget = '{target}'\ninterval = '1h'\n{needs}"
        text += f"[[probe.{name}.step]]\ntimeout = '30s'\nshell = 'exit {status}'\n"
    (tmp_path / "s.toml").write_text(text)
    site = read_site(tmp_path / "s.toml")
    found = {one.probe: one for one in run_due(site, lambda _: None)}
    assert found["early"].outcome is Outcome.FAIL
    assert found["late"].outcome is Outcome.NOT_OBSERVED
    assert found["late"].reason == "it needs early, which failed"
    forced = run_due(site, lambda _: None, "late")
    assert forced[0].outcome is Outcome.PASS


def test_in_maintenance_nothing_is_started(tmp_path):
    (tmp_path / "s.toml").write_text(
        "[target.a]\n[target.a.maintenance]\n"
        f"command = ['cat', '{tmp_path}/announced']\npattern = 'until \\S+'\n"
        "[probe.p]\ntarget = 'a'\ninterval = '1h'\n"
        f"[[probe.p.step]]\ntimeout = '30s'\ncommand = ['touch', '{tmp_path}/started']\n"
    )
    (tmp_path / "announced").write_text("closed until 12:00\n")
    site = read_site(tmp_path / "s.toml")
    found = run_due(site, lambda _: None)[0]
    assert (found.outcome, found.reason) == (Outcome.NOT_OBSERVED, "maintenance: until 12:00")
    assert not (tmp_path / "started").exists()
    (tmp_path / "announced").write_text("open\n")
    site.database.unlink()
    assert run_due(site, lambda _: None)[0].outcome is Outcome.PASS


def test_what_becomes_due_beside_a_long_queue_runs_in_the_same_run(tmp_path):
    """The slow probe of one target ends when the probe of the other, due every 0.2 s, ran again."""
    wait = f"while test $(wc -l < {tmp_path}/runs) -lt 2; do sleep 0.02; done"
    text = ""
    for name, interval, script in (
        ("slow", "1h", wait),
        ("quick", "0.2s", f"echo >> {tmp_path}/runs"),
    ):
        text += f"[target.{name}]\n[probe.{name}]\ntarget = '{name}'\ninterval = '{interval}'\n"
        text += f"[[probe.{name}.step]]\ntimeout = '120s'\nshell = '{script}'\n"
    (tmp_path / "runs").touch()
    (tmp_path / "s.toml").write_text(text)
    results = run_due(read_site(tmp_path / "s.toml"), lambda _: None)
    assert {one.outcome for one in results} == {Outcome.PASS}
    assert [one.probe for one in results].count("quick") >= 2


RUNNING = (0, "JobState=RUNNING")
SILENT = (1, "slurm_load_jobs error: Unable to contact slurm controller (connect failure)")
GONE = (1, "slurm_load_jobs error: Invalid job id specified")


@pytest.fixture
def slurm_job(tmp_path, monkeypatch):
    """Drives a job by a clock that only sleeping moves. `answer` is what Slurm says of the job
    at a time, as exit status and text; None is no answer."""
    monkeypatch.chdir(tmp_path)
    now = [0.0]
    monkeypatch.setattr(jobs.time, "monotonic", lambda: now[0])

    def sleep(wait: float) -> None:
        now[0] += wait

    monkeypatch.setattr(jobs.time, "sleep", sleep)

    def drive(answer: Callable[[float], tuple[int, str] | None], more: str = "") -> jobs.JobOutcome:
        text = f"[target.n]\nlauncher = 'slurm'\nqueue_limit = '1h'\n{more}"
        step = "[[probe.p.step]]\ncommand = ['true']\nlaunch = true\ntimeout = '10min'\n"
        (tmp_path / "s.toml").write_text(f"{text}{STEP.split('[[')[0]}{step}".replace("batch", "n"))
        probe = read_site(tmp_path / "s.toml").probes["p"]
        job = jobs.Job(launchers._request(probe, probe.steps[0]))

        def ask(what: str) -> CompletedProcess[str] | None:
            said = answer(now[0]) if what == "state" else (0, "7")
            return None if said is None else CompletedProcess([], said[0], said[1], "")

        monkeypatch.setattr(job, "_ask", ask)
        return job.run()

    return drive


def ends_at(end: float, answer: Callable[[float], tuple[int, str] | None], status: int = 0):
    """The command ends at that time, with that status."""

    def answers(now: float) -> tuple[int, str] | None:
        if now >= end:
            Path(jobs.STATUS).write_text(str(status))
        return answer(now)

    return answers


@pytest.mark.parametrize("silence", [SILENT, None])
@pytest.mark.parametrize("end", [70, 180])
def test_a_batch_system_that_does_not_answer_ends_no_job(slurm_job, silence, end):
    """It leaves one question open after a minute of answers, or all of them for two minutes."""
    found = slurm_job(ends_at(200, lambda now: silence if 60 <= now < end else RUNNING))
    assert (found.exit_status, found.problem) == (0, "")


def test_a_job_whose_batch_system_stays_silent_is_not_observed(slurm_job):
    found = slurm_job(lambda now: RUNNING if now < 60 else SILENT)
    assert found.is_ours
    said = "it took longer than 600 s, and the batch system does not answer: slurm_load_jobs error"
    assert found.problem.startswith(said)


def test_a_job_that_was_ended_and_does_not_end_is_named(slurm_job):
    """As when processes of a cancelled job remain on its node."""
    found = slurm_job(lambda now: RUNNING if now < 60 else (0, "JobState=COMPLETING Reason=None"))
    assert not found.is_ours
    said = "it took longer than 600 s, and job 7 has ended and is still on a node: "
    assert found.problem.startswith(f"{said}JobState=COMPLETING")


def test_a_job_that_its_batch_system_no_longer_knows_is_a_failure(slurm_job):
    found = slurm_job(lambda now: RUNNING if now < 60 else GONE)
    assert not found.is_ours
    assert found.problem.startswith("job 7 ended before its command did: slurm_load_jobs error")


@pytest.mark.parametrize(
    ("state", "status", "problem"),
    [
        ("CANCELLED", 143, "job 7 ended before its command did: JobState=CANCELLED"),
        ("CANCELLED", 3, ""),  # it ended by itself, before
        ("FAILED", 143, ""),  # the command's own status
    ],
)
def test_a_command_that_ended_with_its_cancelled_job_has_no_status(
    slurm_job, state, status, problem
):
    ended = (0, f"JobState={state}")
    found = slurm_job(ends_at(60, lambda now: RUNNING if now < 60 else ended, status))
    assert (found.exit_status, found.problem) == (None if problem else status, problem)


@pytest.mark.parametrize(
    ("reason", "outcome", "begin"),
    [
        ("ReqNodeNotAvail,_Reserved_for_maintenance", Outcome.NOT_OBSERVED, "maintenance: job 7"),
        ("ReqNodeNotAvail,_May_be_reserved_for_other_job", Outcome.NOT_OBSERVED, "the queue"),
        ("ReqNodeNotAvail,_UnavailableNodes:n[1-4]", Outcome.FAIL, "job 7 cannot start, nodes"),
        ("PartitionDown", Outcome.FAIL, "job 7 cannot start, nodes"),
        ("Priority", Outcome.NOT_OBSERVED, "the queue"),
    ],
)
def test_a_job_waits_for_maintenance_for_others_or_for_nodes_that_are_down(
    slurm_job, reason, outcome, begin
):
    """Reasons as `scontrol -o show job` prints them, before other fields of the job."""
    line = f"JobState=PENDING Reason={reason} Dependency=(null) Comment=reserved_for_maintenance"
    found = slurm_job(lambda _: (0, line))
    assert (found.is_ours, found.problem[: len(begin)]) == (outcome is not Outcome.FAIL, begin)
    assert reason in found.problem
