"""Steps on another host by ssh: a real sshd of this machine, on a port of its own."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from tests.integration.ssh_server import DEADLINE_S, free_port, ssh_server

from sesame.evaluation.probing import Outcome, run_probe
from sesame.evaluation.runner import run_due
from sesame.evaluation.site import read_site
from sesame.evaluation.store import Store

SITE = """\
[target.n7]
launcher = "ssh"
host = "127.0.0.1"
options = [{options}]
[probe.p]
target = "n7"
interval = "1h"
[[probe.p.step]]
timeout = "{timeout}"
{step}
"""


TRUE = "command = ['true']\nlaunch = true"


@pytest.fixture(scope="module")
def options(tmp_path_factory, debian_program):
    """Those of ssh to reach the sshd."""
    if os.geteuid() != 0:
        pytest.skip("sshd is started as root")
    sshd = debian_program("openssh-server", "/usr/sbin/sshd")
    with ssh_server(sshd, tmp_path_factory.mktemp("ssh")) as words:
        yield ", ".join(f'"{word}"' for word in words)


@pytest.fixture
def probe(options, tmp_path):
    def read(step: str, timeout: str = "60s"):
        text = SITE.format(options=options, step=step, timeout=timeout)
        (tmp_path / "s.toml").write_text(text)
        return read_site(tmp_path / "s.toml")

    return read


def run(site):
    return run_probe(site.probes["p"], {}).results[0]


def test_words_reach_the_other_host_unchanged(probe):
    words = "command = ['printf', '%s\\n', 'a  b', '$HOME; true', \"it's\"]\nlaunch = true\n"
    result = run(probe(words + 'pattern = "^a  b\\n\\\\$HOME; true\\nit\'s$"'))
    assert result.outcome is Outcome.PASS, result
    failed = run(probe("command = ['sh', '-c', 'exit 3']\nlaunch = true"))
    assert failed.reason == "exit status 3, expected exit status 0"


def test_a_host_that_cannot_be_reached_is_a_failure(tmp_path, debian_program):
    debian_program("openssh-client", "ssh")
    text = SITE.format(options=f'"-p", "{free_port("127.0.0.1")}"', timeout="60s", step=TRUE)
    (tmp_path / "s.toml").write_text(text)
    result = run(read_site(tmp_path / "s.toml"))
    assert result.outcome is Outcome.FAIL
    assert "exit status 255" in result.reason and "Connection refused" in result.output


def test_a_command_that_hangs_there_is_ended_there(probe, tmp_path):
    file = tmp_path / "process"
    command = f"command = ['sh', '-c', 'echo $$ > {file}; exec sleep 1000']\nlaunch = true"
    for limit in ("1s", "5s", "25s"):  # a machine under load may need the first to connect
        result = run(probe(command, timeout=limit))
        assert result.outcome is Outcome.FAIL
        if file.exists():
            break
    deadline = time.monotonic() + DEADLINE_S
    while Path(f"/proc/{file.read_text().strip()}").exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_reboots_of_the_host_are_kept(probe):
    site = probe("boot = true")
    assert run_due(site, lambda _: None)[0].outcome is Outcome.PASS
    with Store(site.database) as store:
        rows = store._database.rows("SELECT target, boot FROM boot WHERE target = ?", ("n7",))
    assert rows == [("n7", Path("/proc/sys/kernel/random/boot_id").read_text().strip())]
