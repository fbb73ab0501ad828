"""Markdown of users and of the documentation as HTML that is safe in a page of ours."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

import nh3
from markdown_it import MarkdownIt
from markupsafe import Markup

TAGS = {
    *("a", "blockquote", "br", "code", "dd", "del", "dl", "dt", "em", "h1", "h2", "h3", "h4", "h5"),
    *("h6", "hr", "img", "li", "ol", "p", "pre", "strong", "sub", "sup", "table", "tbody", "td"),
    *("th", "thead", "tr", "ul"),
}
ATTRIBUTES = {
    "a": {"href", "title"},
    "img": {"src", "alt", "title"},
    **{name: {"id"} for name in ("h1", "h2", "h3", "h4", "h5", "h6")},
}


def slug_of(title: str) -> str:
    """The anchor of a heading, as Python-Markdown makes it for the documentation's own links."""
    words = re.sub(r"[^\w\s-]", "", title).strip().lower()
    return re.sub(r"[-\s]+", "-", words)


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False, "linkify": False}).enable("table")


def to_html(
    text: str,
    *,
    link: Callable[[str], str] = lambda address: address,
    top: int = 1,
    anchors: bool = False,
) -> Markup:
    """HTML of Markdown: no scripts, styles or HTML of the author. `link` may replace addresses;
    headings begin at level `top`; with `anchors` they have identifiers. Pictures are those of this
    server only."""
    tokens = _parser().parse(text)
    for number, token in enumerate(tokens):
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1]) + top - 1)}"
            if anchors and token.type == "heading_open":
                token.attrSet("id", slug_of(tokens[number + 1].content))
        for child in token.children or ():
            if child.type == "link_open":
                child.attrSet("href", link(str(child.attrGet("href") or "")))
    html = _parser().renderer.render(tokens, _parser().options, {})
    clean = nh3.clean(
        html,
        tags=TAGS,
        attributes=ATTRIBUTES,
        url_schemes={"http", "https", "mailto"},
        attribute_filter=_only_own_pictures,
        link_rel="noopener noreferrer nofollow",
    )
    return Markup(clean)


def _only_own_pictures(tag: str, name: str, value: str) -> str | None:
    if tag == "img" and name == "src" and not re.match(r"/[^/\\]", value):
        return None
    return value
