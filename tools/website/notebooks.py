"""Notebooks and directories of examples as pages: text, and code in blocks."""

from __future__ import annotations

import json
from pathlib import Path

LANGUAGES = {".c": "c", ".h": "c", ".py": "python", ".f90": "fortran", ".md": "markdown"}


def page_of(path: Path) -> str:
    """The Markdown of a notebook, or of the files of a directory."""
    return _of_notebook(path) if path.suffix == ".ipynb" else _of_directory(path)


def _of_notebook(path: Path) -> str:
    parts = []
    for cell in json.loads(path.read_text())["cells"]:
        text = "".join(cell["source"])
        parts.append(text if cell["cell_type"] == "markdown" else f"```python\n{text}\n```")
    title, *others = parts
    note = f"This page is the notebook `examples/{path.name}`, which the tests run."
    return "\n\n".join([title, note, *others]) + "\n"


def _of_directory(path: Path) -> str:
    parts = [f"# Example: {path.name}", f"The files of `examples/{path.parent.name}/{path.name}`."]
    for file in sorted(path.rglob("*")):
        if file.is_file() and file.suffix in LANGUAGES:
            language = LANGUAGES[file.suffix]
            parts += [f"## {file.relative_to(path)}", f"```{language}\n{file.read_text()}\n```"]
    return "\n\n".join(parts) + "\n"
