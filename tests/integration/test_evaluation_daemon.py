"""A probe that asks a node's sesamed for its boot and its processors."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.command_line import sesame
from tests.served_daemon import TOKEN, ServedDaemon

from sesame.evaluation.store import Store
from sesame.measurement.processors import STATES
from sesame.measurement.readings import Reading

SITE = """\
[target.n7]
[probe.p]
target = "n7"
interval = "15min"
aspect = "utilisation"
[[probe.p.step]]
sesamed = "{address}"
token_file = "{token}"
"""


@pytest.fixture
def daemon() -> Iterator[ServedDaemon]:
    made = ServedDaemon()
    yield made
    made.close()


def test_a_sesamed_tells_the_boot_of_its_node_and_how_busy_its_processors_were(daemon, tmp_path):
    token = tmp_path / "token"
    token.write_text(TOKEN)
    token.chmod(0o600)
    (tmp_path / "s.toml").write_text(SITE.format(address=daemon.listening.address, token=token))
    end = time.process_time() + 0.3
    while time.process_time() < end:  # a processor is busy
        pass
    daemon.read()
    done = sesame("evaluate", "run", "s.toml", "--once", "p", cwd=tmp_path)
    assert done.status == 0, done.stdout + done.stderr
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    booted = re.search(r"^btime (\d+)", Path("/proc/stat").read_text(), re.M)
    with Store(tmp_path / "s.db") as store:
        rows = store._database.rows("SELECT boot, booted FROM boot WHERE target = 'n7'")
        figure = store.last("p", "n7").figures[0]
    assert [one for one, _ in rows] == [boot]
    assert abs(rows[0][1] / 1e6 - int(booted[1])) <= 1  # the kernel rounds it anew each time
    assert (figure.name, figure.unit) == ("processors busy", "%")
    # The daemon may have read again since.
    kept = daemon.node.history
    assert any(
        figure.value == pytest.approx(100 - 100 * idle_share(kept[:number]))
        for number in range(1, len(kept) + 1)
    )
    assert figure.value > 0


def idle_share(readings: list[Reading]) -> float:
    """Of all processors."""
    times = [one.processors for one in readings]
    total = sum(sum(one[f"{state}_ns"]) for one in times for state in STATES)
    return sum(sum(one["idle_ns"]) + sum(one["iowait_ns"]) for one in times) / total


def test_a_sesamed_that_is_away_is_a_failure_that_says_why(tmp_path):
    token = tmp_path / "token"
    token.write_text(TOKEN)
    token.chmod(0o600)
    (tmp_path / "s.toml").write_text(SITE.format(address="127.0.0.1:1", token=token))
    done = sesame("evaluate", "run", "s.toml", cwd=tmp_path)
    assert done.status == 1
    assert "127.0.0.1:1: Connection refused" in done.stdout
    token.unlink()
    done = sesame("evaluate", "run", "s.toml", "--once", "p", cwd=tmp_path)
    assert "cannot read the token: No such file or directory" in done.stdout
