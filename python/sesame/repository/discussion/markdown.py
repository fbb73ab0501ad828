"""Markdown of messages becomes safe HTML, with links that were recognised.

Two steps: `parse` finds what a text refers to; `render` writes it for one reader, with titles of
what that reader may see. HTML in a text is shown as text, and what is made is sanitised once more.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise

import nh3
from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

from sesame.datasets import all_record_types
from sesame.repository.discussion.places import ADDRESS, Subject, find_place

IMAGE = re.compile(r"/talk/images/([0-9a-z]{16})")
TAGS = {
    *("a", "blockquote", "br", "code", "del", "em", "h3", "h4", "h5", "h6", "hr", "img", "li"),
    *("ol", "p", "pre", "s", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul", "div"),
}
ATTRIBUTES = {"a": {"href"}, "img": {"src", "alt", "loading"}, "ol": {"start"}, "div": {"class"}}
MOST_NESTED = 20


@cache
def _markdown() -> MarkdownIt:
    options = {"html": False, "linkify": True, "maxNesting": MOST_NESTED}
    return MarkdownIt("commonmark", options).enable(["table", "strikethrough", "linkify"])


@dataclass
class Parsed:
    """A message: its tokens, what it refers to, and its images."""

    tokens: list[Token]
    places: list[Subject] = field(default_factory=list)
    images: list[str] = field(default_factory=list)


def parse(text: str, host: str = "") -> Parsed:
    parsed = Parsed(_markdown().parse(text))
    for token in parsed.tokens:
        if token.type == "inline" and token.children:
            token.children = _linked(token.children, parsed, host)
        if token.tag in ("h1", "h2"):  # the page has its own
            token.tag = "h3"
    parsed.places = list(dict.fromkeys(parsed.places))
    return parsed


def render(parsed: Parsed, titles: Mapping[str, str]) -> Markup:
    """`titles` by address: the text of a link whose text was its address."""
    for token in parsed.tokens:
        for link, text in _bare_links(token.children or []):
            address = str(link.attrGet("href") or "")
            if title := titles.get(address):
                text.content = title
    markdown = _markdown()
    html = markdown.renderer.render(parsed.tokens, markdown.options, {})
    html = re.sub(r"<table>", '<div class="scroll whole"><table>', html)
    html = re.sub(r"</table>", "</table></div>", html)
    return Markup(
        nh3.clean(
            html,
            tags=TAGS,
            attributes=ATTRIBUTES,
            url_schemes={"http", "https", "mailto"},
            link_rel="nofollow noopener noreferrer",
        )
    )


def _bare_links(tokens: list[Token]) -> list[tuple[Token, Token]]:
    return [
        (first, second)
        for first, second in pairwise(tokens)
        if first.type == "link_open" and first.meta.get("bare") and second.type == "text"
    ]


def _linked(tokens: list[Token], parsed: Parsed, host: str) -> list[Token]:
    made: list[Token] = []
    depth = 0
    for token in tokens:
        if token.type == "link_open":
            depth += 1
            _note_link(token, parsed, host)
        elif token.type == "link_close":
            depth -= 1
        elif token.type == "image":
            made += _image(token, parsed)
            continue
        elif token.type == "text" and not depth:
            made += _with_addresses(token.content, parsed)
            continue
        elif token.type == "code_inline" and not depth:
            made += _code(token)
            continue
        made.append(token)
    return made


def _note_link(token: Token, parsed: Parsed, host: str) -> None:
    place = find_place(str(token.attrGet("href") or ""), host)
    if place is not None:
        token.attrSet("href", place.address)
        token.meta = {**token.meta, "bare": token.markup in ("linkify", "autolink")}
        parsed.places.append(place)


def _image(token: Token, parsed: Parsed) -> list[Token]:
    """Images of this repository are shown; others, which would tell their server who reads, are
    links."""
    source = str(token.attrGet("src") or "")
    if found := IMAGE.fullmatch(source):
        parsed.images.append(found[1])
        token.attrSet("loading", "lazy")
        return [token]
    return _link(source, token.content or source)


def _link(address: str, text: str, *, bare: bool = False) -> list[Token]:
    start = Token("link_open", "a", 1, attrs={"href": address}, meta={"bare": bare})
    return [start, Token("text", "", 0, content=text), Token("link_close", "a", -1)]


def _with_addresses(text: str, parsed: Parsed) -> list[Token]:
    made: list[Token] = []
    at = 0
    for match in ADDRESS.finditer(text):
        said = match["path"].rstrip(".,;:!?)]}'*_")
        place = find_place(said)
        if place is None:
            continue
        parsed.places.append(place)
        made.append(Token("text", "", 0, content=text[at : match.start()]))
        made += _link(place.address, said, bare=True)
        at = match.start() + len(said)
    made.append(Token("text", "", 0, content=text[at:]))
    return [one for one in made if one.type != "text" or one.content]


def _code(token: Token) -> list[Token]:
    """`io` and `io.bytes` lead to the page of the record type."""
    name, _, of = token.content.partition(".")
    described = all_record_types().get(name)
    if described is None or (of and of not in {one.name for one in described.fields}):
        return [token]
    start = Token("link_open", "a", 1, attrs={"href": f"/records/{name}"})
    return [start, token, Token("link_close", "a", -1)]
