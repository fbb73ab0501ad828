"""Search and discussion in a browser: a message with a pasted image and a link, as a user writes
it."""

from __future__ import annotations

import re
import subprocess
import time
from pathlib import Path

import pytest
from playwright.sync_api import expect
from tests.browser import SIZES, axe_script, faults, new_page, paste_picture
from tests.command_line import SESAME
from tests.python.traced_run import TracedRun


@pytest.fixture
def served(tmp_path: Path):
    """The address of `sesame serve` with one data set."""
    (tmp_path / "perf").mkdir()
    run = TracedRun()
    run.io(0, 0.0, 1e-3, "write")
    run.write(tmp_path / "perf" / "run.sesame")
    command = [*SESAME, "serve", "perf", "--listen", "127.0.0.1:0"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            yield server.stdout.readline().strip()
        finally:
            server.terminate()
            server.wait(30)


def wait_until_found(page, base: str, words: str) -> str:
    """The address of the first result, once the data sets of the directory are added."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        page.goto(f"{base}/search?q={words}")
        first = page.locator("main .things a.title").first
        if first.count():
            return str(first.get_attribute("href"))
        time.sleep(0.2)
    raise AssertionError(f"nothing found: {words}")


@pytest.mark.parametrize("sizes", [(), pytest.param(SIZES, marks=pytest.mark.long)])
def test_a_message_with_a_pasted_image_and_a_link(served, browser, sizes):
    base = served.partition("/begin")[0]
    page = new_page(browser, viewport={"width": 1400, "height": 900})
    page.goto(served)
    thing = wait_until_found(page, base, "in:data")
    title = page.locator("main .things a.title").first.inner_text()

    page.goto(f"{base}/talk/new?about={thing}")
    page.get_by_label("Title").fill("Why is the first write slow?")
    area = page.locator("#text")
    area.fill("It takes 1 ms, see ")
    linker = page.get_by_label("Link to …")
    linker.press_sequentially("traced")
    page.locator("[data-linker] button").first.click()
    area.press("End")
    paste_picture(area)
    expect(area).to_have_value(re.compile("/talk/images/"))
    page.get_by_role("button", name="Preview").click()
    page.wait_for_selector("#preview img")
    page.get_by_role("button", name="Send").click()
    page.wait_for_selector("article.message .link-card")
    assert page.locator(".message-text a").inner_text() == title
    image = page.locator(".message-text img")
    expect(image).to_be_visible()
    expect(image).to_have_js_property("naturalWidth", 900)

    axe = axe_script()
    thread = page.url.partition("#")[0]
    pages = [thread, f"{base}/talk/", f"{base}/talk/new", f"{base}{thing}"]
    pages += [f"{base}/search", f"{base}/search?q=write", f"{base}/search?q=in:message"]
    state = page.context.storage_state()
    for width, scheme in sizes:
        size = {"width": width, "height": 900}
        other = browser.new_page(viewport=size, color_scheme=scheme, storage_state=state)
        for address in pages:
            other.goto(address)
            page.problems += [f"{width} {address}: {one}" for one in faults(other, axe)]
        other.close()
    assert page.problems == []

    page.goto(f"{base}/search")
    page.get_by_label("Words and filters").press_sequentially("syst")
    page.wait_for_selector(".suggestions li")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert page.get_by_label("Words and filters").input_value() == "system:"
    page.close()
