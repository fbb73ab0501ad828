"""Reports of suites, case by case, and other answers of steps."""

from __future__ import annotations

import json
import math
import shutil
import sys
from hashlib import shake_256
from pathlib import Path

import pytest

from sesame.evaluation.answers import MOST_CASES
from sesame.evaluation.charts import plots_of
from sesame.evaluation.probing import Outcome, run_probe
from sesame.evaluation.release import fingerprint
from sesame.evaluation.runner import run_due
from sesame.evaluation.site import read_site
from sesame.evaluation.store import Store
from sesame.evaluation.summary import summarize
from sesame.evaluation.waiting import Waiting, opened

REFRAME = Path(__file__).parent / "reports/reframe-4.10.4.json"  # of a real run
SITE = """\
[target.t]
[probe.suite]
target = "t"
interval = "1h"
[[probe.suite.step]]
name = "all"
timeout = "60s"
{step}
"""
TAP = """\
TAP version 13
1..6
ok 1 - opens
not ok 2 - closes # it hangs
ok 3 - prints # SKIP no printer
not ok 4 - flies # TODO needs wings
ok
"""


@pytest.fixture
def suite(tmp_path):
    def read(step: str):
        (tmp_path / "s.toml").write_text(SITE.format(step=step))
        return read_site(tmp_path / "s.toml")

    return read


def found(site):
    own, *cases = run_probe(site.probes["suite"], {}).results
    return own, {case.probe: (str(case.outcome), case.reason) for case in cases}


def test_tap(suite, tmp_path):
    (tmp_path / "out").write_text(TAP)
    own, cases = found(suite(f"command = ['cat', '{tmp_path}/out']\nreads = 'tap'"))
    assert (own.outcome, own.reason) == (Outcome.FAIL, "2 of 6 cases failed: closes, case 6")
    assert cases == {
        "suite/opens": ("pass", ""),
        "suite/closes": ("fail", "not ok"),
        "suite/prints": ("not observed", "no printer"),
        "suite/flies": ("not observed", "to do: needs wings"),
        "suite/case 5": ("pass", ""),
        "suite/case 6": ("fail", "the plan has it, the report does not"),
    }


def test_the_junit_report_that_pytest_writes(suite, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # others take a second to load
    (tmp_path / "test_it.py").write_text(
        "import pytest\n"
        "def test_a(): pass\n"
        "def test_b(): assert 1 == 2\n"
        "@pytest.mark.skip(reason='no GPU')\ndef test_c(): pass\n"
    )
    words = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        f"--rootdir={tmp_path}",
    ]
    command = json.dumps([*words, f"{tmp_path}/test_it.py", "--junit-xml=r.xml"])
    own, cases = found(suite(f"command = {command}\nreads = 'junit'\nfile = 'r.xml'"))
    assert own.reason == "1 of 3 cases failed: test_it.test_b"
    assert cases["suite/test_it.test_a"] == ("pass", "")
    assert cases["suite/test_it.test_b"][1].startswith("assert 1 == 2")
    assert cases["suite/test_it.test_c"] == ("not observed", "no GPU")


def test_the_report_of_reframe(suite):
    site = suite(f"command = ['cp', '{REFRAME}', 'r.json']\nreads = 'reframe'\nfile = 'r.json'")
    own, cases = found(site)
    assert own.reason == "1 of 3 cases failed: Broken @generic:default:builtin"
    assert cases == {
        "suite/Stream %size=1 @generic:default:builtin": ("pass", ""),
        "suite/Stream %size=2 @generic:default:builtin": ("pass", ""),
        "suite/Broken @generic:default:builtin": (
            "fail",
            "sanity error: exit code 1, expected 0",
        ),
    }
    run_due(site, lambda _: None)
    with Store(site.database) as store:
        summary = summarize(site, store, own.began - 60, own.began + 60)
        name = "suite/Stream %size=2 @generic:default:builtin"
        (figure,) = store.last(name, "t").figures
    assert (figure.name, figure.value, figure.unit) == ("triad", 21.0, "GB/s")
    rows = {one.probe: one.releases[0] for one in summary.probes}
    assert rows[name].works
    broken = rows["suite/Broken @generic:default:builtin"]
    assert (broken.works, broken.why) == (False, "sanity error: exit code 1, expected 0")


@pytest.mark.long
@pytest.mark.skipif(shutil.which("reframe") is None, reason="pip install reframe-hpc")
def test_reframe_itself(suite, tmp_path):
    (tmp_path / "suite.py").write_text(
        "import reframe as rfm\nimport reframe.utility.sanity as sn\n\n"
        "@rfm.simple_test\nclass Hello(rfm.RunOnlyRegressionTest):\n"
        "    valid_systems = ['*']\n    valid_prog_environs = ['*']\n    executable = 'echo'\n"
        "    executable_opts = ['hello']\n\n    @sanity_function\n    def check(self):\n"
        "        return sn.assert_found('hello', self.stdout)\n"
    )
    words = ["reframe", "-c", f"{tmp_path}/suite.py", "-r", "--prefix=.", "--report-file=r.json"]
    own, cases = found(suite(f"command = {json.dumps(words)}\nreads = 'reframe'\nfile = 'r.json'"))
    assert own.outcome is Outcome.PASS, own
    assert list(cases.values()) == [("pass", "")]


@pytest.mark.parametrize(
    ("reads", "text", "says"),
    [
        ("junit", "<a", "is no junit report"),
        ("junit", "<!DOCTYPE a [<!ENTITY b 'c'>]><a/>", "entities are not read"),
        ("junit", "<testsuites/>", "the report has no case"),
        ("tap", "hello", "the report has no case"),
        ("tap", "\n".join(["ok"] * (MOST_CASES + 1)), "more than 1,000"),
        ("tap", "Bail out! no disk", "1 of 1 cases failed: Bail out!"),
        ("reframe", "{}", "is no reframe report: KeyError"),
        ("reframe", '{"runs": [3]}', "is no reframe report"),
        ("figures", "no", "has no line of JSON"),
        ("figures", '{"figures": [{"name": "a"}]}', "is no figures report: KeyError"),
        ("figures", '{"verified": false, "figures": []}', "its answer is wrong"),
    ],
)
def test_a_report_that_is_none_is_a_failure(suite, tmp_path, reads, text, says):
    (tmp_path / "out").write_text(text)
    own, _ = found(suite(f"command = ['cat', '{tmp_path}/out']\nreads = '{reads}'"))
    assert own.outcome is Outcome.FAIL
    assert says in own.reason
    own, _ = found(suite(f"command = ['true']\nreads = '{reads}'\nfile = 'none'"))
    assert own.reason == "there is no report none: it is no file"


REFRAME_3 = """{"runs": [{"testcases": [{"name": "a", "result": "success", "time_total": NaN,
"perfvars": [{"name": "n", "value": Infinity, "unit": "s"},
{"name": "m", "value": 2, "unit": "s"}]}]}]}"""
HUGE = "1" + "0" * 400
LONG = shake_256().hexdigest(4000)  # that no compression makes short


@pytest.mark.each_value
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
@pytest.mark.parametrize(
    ("reads", "text", "figures"),
    [
        ("junit", '<a><testcase name="a" time="nan"/></a>', []),
        ("junit", '<a><testcase name="a" time="-inf"/></a>', []),
        ("reframe", REFRAME_3, [("m", 2.0)]),
        (
            "figures",
            '{"figures": [{"name": "x\\ud800", "value": 1, "unit": "s\\u0000"}, '
            '{"name": "y", "value": 1e308, "unit": "s"}, '
            '{"name": "z", "value": NaN, "unit": "s"}]}',
            [("x?", 1.0)],
        ),
        ("figures", f'{{"figures": [{{"name": "{LONG}", "value": 1, "unit": "{LONG}"}}]}}', None),
        ("figures", f'{{"figures": [{{"name": "n", "value": {HUGE}, "unit": "s"}}]}}', []),
        ("figures", '{"a":' * 200_000, []),
    ],
    ids=["nan", "infinite", "reframe", "characters", "long", "huge", "deep"],
)
def test_numbers_and_characters_that_no_database_has_do_not_reach_it(
    suite, tmp_path, request, kind, reads, text, figures
):
    """Twice: the first run's results wait for no second one."""
    (tmp_path / "out").write_text(text)
    words = f"command = ['cp', '{tmp_path}/out', 'r']\nreads = '{reads}'\nfile = 'r'"
    site = suite(words)
    if kind == "postgresql":
        url = request.getfixturevalue("postgres").new_database()
        (tmp_path / "s.toml").write_text(f'database = "{url}"\n{SITE.format(step=words)}')
        site = read_site(tmp_path / "s.toml")
    with Store(site.database) as store:
        for _ in range(2):
            run_due(site, lambda _: None, "suite")
        case = store.last("suite", "t") if reads == "figures" else None
        case = case or next(filter(None, (store.last(*one) for one in store.probes()[1:])))
    assert not (tmp_path / "s.toml.waiting").exists()
    assert math.isfinite(case.took)
    if figures is not None:
        assert [(one.name, one.value) for one in case.figures] == figures


def test_figures_of_a_check_of_the_site(suite):
    line = '{"figures": [{"name": "rate", "value": 2.5, "unit": "GB/s"}]}'
    own, _ = found(suite(f"command = ['echo', '{line}']\nreads = 'figures'"))
    assert [(one.name, one.value, one.unit) for one in own.figures] == [("rate", 2.5, "GB/s")]


def test_boots_of_another_host_are_kept_for_its_target(tmp_path):
    """The other host is a directory: `cat` reads the copies of the kernel's files there."""
    (tmp_path / "cat").write_text(
        f"#!/bin/sh\necho $(/bin/cat {tmp_path}/id)\necho btime $(/bin/cat {tmp_path}/since)\n"
    )
    (tmp_path / "cat").chmod(0o755)
    (tmp_path / "s.toml").write_text(
        f"[target.n7]\nlauncher = 'template'\ncommand = ['env', 'PATH={tmp_path}:/bin']\n"
        "[probe.boot]\ntarget = 'n7'\ninterval = '1h'\n[[probe.boot.step]]\nboot = true\n"
    )
    site = read_site(tmp_path / "s.toml")
    for number, since in ((1, 1_000_000), (1, 1_000_000), (2, 2_000_000)):
        (tmp_path / "id").write_text(f"{number:08x}-0000-4000-8000-000000000000")
        (tmp_path / "since").write_text(str(since))
        assert run_due(site, lambda _: None, "boot")[0].outcome is Outcome.PASS
    with Store(site.database) as store:
        assert 2_000_000 in store.boots("n7")
        assert 2_000_000 not in store.boots("other")
    (tmp_path / "id").write_text("no id")
    bad = run_due(site, lambda _: None, "boot")[0]
    assert bad.reason == "its output has no boot id and boot time"


def test_a_curve_that_a_step_prints_is_plotted_with_all_its_points(suite, tmp_path):
    """Two runs: the plot has their mean. Of the figures of the same name it has none."""
    sizes = [32.0 * number for number in range(1, 1025)]
    printed = tmp_path / "printed"
    command = ["cp", str(printed), "f.json"]
    site = suite(f"command = {command}\nreads = 'figures'\nfile = 'f.json'")
    results = []
    for factor in (1.0, 3.0):
        rates = [factor * size for size in sizes]
        figures = [{"name": f"rate at {x:.0f} B", "value": 7, "unit": "B/s"} for x in sizes[:3]]
        curve = {"name": "rate", "unit": "B/s", "x_unit": "B", "x": sizes, "y": rates}
        printed.write_text(json.dumps({"figures": figures, "curves": [curve]}))
        results += run_probe(site.probes["suite"], {"kernel": "1"}).results
    assert [one.outcome for one in results] == [Outcome.PASS] * 2
    Waiting(site.path).add(results)  # as while the database is away
    with opened(site, print) as store:
        begin, end = results[0].began - 1, results[1].began + 1
        summary = summarize(site, store, begin, end)
        (plot,) = [one for one in plots_of(summary) if one.title == "rate of suite on t"]
        (line,) = plot.chart.description()["marks"]
    assert (line["x"].tolist(), line["y"].tolist()) == (sizes, [2 * size for size in sizes])
    assert summary.as_json()["curves"][0]["releases"][fingerprint({"kernel": "1"})]["runs"] == 2


@pytest.mark.parametrize(
    ("curve", "says"),
    [
        ({"x": [1, 2], "y": [1]}, "shorter"),
        ({"x": [1], "y": ["soon"]}, "could not convert"),
        ({"x": [1]}, "KeyError: 'y'"),
        ({"x": [0] * 65537, "y": [0] * 65537}, "the curve c has 65,537 points, more than 65,536"),
    ],
)
def test_a_curve_that_is_none_fails_the_probe(suite, tmp_path, curve, says):
    names = {"name": "c", "unit": "s", "x_unit": "B"}
    (tmp_path / "f").write_text(json.dumps({"figures": [], "curves": [{**names, **curve}]}))
    own, _ = found(suite(f"command = ['cp', '{tmp_path}/f', 'f']\nreads = 'figures'\nfile = 'f'"))
    assert own.outcome is Outcome.FAIL and says in own.reason and own.curves == ()
