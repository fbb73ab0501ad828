"""The daemon's page in a real browser, by keyboard; skipped where there is none."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page
from tests.browser import SIZES, axe_script, faults, new_page, wait_until
from tests.served_daemon import TOKEN, ServedDaemon


@pytest.fixture
def daemon() -> Iterator[ServedDaemon]:
    made = ServedDaemon()
    yield made
    made.close()


@pytest.fixture
def page(daemon, browser) -> Iterator[Page]:
    opened = new_page(browser)
    opened.goto(daemon.listening.url)
    yield opened
    opened.close()


def type_token(page, token: str) -> None:
    for _ in ("the link to the content", "the token"):
        page.keyboard.press("Tab")
    page.keyboard.type(token)


def log_in(page) -> None:
    type_token(page, TOKEN)
    page.keyboard.press("Enter")
    page.wait_for_selector("#switches fieldset")


def test_a_wrong_token_is_refused_in_words(page):
    type_token(page, "wrong")
    page.keyboard.press("Enter")
    wait_until(page, "document.getElementById('message').textContent.includes('wrong token')")
    assert page.is_hidden("#cards") and page.is_hidden("#switches")


def test_all_three_levels_are_switched_by_keyboard(page, daemon):
    log_in(page)
    # fs.read, fs.open (which is unavailable), task.exec
    page.focus("input[name=everything][value=off]")
    page.keyboard.press("ArrowRight")
    wait_until(page, "document.querySelector('[name=fs][value=summary]').checked")
    assert daemon.levels() == ["summary", "off", "summary"]
    assert "fs.open" in page.text_content("#message")
    page.focus("input[name=fs][value=summary]")
    page.keyboard.press("ArrowRight")
    wait_until(page, "document.querySelector('[name=\"fs.read\"][value=trace]').checked")
    assert daemon.levels() == ["trace", "off", "summary"]
    assert page.query_selector("input[name=everything]:checked") is None
    page.focus("#switches details summary")
    page.keyboard.press("Enter")
    page.focus("input[name='fs.read'][value=trace]")
    page.keyboard.press("ArrowLeft")
    wait_until(page, "document.querySelector('[name=everything][value=summary]').checked")
    assert daemon.levels() == ["summary", "off", "summary"]
    assert page.is_disabled("input[name='fs.open'][value=trace]")
    assert page.problems == []


def test_plots_show_what_was_counted(page, daemon):
    log_in(page)
    for _ in range(50):
        daemon.probes["fs"].count(point=0, class_=0, group=1, size=1000, duration=7000)
    page.focus("#reading")
    page.keyboard.press("Enter")
    wait_until(
        page,
        "document.getElementById('rates').chart?.description.marks.some(x => x.name == 'fs.read')",
    )
    page.select_option("#quantity", "mean")
    wait_until(
        page,
        "document.getElementById('rates').chart.description.marks"
        ".some(x => x.name == 'fs.read' && x.y.includes(7))",
    )
    assert page.evaluate(
        "document.getElementById('cost').chart.description.marks[0].y.every(y => y > 0)"
    )
    assert page.problems == []


def test_the_interval_is_set(page, daemon):
    log_in(page)
    page.fill("#interval", "3")
    page.fill("#batch", "2")
    page.keyboard.press("Enter")
    wait_until(page, "document.getElementById('message').textContent == 'settings changed'")
    page.reload()
    wait_until(page, "document.getElementById('batch').value == '2'")
    assert page.input_value("#interval") == "3"
    page.fill("#interval", "0.5")
    page.fill("#destination", "ftp://x")
    page.keyboard.press("Enter")
    wait_until(page, "document.getElementById('message').textContent.includes('[destinations]')")


@pytest.mark.few_cases(1)
@pytest.mark.parametrize(("width", "scheme"), SIZES)
def test_everybody_can_use_the_page(page, daemon, width, scheme):
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme)
    axe = axe_script()
    assert faults(page, axe) == []
    log_in(page)
    for _ in range(2):
        daemon.probes["fs"].count(point=0, class_=0, group=1, size=1000, duration=7000)
        page.click("#reading")
    page.wait_for_selector("#rates canvas")
    page.click("#switches details summary >> nth=0")
    assert faults(page, axe) == []
    assert page.problems == []


def test_what_was_off_is_not_said_to_be_zero(page, daemon):
    """fs.read counts, is switched off, and counts again: between there is no value."""
    log_in(page)
    values = (
        "document.getElementById('rates').chart?.description.marks"
        ".find(x => x.name == 'fs.read')?.y ?? []"
    )
    for level, count in (("summary", 3), ("off", 0), ("summary", 3)):
        page.check(f"input[name='everything'][value={level}]")
        wait_until(page, f"document.querySelector('[name=fs][value={level}]').checked")
        daemon.read()
        for _ in range(count):
            daemon.probes["fs"].count(point=0, class_=0, group=1, size=1000, duration=7000)
        daemon.read()
    page.click("#reading")
    wait_until(page, f"({values}).includes(null) && ({values}).some(x => x > 0)")
