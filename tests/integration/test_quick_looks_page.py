"""Quick looks in a real browser: start view, small pictures, zoom, the address, downloads; skipped
where there is no browser."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from urllib.parse import unquote

import pytest
from playwright.sync_api import Browser, Page
from sqlalchemy import true
from tests.browser import axe_script, faults, new_page, wait_until
from tests.looked_at import write_events
from tests.python.made_runs import write_run
from tests.served_repository import ServedRepository

wait_for = partial(wait_until, seconds=30)  # records are read


@pytest.fixture(scope="module")
def served(tmp_path_factory) -> Iterator[ServedRepository]:
    directory = tmp_path_factory.mktemp("served")
    write_events(directory / "events.sesame", 30_000, 12, title="events")
    write_run(directory / "run.sesame", 8, 'kind = "mesh"\ndims = [2, 4]', steps=20, title="run")
    made = ServedRepository(directory)
    yield made
    made.close()


@pytest.fixture(scope="module")
def looks(served) -> dict[str, str]:
    with served.repository.connection() as connection:
        things = served.repository.things.find(connection, true())
    return {one.title: f"{served.url}{one.address}/look" for one in things}


def opened(browser: Browser, address: str, **settings) -> Page:
    page = new_page(browser, **{"viewport": {"width": 1400, "height": 900}, **settings})
    page.goto(address)
    page.wait_for_selector("[data-part=look][data-ready]")
    return page


def setting(page: Page, name: str) -> str | None:
    return page.evaluate("(name) => new URLSearchParams(location.search).get(name)", name)


def drag(page: Page, first: float, last: float) -> None:
    """Over the chart, between two shares of its width."""
    box = page.locator("figure.chart .u-over").first.bounding_box()
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + first * box["width"], middle)
    page.mouse.down()
    page.mouse.move(box["x"] + last * box["width"], middle, steps=5)
    page.mouse.up()


def wait_for_view(page: Page) -> None:
    """Until what the address says is drawn."""
    wait_for(
        page,
        "document.querySelector('[data-part=look]').dataset.ready === "
        "new URLSearchParams(location.search).toString()",
    )


@pytest.mark.long
@pytest.mark.parametrize(("width", "scheme"), [(1400, "light"), (390, "dark")])
@pytest.mark.parametrize(
    "query",
    [
        "",
        "?type=event&node=3&only=what:write",
        "?look=pair&type=event",
        "?look=record",
        "?look=record&y=times&row=3",
    ],
)
def test_the_page_is_readable_at_every_size(browser, looks, width, scheme, query):
    page = opened(
        browser,
        looks["events"] + query,
        viewport={"width": width, "height": 900},
        color_scheme=scheme,
    )
    assert faults(page, axe_script()) == []
    assert page.problems == []
    page.close()


@pytest.mark.long
@pytest.mark.parametrize(("width", "scheme"), [(1400, "dark"), (390, "light")])
def test_program_and_system_are_readable_at_every_size(browser, looks, width, scheme):
    size = {"width": width, "height": 900}
    page = opened(browser, f"{looks['run']}?look=level", viewport=size, color_scheme=scheme)
    assert page.locator("figure.chart canvas").count() >= 2
    assert faults(page, axe_script()) == []
    assert page.problems == []
    page.close()


def test_it_begins_with_a_view_and_a_click_enlarges_a_node(browser, looks):
    page = opened(browser, looks["events"])
    assert page.url.endswith("/look?v=1&type=event")
    assert page.locator("[data-part=nodes] a").count() == 12
    page.locator("[data-part=nodes] a").nth(3).scroll_into_view_if_needed()
    inked = (
        "[...document.querySelectorAll('[data-part=nodes] canvas')].slice(0, 4).every((one) => "
        "one.getContext('2d').getImageData(0, 0, one.width, one.height).data.some((v) => v > 0))"
    )
    wait_for(page, inked)
    page.locator("[data-part=nodes] a").nth(3).click()
    page.wait_for_selector("[data-part=look][data-ready]")
    assert setting(page, "node") == "3"
    assert page.locator("[data-part=small]").is_hidden()
    page.get_by_role("link", name="Next: rank 4").click()
    page.wait_for_selector("[data-part=look][data-ready]")
    assert setting(page, "node") == "4"
    page.close()


def test_the_mouse_zooms_into_the_address_and_back(browser, looks):
    page = opened(browser, looks["events"])
    before = page.inner_text("[data-part=about]")
    drag(page, 0.25, 0.5)
    wait_for(page, "new URLSearchParams(location.search).has('from')")
    wait_for_view(page)
    low, high = float(setting(page, "from")), float(setting(page, "to"))
    assert 2.2 < low < 2.8 and 4.7 < high < 5.3
    zoomed = page.inner_text("[data-part=about]")
    assert zoomed != before
    assert page.input_value("[name=from]") == setting(page, "from")
    assert f"from={setting(page, 'from')}" in page.get_attribute("[data-download]", "href")
    discuss = page.get_attribute("[data-discuss='/talk/new']", "href")
    assert unquote(discuss.partition("about=")[2]) == page.url.partition("127.0.0.1")[2][6:]
    other = opened(browser, page.url)
    assert other.inner_text("[data-part=about]") == zoomed
    assert same_picture(page, other)
    page.go_back()
    wait_for_view(page)
    assert page.inner_text("[data-part=about]") == before
    page.go_forward()
    wait_for_view(page)
    page.locator("figure.chart .u-over").first.dblclick()
    wait_for(page, "!new URLSearchParams(location.search).has('from')")
    wait_for_view(page)
    assert page.inner_text("[data-part=about]") == before
    assert page.problems == [] and other.problems == []
    page.close()
    other.close()


def same_picture(one: Page, other: Page) -> bool:
    """What both have drawn on their charts and small pictures."""
    drawn = (
        "(async () => { await new Promise((done) => setTimeout(done, 500)); return "
        "[...document.querySelectorAll('figure.chart canvas, [data-part=nodes] canvas')]"
        ".map((canvas) => canvas.toDataURL()).join() })()"
    )
    found = [page.evaluate(drawn) for page in (one, other)]
    return found[0] == found[1] and len(found[0]) > 5000


def test_the_keyboard_zooms(browser, looks):
    page = opened(browser, looks["events"])
    page.locator("figure.chart .plot").first.focus()
    page.keyboard.press("+")
    wait_for(page, "new URLSearchParams(location.search).has('to')")
    wait_for_view(page)
    page.locator("figure.chart .plot").first.focus()
    page.keyboard.press("0")
    wait_for(page, "!new URLSearchParams(location.search).has('to')")
    page.close()


@pytest.mark.long
def test_both_axes_of_two_fields_are_zoomed(browser, looks):
    page = opened(browser, f"{looks['events']}?look=pair&type=event&x=begin_ns&y=ratio")
    assert "30,000 records" in page.inner_text("[data-part=about]")
    box = page.locator("figure.chart .u-over").first.bounding_box()
    page.mouse.move(box["x"] + 0.4 * box["width"], box["y"] + 0.3 * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 0.7 * box["height"], steps=5)
    page.mouse.up()
    wait_for(page, "new URLSearchParams(location.search).has('ymax')")
    wait_for_view(page)
    assert all(setting(page, name) for name in ("xmin", "xmax", "ymin", "ymax"))
    assert "a point each" in page.inner_text("[data-part=about]")
    page.close()


def test_the_form_chooses_and_the_address_is_short(browser, looks):
    page = opened(browser, looks["events"])
    page.select_option("[name=of]", "bytes")
    page.select_option("[name=show]", "most")
    page.select_option("[name=yscale]", "log")
    page.fill("[name=nodes]", "0-3")
    page.click("text=More settings")
    page.select_option("[name=only]", "what:write")
    page.get_by_role("button", name="Show").click()
    page.wait_for_selector("[data-part=look][data-ready]")
    query = page.url.partition("?")[2]
    assert query == "v=1&type=event&of=bytes&show=most&nodes=0-3&only=what%3Awrite&yscale=log"
    assert page.locator("[data-part=nodes] a").count() == 4
    page.fill("[name=nodes]", "77")
    page.get_by_role("button", name="Show").click()
    page.get_by_role("heading", name="there is no node 77").wait_for()
    page.close()


@pytest.mark.long
def test_another_record_type_is_shown_as_at_first(browser, looks):
    """It does not have the fields that the form had chosen."""
    page = opened(browser, f"{looks['run']}?look=pair&type=message&x=bytes&from=0.5")
    page.select_option("[name=type]", "call")
    page.get_by_role("button", name="Show").click()
    page.wait_for_selector("[data-part=look][data-ready]")
    assert page.url.partition("?")[2] == "v=1&look=pair&type=call&from=0.5"
    assert page.problems == []
    page.close()


def test_pictures_and_numbers_are_downloaded(browser, looks, tmp_path):
    page = opened(browser, f"{looks['events']}?type=event&from=2&to=8")
    for name, ending, begin in (
        ("Picture (PNG)", ".png", b"\x89PNG"),
        ("Picture (SVG)", ".svg", b"<svg"),
        ("Numbers of this view (CSV)", ".csv", b"node,from_s,to_s,records"),
        ("These records (CSV)", ".csv", b'"rank","begin_ns"'),
    ):
        with page.expect_download() as found:
            page.get_by_role("link", name=name).click()
        assert found.value.suggested_filename.endswith(ending)
        found.value.save_as(tmp_path / "file")
        assert (tmp_path / "file").read_bytes().startswith(begin)
    page.close()
