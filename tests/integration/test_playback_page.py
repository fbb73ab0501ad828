"""The play-back in a real browser: playing, seeking, choosing, its address, two runs; skipped where
there is no browser."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page
from tests.browser import axe_script, faults, new_page, wait_until
from tests.python.made_runs import write_run
from tests.served_repository import ServedRepository

from sesame.repository.store import schema

MESH = 'kind = "mesh"\ndims = [4, 8]'
TREE = 'kind = "fat_tree"\narity = [4, 4]'


@pytest.fixture(scope="module")
def served(tmp_path_factory) -> Iterator[ServedRepository]:
    directory = tmp_path_factory.mktemp("served")
    write_run(directory / "mesh.sesame", 8, MESH, steps=8, title="on a mesh")
    write_run(directory / "tree.sesame", 16, TREE, steps=4, title="on a tree")
    made = ServedRepository(directory)
    yield made
    made.close()


@pytest.fixture(scope="module")
def addresses(served) -> dict[str, str]:
    with served.repository.connection() as connection:
        things = served.repository.things.find(connection, schema.thing.c.library == "data")
    return {one.title: f"{served.url}{one.address}/play" for one in things}


def opened(browser: Browser, address: str, **settings) -> Page:
    page = new_page(browser, **settings)
    page.goto(address)
    page.wait_for_selector("#playback[data-ready]")
    return page


def part(name: str) -> str:
    return f"[data-part={name}]"


def pixel(page: Page, x: int, y: int) -> list[int]:
    """The colour of the machine's nodes at a pixel."""
    return page.evaluate(
        "([x, y]) => [...document.querySelectorAll('.play-machine canvas')[1]"
        ".getContext('2d').getImageData(x, y, 1, 1).data]",
        [x, y],
    )


@pytest.mark.long
@pytest.mark.parametrize(("width", "scheme"), [(1400, "light"), (390, "dark")])
def test_the_page_is_readable_at_every_size(browser, addresses, width, scheme):
    for address in addresses.values():
        page = opened(
            browser, address, viewport={"width": width, "height": 900}, color_scheme=scheme
        )
        assert faults(page, axe_script()) == []
        assert page.problems == []
        page.close()


def test_it_plays_to_the_end_and_again(browser, addresses):
    page = opened(browser, f"{addresses['on a mesh']}?t=0.4&speed=2")
    page.click(part("play"))
    wait_until(page, "new URLSearchParams(location.search).get('t') === '0.8'")
    assert page.inner_text(part("play")) == "Play"
    assert page.inner_text(part("time")) == "800 ms of 800 ms"
    page.select_option(part("speed"), index=0)
    page.click(part("play"))
    assert page.inner_text(part("play")) == "Pause"
    wait_until(page, "Number(document.querySelector('[data-part=slider]').value) > 10")
    page.click(part("play"))
    assert float(page.evaluate("new URLSearchParams(location.search).get('t')")) < 0.7


def test_nodes_have_the_colour_of_what_they_did(browser, addresses):
    """Each step of 100 ms is computation, then a send, then a wait."""
    page = opened(browser, f"{addresses['on a mesh']}?t=0.02&whole=1", color_scheme="light")
    seen = [pixel(page, 20, 40)]
    for share in ("60", "90"):
        page.evaluate(
            "([share]) => { const slider = document.querySelector('[data-part=slider]');"
            "slider.value = slider.max * share / 800; slider.dispatchEvent(new Event('input')) }",
            [share],
        )
        seen.append(pixel(page, 20, 40))
    # Computation, point-to-point, wait and test: pale, blue and vermillion of the style.
    colours = [[0xCF, 0xE3, 0xD4], [0x00, 0x72, 0xB2], [0xD5, 0x5E, 0x00]]
    assert [one[:3] for one in seen] == colours


def test_the_address_is_the_state(browser, addresses):
    page = opened(browser, addresses["on a mesh"])
    page.select_option(part("field"), "message.bytes:mean")
    wait_until(page, "document.querySelector('[data-part=legend]').textContent.includes('kB')")
    page.select_option(part("node-0"), "3")
    page.check(part("whole"))
    page.focus(part("slider"))
    page.keyboard.press("PageUp")
    said = page.inner_text(part("values-0"))
    assert "message.bytes, mean" in said
    other = opened(browser, page.url)
    assert other.input_value(part("field")) == "message.bytes:mean"
    assert other.input_value(part("node-0")) == "3"
    assert other.is_checked(part("whole"))
    assert other.inner_text(part("values-0")) == said
    assert other.inner_text(part("time")) == page.inner_text(part("time"))


def test_a_click_chooses_a_node(browser, addresses):
    page = opened(browser, f"{addresses['on a mesh']}?whole=1")
    page.click(part("machine-0"), position={"x": 100, "y": 12})
    assert page.input_value(part("node-0")) == "1"
    page.click(part("machine-0"), position={"x": 12, "y": 12})
    assert page.input_value(part("node-0")) == "0"


def test_two_runs_are_side_by_side_at_the_same_time_or_share(browser, addresses):
    other = addresses["on a tree"].split("/")[-2]
    page = opened(browser, f"{addresses['on a mesh']}?with={other}&t=0.41&node=0")
    assert page.inner_text(part("about-1")) == "fat tree of 16 nodes, 4 on each leaf switch"
    page.select_option(part("node-1"), "2")
    assert "–" in page.inner_text(part("values-1"))  # it ended after 400 ms
    page.check(part("scaled"))
    assert "–" not in page.inner_text(part("values-1"))
    assert page.problems == []


@pytest.mark.long
def test_an_unknown_field_or_time_in_the_address_is_left_out(browser, addresses):
    page = opened(browser, f"{addresses['on a mesh']}?field=%3Cb%3E&t=-7e9&speed=x&node=99")
    assert page.inner_text(part("time")).startswith("0")
    assert page.input_value(part("field")) == "activity"
    assert page.problems == []
