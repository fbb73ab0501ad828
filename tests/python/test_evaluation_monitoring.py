"""Metrics in real Prometheus' tools, and units in systemd's, for `sesame evaluate`."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.python.evaluation_sites import AVAILABILITY

from sesame.evaluation.metrics import FILES, HELP, metrics_text
from sesame.evaluation.periods import moment
from sesame.evaluation.probing import Outcome, Result
from sesame.evaluation.site import read_site
from sesame.evaluation.store import Store

SITE = (
    'name = "a \\"site\\""\n'
    + AVAILABILITY
    + """\
[[probe.p.step]]
command = ["true"]
timeout = "1min"
"""
)
BEGIN, HOUR = moment("2026-05", ""), 3600.0
CASES = """\
rule_files: [alerts.yml]
evaluation_interval: 1m
tests:
  - interval: 1m
    input_series:
      - series: 'sesame_probe_up{site="s", target="t", probe="p"}'
        values: '1x10 0x300'
      - series: 'sesame_probe_last_observed_timestamp_seconds{site="s", target="t", probe="p"}'
        values: '0x310'
      - series: 'sesame_probe_interval_seconds{site="s", target="t", probe="p"}'
        values: '3600x310'
      - series: 'sesame_slo_burn_rate{site="s", target="t", window="1h"}'
        values: '0x20 100x290'
      - series: 'sesame_slo_burn_rate{site="s", target="t", window="6h"}'
        values: '0x60 16x250'
    alert_rule_test:
      - {eval_time: 5m, alertname: SesameProbeFails, exp_alerts: []}
      - eval_time: 15m
        alertname: SesameProbeFails
        exp_alerts:
          - exp_labels: {severity: warning, site: s, target: t, probe: p}
            exp_annotations: {summary: "p on t of s fails"}
      - {eval_time: 170m, alertname: SesameProbeNotObserved, exp_alerts: []}
      - eval_time: 190m
        alertname: SesameProbeNotObserved
        exp_alerts:
          - exp_labels: {severity: warning, site: s, target: t, probe: p}
            exp_annotations:
              summary: "p on t was not observed for 3h 10m 0s"
              description: >-
                Neither a pass nor a failure for three intervals: see whether the prober runs.
      - {eval_time: 40m, alertname: SesameFastBurn, exp_alerts: []}
      - eval_time: 70m
        alertname: SesameFastBurn
        exp_alerts:
          - exp_labels: {severity: page, site: s, target: t, window: 1h}
            exp_annotations:
              summary: "t of s uses its budget of unavailability 100 times as fast as permitted"
"""


@pytest.fixture
def text(tmp_path: Path) -> str:
    (tmp_path / "s.toml").write_text(SITE)
    site = read_site(tmp_path / "s.toml")
    with Store(site.database) as store:
        for hour in range(100):
            outcome = Outcome.PASS if hour < 98 else Outcome.FAIL
            store.add([Result(str(hour), "p", "t", BEGIN + HOUR * hour, 1, outcome)])
        store.add([Result("x", "p", "t", BEGIN + HOUR * 100, 1, Outcome.NOT_OBSERVED)])
        return metrics_text(site, store, BEGIN + 100 * HOUR, 0.99)


def promtool(*words: str, stdin: str | None = None, cwd: Path | None = None) -> str:
    if shutil.which("promtool") is None:
        pytest.skip("needs promtool (Debian: prometheus)")
    done = subprocess.run(
        ["promtool", *words], input=stdin, capture_output=True, text=True, timeout=60, cwd=cwd
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_promtool_reads_the_metrics(text):
    promtool("check", "metrics", stdin=text)


def test_metrics_say_what_the_database_has(text):
    def value(name: str, labels: str) -> float:
        begin = f'{name}{{site="a \\"site\\"",{labels}}} '
        return float(
            next(line for line in text.splitlines() if line.startswith(begin))[len(begin) :]
        )

    assert value("sesame_probe_up", 'target="t",probe="p"') == 0
    assert value("sesame_probe_observed", 'target="t",probe="p"') == 0
    assert value("sesame_probe_last_observed_age_seconds", 'target="t",probe="p"') == HOUR
    assert value("sesame_incidents_open", 'target="t"') == 1
    # The sixth hour before the last observation is down, in the fifth the state changed.
    assert value("sesame_slo_burn_rate", 'target="t",window="6h"') == pytest.approx(150 / 6)
    assert value("sesame_slo_burn_rate", 'target="t",window="1h"') == pytest.approx(100)


def test_promtool_accepts_the_rules_and_they_fire_when_they_should(tmp_path):
    shutil.copy(FILES / "alerts.yml", tmp_path)
    promtool("check", "rules", str(tmp_path / "alerts.yml"))
    (tmp_path / "cases.yml").write_text(CASES)
    assert "SUCCESS" in promtool("test", "rules", "cases.yml", cwd=tmp_path)


def test_the_dashboard_asks_for_metrics_that_there_are():
    dashboard = json.loads((FILES / "dashboard.json").read_text())
    asked = re.findall(r"sesame_\w+", json.dumps(dashboard) + (FILES / "alerts.yml").read_text())
    assert set(asked) <= set(HELP)
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"]) == 5


def test_units_are_accepted_by_systemd(sesame, tmp_path):
    (tmp_path / "a b$.toml").write_text(SITE)
    words = ("evaluate", "install", "a b$.toml", "--directory", "units", "--metrics", "a b%.prom")
    assert sesame(*words, "--objective", "100").status == 2
    outcome = sesame(*words)
    assert outcome.status == 0, outcome.stderr
    jobs = ("sesame-evaluate-a-b-", "sesame-evaluate-a-b--metrics")
    names = sorted(f"{job}.{kind}" for job in jobs for kind in ("service", "timer"))
    assert sorted(path.name for path in (tmp_path / "units").iterdir()) == names
    started = f"systemctl enable --now {jobs[0]}.timer {jobs[1]}.timer"
    assert outcome.stdout.splitlines()[-1] == f"next: {started}"
    if shutil.which("systemd-analyze") is None:
        pytest.skip("needs systemd-analyze")
    done = subprocess.run(
        [
            "systemd-analyze",
            "verify",
            "--man=no",
            *(str(tmp_path / "units" / one) for one in names),
        ],
        capture_output=True,
        text=True,
        timeout=60,
    )
    mine = [line for line in done.stderr.splitlines() if "sesame-evaluate" in line]
    assert not mine, done.stderr


def test_without_systemd_a_line_is_added_to_the_crontab_once(sesame, tmp_path, environment):
    from sesame.evaluation import installing

    if installing.RUNNING.is_dir():
        pytest.skip("systemd runs here: its units would be installed")
    (tmp_path / "s.toml").write_text(SITE)
    (tmp_path / "bin").mkdir()
    fake = tmp_path / "bin/crontab"
    kept = tmp_path / "crontab.txt"
    fake.write_text(f"#!/bin/sh\ncase $1 in -l) cat {kept} ;; -) cat > {kept} ;; esac\n")
    fake.chmod(0o755)
    kept.write_text("0 1 * * * backup\n")
    environment["PATH"] = f"{tmp_path / 'bin'}:{environment['PATH']}"
    with Store(tmp_path / "s.db"):
        pass
    metrics = ("--metrics", "s.prom")
    for more in ((), (), (*metrics, "--objective", "98.5"), metrics, metrics):
        outcome = sesame("evaluate", "install", "s.toml", *more)
        assert outcome.status == 0, outcome.stderr
    lines = kept.read_text().splitlines()
    assert lines[0] == "0 1 * * * backup"
    assert len(lines) == 3
    assert lines[1].startswith("* * * * * ") and "evaluate run" in lines[1]
    # What cron would run.
    command = lines[2].removeprefix("* * * * * ").replace("\\%", "%")
    subprocess.run(["/bin/sh", "-c", command], env=environment, check=True, timeout=60)
    assert "sesame_probe_interval_seconds" in (tmp_path / "s.prom").read_text()
