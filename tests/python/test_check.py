"""`sesame check` and its pytest fixture: performance tests against a stored baseline."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
from pathlib import Path

import pytest
from tests.command_line import SESAME, run
from tests.tutorials import DOCS, commands_of

from sesame.analysis.shares import parse_share
from sesame.datasets.destination import move_into_place
from sesame.errors import InputError

pytest_plugins = ["pytester"]

NEW = ("check", "--baseline", "b.sesame", "--update", "-n", "8", "--machine", "paragon")
CHECK = ("check", "--baseline", "b.sesame")


def claim_rounds(baseline: Path, rounds: int) -> None:
    """Makes a baseline say that its program had this argument: it was as fast as it is."""
    info = json.loads((baseline / "info.json").read_text())
    info["scenario"]["arguments"] = [str(rounds)]
    info["command"] = [info["command"][0], str(rounds)]
    (baseline / "info.json").write_text(json.dumps(info))


@pytest.fixture(scope="module")
def made_baseline(fake_bin, tmp_path_factory):
    """Of 20 rounds of the stand-in's ring; not to be changed."""
    directory = tmp_path_factory.mktemp("made")
    environment = {**os.environ, "SESAME_BIN": str(fake_bin), "XDG_DATA_HOME": str(directory)}
    outcome = run([*SESAME, *NEW, "--", "ring", "20"], directory, env=environment)
    assert outcome.status == 0, outcome.stderr
    assert "baseline: b.sesame" in outcome.stderr
    return directory / "b.sesame"


@pytest.fixture
def baseline(made_baseline, tmp_path):
    return Path(shutil.copytree(made_baseline, tmp_path / "b.sesame"))


@pytest.mark.few_cases(1)
@pytest.mark.parametrize("more", [(), ("--", "ring"), ("--", "elsewhere/ring", "20")])
def test_the_same_program_passes_whatever_is_given(sesame, baseline, more):
    outcome = sesame(*CHECK, "--at-most", "0%", "--json", *more)
    assert outcome.status == 0, outcome.stderr
    assert outcome.json["passed"]
    assert outcome.json["difference"]["time"][0]["verdict"] == "same"
    assert "hello from" in outcome.stderr


def test_a_slower_program_fails_and_says_what_got_slower(sesame, baseline, tmp_path):
    claim_rounds(baseline, 22)
    outcome = sesame(*CHECK, "--report", "slower.html", "-o", "now.sesame")
    assert outcome.status == 1
    assert "slower than b.sesame allows" in outcome.stderr
    assert re.search(r"MPI_Send .*\+10\.0 %", outcome.stdout)
    assert "MPI_Send" in (tmp_path / "slower.html").read_text()
    old, new = (
        json.loads((tmp_path / name / "info.json").read_text())["result"]
        for name in ("b.sesame", "now.sesame")
    )
    change = new["predicted_time_s"] / old["predicted_time_s"]
    for percent, status in ((100 * (change - 1) + 0.01, 0), (100 * (change - 1) - 0.01, 1)):
        assert sesame(*CHECK, "--at-most", f"{percent}%").status == status


def test_a_faster_program_passes_and_may_become_the_baseline(sesame, baseline):
    claim_rounds(baseline, 10)
    outcome = sesame(*CHECK)
    assert outcome.status == 0
    assert "--update makes this the baseline" in outcome.stderr
    outcome = sesame(*CHECK, "--update")
    assert outcome.status == 0
    assert "updated b.sesame" in outcome.stderr
    assert sesame(*CHECK, "--at-most", "0").status == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("-n", "4"), "ranks 4: the baseline has 8"),
        (("--machine", "infiniband"), "machine infiniband: the baseline has fake"),
        (("--set", "network.latency=1us"), "machine fake network.latency=1us: the baseline"),
        (("--compute", "fixed:1us"), "compute fixed:1us: the baseline has none"),
        (("--placement", "cyclic"), "placement cyclic: the baseline has block"),
        (("--", "other"), "program other: the baseline has ring"),
        (("--", "ring", "21"), "arguments 21: the baseline has 20"),
    ],
)
def test_what_disagrees_with_the_baseline_is_refused(sesame, baseline, words, message):
    outcome = sesame(*CHECK, *words)
    assert outcome.status == 2
    assert message in outcome.stderr


@pytest.mark.few_cases(2)
@pytest.mark.parametrize(
    ("made", "given", "message"),
    [
        (("--env", "N=1"), ("--env", "N=10"), "environment N=10: the baseline has N=1"),
        ((), ("--env", "N=10"), "environment N=10: the baseline has (none)"),
        ((), ("--private-library", "libx*"), "private libraries libx*: the baseline has (none)"),
        ((), ("--stack-size", "1MiB"), "stack size in bytes 1048576: the baseline has 8388608"),
    ],
)
def test_settings_that_disagree_are_refused(sesame, made, given, message):
    assert sesame(*NEW, *made, "--", "ring", "20").status == 0
    assert sesame(*CHECK, *made).status == 0
    outcome = sesame(*CHECK, *given)
    assert outcome.status == 2
    assert message in outcome.stderr


def test_settings_of_the_baseline_hold_for_the_check(sesame, tmp_path):
    (tmp_path / "data").mkdir()
    run = ("simulate", "-n", "8", "--machine", "paragon", "--compute", "none", "-o", "b.sesame")
    made = sesame(*run, "--cwd", "data", "--discard-data", "--", "ring", "20")
    assert made.status == 0, made.stderr
    assert sesame(*CHECK, "-o", "now.sesame").status == 0
    now = json.loads((tmp_path / "now.sesame/info.json").read_text())["scenario"]
    assert now["working_directory"] == str(tmp_path / "data")
    assert now["discard_data"] is True


@pytest.mark.parametrize("more", [("-o", "b.sesame"), ("-o", "./b.sesame", "--update")])
def test_the_run_is_not_kept_in_the_baseline(sesame, baseline, more):
    claim_rounds(baseline, 40)
    before = (baseline / "info.json").read_text()
    outcome = sesame(*CHECK, *more, "--force")
    assert outcome.status == 2
    assert "-o is the baseline" in outcome.stderr
    assert (baseline / "info.json").read_text() == before


@pytest.mark.few_cases(1)
@pytest.mark.parametrize(("key", "value"), [("compute", "measured"), ("format_version", 1)])
def test_update_replaces_a_baseline_that_cannot_serve(sesame, baseline, key, value):
    info = json.loads((baseline / "info.json").read_text())
    (baseline / "info.json").write_text(json.dumps({**info, key: value}))
    assert sesame(*CHECK).status == 2
    outcome = sesame(*NEW, "--", "ring", "20")
    assert outcome.status == 0, outcome.stderr
    assert sesame(*CHECK).status == 0


@pytest.mark.parametrize("text", ['{"kind": "traced"}', "{", "[]"])
def test_update_does_not_replace_other_data_sets(sesame, baseline, text):
    (baseline / "info.json").write_text(text)
    outcome = sesame(*NEW, "--", "ring", "20")
    assert outcome.status == 2
    assert "remove it, or name another baseline" in outcome.stderr
    assert (baseline / "info.json").read_text() == text


def test_a_data_set_stays_where_another_cannot_take_its_place(tmp_path):
    (tmp_path / "b.sesame").mkdir()
    (tmp_path / "b.sesame/kept").touch()
    with pytest.raises(FileNotFoundError):
        move_into_place(tmp_path / "nothing", tmp_path / "b.sesame")
    assert [path.name for path in tmp_path.iterdir()] == ["b.sesame"]
    assert (tmp_path / "b.sesame/kept").exists()


def test_a_machine_file_of_the_same_values_is_the_same_machine(sesame, baseline, tmp_path):
    from sesame.machines import find_machine

    text = find_machine("paragon").read_text()
    (tmp_path / "mine.toml").write_text(f"# another comment\n{text}")
    assert sesame(*CHECK, "--machine", "mine.toml").status == 0


def test_wrong_usage_writes_nothing(sesame, run_path, tmp_path):
    for words, message in (
        (CHECK, "there is no baseline"),
        ((*CHECK, "--update", "--", "ring"), "--machine is missing"),
        ((*NEW,), "expected a program"),
        ((*NEW, "--compute", "measured", "--", "ring"), "it varies from host to host"),
        ((*CHECK, "--at-most", "little"), "expected a percentage"),
        ((*CHECK, "--at-most", "5"), "for instance 5%"),
        (("check", "--baseline", str(run_path)), "its computation is measured"),
    ):
        outcome = sesame(*words)
        assert outcome.status == 2, words
        assert message in outcome.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_program_that_fails_is_no_baseline(sesame, baseline, tmp_path):
    before = (baseline / "info.json").read_text()
    outcome = sesame(*NEW, "--", "failing", "20")
    assert outcome.status == 1
    assert "ended with exit status 3" in outcome.stderr
    assert (baseline / "info.json").read_text() == before
    assert [path.name for path in tmp_path.iterdir()] == ["b.sesame"]


def test_shares_are_percentages_or_fractions():
    assert parse_share("5%") == parse_share("0.05") == 0.05
    assert parse_share("150%") == 1.5
    for text in ("-1%", "inf", "nan", "five", "5", "1"):
        with pytest.raises(InputError):
            parse_share(text)


@pytest.fixture
def pytest_alone(pytester, monkeypatch):
    """Runs pytest with our plugin alone. Those of this environment would take two seconds to load,
    and ours is not installed everywhere."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    return lambda *options: pytester.runpytest_subprocess("-p", "sesame.pytest_plugin", *options)


@pytest.fixture
def project(pytester, pytest_alone, fake_bin, monkeypatch):
    """A project with one performance test; `run` runs its tests."""
    monkeypatch.setenv("SESAME_BIN", str(fake_bin))
    pytester.makepyfile(
        test_speed="""
        def test_ring(sesame_check):
            found = sesame_check("ring", "20", ranks=8, machine="paragon", at_most="5%")
            assert found.passed
        """
    )
    return pytest_alone


def test_the_fixture_writes_and_compares_baselines(project, pytester):
    project().stdout.fnmatch_lines(["*there is no baseline*", "*pytest --sesame-update*"])
    path = pytester.path / "baselines/test_speed-test_ring.sesame"
    assert not path.exists()
    project("--sesame-update").assert_outcomes(passed=1)
    assert (path / "info.json").is_file()
    project().assert_outcomes(passed=1)
    claim_rounds(path, 20)
    project().assert_outcomes(passed=1)


def test_the_fixture_fails_when_the_program_is_slower(project, pytester):
    text = (pytester.path / "test_speed.py").read_text()
    (pytester.path / "test_speed.py").write_text(text.replace('"20"', '"18"'))
    project("--sesame-update").assert_outcomes(passed=1)
    (pytester.path / "test_speed.py").write_text(text)
    claim_rounds(pytester.path / "baselines/test_speed-test_ring.sesame", 20)
    result = project()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["slower than *allows: *", "MPI_Send *+11.1 %*"])


def test_tests_of_one_name_have_baselines_of_their_own(project, pytester):
    (pytester.path / "test_speed.py").write_text(
        """
class TestA:
    def test_ring(self, sesame_check):
        sesame_check("ring", "20", ranks=8, machine="paragon")

class TestB:
    def test_ring(self, sesame_check):
        sesame_check("ring", "40", ranks=8, machine="paragon")
"""
    )
    project("--sesame-update").assert_outcomes(passed=2)
    project().assert_outcomes(passed=2)


def test_two_checks_do_not_share_a_baseline_without_its_name(project, pytester):
    (pytester.path / "test_speed.py").write_text(
        """
import pytest

def test_twice(sesame_check):
    sesame_check("ring", "20", ranks=8, machine="paragon")
    sesame_check("ring", "40", ranks=8, machine="paragon")

@pytest.mark.parametrize("name", ["a/b", "a_b"])
def test_both(sesame_check, name):
    sesame_check("ring", "20", ranks=8, machine="paragon")
"""
    )
    result = project("--sesame-update")
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(["*has this baseline already*", "hint: * baseline=*"] * 2)


def test_the_plugin_loads_nothing_of_sesame_until_it_is_used(pytester, pytest_alone):
    pytester.makepyfile(
        """
        import sys

        def test_light():
            found = {name for name in sys.modules if name.split(".")[0] in ("sesame", "numpy")}
            assert found == {"sesame", "sesame.pytest_plugin"}
        """
    )
    pytest_alone().assert_outcomes(passed=1)


@pytest.mark.long
def test_the_tutorial_runs(sesame, tmp_path):
    lines = commands_of("tutorial-check.md")
    assert len(lines) > 3
    for line in lines:
        outcome = sesame(*shlex.split(line)[1:])
        assert outcome.status == 0, f"{line}\n{outcome.stdout}{outcome.stderr}"
    assert (tmp_path / "slower.html").stat().st_size > 1000


@pytest.mark.long
def test_the_test_of_the_tutorial_runs(project, pytester):
    [code] = re.findall(r"```python\n(.*?)```", (DOCS / "tutorial-check.md").read_text(), re.S)
    (pytester.path / "test_speed.py").write_text(code)
    project("--sesame-update").assert_outcomes(passed=1)
    project().assert_outcomes(passed=1)
