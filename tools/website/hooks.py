"""MkDocs hooks: pages that are generated from code, and links that leave the directory docs/.

Pages outside of docs/ (README.md, notebooks, …) become pages of the site, and links to them are
rewritten. In the navigation a directory (`decisions/`) stands for the pages in it that no other
entry names, and "*" for all other pages of docs/.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gallery
import notebooks
import reference
from latex2mathml.converter import convert
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[2]
ROOT_PAGES = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
}
EXAMPLES = {
    "examples/compare-machines.ipynb": "examples/compare-machines.md",
    "examples/traced-run-with-sql.ipynb": "examples/traced-run-with-sql.md",
    "examples/subsystem/signal": "examples/signal.md",
}
# Repository path of what is a page of the site, by the page's path in the site.
ORIGINS = {page: path for path, page in (ROOT_PAGES | EXAMPLES).items()} | {"license.md": "LICENSE"}
# Text in which $ is a dollar.
CODE = re.compile(r"(^```.*?^```|`[^`\n]*`)", re.M | re.S)
FORMULA = re.compile(r"\$\$(?P<block>.+?)\$\$|\$(?P<inline>[^$\n]+)\$", re.S)
OPTION = re.compile(r"<code>(-[^<\n]{1,30})</code>")
REST = "*"
LINK = re.compile(r"(\]\()([^)#\s:]+)(#[^)\s]*)?(\))")


def generated_pages() -> dict[str, str]:
    """The text of every page that is not a file of docs/, by its path in the site."""
    pages = {page: (ROOT / path).read_text() for path, page in ROOT_PAGES.items()}
    pages["license.md"] = f"# Licence\n\n```text\n{(ROOT / 'LICENSE').read_text()}\n```\n"
    for path, page in EXAMPLES.items():
        pages[page] = notebooks.page_of(ROOT / path)
    return pages | reference.pages() | {"gallery.md": gallery.page()}


def on_config(config: Any) -> Any:
    """Completes the navigation: first directories, then the rest."""
    nav = config.nav
    nav = _filled(nav, lambda entry: entry.endswith("/"), set(_pages_of(nav)))
    config.nav = _filled(nav, lambda entry: entry == REST, set(_pages_of(nav)))
    return config


def on_files(files: Files, config: Any) -> Files:
    """Adds the generated pages and the files of the gallery."""
    for path, text in generated_pages().items():
        files.append(File.generated(config, path, content=text))
    for path, file in gallery.files().items():
        files.append(File.generated(config, path, abs_src_path=str(file)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Formulas become MathML, and links that are right in the repository, right in the site. A
    tutorial ends with a picture that this build has made."""
    here = page.file.src_uri
    source = posixpath.dirname(ORIGINS.get(here, f"docs/{here}"))
    text = rewritten(with_formulas(markdown), source, posixpath.dirname(here))
    picture = gallery.picture_in(here)
    return f"{text}\n\n{picture}\n" if picture else text


def on_page_content(html: str, **_: Any) -> str:
    """Marks options in running text: a browser would break a line after their hyphens."""
    return OPTION.sub(r'<code class="option">\1</code>', html)


def with_formulas(markdown: str) -> str:
    """Formulas between $ as MathML, which browsers draw without a script. A page without a $$
    formula has none: there a $ is that of a shell."""
    if "$$" not in markdown:
        return markdown
    parts = CODE.split(markdown)
    parts[::2] = [FORMULA.sub(_mathml, part) for part in parts[::2]]
    return "".join(parts)


def _mathml(formula: re.Match[str]) -> str:
    if formula["block"]:
        return convert(formula["block"].strip(), display="block")
    return convert(formula["inline"])


def rewritten(markdown: str, source: str, target: str) -> str:
    """`source`: directory of the text in the repository; `target`: that of its page in the site."""

    def replaced(link: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(source, link[2]))
        page = site_path(path)
        if page is None:
            return link[0]
        return f"{link[1]}{os.path.relpath(page, target or '.')}{link[3] or ''}{link[4]}"

    return LINK.sub(replaced, markdown)


def site_path(path: str) -> str | None:
    """Where a file of the repository is in the site; None if the site does not have it."""
    for origin, page in ((origin, page) for page, origin in ORIGINS.items()):
        if path == origin:
            return page
    return path.removeprefix("docs/") if path.startswith("docs/") else None


def _pages_of(nav: Any) -> Iterator[str]:
    """The pages that a navigation names."""
    if isinstance(nav, str):
        yield nav
        return
    for entry in nav.values() if isinstance(nav, dict) else nav:
        yield from _pages_of(entry)


def _filled(nav: Any, is_pattern: Callable[[str], bool], named: set[str]) -> Any:
    """The navigation with the pages not yet named in place of each pattern."""
    if isinstance(nav, dict):
        return {title: _filled(entry, is_pattern, named) for title, entry in nav.items()}
    if isinstance(nav, list):
        found = [_filled(entry, is_pattern, named) for entry in nav]
        return [page for entry in found for page in (entry if isinstance(entry, list) else [entry])]
    if not is_pattern(nav):
        return nav
    return [page for page in _pages_below(nav.removesuffix(REST)) if page not in named]


def _pages_below(directory: str) -> list[str]:
    if directory == reference.COMMANDS:
        return reference.command_pages()
    docs = ROOT / "docs"
    found = sorted(path.relative_to(docs).as_posix() for path in docs.rglob("*.md"))
    found = [page for page in found if page.startswith(directory)]
    return sorted(found, key=lambda page: not page.endswith("/index.md"))
