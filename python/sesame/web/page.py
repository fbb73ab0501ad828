"""Renders pages: one self-contained HTML file, or the same text from a server."""

from __future__ import annotations

import base64
import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

import jinja2

import sesame
from sesame.errors import OutputError

HERE = Path(__file__).parent
TEMPLATES = HERE / "templates"
ASSETS = HERE / "assets"
STYLES = ("uplot/uPlot.min.css", "style.css")
SCRIPTS = ("uplot/uPlot.iife.min.js", "marks.js", "chart.js", "table.js")


@dataclass(frozen=True)
class Section:
    """A section of a page. `html` is trusted; the page escapes the other texts."""

    title: str
    about: str
    html: str
    note: str = ""


@dataclass(frozen=True)
class Headline:
    """The figure that a reader looks for first, and what it is."""

    value: str
    meaning: str


@cache
def asset(name: str) -> str:
    """The text of a file of assets/."""
    return (ASSETS / name).read_text(encoding="utf-8")


def page_policy(scripts: Sequence[str] = ()) -> str:
    """The Content-Security-Policy of a page. It permits our styles and scripts, the `scripts` of
    the page, and requests to its own server; nothing else is run or loaded."""
    styles = [asset(one) for one in STYLES]
    scripts = [*(asset(one) for one in SCRIPTS), *scripts]
    return "; ".join(
        [
            "default-src 'none'",
            f"style-src {_hashes(styles)}",
            f"script-src {_hashes(scripts)}",
            "img-src data:",
            "connect-src 'self'",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


def _hashes(texts: Sequence[str]) -> str:
    digests = [base64.b64encode(hashlib.sha256(text.encode()).digest()) for text in texts]
    return " ".join(f"'sha256-{digest.decode()}'" for digest in digests)


def columns_for(cards: int, most: int) -> int:
    """The number of columns, at most `most`, of a grid of up to 12 cards: few rows, and no row with
    a single card."""
    by_rows = sorted(range(2, most + 1), key=lambda columns: (-(-cards // columns), columns))
    return next((columns for columns in by_rows if cards % columns != 1), by_rows[0])


def sentence(text: str) -> str:
    """The text with a capital letter at its beginning; the others stay as they are."""
    return text[:1].upper() + text[1:]


def anchor(title: str) -> str:
    """The id of a section in its page: "Time line" has `time-line`."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


def anchors(titles: Sequence[str]) -> list[str]:
    """The ids of the sections of a page; a title that was there, or is empty, gets a number."""
    ids = [anchor(title) for title in titles]
    return [
        one if one and one not in ids[:i] else f"{one}-{i + 1}" if one else f"part-{i + 1}"
        for i, one in enumerate(ids)
    ]


def with_code(text: str) -> str:
    """HTML of a message: what stands between backquotes, as in a terminal, is set as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


@cache
def _environment(*directories: Path) -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([*directories, TEMPLATES]),
        autoescape=True,
        trim_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["anchor"] = anchor
    environment.filters["anchors"] = anchors
    environment.filters["columns"] = columns_for
    environment.filters["sentence"] = sentence
    environment.filters["with_code"] = with_code
    return environment


def template(name: str, *directories: Path) -> jinja2.Template:
    """A template of one of `directories` or of templates/. A value that is missing raises
    UndefinedError."""
    return _environment(*directories).get_template(name)


def render(
    name: str, *, scripts: Sequence[str] = (), directory: Path = TEMPLATES, **content: Any
) -> str:
    """Renders a page from a template of `directory`, which may extend those of templates/.
    `scripts` are the texts of the page's own scripts."""
    return template(name, directory).render(
        **content,
        version=sesame.__version__,
        styles=[asset(one) for one in STYLES],
        page_scripts=[*(asset(one) for one in SCRIPTS), *scripts],
        policy=page_policy(scripts),
    )


def report_page(
    *,
    title: str,
    sections: Sequence[Section],
    subtitle: str = "",
    headline: Headline | None = None,
    outcome: str = "completed",
    outcome_text: str = "",
    doubts: Sequence[Mapping[str, Any]] = (),
    alerts: Sequence[str] = (),
    notes: Sequence[str] = (),
    cards: Sequence[tuple[str, str]] = (),
    machine: Mapping[str, Any] | None = None,
    facts: Sequence[tuple[str, str]] = (),
) -> str:
    """The text of a report. `subtitle` is a command, `outcome` says what went wrong unless it is
    "completed", `notes` what the headline leaves out; `cards` and `facts` are names and values."""
    return render(
        "report.html",
        title=title,
        subtitle=subtitle,
        headline=headline,
        outcome=outcome,
        outcome_text=outcome_text,
        doubts=doubts,
        alerts=alerts,
        notes=notes,
        cards=cards,
        sections=sections,
        machine=machine,
        facts=facts,
    )


def write_page(path: Path, **content: Any) -> None:
    """Writes a report; `content` is that of `report_page`. Raises OutputError."""
    write_whole(path, report_page(**content))


def write_whole(path: Path, text: str) -> None:
    """Writes a temporary file beside `path` and renames it, so that `path` is never incomplete.

    Raises OutputError.
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        raise OutputError(f"{path}: cannot write: {error.strerror}") from error
    finally:
        with suppress(OSError):  # it is not there, or the error above says more
            partial.unlink()
