"""The documentation says what is there: commands, options, links, fields, versions."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

import click
import pytest

from sesame import native
from sesame.cli import cli
from sesame.datasets import all_record_types
from sesame.datasets.schema import is_io
from sesame.measurement import every_subsystem
from sesame.simulation import Scenario
from sesame.simulation.run import RECORDED, SCALARS

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
FENCE = re.compile(r"^```[a-z]*\n(.*?)^```", re.M | re.S)


def commands(
    group: click.Group, path: tuple[str, ...] = ()
) -> list[tuple[tuple[str, ...], click.Command]]:
    found = []
    for name, command in group.commands.items():
        found.append(((*path, name), command))
        if isinstance(command, click.Group):
            found += commands(command, (*path, name))
    return found


def documented() -> list[str]:
    """Every line of an example that runs sesame."""
    lines = []
    for page in PAGES:
        for block in FENCE.findall(page.read_text()):
            for line in block.splitlines():
                words = line.split()
                if words and Path(words[0]).name == "sesame":
                    lines.append(line)
    return lines


def test_there_is_something_to_check():
    assert len(PAGES) > 5
    assert len(documented()) > 8


@pytest.mark.parametrize("line", documented())
def test_documented_command_is_understood(line):
    words = shlex.split(line, comments=True)[1:]
    command: click.Command = cli
    while isinstance(command, click.Group):
        name = words.pop(0)
        if name == "--version":
            return
        # As the group itself does: of `sesame serve` the name may be a directory.
        found = command.resolve_command(click.Context(command), [name])[1]
        assert found is not None, f"there is no {name}"
        if name not in command.commands:
            words.insert(0, name)
        command = found
    with command.make_context(command.name, words) as context:
        assert context.params


@pytest.mark.parametrize(("path", "command"), commands(cli), ids=lambda x: str(x))
def test_every_command_has_help_and_so_has_every_option(path, command):
    assert command.help, f"{' '.join(path)} is missing its help"
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, f"{' '.join(path)} {parameter.opts[0]} is missing its help"


@pytest.mark.parametrize(("path", "command"), commands(cli), ids=lambda x: str(x))
def test_every_command_is_in_the_documentation(path, command):
    text = "\n".join(page.read_text() for page in PAGES)
    assert f"sesame {' '.join(path)}" in text


def test_every_option_of_simulate_is_in_its_tutorial():
    text = (ROOT / "docs/tutorial-simulate.md").read_text()
    missing = [
        parameter.opts[-1]
        for parameter in cli.commands["simulate"].params
        if isinstance(parameter, click.Option) and not any(o in text for o in parameter.opts)
    ]
    assert missing == ["--seed"]  # nothing takes random numbers yet


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
        if not target.startswith(("http://", "https://")):
            assert (page.parent / target).exists(), target


def anchors(page: Path) -> set[str]:
    """The anchors of its headings, as GitHub and the site make them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.M | re.S)
    headings = re.findall(r"^#+ +(.+?) *$", text, re.M)
    titles = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {title.strip().replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_to_headings_lead_somewhere(page):
    for target, anchor in re.findall(r"\]\(([^)#:]*)#([^)]*)\)", page.read_text()):
        other = page.parent / target if target else page
        if other.suffix == ".md":
            assert anchor in anchors(other), f"{target}#{anchor}"


def test_page_of_record_types_is_complete():
    text = (ROOT / "docs/formats/records.md").read_text()
    for record in all_record_types().values():
        assert f"## {record.name}\n\n{record.meaning}." in text
        for field in record.fields:
            row = f"| `{field.name}` | {field.type} | {field.unit} | {field.meaning} |"
            assert row in text, f"{record.name}.{field.name}"


def names_in(text: str) -> list[str]:
    return re.findall(r"`([a-z_]+)`", text)


def test_page_of_record_types_names_those_that_the_simulator_writes():
    text = (ROOT / "docs/formats/records.md").read_text()
    written = [one["name"] for one in native.record_types() if not is_io(one)]
    introduced = re.search(r"([^.]*)\sare\swritten\swhile\sa\ssimulated\sprogram\sruns", text)
    assert introduced is not None
    assert names_in(introduced[1]) == written
    rows = re.findall(r"^\| (\d+) \| `(\w+)`.*\| `(\w+)` \|$", text, re.M)
    assert rows == [
        (str(one["id"]), one["name"], one["timestamp_field"]) for one in native.record_types()
    ]


def test_page_of_measuring_lists_every_point():
    text = (ROOT / "docs/models/measuring.md").read_text()
    table = text[text.index("## Points\n") : text.index("## File systems\n")]
    rows = dict(re.findall(r"^\| ([a-z]+) \| ([^|]+) \|", table, re.M))
    subsystems = every_subsystem()
    listed = {name: rows[name].split(", ") for name in rows if name in subsystems}
    assert listed == {
        name: [point.name for point in one.points] for name, one in subsystems.items()
    }


def test_page_of_the_scenario_names_the_tables_that_are_recorded():
    text = (ROOT / "docs/formats/scenario.md").read_text()
    listed = re.search(r"^\| `tables` \| object: the tables (.*?) to be recorded", text, re.M)
    assert listed is not None
    assert names_in(listed[1]) == list(RECORDED)


def test_page_of_the_scenario_is_complete():
    text = (ROOT / "docs/formats/scenario.md").read_text()
    scenario = Scenario(program="p", arguments=(), ranks=1, machine=Path("m"))
    for key in [*scenario.to_json(), *SCALARS]:
        assert f"`{key}`" in text, key


def test_every_machine_key_is_on_its_page():
    text = (ROOT / "docs/formats/machine.md").read_text()
    for key in native.machine_keys():
        assert f"`{key['key'].split('.')[-1]}`" in text, key["key"]


def test_change_log_has_this_version():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert f"## {version}\n" in (ROOT / "CHANGELOG.md").read_text()


def test_make_help_names_every_target():
    text = (ROOT / "Makefile").read_text()
    targets = set(re.search(r"\.PHONY: (.*)", text).group(1).split())
    described = set(re.findall(r'@echo "make ([a-z-]+)', text))
    assert targets == described | {"help"}


def test_glossary_is_sorted_and_every_word_has_a_source():
    rows = re.findall(
        r"^\| (.+?) \| (.+?) \| (.+?) \|$", (ROOT / "docs/glossary.md").read_text(), re.M
    )
    words = [row[0].lower() for row in rows[1:]]
    assert len(words) > 20
    assert words == sorted(words)
