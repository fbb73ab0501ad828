"""The documentation site builds strictly, without dead links, and loads nothing from elsewhere."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import expect
from tests.browser import chromium

from sesame.cli import cli

ROOT = Path(__file__).resolve().parents[2]
WEBSITE = ROOT / "tools/website"


def run(*words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("site")
    built = run(WEBSITE / "build.py", "--no-gallery", "--site", path)
    assert built.returncode == 0, built.stdout + built.stderr
    return path


@pytest.mark.long
def test_the_site_has_every_page(site):
    sources = (ROOT / "docs").rglob("*.md")
    missing = [
        page
        for page in (source.relative_to(ROOT / "docs").with_suffix(".html") for source in sources)
        if not (site / page).exists()
    ]
    assert missing == []
    for name in cli.commands:
        assert f"sesame {name}" in (site / f"reference/commands/{name}.html").read_text()
    assert "sesame.simulate" in (site / "reference/python.html").read_text()
    assert "kernel_summary" in (site / "reference/tables.html").read_text()
    replay = (site / "models/replay.html").read_text()
    assert (
        "<math" in replay and "$" not in replay.partition("<article")[2].partition("</article")[0]
    )
    assert "compute_ratio" in (site / "reference/machine-keys.html").read_text()


@pytest.mark.long
def test_a_line_is_not_broken_within_an_option(site):
    text = (site / "tutorial-evaluate.html").read_text()
    assert '<code class="option">--directory</code>' in text
    assert "code.option" in (site / "pictures/site.css").read_text()


@pytest.fixture
def few_pages(tmp_path) -> Path:
    """A site of two pages of its own, with the theme and the plugins of the real one."""
    docs = tmp_path / "docs"
    shutil.copytree(ROOT / "docs/pictures", docs / "pictures")
    (docs / "models").mkdir()
    (docs / "index.md").write_text("# Start\n\nHow to check a run.\n")
    (docs / "models/network.md").write_text("# Files\n\nA program writes a checkpoint.\n")
    config = tmp_path / "mkdocs.yml"
    config.write_text(f"INHERIT: {ROOT / 'mkdocs.yml'}\ndocs_dir: docs\nhooks: []\nnav:\n")
    done = run("-m", "mkdocs", "build", "--quiet", "-f", config, "--site-dir", tmp_path / "site")
    assert done.returncode == 0, done.stdout + done.stderr
    return tmp_path / "site"


def test_the_search_works_in_pages_opened_as_files(browser_program, few_pages):
    with chromium(browser_program) as browser:
        page = browser.new_page()
        page.goto((few_pages / "models/network.html").as_uri())
        search = page.get_by_role("textbox", name="Search")
        search.click()
        page.get_by_text("Type to start searching").wait_for()
        search.press_sequentially("checkpoint")
        found = page.locator(".md-search-result__link").first
        expect(found).to_contain_text("checkpoint", ignore_case=True)  # not that of "check"


def test_dead_links_and_loads_from_elsewhere_are_found(tmp_path):
    (tmp_path / "there.html").write_text('<h2 id="known">x</h2>')
    (tmp_path / "page.html").write_text(
        '<a href="there.html#known"></a><a href="there.html#unknown"></a><a href="gone.html"></a>'
        '<script src="https://cdn.example/x.js"></script><a href="https://example.org/"></a>'
    )
    found = run(WEBSITE / "links.py", tmp_path)
    assert found.returncode == 1
    assert found.stdout.splitlines() == [
        "page.html: loads https://cdn.example/x.js from another computer",
        "page.html: there.html#unknown has no such anchor",
        "page.html: there is no gone.html",
    ]


def test_a_build_without_a_gallery_says_so(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(WEBSITE))
    import gallery

    monkeypatch.setattr(gallery, "OUTPUT", tmp_path)
    text = gallery.page()
    assert text.count("did not make the page") == len(gallery.ENTRIES)
    assert gallery.files() == {}


def test_every_tutorial_has_a_picture_of_a_real_run(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(WEBSITE))
    import gallery

    monkeypatch.setattr(gallery, "OUTPUT", tmp_path)
    for entry in gallery.ENTRIES:
        for kind in ("svg",) if entry.in_terminal else ("html", "png"):
            (tmp_path / f"{entry.name}.{kind}").touch()
    for tutorial in sorted(path.name for path in (ROOT / "docs").glob("tutorial-*.md")):
        assert gallery.picture_in(tutorial).count("![") == 1, tutorial
    assert gallery.picture_in("install.md") == ""


def test_a_picture_of_a_terminal_needs_no_network(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(WEBSITE))
    import gallery

    gallery._draw_terminal("\x1b[31mslower\x1b[0m than allowed", tmp_path / "t.svg")
    drawn = (tmp_path / "t.svg").read_text()
    assert "slower" in drawn
    assert "url(" not in drawn.replace("url(#", "")


@pytest.mark.long
def test_a_picture_waits_for_the_charts(debian_program, tmp_path, monkeypatch):
    debian_program("chromium", "chromium")
    monkeypatch.syspath_prepend(str(WEBSITE))
    import gallery

    page = """<figure class="chart">times<script>
      const draw = () => {{
        document.body.style.background = "red";
        document.querySelector("figure").append(document.createElement("canvas"));
      }};
      {}
    </script></figure>"""
    pictures = {}
    for name, start in {"late": "setTimeout(draw, 700)", "drawn": "onload = draw"}.items():
        html = tmp_path / f"{name}.html"
        html.write_text(page.format(start))
        gallery._draw(html)
        pictures[name] = html.with_suffix(".png").read_bytes()
    assert pictures["late"] == pictures["drawn"]


def test_text_of_the_reference_has_no_markup_of_its_own(monkeypatch):
    monkeypatch.syspath_prepend(str(WEBSITE))
    import reference

    assert reference._escaped("a *b* of `c*d`") == "a \\*b\\* of `c*d`"
    assert reference._escaped("one|two\n0<=x") == "one\\|two 0&lt;=x"
    assert "compute: str = 'measured'" in reference.pages()["reference/python.md"]
