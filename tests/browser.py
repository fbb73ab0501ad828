"""A real browser for tests of pages, and axe-core, which finds what people with other senses or a
keyboard cannot use."""

from __future__ import annotations

import base64
import io
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from PIL import Image
from playwright.sync_api import Browser, Locator, Page, sync_playwright

SIZES = ((1400, "light"), (390, "dark"))


@contextmanager
def chromium(program: str) -> Iterator[Browser]:
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=sandbox)
        yield browser
        browser.close()


def new_page(browser: Browser, **settings: Any) -> Page:
    """A page whose `problems` are the errors of its scripts and what its console says."""
    page = browser.new_page(**settings)
    page.problems = problems_of(page)  # type: ignore[attr-defined]
    return page


def problems_of(page: Page) -> list[str]:
    """The errors of its scripts and what its console says, from now on."""
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda said: problems.append(said.text))
    return problems


def wait_until(page: Page, expression: str, seconds: float = 20) -> None:
    """The policy of our pages keeps playwright's own function from evaluating text."""
    end = time.monotonic() + seconds
    while not page.evaluate(expression):
        assert time.monotonic() < end, (expression, page.url, page.inner_text("body"))
        time.sleep(0.05)


PASTE = """([area, data]) => {
  const bytes = Uint8Array.from(atob(data), (one) => one.charCodeAt(0));
  const transfer = new DataTransfer();
  transfer.items.add(new File([bytes], "shot.png", { type: "image/png" }));
  area.dispatchEvent(new ClipboardEvent("paste",
    { clipboardData: transfer, cancelable: true, bubbles: true }));
}"""


def paste_picture(area: Locator) -> None:
    """Pastes a picture of 900 by 300 pixels into a text field."""
    out = io.BytesIO()
    Image.new("RGB", (900, 300), "teal").save(out, "PNG")
    area.page.evaluate(PASTE, [area.element_handle(), base64.b64encode(out.getvalue()).decode()])


def axe_script() -> str:
    """axe-core, as a Python package of the set-up has it."""
    return (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")


@dataclass
class Seen:
    """What was wrong with a page of one size and colour scheme."""

    problems: list[str]
    charts: int
    drawn: int


DRAW_ALL = """async () => {
  for (const part of document.querySelectorAll("section, figure")) {
    part.scrollIntoView();
    await new Promise((done) => setTimeout(done, 15));
  }
  scrollTo(0, 0);
}"""
WRONG_SCALES = """() => [...document.querySelectorAll("figure.chart")].filter((one) => {
  const ends = ["x", "y"].flatMap((key) => Object.values(one.chart.whole[key]));
  return !ends.every(Number.isFinite) || ends[0] >= ends[1] || ends[2] >= ends[3];
}).map((one) => `nothing can be seen in ${one.dataset.label}`)"""
CUT = """() => [...document.querySelectorAll("h1, h2, h3, p, li, dd, dt, summary, .axis-title")]
  .filter((one) => one.offsetParent && one.scrollWidth > one.clientWidth + 1)
  .map((one) => `cut: ${one.textContent.slice(0, 60)}`)"""

# Numbers and plain words on two lines; not commands and paths, which may break anywhere.
SPLIT = r"""() => {
  const words = /^[(<>~±]*(\p{L}{2,24}|[-+−]?\d[\d.,]*)[).,;:%]*$/u;
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const found = [], range = document.createRange();
  for (let text = texts.nextNode(); text; text = texts.nextNode()) {
    if (!text.parentElement.offsetParent || text.parentElement.closest("code, pre")) continue;
    for (const { 0: word, index } of text.data.matchAll(/[^\s\u2009\u202f\/=]+/g)) {
      if (!words.test(word)) continue;
      range.setStart(text, index);
      range.setEnd(text, index + word.length);
      const tops = [...range.getClientRects()].map((one) => one.top);
      if (Math.max(...tops) - Math.min(...tops) > 3) found.push(`split: ${word}`);
    }
  }
  return found;
}"""


def look(browser: Browser, url: str, axe: str, width: int, scheme: Any) -> Seen:
    """Opens a page, draws all its charts and says what is wrong with it."""
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    problems = problems_of(page)
    page.goto(url)
    page.evaluate(DRAW_ALL)
    time.sleep(0.1)
    problems += faults(page, axe)
    problems += page.evaluate(WRONG_SCALES)
    charts = page.locator("figure.chart").count()
    drawn = page.locator("figure.chart canvas").count()
    page.close()
    return Seen(problems, charts, drawn)


def faults(page: Page, axe: str) -> list[str]:
    """Serious findings of axe, what is wider than the window, texts that are cut, words and numbers
    that are split."""
    page.evaluate(axe)
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    serious = [
        f"{one['id']}: {one['help']}: {one['nodes'][0]['html'][:200]}"
        for one in found["violations"]
        if one["impact"] in ("serious", "critical")
    ]
    wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    return [
        *serious,
        *([f"{wide} pixels wider than the window"] if wide > 0 else []),
        *page.evaluate(CUT),
        *page.evaluate(SPLIT),
    ]
