"""The daemon's web page, in the common design of all pages."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from fastapi import FastAPI, Response

from sesame.web.page import page_policy, render

DIRECTORY = Path(__file__).parent


@cache
def _script() -> str:
    return (DIRECTORY / "page.js").read_text(encoding="utf-8")


@cache
def _page() -> tuple[bytes, str]:
    """The page, and its Content-Security-Policy."""
    html = render("page.html", scripts=[_script()], directory=DIRECTORY)
    return html.encode(), page_policy([_script()])


def add_page(app: FastAPI) -> None:
    """Adds the page at `/`. It needs no token, since the page asks the user for it."""

    async def answer() -> Response:
        html, policy = _page()
        headers = {"Content-Security-Policy": f"{policy}; frame-ancestors 'none'"}
        return Response(html, media_type="text/html", headers=headers)

    app.add_api_route("/", answer, include_in_schema=False)
