"""Pages of the repository: templates, and the files that they load."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

import sesame
from sesame.web.page import ASSETS, template

HERE = Path(__file__).parent
PAGE_TEMPLATES = HERE / "templates"
STYLES = ("uPlot.min.css", "style.css", "repository.css")
# Only our own files run in a page. Pictures may be made by a script (`blob:`).
POLICY = "; ".join(
    (
        "default-src 'none'",
        "style-src 'self'",
        "script-src 'self'",
        "img-src 'self' data: blob:",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
# In a page itself browsers refuse what is only for headers.
IN_PAGE = POLICY.replace("; frame-ancestors 'none'", "")
TYPES = {".css": "text/css", ".js": "text/javascript"}


@cache
def _assets() -> dict[str, Path]:
    """The styles and scripts of the pages by name; those of all parts."""
    directories = (ASSETS / "uplot", ASSETS, *sorted(HERE.glob("*/assets")), HERE / "assets")
    return {
        file.name: file
        for directory in directories
        for file in directory.iterdir()
        if file.suffix in TYPES
    }


@cache
def asset_address(name: str) -> str:
    """Where a browser loads a style or script; the address changes with its content."""
    digest = hashlib.sha256(_assets()[name].read_bytes()).hexdigest()[:12]
    return f"/assets/{digest}/{name}"


def page(
    request: Request,
    name: str,
    *,
    directory: Path = PAGE_TEMPLATES,
    scripts: tuple[str, ...] = (),
    status: int = 200,
    **content: Any,
) -> HTMLResponse:
    """A page from a template of `directory` that extends `site.html`; `scripts` are names of files
    in assets/ of any part."""
    text = template(name, directory, PAGE_TEMPLATES).render(
        **content,
        request=request,
        reader=getattr(request.state, "reader", None),
        site=request.app.state.site_title,
        version=sesame.__version__,
        policy=IN_PAGE,
        style_addresses=[asset_address(one) for one in STYLES],
        script_addresses=[asset_address(one) for one in scripts],
        styles=[],
        page_scripts=[],
    )
    return HTMLResponse(text, status, {"content-security-policy": POLICY})


def _asset(request: Request) -> Response:
    file = _assets().get(request.path_params["name"])
    if file is None:
        return Response(status_code=404)
    headers = {"cache-control": "public, max-age=31536000, immutable"}
    return Response(file.read_bytes(), media_type=TYPES[file.suffix], headers=headers)


ROUTES = [Route("/assets/{digest}/{name}", _asset)]
