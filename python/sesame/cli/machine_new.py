"""`sesame machine new`"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from sesame.cli.grouped import grouped
from sesame.cli.outputs import check_file
from sesame.errors import InputError, OutputError
from sesame.machines import find_machine
from sesame.machines.drafting import QUESTIONS, Draft, Question, check_answer, is_asked, write

LIKE = "infiniband"
SOURCE = "given to `sesame machine new`"


@click.command(
    cls=grouped(
        Machine=("nodes", "cores", "topology", "uplinks", "global_links", "compute_ratio"),
        Messages=("latency", "bandwidth", "node_latency", "node_bandwidth"),
        Sharing=("sharing", "cards", "card_bandwidth"),
        Description=("name", "like", "source"),
    ),
    short_help="Write a machine file from a few answers.",
)
@click.argument("file", type=click.Path(path_type=Path), metavar="FILE.toml")
@click.option("--name", metavar="NAME", help="Of the machine. The file's name if not given.")
@click.option(
    "--like",
    metavar="MODEL",
    help=f"The model from which what you do not know is taken; {LIKE} if not given.",
)
@click.option("--nodes", metavar="N", help="Number of nodes.")
@click.option("--cores", metavar="N", help="Ranks that a node takes.")
@click.option("--latency", metavar="TIME", help="Half round trip of a small message: 1.5us.")
@click.option("--bandwidth", metavar="RATE", help="Of large messages between nodes: 12GB/s.")
@click.option("--node-latency", metavar="TIME", help="The same inside a node.")
@click.option("--node-bandwidth", metavar="RATE", help="The same inside a node.")
@click.option(
    "--topology",
    metavar="KIND:NUMBERS",
    help="crossbar, mesh:8,8, torus:8,8,8, fat_tree:32,32, hyperx:8,8,16 or dragonfly:8,16,16.",
)
@click.option(
    "--uplinks",
    metavar="N,…",
    help="Of a fat tree, links up from a switch of each level but the top; fewer than below: "
    "oversubscription.",
)
@click.option("--global-links", metavar="N", help="Of a dragonfly, links between each two groups.")
@click.option("--cards", metavar="N", help="Network cards of a node.")
@click.option("--card-bandwidth", metavar="RATE", help="Of a card, for all its ranks together.")
@click.option(
    "--sharing",
    metavar="none|interface|links",
    help="What messages of different ranks share: cards of their node, also links.",
)
@click.option("--compute-ratio", metavar="NUMBER", help="The machine's compute time / this host's.")
@click.option("--source", metavar="TEXT", help="Where your values come from: the file says it.")
@click.option("--no-questions", is_flag=True, help="Ask nothing: what is not given is assumed.")
@click.option("--force", is_flag=True, help="Write over an existing file.")
def new(file: Path, *, no_questions: bool, force: bool, **options: Any) -> None:
    """Write a machine file: asks on a terminal for what the options do not give.

    An empty answer means that you do not know: the value of a similar model is taken, and
    the file marks it as assumed. So do `sesame machine show` and each prediction.

    \b
    sesame machine new lab.toml
    sesame machine new lab.toml --nodes 64 --latency 1.4us --source "osu_latency" --no-questions
    """
    _check_path(file, force=force)
    answers = {question.name: options[question.name] or "" for question in QUESTIONS}
    for question in QUESTIONS:
        if answers[question.name]:
            check_answer(question, answers[question.name])
    find_machine(options["like"] or LIKE)
    if not no_questions and sys.stdin.isatty():
        _ask(options, answers)
    draft = Draft(
        options["name"] or file.stem,
        options["like"] or LIKE,
        options["source"] or SOURCE,
        answers,
    )
    try:
        write(file, draft.text())
    except OSError as error:
        raise OutputError(f"{file}: cannot write: {error.strerror}") from error
    click.echo(f"wrote {file}; see it with: sesame machine show {file}", err=True)


def _check_path(path: Path, *, force: bool) -> None:
    if path.suffix != ".toml":
        raise InputError(f"{path}: expected a name that ends with .toml")
    if path.exists() and not force:
        raise InputError(f"{path}: exists already", hint="--force writes over it")
    check_file(path)


def _ask(options: dict[str, Any], answers: dict[str, str]) -> None:
    """Asks for what is missing until each answer is right or empty."""
    click.echo("An empty answer: not known, taken from a similar model.", err=True)
    if options["like"] is None:
        like: str = click.prompt("Which model is it like?", default=LIKE, err=True)
        find_machine(like)
        options["like"] = like
    for question in QUESTIONS:
        if not answers[question.name] and is_asked(question, answers):
            answers[question.name] = _answer_to(question)
    if options["source"] is None and any(answers.values()):
        options["source"] = click.prompt(
            "Where do these values come from?", default=SOURCE, err=True
        )


def _answer_to(question: Question) -> str:
    while True:
        shown = f"{question.text} (such as {question.example})"
        answer: str = click.prompt(shown, default="", show_default=False, err=True).strip()
        try:
            if answer:
                check_answer(question, answer)
        except InputError as error:
            click.echo(f"error: {error}", err=True)
            continue
        return answer
