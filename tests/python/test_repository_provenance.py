"""What a thing was made with and from, of things that are uploaded: links both ways."""

from __future__ import annotations

import re

import pytest
from tests.python.made_runs import write_run
from tests.python.served_repository import Served, quick_hashes  # noqa: F401
from tests.python.test_repository_uploads import upload

MODEL = 'name = "a machine of ours"\n'


@pytest.fixture
def served(tmp_path, quick_hashes):  # noqa: F811
    with Served(tmp_path / "repository") as made:
        yield made


def things(client, library: str) -> list[dict]:
    return client.get(f"/api/v1/things?library={library}").json()["things"]


def leads_to(client, page: str, other: str) -> bool:
    return f'href="{other}"' in client.get(page).text


def test_an_uploaded_run_leads_to_its_machine_model_once_it_is_accepted(served, tmp_path):
    write_run(tmp_path / "run.sesame", 4, 'kind = "crossbar"')
    ada, rita = served.client("ada"), served.session("rita", "reviewer")
    state = upload(served, ada, tmp_path / "run.sesame", visibility="public")
    assert state["review"] == "waiting"
    assert things(ada, "model") == []
    fields = {"csrf": served.csrf(rita), "decision": "accepted", "reason": ""}
    answer = rita.post(f"/review/{state['thing']}", data=fields, follow_redirects=False)
    assert answer.status_code == 303, answer.text
    reader = served.anonymous()
    [model] = things(reader, "model")
    assert leads_to(reader, state["address"], model["address"])
    assert leads_to(reader, model["address"], state["address"])


def test_a_second_run_on_the_same_machine_leads_to_the_same_model(served, tmp_path):
    ada = served.client("ada", trusted=True)
    for number, steps in enumerate((1, 2)):
        write_run(tmp_path / f"{number}.sesame", 4, 'kind = "crossbar"', steps=steps)
        upload(served, ada, tmp_path / f"{number}.sesame", visibility="public")
    [model] = things(ada, "model")
    assert len(re.findall(r'href="/d/\w{8}"', ada.get(model["address"]).text)) == 2


def test_a_machine_model_leads_to_the_runs_that_it_was_calibrated_by(served, tmp_path, run_path):
    ada = served.client("ada", trusted=True)
    run = upload(served, ada, run_path, visibility="public")
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "ours.toml").write_text(MODEL)
    links = f"calibrated_by=http://testserver{run['address']}/v/1"
    more = {"library": "model", "visibility": "public", "links": links}
    model = upload(served, ada, tmp_path / "model", **more)
    reader = served.anonymous()
    assert leads_to(reader, model["address"], run["address"])
    assert "calibrated by this" in reader.get(run["address"]).text
    assert leads_to(reader, run["address"], model["address"])


def test_links_to_what_one_may_not_read_are_refused_and_not_shown(served, tmp_path, run_path):
    ada, bob = (served.client(name, trusted=True) for name in ("ada", "bob"))
    secret = upload(served, bob, run_path, visibility="private", title="a secret run")
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "ours.toml").write_text(MODEL)
    for links in (f"calibrated_by={secret['thing']}", "calibrated_by=zzzzzzzz", "likes=3f2k8x0a"):
        given = {"title": "x", "library": "model", "links": links}
        given["files"] = [{"path": "ours.toml", "bytes": 3, "sha256": None}]
        answer = ada.post("/api/v1/uploads", json=given)
        assert answer.status_code == 400
        assert "links" in answer.json()["error"]
    links = f"calibrated_by={secret['thing']}"
    more = {"library": "model", "visibility": "public", "links": links}
    model = upload(served, bob, tmp_path / "model", **more)
    assert leads_to(bob, model["address"], secret["address"])
    assert secret["thing"] not in served.anonymous().get(model["address"]).text


def test_the_contact_and_the_type_of_files_are_on_the_page(served, run_path):
    ada = served.client("ada", trusted=True)
    more = {"contact": "Grace H.", "contact_mail": "grace@example.org", "kind": "data"}
    state = upload(served, ada, run_path, visibility="public", **more)
    anonymous, page = served.anonymous().get(state["address"]).text, ada.get(state["address"]).text
    assert "Grace H." in anonymous
    assert "grace@example.org" not in anonymous
    assert "grace@example.org" in page
    text = served.anonymous().get(f"{state['address']}/info.txt").text
    assert re.search(r"^Contact: +Grace H.$", text, re.M)
    assert re.search(r"^File type: +data$", text, re.M)
