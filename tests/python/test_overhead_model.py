"""Reading, changing and writing node models."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from sesame.errors import InputError
from sesame.overhead import parse_model, read_model, shipped_models
from sesame.overhead.keys import keys_of
from sesame.overhead.model import (
    SETTINGS,
    Daemon,
    Instrumentation,
    MainProcess,
    Node,
    ProcessClass,
)

TEXT = """\
name = "mine"

[node]
processors = 2
quantum = "5ms"

[[process]]
name = "application"
cpu = "lognormal(2ms, 3ms)"
count = 3
instrumented = true

[[process]]
name = "others"
cpu = "exponential(400us)"
interarrival = "exponential(30ms)"

[instrumentation]
sampling_period = "10ms"

[daemon]
collect = "100us"
policy = "batch"
batch_age = "1s"
"""


@pytest.mark.parametrize("name", shipped_models())
def test_a_shipped_model_is_read_and_written(name):
    model = read_model(name)
    assert model.name == name
    assert parse_model(model.as_toml()) == model


def test_text_is_written_as_it_was_read():
    assert parse_model(TEXT).as_toml() == TEXT


def test_names_with_quotes_and_control_characters_are_written():
    model = dataclasses.replace(parse_model(TEXT), name='a "b" \\ \n', description="é")
    assert parse_model(model.as_toml()) == model


@pytest.mark.parametrize(
    ("old", "new", "line", "expected"),
    [
        ("processors = 2", "processors = 0", 4, "expected a whole number from 1 to 4096, got 0"),
        ("processors = 2", "processors = 1.5", 4, "expected a whole number, got 1.5"),
        ("processors = 2", "processors = true", 4, "expected a whole number, got True"),
        ("processors = 2", "cores = 2", 4, "unknown key in [node], expected one of nodes"),
        ('"5ms"', '"5"', 5, "quantum: expected"),
        ('"5ms"', "5", 5, 'expected a time such as "10ms", got 5'),
        ('"5ms"', '"0s"', 5, "expected a time from 1e-09 to 1e+06 s, got 0 s"),
        ("count = 3", "count = -1", 10, "expected a whole number from 0"),
        ("lognormal(2ms, 3ms)", "lognormal(2ms)", 9, "expected mean and standard deviation"),
        ("exponential(400us)", "exponential(0s)", 15, "expected a positive mean"),
        ('name = "others"', 'title = "others"', 14, "unknown key in [[process]]"),
        ('name = "others"\n', "", 13, "[[process]]: the key name is missing"),
        ('"others"', '"application"', None, 'two process classes are called "application"'),
        ('"batch"', '"wait"', 23, 'expected "forward" or "batch", got \'wait\''),
        ("exponential(30ms)", "0s", 13, "interarrival: expected a positive time"),
        ("count = 3", "count = 1000000", None, None),
        ("processors = 2", "nodes = 5000000", None, "expected at most 10000000 processes"),
        ("[daemon]", "[deamon]", None, "unknown key deamon"),
        ("[node]", "[node", 3, "not a node model"),
        ('interarrival = "exponential(30ms)"', "instrumented = false", None, None),
        ('cpu = "exponential(400us)"\n', "", 13, "expected at least one of cpu, network and disk"),
        ('name = "mine"', "name = 3", None, "name and description: expected texts"),
        ('policy = "batch"', 'source = "timer"', None, None),
    ],
)
def test_wrong_models_are_refused_with_file_and_line(old, new, line, expected):
    assert old in TEXT
    text = TEXT.replace(old, new, 1)
    if expected is None:
        parse_model(text)
        return
    with pytest.raises(InputError) as refused:
        parse_model(text, "node.toml")
    where = "node.toml: " if line is None else f"node.toml:{line}: "
    assert str(refused.value).startswith(where), refused.value
    assert expected in str(refused.value)


def test_files_that_cannot_be_read_are_refused(tmp_path):
    with pytest.raises(InputError, match="cannot read the node model") as refused:
        read_model(tmp_path / "none.toml")
    assert "paradyn" in str(refused.value)
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="expected UTF-8"):
        read_model(tmp_path / "binary.toml")


def test_settings_change_the_model():
    model = parse_model(TEXT)
    changed = model.with_settings(
        {"sampling_period": "50ms", "processes": "32", "daemons": 2, "policy": "forward"}
    )
    assert changed.instrumentation.sampling_period == 0.05
    assert changed.instrumented_processes == 32
    assert (changed.daemon.daemons, changed.daemon.policy) == (2, "forward")
    assert changed.processes[1] == model.processes[1]
    assert model.with_settings({"sampling_period": "none"}).instrumentation.sampling_period is None


@pytest.mark.parametrize("name", SETTINGS)
def test_each_setting_names_a_value_of_the_model(name):
    model = parse_model(TEXT)
    table, field = SETTINGS[name]
    value = model.setting(name)
    if name != "processes":
        assert value == getattr(getattr(model, table), field)
    if not isinstance(value, float):  # times have units
        assert model.with_settings({name: value}) == model


def test_unknown_and_wrong_settings_are_refused_by_name():
    model = parse_model(TEXT)
    with pytest.raises(InputError, match="unknown setting sampling, expected one of processes"):
        model.with_settings({"sampling": "5ms"})
    with pytest.raises(InputError, match="did you mean sampling_period"):
        model.with_settings({"sampling_perod": "5ms"})
    with pytest.raises(InputError, match="setting processes: expected a whole number, got 'many'"):
        model.with_settings({"processes": "many"})
    with pytest.raises(InputError, match="detailed_nodes: expected at most the 1 nodes"):
        model.with_settings({"detailed_nodes": 5})


def test_a_model_without_instrumentation_keeps_its_load():
    bare = parse_model(TEXT).without_instrumentation()
    assert not bare.is_instrumented
    assert [process.cpu for process in bare.processes] == [
        process.cpu for process in parse_model(TEXT).processes
    ]


def test_the_documentation_describes_every_key():
    page = (Path(__file__).parents[2] / "docs/models/overhead.md").read_text(encoding="utf-8")
    tables = {"node": Node, "process": ProcessClass, "instrumentation": Instrumentation}
    for name, table in (tables | {"daemon": Daemon, "main": MainProcess}).items():
        for key, kind in keys_of(table).items():
            assert f"| `{name}` | `{key}` | {kind.name}: {kind.meaning} |" in page
