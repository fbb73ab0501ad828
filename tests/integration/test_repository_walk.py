"""A new user's way through a site in a browser: upload, review, home page, play-back, a message
with a pasted image and a link, search, compare, sign-out. The site really runs, once with SQLite
and files, once with PostgreSQL and S3."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, TimeoutError, expect
from tests import postgres, s3_server
from tests.browser import SIZES, axe_script, faults, paste_picture, problems_of
from tests.command_line import SESAME, sesame
from tests.python.made_runs import write_run

Looks = tuple[tuple[int, str], ...]

SECONDS = 60
PASSWORD = "correct horse battery"
MESH = 'kind = "mesh"\ndims = [2, 4]'
ROLES = {"ada": "contributor", "rita": "reviewer"}
# As for all other pages; `make test-long` has the other two as well.
LOOKS = {"sqlite_and_files": SIZES, "postgresql_and_s3": ((1400, "dark"), (390, "light"))}


@contextmanager
def sqlite_and_files(directory: Path) -> Iterator[str]:
    yield 'database = "sqlite:///site.db"\nfiles = "files"\n'


@contextmanager
def postgresql_and_s3(directory: Path) -> Iterator[str]:
    programs = postgres.programs()
    if programs is None:
        pytest.skip("needs PostgreSQL's programs (Debian: postgresql)")
    pytest.importorskip("moto")
    with postgres.server(programs) as database, s3_server.server() as storage:
        yield f"""database = "{database.new_database()}"
files = "s3://{s3_server.BUCKET}/{directory.name}"
workers = 2
[s3]
endpoint = "{storage}"
key = "any"
secret = "any"
region = "us-east-1"
"""


SITES = [sqlite_and_files, pytest.param(postgresql_and_s3, marks=pytest.mark.long)]


@pytest.fixture(params=SITES, ids=lambda one: one.__name__)
def site(request, tmp_path) -> Iterator[str]:
    """The address of a site with the accounts of ROLES."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url, config = f"http://127.0.0.1:{port}", tmp_path / "site.toml"
    with request.param(tmp_path) as places:
        head = f'title = "a site"\naddress = "{url}"\nlisten = "127.0.0.1:{port}"\n'
        config.write_text(head + places)
        for name, role in ROLES.items():
            words = ["serve", "user", "add", str(config), name, "--role", role]
            added = sesame(*words, stdin=f"{PASSWORD}\n")
            assert added.status == 0, added.stderr
        server = subprocess.Popen([*SESAME, "serve", "--config", str(config)])
        try:
            wait_for(url, server)
            yield url
        finally:
            server.terminate()
            server.wait(SECONDS)


def wait_for(url: str, server: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + SECONDS
    while True:
        try:
            urllib.request.urlopen(url, timeout=SECONDS).close()
            return
        except OSError:
            assert server.poll() is None and time.monotonic() < end
            time.sleep(0.05)


expect.set_options(timeout=SECONDS * 1000)  # the machine may be busy


class Visitor:
    """A browser of one person. `problems`: errors of scripts, and requests that failed."""

    def __init__(self, browser: Browser, site: str) -> None:
        self.site = site
        self.page: Page = browser.new_page(viewport={"width": 1400, "height": 900})
        self.page.set_default_timeout(SECONDS * 1000)
        self.problems = problems_of(self.page)

    def menu(self, name: str) -> Locator:
        """A link of the line at the top."""
        return self.page.get_by_role("navigation", name="Site").get_by_role("link", name=name)

    def sign_in(self, name: str) -> None:
        self.page.goto(self.site)
        self.menu("Sign in").click()
        self.page.get_by_label("Name").fill(name)
        self.page.get_by_label("Password").fill(PASSWORD)
        self.page.get_by_role("button", name="Sign in").click()
        expect(self.menu(name)).to_be_visible()

    def upload(self, directory: Path, title: str) -> str:
        """Returns the path of the home page, to which the form leads."""
        page = self.page
        self.menu("Upload").click()
        page.set_input_files("#directory", directory)
        page.get_by_label("Title").fill(title)
        page.get_by_label("Description, in Markdown").fill("Ranks on a *mesh*.")
        page.get_by_label("Who sees it").select_option("public")
        page.get_by_role("button", name="Upload").click()
        try:
            page.wait_for_url(re.compile(r"/d/\w{8}$"))
        except TimeoutError as late:
            raise AssertionError((page.url, page.inner_text("main"))) from late
        expect(page.locator("h1")).to_have_text(title)
        return page.url.removeprefix(self.site)

    def accept(self, title: str) -> None:
        self.menu("Review").click()
        self.page.get_by_role("link", name=f"Decide about {title}").click()
        self.page.get_by_role("button", name="Accept").click()
        self.page.wait_for_url(re.compile(r"/d/\w{8}$"))

    def message(self, home: str, link_to: str) -> str:
        """Writes one about a thing, with a link and a pasted image; returns its thread's path."""
        page = self.page
        page.goto(self.site + home)
        page.get_by_role("link", name="New thread").click()
        page.get_by_label("Title").fill("Why are the corners late?")
        area = page.locator("#text")
        area.fill("See ")
        linker = page.get_by_label("Link to …")
        expect(linker).to_be_visible()  # it is there once the page's script has run
        linker.press_sequentially(link_to)
        page.locator("[data-linker] button", has_text=link_to).first.click()
        area.press("End")
        paste_picture(area)
        expect(area).to_have_value(re.compile("/talk/images/"))
        page.get_by_role("button", name="Send").click()
        page.wait_for_selector("article.message .link-card")
        image = page.locator(".message-text img")
        expect(image).to_have_js_property("naturalWidth", 900)
        return page.url.removeprefix(self.site).partition("#")[0]

    def play(self, home: str) -> None:
        page = self.page
        page.goto(self.site + home)
        page.get_by_role("link", name="Play back").click()
        expect(page.locator("[data-part=message]")).to_have_text("")
        page.get_by_role("button", name="Play", exact=True).click()
        expect(page.get_by_role("slider", name="Time in the run")).not_to_have_value("0")
        page.get_by_role("button", name="Pause").click()

    def search(self, words: str) -> list[str]:
        """The titles that are found."""
        self.menu("Search").click()
        self.page.get_by_label("Words and filters").fill(words)
        self.page.keyboard.press("Enter")
        expect(self.page.locator("main .things a.title").first).to_be_visible()
        return self.page.locator("main .things a.title").all_inner_texts()

    def compare(self, home: str, other: str) -> str:
        page = self.page
        page.goto(self.site + home)
        page.get_by_role("link", name="Compare").click()
        page.get_by_label(other).check()
        page.get_by_role("button", name="Compare").click()
        page.wait_for_url(re.compile(r"d=\w{8}&d=\w{8}"))
        expect(page.locator("h1")).to_have_text("2 data sets compared")
        expect(page.get_by_role("link", name=other).first).to_be_visible()
        return page.url.removeprefix(self.site)

    def sign_out(self, name: str) -> None:
        self.menu(name).click()
        self.page.get_by_role("button", name="Sign out", exact=True).click()
        expect(self.menu("Sign in")).to_be_visible()
        self.page.goto(f"{self.site}/upload")
        assert "/sign-in" in self.page.url


def look_at(browser: Browser, visitor: Visitor, paths: list[str], looks: Looks) -> list[str]:
    """What is wrong with pages of these widths and colours, as this visitor sees them."""
    state, axe, found = visitor.page.context.storage_state(), axe_script(), []
    for width, scheme in looks:
        size = {"width": width, "height": 900}
        context = browser.new_context(viewport=size, color_scheme=scheme, storage_state=state)
        page = context.new_page()
        for path in paths:
            page.goto(visitor.site + path)
            for message in page.locator("[data-part=message]").all():  # of a page that loads data
                expect(message).to_have_text("")
            found += [f"{path} {width} {scheme}: {one}" for one in faults(page, axe)]
            if directory := os.environ.get("SESAME_PICTURES"):
                name = re.sub(r"\W+", "-", path.strip("/"))[:20] or "start"
                picture_of = Path(directory) / f"{name}-{width}-{scheme}.png"
                page.screenshot(path=picture_of, full_page=True)
        context.close()
    return found


@pytest.mark.long
def test_a_new_user_walks_through_a_site(site, browser, tmp_path, request):
    for name, steps in (("first", 4), ("second", 6)):
        write_run(tmp_path / f"{name}.sesame", 8, MESH, steps=steps, title=name)
    ada, rita, visitor = (Visitor(browser, site) for _ in range(3))
    ada.sign_in("ada")
    homes = [
        ada.upload(tmp_path / f"{one}.sesame", f"the {one} run") for one in ("first", "second")
    ]
    assert "waiting" in ada.page.inner_text("main")
    assert visitor.page.goto(site + homes[0]).status == 404
    visitor.problems.clear()  # the browser reports the 404

    rita.sign_in("rita")
    rita.accept("the first run")
    rita.accept("the second run")
    assert visitor.page.goto(site + homes[0]).status == 200
    for heading in ("About", "Findings", "Records", "Files", "Cite this", "Versions"):
        expect(visitor.page.get_by_role("heading", name=heading, exact=True)).to_be_visible()
    visitor.page.get_by_role("link", name="rank", exact=True).first.click()
    expect(visitor.page.get_by_role("link", name="the first run").first).to_be_visible()

    visitor.play(homes[0])
    # A search that has ended has brought the index up to date, for the suggestions of all workers.
    assert "the first run" in visitor.search("mesh in:data")
    thread = ada.message(homes[0], "the second run")
    assert visitor.search("corners late in:message")
    visitor.page.locator("main .things a.title").first.click()
    expect(visitor.page.locator("article.message img").first).to_be_visible()
    comparison = visitor.compare(homes[0], "the second run")

    paths = ["/", *homes, f"{homes[0]}/play", thread, "/talk/", "/search?q=mesh", comparison]
    paths += ["/compare", "/upload", "/account", "/records", "/records/rank", "/docs/"]
    assert look_at(browser, ada, paths, LOOKS[request.node.callspec.id]) == []
    ada.sign_out("ada")
    assert ada.problems + rita.problems + visitor.problems == []
