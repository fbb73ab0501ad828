"""Sign-in, upload, review and sign-out in a real browser; skipped where there is none."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.browser import SIZES, axe_script, faults, new_page
from tests.python.block_traces import random_requests, write_msr
from tests.python.made_runs import write_run
from tests.served_repository import ServedRepository

from sesame.repository.accounts.store import Accounts
from sesame.web.server.roles import Role

PASSWORD = "correct horse battery"
MESH = 'kind = "mesh"\ndims = [2, 4]'


@pytest.fixture(scope="module")
def served(tmp_path_factory) -> Iterator[ServedRepository]:
    made = ServedRepository(tmp_path_factory.mktemp("served"), has_accounts=True)
    accounts = Accounts(made.repository.engine)
    accounts.add("ada", PASSWORD, Role.CONTRIBUTOR, email="ada@example.org")
    accounts.add("rita", PASSWORD, Role.REVIEWER)
    accounts.add("root", PASSWORD, Role.ADMINISTRATOR)
    yield made
    made.close()


@pytest.fixture
def page(browser) -> Iterator[Page]:
    opened = quick_page(browser)
    yield opened
    opened.close()


def quick_page(browser: Browser, **settings: object) -> Page:
    page = new_page(browser, **settings)
    page.set_default_timeout(10_000)
    return page


def sign_in(
    page: Page,
    served: ServedRepository,
    name: str,
    next_page: str = "/",
    password: str = PASSWORD,
) -> None:
    page.goto(f"{served.url}/sign-in?next={next_page}")
    page.fill("input[name=name]", name)
    page.fill("input[name=password]", password)
    page.click("button:has-text('Sign in')")
    page.wait_for_url(f"{served.url}{next_page}")


def upload(page: Page, served: ServedRepository, title: str) -> str:
    """Fills in the rest of the form and sends it; returns the address of the page that follows."""
    page.fill("input[name=title]", title)
    page.fill("textarea[name=description]", "A *run* on a mesh.")
    page.select_option("select[name=visibility]", "public")
    page.click("button:has-text('Upload')")
    page.wait_for_url(re.compile(r"/d/\w{8}$"), timeout=60_000)
    return page.url


def test_a_data_set_is_uploaded_reviewed_and_seen(page, browser, served, tmp_path):
    write_run(tmp_path / "run.sesame", 8, MESH, steps=4, title="x")
    sign_in(page, served, "ada", "/upload")
    page.set_input_files("#directory", tmp_path / "run.sesame")
    address = upload(page, served, "a run on a mesh")
    assert "a run on a mesh" in page.inner_text("h1")
    assert "waiting" in page.inner_text("main")

    other = quick_page(browser)
    assert other.goto(address).status == 404

    reviewer = quick_page(browser)
    sign_in(reviewer, served, "rita", "/review")
    reviewer.click("a:has-text('Decide about a run on a mesh')")
    reviewer.fill("textarea[name=reason]", "good")
    reviewer.click("button:has-text('Accept')")
    reviewer.wait_for_url(address)

    assert other.goto(address).status == 200
    page.goto(f"{served.url}/account")
    page.click("button:has-text('Sign out')")
    page.wait_for_url(f"{served.url}/")
    page.goto(f"{served.url}/upload")
    assert "/sign-in" in page.url
    assert page.problems + reviewer.problems == []


def test_the_form_is_sent_by_its_script_however_late_that_comes(page, served, tmp_path):
    write_run(tmp_path / "run.sesame", 8, MESH, steps=4, title="x")

    held = []
    page.route("**/upload*.js", lambda route: held.append(route))
    sign_in(page, served, "ada", "/")
    page.goto(f"{served.url}/upload", wait_until="commit")
    page.set_input_files("#directory", tmp_path / "run.sesame")
    expect(page.get_by_role("button", name="Upload")).to_be_disabled()
    expect(page.locator("#message")).to_have_text("This page is loading.")
    assert len(held) == 1
    held[0].continue_()
    assert "/d/" in upload(page, served, "a late script")


def test_a_broken_connection_is_continued(page, served, tmp_path):
    """The first part of a file is cut off twice."""
    trace = write_msr(tmp_path / "trace.csv", random_requests(2000))
    sign_in(page, served, "root", "/upload")
    failures = []

    def cut_off(route) -> None:
        if route.request.method == "PATCH" and len(failures) < 2:
            failures.append(route.request.url)
            route.abort("connectionreset")
        else:
            route.continue_()

    page.route("**/api/v1/uploads/**", cut_off)
    page.set_input_files("#files", trace)
    upload(page, served, "a trace")
    assert len(failures) == 2


def test_a_wrong_password_is_answered_in_words(page, served):
    page.goto(f"{served.url}/sign-in")
    page.fill("input[name=name]", "ada")
    page.fill("input[name=password]", "a wrong password")
    page.click("button:has-text('Sign in')")
    page.wait_for_selector("[role=alert]")
    assert "wrong" in page.inner_text("[role=alert]")


def test_a_token_is_made_shown_once_and_revoked(page, served):
    sign_in(page, served, "ada", "/account")
    page.fill("input[name=name]", "laptop")
    page.click("button:has-text('Make a token')")
    page.wait_for_selector("[role=status] code")
    assert page.inner_text("[role=status] code").startswith("sesame_")
    page.goto(f"{served.url}/account")
    assert page.query_selector("[role=status] code") is None
    page.click("button:has-text('Revoke laptop')")
    page.wait_for_url(f"{served.url}/account")
    assert "laptop" not in page.inner_text("main")


def test_an_administrator_adds_an_account_that_signs_in(page, browser, served):
    sign_in(page, served, "root", "/accounts")
    page.fill("form[action='/accounts/add'] input[name=name]", "grace")
    page.click("button:has-text('Add')")
    page.wait_for_selector("[role=status] code")
    password = page.inner_text("[role=status] code")
    other = quick_page(browser)
    sign_in(other, served, "grace", "/account", password)
    assert "contributor" in other.inner_text("header.page-header")


@pytest.mark.long
@pytest.mark.parametrize(("width", "scheme"), SIZES)
def test_pages_fit_and_can_be_used_by_all(browser, served, width, scheme):
    page = quick_page(browser, viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.goto(f"{served.url}/sign-in")
    checked(page)
    sign_in(page, served, "root", "/")
    for address in ("/upload", "/account", "/accounts", "/review"):
        page.goto(f"{served.url}{address}")
        checked(page)
    page.close()


def checked(page: Page) -> None:
    if directory := os.environ.get("SESAME_PICTURES"):
        name = page.url.rpartition("/")[2] or "start"
        width = page.viewport_size["width"]
        page.screenshot(path=Path(directory) / f"{name}-{width}.png", full_page=True)
    assert faults(page, axe_script()) == [], page.url
