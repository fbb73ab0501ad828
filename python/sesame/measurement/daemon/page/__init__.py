"""The daemon's web page, in the common design of all pages."""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path

from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Route

DIRECTORY = Path(__file__).parent
Page = tuple[str, str]  # HTML and its Content-Security-Policy


@cache
def make_page() -> Page:
    from sesame.web.page import page_policy, render  # imports Jinja

    script = (DIRECTORY / "page.js").read_text(encoding="utf-8")
    html = render("page.html", scripts=[script], directory=DIRECTORY)
    return html, f"{page_policy([script])}; frame-ancestors 'none'"


def make_page_in_child() -> Page:
    """The page, made by a child process: this one does not load what makes it, and a request of
    anyone gets it at once. Call it before threads start."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            with os.fdopen(writer, "w", encoding="utf-8") as file:
                json.dump(make_page(), file)
            os._exit(0)
        finally:
            os._exit(1)
    os.close(writer)
    with os.fdopen(reader, encoding="utf-8") as file:
        text = file.read()
    os.waitpid(child, 0)
    html, policy = json.loads(text)
    return html, policy


def page_route(page: Page | None = None) -> Route:
    """The page at `/`. It needs no token, since the page asks the user for it."""

    async def answer(_: Request) -> HTMLResponse:
        html, policy = page or make_page()
        return HTMLResponse(html, headers={"Content-Security-Policy": policy})

    return Route("/", answer)
