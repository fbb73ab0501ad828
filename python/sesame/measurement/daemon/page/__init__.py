"""The daemon's web page: plain HTML and JavaScript, and plotly as its package has it."""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable

from fastapi import FastAPI, Response

KINDS = {"index.html": "text/html", "page.css": "text/css", "page.js": "text/javascript"}
POLICY = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:"


def add_page(app: FastAPI) -> None:
    """Needs no token: the page asks for it."""
    for name, kind in KINDS.items():
        _add_file(app, "/" if name == "index.html" else f"/{name}", files(__name__) / name, kind)
    script = files("plotly") / "package_data" / "plotly.min.js"
    _add_file(app, "/plotly.js", script, "text/javascript")


def _add_file(app: FastAPI, path: str, file: Traversable, kind: str) -> None:
    async def answer() -> Response:
        return Response(
            file.read_bytes(), media_type=kind, headers={"Content-Security-Policy": POLICY}
        )

    app.add_api_route(path, answer, include_in_schema=False)
