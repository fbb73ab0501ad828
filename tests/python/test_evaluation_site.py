"""The site file: every mistake is refused with its line."""

from __future__ import annotations

import pytest

from sesame.errors import InputError
from sesame.evaluation.initial import site_text
from sesame.evaluation.probing import Outcome
from sesame.evaluation.runner import Last, Latest
from sesame.evaluation.site import read_site
from sesame.evaluation.toml_lines import Lines

GOOD = """\
name = "s"
[target.t]
launcher = "template"
command = ["srun", "-n", "{ranks}"]
ranks = 4

[probe.p]
target = "t"
interval = "15min"
availability = true
[[probe.p.step]]
command = ["true"]
timeout = "10 s"
[[probe.p.step]]
name = "two"
shell = "echo 1 ms | cat"
timeout = "1.5h"
numbers = [{ name = "n", pattern = '(\\d+) (?P<unit>\\w+)', unit = "ms" }]
"""


@pytest.fixture
def site(tmp_path):
    def read(text: str):
        (tmp_path / "s.toml").write_text(text)
        return read_site(tmp_path / "s.toml")

    return read


def test_a_site_file_is_read(site, tmp_path):
    read = site(GOOD)
    probe = read.probes["p"]
    assert read.database == tmp_path / "s.db"
    assert probe.interval == 900 and probe.availability
    assert [step.timeout for step in probe.steps] == [10, 5400]
    assert probe.steps[0].command == ("true",)
    assert probe.steps[1].command[:2] == ("/bin/sh", "-c")
    assert probe.target.command(["./a"], 10) == ["srun", "-n", "4", "./a"]


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ('interval = "15min"', 'intervall = "15min"', 9, "did you mean interval?"),
        ('interval = "15min"', 'interval = "15"', 9, "expected a time with one of the units"),
        ('interval = "15min"', 'interval = "0s"', 9, "expected a time"),
        ('interval = "15min"\n', "", 7, "`interval` is missing"),
        ('command = ["true"]', 'command = "true"', 12, "expected a list of words"),
        ('command = ["true"]', "command = []", 12, "expected a list of words"),
        ('command = ["true"]\n', "", 11, "a step has one of `command`"),
        ('unit = "ms"', 'unit = "parsec"', 18, "unknown unit 'parsec'"),
        ('unit = "ms"', 'units = "ms"', 18, "unknown key 'units'"),
        ("(\\d+)", "(\\d+", 18, "no regular expression"),
        ("(\\d+) (?P<unit>\\w+)", "\\d", 18, "needs a group"),
        ("availability = true", "availability = 1", 10, "expected true or false"),
        ('target = "t"', 'target = "u"', 8, "no [target.u]"),
        ("ranks = 4", "ranks = 0", 5, "expected 1 or more"),
        ("ranks = 4", "ranks = true", 5, "expected a whole number"),
        ('launcher = "template"', 'launcher = "pbs"', 3, "expected one of local, mpiexec"),
        ('launcher = "template"', 'launcher = "local"', 4, "it belongs to template"),
        ('launcher = "template"', 'launcher = "slurn"', 3, "did you mean slurm?"),
        (
            'launcher = "template"',
            'launcher = "slurm"\nqueue_limit = 3',
            5,
            "it belongs to template",
        ),
        ('launcher = "template"', 'launcher = "mpiexec"\nhost = "a"', 4, "it belongs to ssh"),
        ("ranks = 4", "ranks = 4\nmaintenance = true", 6, "expected a table"),
        ('command = ["true"]', 'bench = "cachestud"', 12, "did you mean cachestudy?"),
        ('command = ["true"]', 'bench = "ep"\ntwice = true', 13, "on this machine"),
        ('command = ["true"]', 'measure = "user"', 12, "did you mean users?"),
        ('command = ["true"]', 'command = ["true"]\noptions = []', 13, "only a step with `bench`"),
        ('command = ["true"]', 'command = ["true"]\nreads = "xml"', 13, "expected one of junit"),
        ('command = ["true"]', 'command = ["true"]\nfile = "a"', 13, "only a step with `reads`"),
        ('interval = "15min"', 'interval = "15min"\nneeds = ["q"]', 10, "there is no probe q"),
        ('interval = "15min"', 'interval = "15min"\nneeds = ["p"]', 10, "needs itself"),
        ('interval = "15min"', 'interval = "15min"\naspect = "up"', 10, "expected one of avail"),
        ('target = "t"', 'target = "t"\ntargets = ["t"]', 7, "either a `target` or `targets`"),
        ('target = "t"', 'targets = ["t", "t"]', 7, "two probes of the name p-t"),
        ('name = "s"', 'name = "s', 1, "Illegal character"),
        ('name = "s"', 'name = "s"\nmaintenance = "up"', 2, "expected one of available, unavail"),
        ("[probe.p]", '[probe.p]\nfiles = { "../x" = "" }', 8, "is no name of a file"),
    ],
)
def test_mistakes_are_refused_with_their_line(site, old, new, line, says):
    assert old in GOOD
    with pytest.raises(InputError, match=r"s\.toml:") as caught:
        site(GOOD.replace(old, new, 1))
    assert f"s.toml:{line}: " in str(caught.value)
    assert says in str(caught.value)


def test_a_probe_of_several_targets_becomes_one_for_each(site):
    text = GOOD.replace('target = "t"', 'targets = ["t", "u"]')
    text += '[target.u]\nlauncher = "ssh"\nhost = "n7"\n'
    text += '[probe.q]\ntargets = ["u"]\ninterval = "1h"\nneeds = ["p"]\n'
    text += '[[probe.q.step]]\nbench = "ep"\ntimeout = "1h"\n'
    with pytest.raises(InputError, match=r"s\.toml:\d+: probe.q.step.bench: .* ssh"):
        site(text)
    read = site(text.replace('bench = "ep"', 'command = ["echo", "{target}", "a b"]'))
    assert list(read.probes) == ["p-t", "p-u", "q-u"]
    assert read.probes["q-u"].needs == ("p-u",)
    target = read.probes["q-u"].target
    words = target.command(read.probes["q-u"].steps[0].command, 3600)
    assert words[0] == "ssh" and words[-2:] == ["n7", "exec timeout -k 5 3600 echo u 'a b'"]


def test_no_probe_no_text_and_no_file(site, tmp_path):
    with pytest.raises(InputError, match=r"there is no \[probe.NAME\]"):
        site('name = "s"')
    (tmp_path / "b.toml").write_bytes(b"a = 1\n\xff")
    with pytest.raises(InputError, match=r"b.toml:2: this is no UTF-8"):
        read_site(tmp_path / "b.toml")
    with pytest.raises(InputError, match="evaluate init"):
        read_site(tmp_path / "none.toml")


def test_lines_of_text_in_quotes_are_no_keys():
    lines = Lines('a = """\nb = 1\n[c]\n"""\nb = 2\n["c d".e]\nf.g = 1\n')
    assert lines.of(("b",)) == 5
    assert lines.of(("c d", "e", "f", "g")) == 7
    assert lines.of(("c d", "e", "nothing")) == 6


def test_the_first_site_file_is_valid_wherever_its_name_comes_from(tmp_path, monkeypatch):
    path = tmp_path / 'a "b.toml'
    path.write_text(site_text(path))
    assert read_site(path).database.name == 'a "b.db'
    if "messages" in read_site(path).probes:  # there are an MPI compiler and cmake
        steps = read_site(path).probes["nas-bt"].steps
        assert all(step.command[4] == "bt" and step.command[5] in "1491625" for step in steps)
        ipc = read_site(path).probes["ipc"].steps[0].command
        assert "--step" in ipc and ipc[ipc.index("--step") + 1] == "32B"  # the report's
    monkeypatch.setenv("PATH", "")
    path.write_text(site_text(path))
    assert list(read_site(path).probes) == ["use"]  # nothing else is installed


def test_targets_on_one_machine_are_due_at_different_times(tmp_path):
    """Four targets here, two of another host, two of which nothing is known; a quarter of an hour
    is the shortest interval here, an hour there."""
    launchers = {
        "a": ("local", ""),
        "b": ("mpiexec", ""),
        "c": ("local", ""),
        "d": ("local", ""),
        "e": ("ssh", "host = 'n1'"),
        "f": ("ssh", "host = 'n1'"),
        "g": ("ssh", "host = 'n2'"),
        "h": ("template", "command = ['x']"),
        "i": ("template", "command = ['x']"),
    }
    text = "".join(
        f"[target.{name}]\nlauncher = '{launcher}'\n{more}\n[probe.{name}]\ntarget = '{name}'\n"
        f"interval = '{'15min' if name == 'b' else '1h'}'\n"
        f"[[probe.{name}.step]]\ntimeout = '1min'\ncommand = ['true']\n"
        for name, (launcher, more) in launchers.items()
    )
    (tmp_path / "s.toml").write_text(text)
    probes = read_site(tmp_path / "s.toml").probes
    minutes = {name: one.shift / 60 for name, one in probes.items()}
    assert [*minutes.values()] == [0, 3.75, 7.5, 11.25, 0, 30, 0, 0, 0]
    hour = 3600.0 * 24 * 365
    for name, one in probes.items():
        ran = Latest({name: Last(hour + 60 * minutes[name] + 1, Outcome.PASS)})
        due = one.next_turn(hour + 60 * minutes[name] + 1)
        assert due == hour + 60 * minutes[name] + one.interval
        assert (ran.is_due(one, due - 1), ran.is_due(one, due)) == (False, True)
