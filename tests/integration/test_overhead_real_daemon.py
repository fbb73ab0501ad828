"""`sesame overhead validate` with the real daemon and collector of this machine."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from tests.command_line import SESAME, run

from sesame.overhead import read_model
from sesame.overhead.daemon_runs import read_runs

pytestmark = pytest.mark.usefixtures("kernel_probes")
pytest.importorskip("scipy")
PERIOD_S, BATCH = 0.2, 2
# Readings that wait for a daemon or collector that is late by a period are one message.
ATTEMPTS = 5
PLAN = ("--periods", "200ms", "--batches", f"1,{BATCH}", "--seconds", "1")


def validate(directory: Path, *words: str):
    return run([*SESAME, "overhead", "validate", "sesamed", *PLAN, *words], directory)


@pytest.mark.long
def test_the_daemon_runs_under_each_setting_and_is_compared(tmp_path):
    for attempt in range(ATTEMPTS):
        name = f"runs-{attempt}.csv"
        done = validate(tmp_path, "--beside", "nothing", "-o", name, "--json")
        assert done.status == 0, done.stderr
        single, batches = read_runs(tmp_path / name)
        if single.messages == single.readings:
            break
    for one in (single, batches):
        assert 1.0 <= one.seconds < 30
        assert one.readings == pytest.approx(one.seconds / PERIOD_S, abs=1)
        assert 0 < one.daemon_cpu_s < one.seconds and 0 < one.main_cpu_s < one.seconds
    assert single.messages == single.readings
    assert batches.messages < batches.readings
    # The oldest reading of a batch waits for the others.
    assert batches.latency_p99_s > (BATCH - 1) * PERIOD_S > single.latency_mean_s
    shown = json.loads(done.stdout)
    for entry, one in zip(shown, (single, batches), strict=True):
        figure = entry["figures"]["daemon_cpu"]
        assert figure["measured"] == pytest.approx(one.daemon_share, rel=1e-6)
        error = figure["predicted"]["value"] / figure["measured"] - 1
        assert figure["error"] == pytest.approx(error)


def test_nothing_is_left_when_it_is_interrupted(tmp_path):
    """Daemon, collector and the program beside them end."""
    words = [*SESAME, "overhead", "validate", "sesamed", *PLAN[:-1], "600", "--beside", "ep"]
    with subprocess.Popen(
        [*words, "--class", "S", "-o", "runs.csv"], cwd=tmp_path, stderr=subprocess.PIPE
    ) as process:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        while len(started := children.read_text().split()) < 2:
            assert process.poll() is None
        process.send_signal(2)
        _, said = process.communicate(timeout=100)
    assert process.returncode == 130, said
    assert not any(Path(f"/proc/{one}").exists() for one in started)
    assert not (tmp_path / "runs.csv").exists()


def test_the_shipped_model_describes_a_daemon_like_ours():
    assert read_model("sesamed").daemon.source == "timer"
