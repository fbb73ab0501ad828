"""A site file with one probe of availability, and results of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from sesame.evaluation.periods import moment
from sesame.evaluation.probing import Outcome, Result
from sesame.evaluation.site import Site, read_site

AVAILABILITY = """\
[target.t]
[probe.p]
target = "t"
interval = "1h"
availability = true
"""
HOUR = 3600.0
BEGIN = moment("2026-05", "")
SITE = (
    AVAILABILITY
    + """\
[[probe.p.step]]
name = "one"
command = ["echo", "speed 5 ms"]
timeout = "1min"
numbers = [{ name = "n", pattern = '(\\d+) (?P<unit>\\w+)', unit = "ms" }]
"""
)


def written(path: Path, text: str = SITE) -> Site:
    path.write_text(text)
    return read_site(path)


def a_result(number: int, outcome: Outcome = Outcome.PASS, **fields: object) -> Result:
    made = Result(f"key {number}", "p", "t", BEGIN + HOUR * number, 1.0, outcome)
    return replace(made, **{"release": {"kernel": "1"}, **fields})
