"""Commands of probes: nothing of them is left, whatever they do."""

from __future__ import annotations

import os
import pwd
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sesame.evaluation.processes import MOST_OUTPUT_BYTES, run_command

DEADLINE_S = 30


def run(*command: str, timeout: float = 60, user: str | None = None):
    return run_command(command, Path("/tmp"), timeout, os.environ, user)


def exists(process: int) -> bool:
    """Zombies do not count: a supervisor that was killed cannot wait for them."""
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return False
    return not re.search(r"^State:\s+[ZX]", status, re.M)


def test_status_and_output():
    ended = run("sh", "-c", "echo a; echo b >&2; exit 3")
    assert (ended.exit_status, ended.problem, ended.output) == (3, "", "a\nb\n")
    assert run("sh", "-c", "kill -SEGV $$").exit_status == -signal.SIGSEGV


def test_a_command_that_is_not_there():
    ended = run("/no/such/program")
    assert ended.exit_status is None
    assert "cannot be started: No such file" in ended.problem
    assert "give its whole path" not in ended.problem
    said = run("./program").problem
    assert said.endswith("it is looked for in the probe's new directory: give its whole path")


@pytest.mark.parametrize(
    "script", ["setsid sleep 1000 & echo $!", "(setsid env -i sleep 1000 & echo $!) "]
)
def test_processes_that_fork_away_are_ended(script):
    ended = run("sh", "-c", script)
    assert (ended.problem, ended.left_behind) == ("", 1)
    assert not exists(int(ended.output))


def test_processes_that_ignore_signals_are_ended_after_their_time():
    for timeout in (0.5, 5.0, 50.0):  # on a busy machine the shell may not have started by then
        ended = run("sh", "-c", "trap '' TERM INT; sleep 1000 & echo $!; wait", timeout=timeout)
        assert ended.problem == f"it took longer than {timeout:g} s"
        if ended.output:
            break
    assert ended.left_behind == 1
    assert not exists(int(ended.output))


def test_a_command_that_kills_its_supervisor_is_ended_too(tmp_path):
    command = ["sh", "-c", "echo $$ > process; kill -9 $PPID; sleep 1000"]
    ended = run_command(command, tmp_path, 60, os.environ)
    assert "killed the process that supervises it" in ended.problem
    assert not exists(int((tmp_path / "process").read_text()))


def test_long_output_is_bounded_and_its_ends_are_kept():
    ended = run("sh", "-c", "echo first; head -c 1000000 /dev/zero; echo last")
    assert ended.output.startswith("first\n") and ended.output.endswith("last\n")
    assert len(ended.output) < 70_000
    assert re.search(r"[\d,]+ bytes left out", ended.output)


def test_endless_output_is_ended():
    assert run("yes").problem == f"it printed more than {MOST_OUTPUT_BYTES >> 20} MiB"


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_a_command_runs_as_the_user():
    other = pwd.getpwuid(65534).pw_name
    assert run("id", "-un", user=other).output == f"{other}\n"


def test_a_user_that_is_not_there():
    assert run("id", user="no-such-user").problem == "there is no user no-such-user"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_nothing_is_left_when_the_prober_is_ended(number):
    program = (
        "import os; from pathlib import Path; from sesame.evaluation.processes import run_command;"
        "run_command(['sh', '-c', 'echo $$ >&3; exec sleep 1000'], Path('/'), 900, os.environ)"
    )
    read, write = os.pipe()
    # The command has no file beside the standard ones, so the line comes by a file of its own.
    name = f"/proc/{os.getpid()}/fd/{write}"
    program = program.replace(">&3", f"> {name}")
    prober = subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.DEVNULL)
    process = int(os.read(read, 100))
    prober.send_signal(number)
    prober.wait(DEADLINE_S)
    deadline = time.monotonic() + DEADLINE_S
    while exists(process) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not exists(process)
    os.close(read)
    os.close(write)
