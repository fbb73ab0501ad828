"""`sesame evaluate` as a reader of its tutorial types it, and probes that misbehave."""

from __future__ import annotations

import csv
import json
import shlex

import pytest
from tests.python.evaluation_sites import AVAILABILITY
from tests.tutorials import commands_of

from sesame.evaluation.periods import moment
from sesame.evaluation.probing import Figure, Outcome, Result
from sesame.evaluation.site import read_site
from sesame.evaluation.store import Store

PROBE = (
    AVAILABILITY
    + """\
{more}
[[probe.p.step]]
name = "one"
timeout = "20s"
{step}
"""
)


@pytest.mark.long
def test_the_tutorial_runs(sesame, tmp_path):
    lines = commands_of("tutorial-evaluate.md")
    assert len(lines) > 6
    for line in lines:
        words = shlex.split(line)
        assert words.pop(0) == "sesame"
        outcome = sesame(*words)
        assert outcome.status == 0, f"{line}\n{outcome.stdout}{outcome.stderr}"
        if words[1] == "init":
            # Workloads are built in their own tests, Slurm has its own; the file is quicker so.
            text = (tmp_path / "mysite.toml").read_text()
            parts = text.split("\n[probe.")
            kept = [parts[0], *(one for one in parts if one.startswith(("hello", "use")))]
            assert len(kept) == 4
            (tmp_path / "mysite.toml").write_text("\n[probe.".join(kept))
    page = (tmp_path / "report.html").read_text()
    assert "Findings" in page and "Releases" in page
    rows = list(csv.reader((tmp_path / "report.csv").read_text().splitlines()))
    assert ["Results of probes", "hello", "here"] in [row[:3] for row in rows]


@pytest.mark.parametrize(
    ("step", "status", "says"),
    [
        ('command = ["true"]', 0, "p on t: pass"),
        ('command = ["false"]', 1, "fail, 0.0 s: step one: exit status 1, expected exit status 0"),
        ('command = ["false"]\nexit_status = 1', 0, "pass"),
        ('command = ["no-such-compiler"]', 1, "step one: no-such-compiler cannot be started"),
        ('command = ["echo", "$HOME;"]\npattern = \'^\\$HOME;$\'', 0, "pass"),
        ('shell = "echo $((1+1))"\npattern = "^2$"', 0, "pass"),
        ('command = ["echo", "yes"]\npattern = "no"', 1, "nothing in its output matches 'no'"),
        (
            'command = ["echo", "5 s"]\n'
            "numbers = [{ name = 'n', pattern = '(.*) (?P<unit>s|ms)', unit = 'ms' }]",
            1,
            "n: the unit is s, expected ms",
        ),
        (
            "command = ['echo', 'nan']\nnumbers = [{ name = 'n', pattern = '(.*)', unit = 's' }]",
            1,
            "n: 'nan' is not finite",
        ),
    ],
)
def test_a_probe_passes_or_fails_by_its_answer(sesame, tmp_path, step, status, says):
    (tmp_path / "s.toml").write_text(PROBE.format(more="", step=step))
    outcome = sesame("evaluate", "run", "s.toml", "--once", "p")
    assert outcome.status == status, outcome.stderr
    words, found = says.split(", 0.0 s"), outcome.stdout
    assert all(word in found for word in words), found


def test_what_the_prober_is_to_blame_for_is_not_observed(sesame, tmp_path):
    more = 'user = "no-such-user"'
    (tmp_path / "s.toml").write_text(PROBE.format(more=more, step='command = ["true"]'))
    outcome = sesame("evaluate", "run", "s.toml")
    assert outcome.status == 3
    assert "p on t: not observed" in outcome.stdout
    assert "there is no user no-such-user" in outcome.stdout
    again = sesame("evaluate", "run", "s.toml")
    assert (again.status, again.stdout) == (0, "nothing is due\n")


def test_the_output_of_a_failed_step_is_kept_and_other_probes_run(sesame, tmp_path):
    text = PROBE.format(more="", step='shell = "echo broken; exit 4"')
    second = PROBE.format(more="", step='command = ["true"]').split("\n", 1)[1]
    (tmp_path / "s.toml").write_text(text + second.replace("probe.p", "probe.q"))
    outcome = sesame("evaluate", "run", "s.toml")
    assert outcome.status == 1
    assert "q on t: pass" in outcome.stdout
    with Store(read_site(tmp_path / "s.toml").database) as store:
        assert store.last("p", "t").output == "broken\n"
    shown = sesame("evaluate", "status", "s.toml").stdout
    assert "open since" in shown and "p: step one: exit status 4" in shown


def test_a_report_in_json_agrees_with_its_findings(sesame, tmp_path):
    (tmp_path / "s.toml").write_text(PROBE.format(more="", step='command = ["true"]'))
    begin = moment("2026-05", "")
    with Store(tmp_path / "s.db") as store:
        for number in range(32):
            outcome = Outcome.FAIL if 10 <= number < 14 else Outcome.PASS
            figures = (Figure("=n", 1.0, "s"),)
            at = begin + 3600 * number
            store.add([Result(str(number), "p", "t", at, 1, outcome, figures=figures)])
    sesame(
        "evaluate", "note", "s.toml", "flood", "--from", "2026-05-01T20:00", "--to", "2026-05-01"
    )
    words = ("evaluate", "report", "s.toml", "--from", "2026-05-01", "--to", "2026-05-01")
    found = sesame(*words, "--json").json
    whole = found["targets"][0]["whole"]
    assert whole["incidents"] == 2  # the failures and the note
    assert whole["availability"]["estimate"]["value"] == pytest.approx(20 / 24)
    text = sesame(*words, "--csv", "r.csv").stdout
    assert "t: available 83.3 %" in text and "flood" in text
    assert "'=n" in (tmp_path / "r.csv").read_text()
    json.dumps(found, allow_nan=False)  # infinite limits are null


def test_maintenance_of_one_target_hides_no_outage_of_another(sesame, tmp_path):
    """Both were down for 6 of 24 hours, for which maintenance of a is noted."""
    one = PROBE.format(more="", step='command = ["true"]')
    text = "".join(
        one.replace("[target.t]", f"[target.{n}]").replace('"t"', f'"{n}"') for n in "ab"
    )
    (tmp_path / "s.toml").write_text(text.replace("probe.p", "probe.q", 2))
    begin = moment("2026-05", "")
    with Store(tmp_path / "s.db") as store:
        for probe, target in (("q", "a"), ("p", "b")):
            for hour in range(25):
                outcome = Outcome.FAIL if 6 <= hour < 12 else Outcome.PASS
                key, at = f"{target} {hour}", begin + 3600 * hour
                store.add([Result(key, probe, target, at, 1, outcome)])
    times = ("--from", "2026-05-01T05:30", "--to", "2026-05-01T11:30", "--planned")
    assert sesame("evaluate", "note", "s.toml", "disks", "--target", "a", *times).status == 0
    words = ("evaluate", "report", "s.toml", "--from", "2026-05-01", "--to", "2026-05-01")
    found = sesame(*words, "--json").json
    wholes = {one["target"]: one["whole"] for one in found["targets"]}
    assert {name: one["incidents"] for name, one in wholes.items()} == {"a": 0, "b": 1}
    shares = {name: one["availability"]["estimate"]["value"] for name, one in wholes.items()}
    assert shares == pytest.approx({"a": 1, "b": 0.75})
    assert [note["target"] for note in found["notes"]] == ["a"]


def test_bad_input_is_refused(sesame, tmp_path):
    (tmp_path / "s.toml").write_text(PROBE.format(more="", step='command = ["true"]'))
    for words, says in (
        (("run", "none.toml"), "sesame evaluate init"),
        (("run", "s.toml", "--once", "x"), "there is no probe x, there are: p"),
        (("run", "s.toml", "--once", "p", "--watch"), "exclude each other"),
        (("init", "s.toml"), "there is a file of this name"),
        (("init", "none/s.toml"), "cannot write"),
        (("report", "s.toml"), "no probe has run yet"),
        (("report", "s.toml", "--from", "may"), "--from: expected a month"),
        (("report", "s.toml", "--from", "2026-05", "--to", "2026-04"), "the period is empty"),
        (("note", "s.toml", "t", "--from", "2026-05-02", "--to", "2026-05-01"), "is not after"),
        (
            ("note", "s.toml", "t", "--from", "2026-05", "--to", "2026-06", "--target", "u"),
            "there is no target u",
        ),
    ):
        sesame("evaluate", *words).assert_refused(says)
