"""The help of every verb: an example, groups where there are many options, and typed options."""

from __future__ import annotations

import re
from dataclasses import fields

import click
import pytest

from sesame.cli import cli
from sesame.cli.bench import BenchOptions
from sesame.cli.calibrate import CalibrateOptions
from sesame.cli.characterize import CharacterizeOptions
from sesame.cli.check import MachineCheckOptions
from sesame.cli.check_baseline import CheckOptions
from sesame.cli.commands import words_of
from sesame.cli.replay import ReplayOptions
from sesame.cli.reproduce import ReproduceOptions
from sesame.cli.simulate_options import SimulateOptions
from sesame.cli.trace import TraceCommand

TYPED = {
    ("simulate",): SimulateOptions,
    ("trace",): TraceCommand,
    ("replay",): ReplayOptions,
    ("bench", "run"): BenchOptions,
    ("check",): CheckOptions,
    ("machine", "calibrate"): CalibrateOptions,
    ("machine", "check"): MachineCheckOptions,
    ("characterize",): CharacterizeOptions,
    ("reproduce",): ReproduceOptions,
}
MOST_UNGROUPED = 8
# It writes a directory of data sets.
OTHER_OUTPUT = {("collect",)}
# They write a node model, a page, a table of runs, metrics for Prometheus or a backup.
OTHER_OUTPUT |= {("overhead", verb) for verb in ("characterize", "factors", "sweep", "validate")}
OTHER_OUTPUT |= {("evaluate", "metrics"), ("serve", "backup")}


def command_of(words: tuple[str, ...]) -> click.Command:
    command: click.Command = cli
    for word in words:
        assert isinstance(command, click.Group)
        command = command.commands[word]
    return command


LEAVES = [words for words in words_of(cli) if not isinstance(command_of(words), click.Group)]
GROUPS = [words for words in words_of(cli) if words not in LEAVES]


@pytest.mark.parametrize("words", TYPED, ids=" ".join)
def test_every_option_is_a_field(words):
    given = {parameter.name for parameter in command_of(words).params}
    assert given == {field.name for field in fields(TYPED[words])}


@pytest.mark.parametrize("words", LEAVES, ids=" ".join)
def test_help_has_an_example_of_the_verb(words):
    examples = [
        line.strip()
        for line in (command_of(words).help or "").splitlines()
        if line.strip().startswith("sesame ")
    ]
    assert any(line.startswith(f"sesame {' '.join(words)}") for line in examples)


@pytest.mark.parametrize("words", GROUPS, ids=lambda words: " ".join(words) or "sesame")
def test_help_of_a_group_has_an_example_and_one_whole_line_for_each_command(words):
    command = command_of(words)
    assert isinstance(command, click.Group)
    with click.Context(command, info_name="sesame", terminal_width=80) as context:
        lines = command.get_help(context).splitlines()
    assert any(line.startswith("  sesame ") for line in lines)
    for name in command.commands:
        shown = [line for line in lines if re.match(rf"  {name}  +\S", line)]
        assert len(shown) == 1, name
        assert shown[0].endswith("."), shown
        assert not shown[0].endswith("..."), shown


@pytest.mark.parametrize("words", LEAVES, ids=" ".join)
def test_many_options_are_in_groups(words):
    command = command_of(words)
    with click.Context(command, info_name=" ".join(words)) as context:
        text = command.get_help(context)
    options = [p for p in command.params if isinstance(p, click.Option)]
    titles = re.findall(r"^(\w[\w ,]*):$", text, re.M)
    if len(options) > MOST_UNGROUPED:
        assert len(titles) > 2, text
    for option in options:
        lines = re.findall(rf"^ +(?:-\w, )?{option.opts[-1]}(?![-\w])", text, re.M)
        assert len(lines) == 1, option.name
    # What is no option has no line among them.
    assert not [line for line in text.splitlines() if re.fullmatch(r"  [A-Z\[][^ ]*[^ .]", line)], (
        text
    )


@pytest.mark.parametrize("words", LEAVES, ids=" ".join)
def test_options_mean_the_same_everywhere(words):
    options = {
        name: option
        for option in command_of(words).params
        if isinstance(option, click.Option)
        for name in option.opts
    }
    if "--json" in options:
        assert options["--json"].is_flag
    if "--report" in options:
        assert options["--report"].metavar == "FILE.html"
    if "--plot" in options:
        assert "png" in str(options["--plot"].metavar)
    if "-o" in options and words not in OTHER_OUTPUT:
        assert options["-o"].metavar == "NAME.sesame"
