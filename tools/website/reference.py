"""Pages that are generated from code: commands, Python, tables and joins, keys of machines."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Sequence
from typing import Any

import click

import sesame
from sesame import native
from sesame.cli import cli
from sesame.cli.grouped import OTHERS
from sesame.datasets import Kind, all_record_types
from sesame.datasets.relations import JOINS, TABLES

COMMANDS = "reference/commands/"
EXAMPLE = re.compile(r"\s*sesame [^ ].*")


def pages() -> dict[str, str]:
    """Markdown by path in the site."""
    found = {f"{COMMANDS}{name}.md": _command_page(name) for name in cli.commands}
    return found | {
        f"{COMMANDS}index.md": _commands_index(),
        "reference/python.md": _python_page(),
        "reference/tables.md": _tables_page(),
        "reference/machine-keys.md": _machine_keys_page(),
    }


def command_pages() -> list[str]:
    """Paths of the pages of commands, the index first."""
    return [f"{COMMANDS}{name}.md" for name in ("index", *sorted(cli.commands))]


# --- command line


def _commands_index() -> str:
    rows = [
        (f"[`sesame {name}`]({name}.md)", command.get_short_help_str(200))
        for name, command in sorted(cli.commands.items())
    ]
    return "# Commands\n\n" + _table(("command", "what it does"), rows)


def _command_page(name: str) -> str:
    return f"# sesame {name}\n" + "".join(_of_command(cli.commands[name], ("sesame", name), 2))


def _of_command(command: click.Command, words: tuple[str, ...], level: int) -> Iterator[str]:
    context = click.Context(command, info_name=" ".join(words))
    usage = " ".join(command.get_usage(context).split()).removeprefix("Usage: ")
    yield f"\n```text\n{usage}\n```\n\n{_help_text(command.help or '')}\n"
    for title, options in _option_groups(command, context):
        if options:
            yield f"\n**{title}**\n\n{_table(('option', 'meaning'), options)}"
    if isinstance(command, click.Group):
        for name, below in sorted(command.commands.items()):
            yield f"\n{'#' * level} {' '.join((*words, name))}\n"
            yield from _of_command(below, (*words, name), min(level + 1, 4))


def _option_groups(
    command: click.Command, context: click.Context
) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    records = {
        parameter.name: record
        for parameter in command.params
        if isinstance(parameter, click.Option)
        and (record := parameter.get_help_record(context)) is not None
    }
    for title, names in getattr(command, "groups", {}).items():
        yield title, [_option(*records.pop(name)) for name in names if name in records]
    yield (
        OTHERS if getattr(command, "groups", {}) else "Options",
        [_option(*record) for record in records.values()],
    )


def _option(names: str, meaning: str) -> tuple[str, str]:
    return f"`{names}`", _escaped(meaning)


def _help_text(text: str) -> str:
    """Paragraphs; those of example commands become blocks."""
    paragraphs = []
    for paragraph in inspect.cleandoc(text).replace("\b\n", "").split("\n\n"):
        lines = paragraph.splitlines()
        if lines and all(map(EXAMPLE.fullmatch, lines)):
            paragraphs.append("```text\n" + "\n".join(lines) + "\n```")
        else:
            paragraphs.append(_escaped(paragraph, in_table=False))
    return "\n\n".join(paragraphs)


# --- Python


def _python_page() -> str:
    parts = [
        "# Python\n\nWhat `import sesame` offers. [Sesame from Python](../tutorial-python.md) "
        "shows how to use it.\n"
    ]
    for name in sorted(sesame.__all__, key=lambda name: (not name[0].islower(), name)):
        if not name.startswith("__"):
            parts += _of_name(name, getattr(sesame, name))
    return "\n".join(parts)


def _of_name(name: str, thing: Any) -> Iterator[str]:
    yield f"## sesame.{name}\n"
    if not inspect.isclass(thing):
        yield from _of_function(f"sesame.{name}", thing)
        return
    bases = [base.__name__ for base in thing.__bases__ if base.__name__ in sesame.__all__]
    if bases:
        yield f"A `sesame.{bases[0]}`.\n"
    yield _docstring(thing)
    for member, value in _members(thing):
        if isinstance(value, property):
            yield f"### {name}.{member}\n\n{_docstring(value)}"
        else:
            yield f"### {name}.{member}()\n"
            yield from _of_function(f"{name}.{member}", value)


def _of_function(name: str, function: Any) -> Iterator[str]:
    signature = _signature(name, function)
    yield f"```python\n{signature}\n```\n"
    yield _docstring(function)


def _members(thing: type) -> Iterator[tuple[str, Any]]:
    """Public methods and properties with a docstring, those of our base classes included."""
    seen: dict[str, Any] = {}
    for ancestor in thing.__mro__:
        if ancestor.__module__.startswith("sesame"):
            for name, value in vars(ancestor).items():
                seen.setdefault(name, getattr(value, "__func__", value))
    for name, value in sorted(seen.items()):
        is_shown = isinstance(value, property) or inspect.isfunction(value)
        if is_shown and not name.startswith("_") and inspect.getdoc(value):
            yield name, value


def _signature(name: str, function: Any) -> str:
    """On one line where it fits, otherwise with one parameter a line."""
    found = inspect.signature(function)
    shown = []
    for one in found.parameters.values():
        if one.name in ("self", "cls"):
            continue
        if one.kind is one.KEYWORD_ONLY and "*" not in shown:
            shown.append("*")
        shown.append(_parameter(one))
    result = f" -> {_plain_type(found.return_annotation)}"
    line = f"{name}({', '.join(shown)}){result}"
    return line if len(line) <= 80 else f"{name}(\n    " + ",\n    ".join(shown) + f",\n){result}"


def _parameter(one: inspect.Parameter) -> str:
    stars = {one.VAR_POSITIONAL: "*", one.VAR_KEYWORD: "**"}.get(one.kind, "")
    typed = "" if one.annotation is one.empty else f": {_plain_type(one.annotation)}"
    default = "" if one.default is one.empty else f" = {one.default!r}"
    return f"{stars}{one.name}{typed}{default}"


def _plain_type(annotation: Any) -> str:
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)


def _docstring(thing: Any) -> str:
    """A docstring as Markdown: examples become blocks, sentences on errors paragraphs."""
    text = inspect.getdoc(thing) or ""
    text = re.sub(r"(?<!\n)\n(Raises )", r"\n\n\1", text)
    parts = []
    for paragraph in text.split("\n\n"):
        is_code = paragraph.startswith(">>>")
        parts.append(f"```pycon\n{paragraph}\n```" if is_code else _escaped(paragraph, False))
    return "\n\n".join(parts) + "\n"


# --- tables and joins


def _tables_page() -> str:
    own = [f"- {kind}: {tables.has_own}.\n" for kind, tables in TABLES.items() if tables.has_own]
    return (
        "# Tables and joins\n\n"
        "Which tables a [data set](../formats/dataset.md) of each kind has: ● always, ○ when there "
        "was something to record. [Record types](../formats/records.md) describes their fields.\n\n"
        + _kinds_table()
        + "\n## Tables with columns of their own\n\n"
        + "".join(own)
        + "\n## Joins\n\nWith the extra `sql`, `sesame.open(path).sql(query)` runs these queries. "
        "Times are in seconds: the column `begin_ns` of the file is `begin_s`. The tests run every "
        "query.\n"
        + "".join(
            f"\n### {join.table}.{join.column} → {join.to_table}.{join.to_column}\n\n"
            f"{join.answers}:\n\n```sql\n{join.query}\n```\n"
            for join in JOINS
        )
    )


def _kinds_table() -> str:
    kinds = [kind for kind in Kind if TABLES[kind].always or TABLES[kind].sometimes]
    rows = [
        (f"[`{name}`](../formats/records.md#{name})", *(_mark(name, kind) for kind in kinds))
        for name in all_record_types()
    ]
    return _table(("table", *kinds), rows)


def _mark(name: str, kind: Kind) -> str:
    tables = TABLES[kind]
    return "●" if name in tables.always else "○" if name in tables.sometimes else ""


# --- machine files


def _machine_keys_page() -> str:
    sections: dict[str, list[tuple[str, str, str, str]]] = {}
    for key in native.machine_keys():
        table, _, name = key["key"].rpartition(".")
        required = "yes" if key["required"] else ""
        row = (f"`{name}`", key["kind"], required, _escaped(key["meaning"]))
        sections.setdefault(table, []).append(row)
    return (
        "# Keys of a machine file\n\n"
        "Every key that the reader of [machine files](../formats/machine.md) knows. "
        "`--set network.latency=1us` and `--sweep` take the whole name.\n"
        + "".join(
            f"\n## {table or 'Top level'}\n\n{_table(('key', 'kind', 'required', 'meaning'), rows)}"
            for table, rows in sections.items()
        )
    )


# --- Markdown


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _escaped(text: str, in_table: bool = True) -> str:
    """Text in which Markdown sees no markup but `code`."""
    parts = text.split("`")
    parts[::2] = [re.sub(r"([\\*_\[\]#])", r"\\\1", part) for part in parts[::2]]
    parts[::2] = [part.replace("<", "&lt;").replace(">", "&gt;") for part in parts[::2]]
    text = "`".join(parts)
    return text.replace("|", "\\|").replace("\n", " ") if in_table else text
