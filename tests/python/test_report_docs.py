"""The pages about reports say what the code does."""

from __future__ import annotations

import inspect
import re
import shlex
from itertools import pairwise
from pathlib import Path

import pytest
from tests.python.traced_runs import rank_zero_writer
from tests.tutorials import commands_of

from sesame.analysis import findings_io

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/models/findings.md").read_text()


def test_the_tutorial_of_reports_runs(sesame, tmp_path):
    rank_zero_writer().write(tmp_path / "run.sesame")
    lines = commands_of("tutorial-report.md")
    assert len(lines) >= 3
    for line in lines:
        words = shlex.split(line)
        assert words.pop(0) == "sesame"
        outcome = sesame(*words)
        assert outcome.status == 0, f"{line}\n{outcome.stderr}"
        if "--json" in words and words[0] == "report":
            assert outcome.json["findings"]
    page = (tmp_path / "report.html").read_text()
    assert page.rstrip().endswith("</html>")
    assert page.count('<figure class="chart"') >= 5


def topics() -> set[str]:
    """What the rules call their findings: the names in the source, each the first of a Finding."""
    found = set()
    for module in {inspect.getmodule(rule) for rule in findings_io.RULES}:
        source = inspect.getsource(module)
        found |= set(re.findall(r'Finding\(\s*"([^"]+)"', source))
        found |= {
            topic
            for pair in re.findall(r'"([^"]+)" if through_mpi else "([^"]+)",\n', source)
            for topic in pair
            if "collective I/O" in topic or "MPI-IO" in topic
        }
    return found


def test_every_finding_is_on_its_page_and_no_other():
    rows = re.findall(r"^\| ([^|]+?) \|", PAGE, re.M)
    assert set(rows) - {"finding", "---"} == topics()
    assert len(findings_io.RULES) == len(topics())


@pytest.mark.parametrize("rule", findings_io.RULES, ids=lambda rule: rule.__name__)
def test_every_threshold_of_a_rule_has_its_reason(rule):
    """A number in capitals is a threshold; its line says where it comes from, or the line above."""
    lines = inspect.getsource(inspect.getmodule(rule)).splitlines()
    for above, line in pairwise(lines):
        if re.match(r"[A-Z_]+ = [\d.]+", line):
            assert "#" in line or above.startswith("#"), line
