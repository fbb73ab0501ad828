"""The home page of a data set, and what it leads to."""

from __future__ import annotations

import functools
import json
import re
from html.parser import HTMLParser

import pytest
from starlette.testclient import TestClient
from tests.python.made_runs import write_run
from tests.python.new_repository import new_repository

from sesame.datasets import all_record_types
from sesame.repository import summary
from sesame.repository.app import make_app
from sesame.repository.cite import Cited, bibtex, datacite, info_text
from sesame.repository.documentation import documents, pages_about
from sesame.repository.local import LocalUser, add_found
from sesame.repository.markdown import to_html
from sesame.repository.store import LibraryItem, Version
from sesame.repository.store.schema import now

# What a report shows of it.
RESULT = {"ranks": 4, "messages": 80, "bytes": 80000, "wall_time_s": 1, "messages_per_second": 80}


@pytest.fixture
def served(tmp_path):
    """A client that has signed in, and the address of a run's home page."""
    write_run(tmp_path / "run.sesame", 4, 'kind = "mesh"\ndims = [2, 2]', result=RESULT)
    repository = new_repository(tmp_path / "repository")
    add_found(repository, tmp_path, print)
    user = LocalUser(repository, tmp_path / "secret")
    client = TestClient(make_app(repository, recognisers=[user.recognise]))
    client.headers["authorization"] = f"Bearer {user.secret}"
    [thing] = client.get("/api/v1/things?library=data").json()["things"]
    yield client, thing["address"]
    repository.close()


def test_a_home_page_links_each_record_type_to_its_documentation(served):
    client, address = served
    text = client.get(address).text
    assert 'href="/records/rank"' in text
    [documented] = set(re.findall(r'href="(/docs/formats/records#rank)"', text))
    assert 'id="rank"' in client.get(documented).text


@pytest.mark.parametrize(
    ("shape", "reason"),
    [
        ('kind = "mesh"\ndims = [2, 2]', "its content is not as expected (KeyError('ranks'))"),
        ('kind = "crossbar"', "missing key nodes, expected a whole number"),
    ],
)
def test_a_data_set_with_an_incomplete_result_says_why_it_has_no_report(tmp_path, shape, reason):
    """Without paths of the server."""
    write_run(tmp_path / "run.sesame", 4, shape)
    summary.prepare(tmp_path / "run.sesame", tmp_path)
    found = json.loads((tmp_path / "summary.json").read_text())
    assert found["why_not"].startswith(reason)


def test_every_documented_record_type_has_a_section_and_every_link_of_the_manual_leads_somewhere(
    served,
):
    client, _ = served
    without = [name for name in all_record_types() if not pages_about(name)]
    assert len(without) < len(all_record_types()) / 4, without
    got = functools.cache(client.get)
    for one in documents().values():
        text = got(one.address).text
        for path, anchor in re.findall(r'href="(/docs/[^"#]*)(?:#([^"]*))?"', text):
            assert got(path).status_code == 200, (one.name, path)
            if anchor and path.count("/") > 2:
                assert f'id="{anchor}"' in got(path).text, (one.name, path, anchor)


def test_each_analysis_leads_to_its_part_of_the_report(served):
    client, address = served
    text = client.get(address).text
    found = set(re.findall(rf'href="({address}/v/1/report)#([^"]+)"', text))
    assert len(found) >= 3
    for report, part in found:
        assert client.get(report).text.count(f'id="{part}"') == 1


def test_a_version_is_cited_with_its_permanent_address(served):
    client, address = served
    url = f"http://testserver{address}/v/1"
    assert f"url = {{{url}}}" in client.get(f"{address}/cite.bib").text
    found = client.get(f"{address}/cite.json").json()
    assert found["identifiers"][0]["identifier"] == url
    assert found["types"]["resourceTypeGeneral"] == "Dataset"
    text = client.get(f"{address}/info.txt").text
    assert f"Address:        {url}\n" in text
    assert "Record type: rank\n" in text
    assert client.get(f"{address}/v/2").status_code == 404


def test_a_run_and_its_machine_model_lead_to_each_other(served):
    client, address = served
    [model] = client.get("/api/v1/things?library=model").json()["things"]
    assert f'href="{model["address"]}"' in client.get(address).text
    assert f'href="{address}"' in client.get(model["address"]).text


def cited(title: str) -> Cited:
    created = now()
    thing = LibraryItem(
        "a" * 8, "data", 1, title, "x", "MIT", "public", None, "accepted", created, None
    )
    version = Version("a" * 8, 1, created, "0" * 64, {}, 1, "")
    return Cited(thing, version, "A & B", "a site", "http://host/d/aaaaaaaa/v/1")


def test_a_title_cannot_leave_its_field_of_a_citation():
    text = bibtex(cited("a}, url = {http://evil\n\\x"))
    assert text.count("url = {") == 1
    assert "title = {{a\\}, url = \\{http://evil x}}" in text
    assert "A \\& B" in text
    assert json.loads(json.dumps(datacite(cited('"'))))["titles"] == [{"title": '"'}]
    assert "\nAddress" not in info_text(cited("x\nAddress: evil"), [])[3:]


class Elements(HTMLParser):
    """(tag, attribute, value) of all elements, as a browser finds them."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str, str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen += [(tag, "", ""), *((tag, name, value) for name, value in attrs)]


@pytest.mark.parametrize(
    "hostile",
    [
        "<script>alert(1)</script>",
        "[x](javascript:alert(1))",
        "![x](http://elsewhere/pixel.png)",
        "![x](//elsewhere/pixel.png)",
        "<img src=x onerror=alert(1)>",
        "[x](data:text/html,<script>alert(1)</script>)",
        '[x](/ok "\\" onmouseover=alert(1)")',
    ],
)
def test_markdown_of_users_has_no_script_and_no_picture_of_other_servers(hostile):
    found = Elements()
    found.feed(to_html(hostile))
    assert not {tag for tag, _, _ in found.seen} & {"script", "svg", "iframe", "style"}
    for _, name, value in found.seen:
        assert name in ("", "href", "title", "rel", "alt"), (name, value)
        assert name != "href" or value == "/ok"
