"""Reads what a step answered in a format: figures, cases of a suite, a boot."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from sesame.evaluation.probing import Answers, Boot, Case, Curve, Figure, Outcome
from sesame.evaluation.processes import Ended
from sesame.evaluation.site import Step

MOST_BYTES = 16 << 20  # of a file
MOST_CASES = 1000  # of a run
MOST_POINTS = 1 << 16  # of a curve
MOST_NAME = 150  # characters of a case's name
MOST_REASON = 300
MOST_NAMED = 3  # failed cases that the reason of the suite names
NO_ANSWER = (
    KeyError,
    TypeError,
    ValueError,
    IndexError,
    AttributeError,
    OverflowError,
    RecursionError,
    ElementTree.ParseError,
)


def add_answers(answers: Answers, step: Step, ended: Ended, directory: Path, target: str) -> str:
    """Adds what the step answered; returns what is wrong with it, or ""."""
    if step.boot and (problem := _add_boot(answers, ended.output, target)):
        return problem
    if not step.reads:
        return ""
    text = ended.output
    if step.file:
        found = _read_file(directory / step.file)
        if isinstance(found, OSError):
            return f"there is no report {step.file}: {found.strerror}"
        text = found
    try:
        own = Answers()
        problem = READERS[step.reads](own, text)
        answers.cases += own.cases
        answers.figures += [replace(one, name=step.prefix + one.name) for one in own.figures]
        answers.curves += [replace(one, name=step.prefix + one.name) for one in own.curves]
        return problem
    except NO_ANSWER as error:
        where = step.file or "its output"
        return f"{where} is no {step.reads} report: {type(error).__name__}: {error}"[:MOST_REASON]


def _read_file(path: Path) -> str | OSError:
    """A regular file inside of the probe's directory: what a probe writes is not trusted."""
    try:
        if not path.is_file() or path.is_symlink():
            return OSError(2, "it is no file")
        with path.open("rb") as file:
            return file.read(MOST_BYTES).decode(errors="replace")
    except OSError as error:
        return error


def _add_boot(answers: Answers, output: str, target: str) -> str:
    boot = re.search(r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$", output, re.MULTILINE)
    since = re.search(r"^btime (\d{1,12})$", output, re.MULTILINE)
    if boot is None or since is None:
        return "its output has no boot id and boot time"
    answers.boots.append(Boot(target, boot[0], float(since[1])))
    return ""


def _figures(answers: Answers, text: str) -> str:
    """The last line that is a JSON object: {"figures": [{"name", "value", "unit"}, …]}, perhaps
    "curves": [{"name", "unit", "x_unit", "x": […], "y": […]}, …], and "verified", false for a wrong
    answer."""
    lines = [line for line in text.splitlines() if line.startswith("{")]
    if not lines:
        return "its output has no line of JSON"
    table = json.loads(lines[-1])
    if table.get("verified") is False:
        return "its answer is wrong"
    for one in table["figures"]:
        answers.figures.append(Figure(str(one["name"]), float(one["value"]), str(one["unit"])))
    for one in table.get("curves", []):
        name, unit, x_unit = (str(one[key]) for key in ("name", "unit", "x_unit"))
        x, y = (tuple(map(float, one[key])) for key in ("x", "y"))
        curve = Curve(name, unit, x_unit, x, y)
        if len(curve.x) > MOST_POINTS:
            return f"the curve {curve.name} has {len(curve.x):,} points, more than {MOST_POINTS:,}"
        answers.curves.append(curve)
    return ""


def _cases(reader: Callable[[str], Iterator[Case]]) -> Callable[[Answers, str], str]:
    def read(answers: Answers, text: str) -> str:
        found = list(reader(text))
        if not found:
            return "the report has no case"
        if len(found) > MOST_CASES:
            return f"the report has {len(found):,} cases, more than {MOST_CASES:,}"
        answers.cases += _with_own_names(found)
        failed = [case.name for case in found if case.outcome is Outcome.FAIL]
        if not failed:
            return ""
        more = ", …" if len(failed) > MOST_NAMED else ""
        return f"{len(failed)} of {len(found)} cases failed: {', '.join(failed[:MOST_NAMED])}{more}"

    return read


def _with_own_names(cases: list[Case]) -> Iterator[Case]:
    """Names are short; cases of the same name are numbered."""
    seen: dict[str, int] = {}
    for case in cases:
        name = " ".join(case.name.split())[:MOST_NAME] or "case"
        seen[name] = seen.get(name, 0) + 1
        if seen[name] > 1:
            name = f"{name} ({seen[name]})"
        reason = " ".join(case.reason.split())[:MOST_REASON]
        yield Case(name, case.outcome, reason, case.took, case.figures)


def _junit(text: str) -> Iterator[Case]:
    """The format has no standard; these elements are what producers share."""
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise ValueError("entities are not read")
    for element in ElementTree.fromstring(text).iter("testcase"):
        names = [element.get("classname") or "", element.get("name") or ""]
        outcome, reason = Outcome.PASS, ""
        for child in element:
            kind = child.tag.rpartition("}")[2]
            if kind in ("failure", "error"):
                outcome, reason = Outcome.FAIL, child.get("message") or child.text or kind
            elif kind == "skipped":
                outcome = Outcome.NOT_OBSERVED
                reason = child.get("message") or child.text or "skipped"
        took = float((element.get("time") or "0").replace(",", ""))
        yield Case(".".join(name for name in names if name), outcome, reason, took)


TAP_LINE = re.compile(r"^(not )?ok\b *(\d+)? *(?:- )?([^#]*)(?:#\s*(\w+)\s*(.*))?")


def _tap(text: str) -> Iterator[Case]:
    """The Test Anything Protocol, versions 12 to 14. Cases that the plan has and that have no line
    were not run; a failure that is `TODO` is expected."""
    number, planned = 0, 0
    for line in text.splitlines():
        if plan := re.match(r"^1\.\.(\d+)", line):
            planned = min(int(plan[1]), MOST_CASES)
        elif line.startswith("Bail out!"):
            yield Case("Bail out!", Outcome.FAIL, line[9:])
        elif found := TAP_LINE.match(line):
            number += 1
            failed, own_number, name, directive, why = found.groups()
            outcome = Outcome.FAIL if failed else Outcome.PASS
            kind = (directive or "").upper()
            if kind.startswith("SKIP"):
                outcome = Outcome.NOT_OBSERVED
            elif kind == "TODO" and failed:
                outcome, why = Outcome.NOT_OBSERVED, f"to do: {why}"
            reason = why or "" if outcome is not Outcome.FAIL else "not ok"
            yield Case(name.strip() or f"case {own_number or number}", outcome, reason)
    for missing in range(number + 1, planned + 1):
        yield Case(f"case {missing}", Outcome.FAIL, "the plan has it, the report does not")


def _reframe(text: str) -> Iterator[Case]:
    """The report of ReFrame 3 and 4 (`--report-file`)."""
    report = json.loads(text)
    for run in report["runs"]:
        for one in run.get("testcases") or run.get("test_cases") or []:
            yield _reframe_case(one)


def _reframe_case(one: dict[str, Any]) -> Case:
    result = str(one.get("result") or one.get("status") or "")
    name = one.get("display_name") or one.get("unique_name") or one["name"]
    where = [str(one[key]) for key in ("system", "partition", "environ") if one.get(key)]
    outcome = Outcome.NOT_OBSERVED
    if result in ("pass", "success"):
        outcome = Outcome.PASS
    elif result in ("fail", "failure"):
        outcome = Outcome.FAIL
    reason = one.get("fail_reason") or one.get("skip_reason") or ""
    if outcome is not Outcome.PASS and not reason:
        reason = f"phase {one.get('fail_phase') or 'unknown'}: {result}"
    took = one.get("time_total")
    figures = tuple(_reframe_figures(one))
    return Case(f"{name} @{':'.join(where)}", outcome, str(reason), float(took or 0.0), figures)


def _reframe_figures(one: dict[str, Any]) -> Iterator[Figure]:
    """ReFrame 4: {"system:partition:name": [value, reference, lower, upper, unit, …]}; ReFrame 3:
    a list of {"name", "value", "unit"}."""
    for name, row in (one.get("perfvalues") or {}).items():
        if isinstance(row[0], int | float):
            yield Figure(name.rpartition(":")[2], float(row[0]), str(row[4]))
    for entry in one.get("perfvars") or []:
        yield Figure(str(entry["name"]), float(entry["value"]), str(entry["unit"]))


READERS: dict[str, Callable[[Answers, str], str]] = {
    "figures": _figures,
    "junit": _cases(_junit),
    "tap": _cases(_tap),
    "reframe": _cases(_reframe),
}
