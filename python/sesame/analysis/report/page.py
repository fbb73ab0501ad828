"""The page of a report: one file of HTML that needs nothing else and no network."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
import plotly.graph_objects as go
import plotly.offline

import sesame
from sesame.analysis.plots import CONFIG
from sesame.errors import OutputError

TEMPLATES = Path(__file__).parents[1] / "templates"


@dataclass(frozen=True)
class Section:
    title: str
    about: str
    html: str
    note: str = ""


@dataclass(frozen=True)
class Headline:
    """The figure that a reader looks for first, and what it is."""

    value: str
    meaning: str


def figure_html(figure: go.Figure) -> str:
    html: str = figure.to_html(full_html=False, include_plotlyjs=False, config=CONFIG)
    return html


def columns_for(cards: int, most: int) -> int:
    """Columns of a grid of cards, at most `most`: few rows, and none with one card
    (up to 12 cards)."""
    by_rows = sorted(range(2, most + 1), key=lambda columns: (-(-cards // columns), columns))
    return next((columns for columns in by_rows if cards % columns != 1), by_rows[0])


def template(name: str) -> jinja2.Template:
    loader = jinja2.FileSystemLoader(TEMPLATES)
    environment = jinja2.Environment(loader=loader, autoescape=True, trim_blocks=True)
    environment.filters["columns"] = columns_for
    return environment.get_template(name)


def write_page(path: Path, **content: Any) -> None:
    html = template("report.html").render(
        **content,
        version=sesame.__version__,
        plotly_script=plotly.offline.get_plotlyjs(),
        page_script=(TEMPLATES / "page.js").read_text(encoding="utf-8"),
    )
    write_whole(path, html)


def write_whole(path: Path, text: str) -> None:
    """Whole or not at all: beside its place first."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        raise OutputError(f"{path}: cannot write: {error.strerror}") from error
    finally:
        with suppress(OSError):  # it is not there, or the error above says more
            partial.unlink()
