"""Messages of the library name settings by `sesame.settings.setting`, which the surface spells."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import sesame
from sesame.cli import cli
from sesame.cli.commands import words_of
from sesame.settings import as_argument, as_option, setting, spelled

LIBRARY = Path(sesame.__file__).parent
# The command line may name its options; findings of this workload name the workload's own.
OTHERS = ("cli/", "settings.py", "pytest_plugin.py", "analysis/findings/cachestudy.py")
OPTION = re.compile(r"(?<![\w\"-])--[a-z][a-z-]*")
COMMAND = re.compile(r"`[^`-][^`]*`")  # a whole command, which is the same on every surface


def sources() -> list[Path]:
    found = sorted(LIBRARY.rglob("*.py"))
    return [path for path in found if not str(path.relative_to(LIBRARY)).startswith(OTHERS)]


def texts(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Texts that a user may see: constants and f-strings, without docstrings."""
    bodies = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    skipped = set()
    for node in ast.walk(tree):
        if isinstance(node, bodies) and ast.get_docstring(node, clean=False) is not None:
            skipped.add(node.body[0].value)
        if isinstance(node, ast.JoinedStr):
            skipped |= set(node.values)
            yield (
                node.lineno,
                "".join(p.value if isinstance(p, ast.Constant) else "X" for p in node.values),
            )
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in skipped:
            yield node.lineno, node.value


def options_in(source: str) -> list[tuple[int, str]]:
    return [
        (line, text)
        for line, text in texts(ast.parse(source))
        if not OPTION.fullmatch(text.removesuffix("="))  # a word of another program's command line
        and OPTION.search(COMMAND.sub("", text))
    ]


def test_no_message_of_the_library_names_an_option():
    found = [
        f"{path.relative_to(LIBRARY)}:{line}: {text}"
        for path in sources()
        for line, text in options_in(path.read_text(encoding="utf-8"))
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "source",
    [
        'hint = "give ranks more with --stack-size"',
        'raise E(f"--map {a}: what {b}")',
        'x = "`--map`"',
    ],
)
def test_an_option_in_a_message_is_found(source):
    assert options_in(source)


@pytest.mark.parametrize(
    "source", ['x = "--report"', '"""of --map"""', 'x = f"`sesame trace --from-raw {y}`: do"']
)
def test_words_docstrings_and_commands_are_none(source):
    assert not options_in(source)


def named_settings() -> set[str]:
    """The names that the library's sources give to `setting`."""
    return {
        node.args[0].value
        for path in sources()
        if "setting(" in (text := path.read_text(encoding="utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "setting"
        and isinstance(node.args[0], ast.Constant)
    }


def options_of_all_verbs() -> set[str]:
    found = set()
    for words in words_of(cli):
        command: click.Command = cli
        for word in words:
            command = command.commands[word]
        found |= {name for parameter in command.params for name in parameter.opts}
        found |= {name for parameter in command.params for name in parameter.secondary_opts}
    return found


def test_every_setting_is_an_option_of_the_command_line():
    known = options_of_all_verbs()
    names = named_settings()
    assert {"stack_size", "mappings", "compute"} <= names
    assert {as_option(name) for name in names if name != "records"} <= known
    assert as_option("records", False) in known


def test_options_with_other_names_are_those_of_arguments():
    functions = (sesame.simulate, sesame.series, sesame.trace, sesame.replay, sesame.measure)
    arguments = {name for call in functions for name in inspect.signature(call).parameters}
    from sesame.settings import OPTIONS

    assert set(OPTIONS) <= arguments


def test_the_surface_spells_a_setting():
    assert setting("stack_size", "3 apples") == "stack_size='3 apples'"
    with spelled(as_option):
        assert setting("stack_size", "3 apples") == "--stack-size '3 apples'"
        assert setting("mappings", {"/a": ".", "/b": "c"}) == "--map /a=. --map /b=c"
        assert setting("ranks", [4, 8]) == "-n 4,8"
        assert setting("force", True) == "--force"
        assert setting("records", False) == "--no-records"
    assert setting("mappings", {"/a": "."}) == "mappings={'/a': '.'}"
    assert setting("force", True) == "force=True"
    assert as_argument("repeat") == "repeat="
