"""Uploads to a repository that is served: broken off, continued, checked, imported, reviewed."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import func, select
from starlette.testclient import TestClient
from tests.python.block_traces import random_requests, write_msr
from tests.python.served_repository import PASSWORD, Served, quick_hashes  # noqa: F401

from sesame.repository.store import schema
from sesame.repository.uploads.child import written_bytes


@pytest.fixture
def served(tmp_path, quick_hashes) -> Iterator[Served]:  # noqa: F811
    with Served(tmp_path / "repository") as made:
        yield made


def listed(directory: Path) -> list[dict[str, object]]:
    found = sorted(one for one in directory.rglob("*") if one.is_file())
    return [
        {
            "path": one.relative_to(directory).as_posix(),
            "bytes": one.stat().st_size,
            "sha256": hashlib.sha256(one.read_bytes()).hexdigest(),
        }
        for one in found
    ]


def begin(client: TestClient, files: list[dict[str, object]], **more: object) -> dict:
    answer = client.post("/api/v1/uploads", json={"title": "a run", "files": files, **more})
    assert answer.status_code == 200, answer.text
    found: dict = answer.json()
    return found


def send(client: TestClient, state: dict, directory: Path, chunk: int = 1 << 20) -> None:
    names = [one["path"] for one in listed(directory)]
    for one in state["missing"]:
        content = (directory / str(names[one["number"]])).read_bytes()
        for offset in range(one["offset"], len(content), chunk):
            assert append(client, state, one["number"], offset, content[offset : offset + chunk])


def append(client: TestClient, state: dict, number: int, offset: int, content: bytes) -> bool:
    answer = client.patch(
        f"/api/v1/uploads/{state['id']}/files/{number}",
        content=content,
        headers={"upload-offset": str(offset), "content-type": "application/octet-stream"},
    )
    return answer.status_code == 200


def finish(served: Served, client: TestClient, state: dict) -> dict:
    """Ends the upload and waits for its import."""
    answer = client.post(f"/api/v1/uploads/{state['id']}/finish")
    assert answer.status_code == 200, answer.text
    served.import_all()
    found: dict = client.get(f"/api/v1/uploads/{state['id']}").json()
    return found


def upload(served: Served, client: TestClient, directory: Path, **more: object) -> dict:
    state = begin(client, listed(directory), **more)
    send(client, state, directory)
    return finish(served, client, state)


def content_of(client: TestClient, state: dict) -> dict[str, str]:
    newest = client.get(f"/api/v1/things/{state['thing']}/newest").json()
    return {one["path"]: one["sha256"] for one in newest["files"]}


def count(served: Served, table: str) -> int:
    with served.repository.connection() as connection:
        counted = select(func.count()).select_from(getattr(schema, table))
        return int(connection.execute(counted).scalar_one())


def stored(served: Served) -> set[str]:
    return set(served.repository.files.all())


def leftovers(served: Served) -> int:
    return written_bytes(served.repository.cache / "uploads")


# ---- Whole uploads ----


def test_a_data_set_is_sent_and_has_a_page(served, run_path):
    ada = served.client("ada", trusted=True)
    state = upload(served, ada, run_path, visibility="public", licence="CC0-1.0")
    assert (state["state"], state["review"]) == ("done", "accepted"), state
    assert content_of(ada, state) == {one["path"]: one["sha256"] for one in listed(run_path)}
    assert "a run" in served.anonymous().get(state["address"]).text
    assert leftovers(served) == 0


def test_a_foreign_trace_is_imported(served, tmp_path):
    (tmp_path / "trace").mkdir()
    write_msr(tmp_path / "trace" / "trace.csv", random_requests(50))
    state = upload(served, served.client("ada", trusted=True), tmp_path / "trace")
    assert state["state"] == "done", state
    found = served.repository.data_set(state["thing"])
    assert found.record_types["block_request"]["rows"] == 50
    assert leftovers(served) == 0


def test_a_tool_is_kept_as_it_is(served, tmp_path):
    (tmp_path / "tool").mkdir()
    (tmp_path / "tool" / "run.sh").write_text("#!/bin/sh\n")
    state = upload(served, served.client("ada", trusted=True), tmp_path / "tool", library="tool")
    assert state["address"].startswith("/t/")


def test_what_is_no_data_is_refused_and_leaves_nothing(served, tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.txt").write_text("no trace")
    ada = served.client("ada")
    state = upload(served, ada, tmp_path / "notes")
    assert state["state"] == "failed"
    assert "none of the formats" in state["error"]
    assert (count(served, "thing"), stored(served), leftovers(served)) == (0, set(), 0)


# ---- Broken off and continued ----


def test_an_upload_continues_where_it_was_broken_off(served, run_path):
    ada = served.client("ada", trusted=True)
    files = listed(run_path)
    state = begin(ada, files)
    number = max(range(len(files)), key=lambda one: int(str(files[one]["bytes"])))
    content = (run_path / str(files[number]["path"])).read_bytes()
    append(ada, state, number, 0, content[:100])
    again = begin(ada, files)
    assert again["id"] == state["id"]
    assert {"number": number, "offset": 100} in again["missing"]
    send(ada, again, run_path)
    assert finish(served, ada, again)["state"] == "done"


def test_a_part_at_a_wrong_place_is_refused_with_the_right_one(served, run_path):
    ada = served.client("ada")
    state = begin(ada, listed(run_path))
    address = f"/api/v1/uploads/{state['id']}/files/0"
    assert append(ada, state, 0, 0, b"1234")
    for wrong in (0, 3, 5):
        answer = ada.patch(address, content=b"x", headers={"upload-offset": str(wrong)})
        assert (answer.status_code, answer.json()["error"]) == (409, "the file continues at byte 4")
    assert ada.get(address).json() == {"offset": 4}


def test_a_file_longer_than_announced_is_refused(served, run_path):
    ada = served.client("ada")
    files = listed(run_path)
    state = begin(ada, files)
    too_much = bytes(int(str(files[0]["bytes"])) + 1)
    assert not append(ada, state, 0, 0, too_much)


def test_the_same_files_again_make_nothing_twice(served, run_path):
    ada = served.client("ada", trusted=True)
    first = upload(served, ada, run_path)
    counts = count(served, "thing"), count(served, "version")  # with what it links to
    again = begin(ada, listed(run_path))
    assert (again["state"], again["thing"]) == ("done", first["thing"])
    assert (count(served, "thing"), count(served, "version")) == counts


def test_a_damaged_file_is_sent_again(served, run_path):
    ada = served.client("ada", trusted=True)
    files = listed(run_path)
    state = begin(ada, files)
    send(ada, state, run_path)
    part = served.repository.cache / "uploads" / state["id"] / "parts" / "0"
    part.write_bytes(bytes(part.stat().st_size))
    damaged = finish(served, ada, state)
    assert damaged["state"] == "receiving"
    assert damaged["missing"] == [{"number": 0, "offset": 0}]
    assert "damaged" in damaged["error"]
    send(ada, damaged, run_path)
    assert finish(served, ada, damaged)["state"] == "done"


class Killed(BaseException):
    """The server is killed: nothing behind it runs."""


STEPS = (
    "sesame.repository.uploads.publishing.Publisher._assemble",
    "sesame.repository.uploads.publishing.Publisher._import",
    "sesame.repository.uploads.publishing._take_over",
    "sesame.repository.uploads.publishing.Publisher._store",
    "sesame.repository.store.files.FileStore.put",
    "sesame.repository.uploads.publishing.Publisher._move_derived",
    "sesame.repository.uploads.service.Uploads.set_state",
    "sesame.repository.uploads.receiving.Staging.remove",
)


@pytest.mark.each_value
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("step", STEPS, ids=lambda one: one.rpartition(".")[2])
def test_a_server_killed_at_any_step_loses_nothing_and_leaves_nothing(
    step, when, served, tmp_path, monkeypatch
):
    """The trace is imported, so that there are all steps."""
    (tmp_path / "trace").mkdir()
    write_msr(tmp_path / "trace" / "trace.csv", random_requests(20))
    ada = served.client("ada", trusted=True)
    state = begin(ada, listed(tmp_path / "trace"))
    send(ada, state, tmp_path / "trace")
    ada.post(f"/api/v1/uploads/{state['id']}/finish")
    with monkeypatch.context() as patch:
        patch.setattr(step, killed_at(step, when))
        with pytest.raises(Killed):
            served.import_all()
    served.import_all()
    served.clean()
    found = begin(ada, listed(tmp_path / "trace"))
    assert found["state"] == "done", found
    assert (count(served, "thing"), count(served, "version")) == (1, 1)
    assert stored(served) == set(content_of(ada, found).values())
    assert leftovers(served) == 0


def killed_at(step: str, when: str) -> Callable[..., object]:
    import inspect
    import pkgutil

    module, _, name = step.rpartition(".")
    original = getattr(pkgutil.resolve_name(module), name)

    def killed(*arguments: object, **named: object) -> object:
        if when == "after":
            original(*arguments, **named)
        raise Killed

    async def killed_later(*arguments: object, **named: object) -> object:
        if when == "after":
            await original(*arguments, **named)
        raise Killed

    return killed_later if inspect.iscoroutinefunction(original) else killed


def test_an_upload_that_is_not_continued_is_removed(served, run_path, monkeypatch):
    ada = served.client("ada")
    state = begin(ada, listed(run_path))
    append(ada, state, 0, 0, b"1234")
    monkeypatch.setattr("sesame.repository.uploads.service.KEPT_S", -1.0)
    served.clean()
    assert count(served, "upload") == 0
    assert ada.get(f"/api/v1/uploads/{state['id']}").status_code == 404


def test_a_cancelled_upload_leaves_nothing(served, run_path):
    ada = served.client("ada")
    state = begin(ada, listed(run_path))
    append(ada, state, 0, 0, b"1234")
    assert ada.delete(f"/api/v1/uploads/{state['id']}").status_code == 204
    assert (count(served, "upload"), leftovers(served)) == (0, 0)


# ---- What others have ----


def test_a_file_that_the_server_has_in_something_visible_is_not_sent(served, run_path, tmp_path):
    upload(served, served.client("ada", trusted=True), run_path, visibility="public")
    bob = served.client("bob", trusted=True)
    copy = tmp_path / "copy.sesame"
    shutil.copytree(run_path, copy)
    (copy / "notes.txt").write_text("more")
    state = begin(bob, listed(copy))
    assert len(state["missing"]) == 1
    send(bob, state, copy)
    assert finish(served, bob, state)["state"] == "done"


def test_a_hash_does_not_give_the_private_file_of_another(served, run_path):
    upload(served, served.client("ada", trusted=True), run_path, visibility="private")
    state = begin(served.client("bob"), listed(run_path))
    assert len(state["missing"]) == len(listed(run_path))


def test_an_upload_of_another_is_not_there(served, run_path):
    state = begin(served.client("ada"), listed(run_path))
    bob = served.client("bob")
    address = f"/api/v1/uploads/{state['id']}"
    assert bob.get(address).status_code == 404
    assert bob.post(f"{address}/finish").status_code == 404
    assert bob.delete(address).status_code == 404
    assert not append(bob, state, 0, 0, b"x")


def test_a_new_version_is_added_by_its_owner_only(served, run_path, tmp_path):
    ada = served.client("ada", trusted=True)
    first = upload(served, ada, run_path, visibility="public")
    changed = tmp_path / "changed.sesame"
    shutil.copytree(run_path, changed)
    (changed / "notes.txt").write_text("more")
    files = listed(changed)
    answer = served.client("bob").post(
        "/api/v1/uploads", json={"files": files, "version_of": first["thing"]}
    )
    assert answer.status_code == 403
    second = upload(served, ada, changed, version_of=first["thing"])
    assert (second["thing"], second["version"]) == (first["thing"], 2)


def test_readers_upload_nothing(served, run_path):
    body = {"title": "x", "files": listed(run_path)}
    assert served.client("eve", role="reader").post("/api/v1/uploads", json=body).status_code == 403
    assert served.bare().post("/api/v1/uploads", json=body).status_code in (401, 403)


# ---- Review ----


@pytest.fixture
def waiting(served, run_path) -> dict:
    served.account("rita", "reviewer")
    state = upload(served, served.client("ada"), run_path, visibility="public")
    assert state["review"] == "waiting"
    return state


def decide(served: Served, client: TestClient, state: dict, decision: str, reason: str = "") -> int:
    fields = {"csrf": served.csrf(client), "decision": decision, "reason": reason}
    answer = client.post(f"/review/{state['thing']}", data=fields, follow_redirects=False)
    return answer.status_code


def test_what_waits_is_seen_by_its_owner_and_reviewers_only(served, waiting):
    seen = {
        name: client.get(waiting["address"]).status_code
        for name, client in {
            "no account": served.anonymous(),
            "ada": served.client("ada"),
            "bob": served.client("bob"),
            "rita": served.client("rita", role="reviewer"),
        }.items()
    }
    assert seen == {"no account": 404, "ada": 200, "bob": 404, "rita": 200}
    rita = served.client("rita", role="reviewer")
    assert waiting["address"] in rita.get("/review").text
    assert served.client("bob").get("/review").status_code == 404


def test_a_reviewer_asks_back_the_owner_answers_and_it_is_accepted(served, waiting):
    rita = served.session("rita", role="reviewer")
    assert decide(served, rita, waiting, "asked") == 400  # without a reason
    assert decide(served, rita, waiting, "asked", "which machine?") == 303
    ada = served.session("ada")
    assert "which machine?" in ada.get(waiting["address"]).text
    assert decide(served, ada, waiting, "waiting", "it was a Paragon") == 303
    assert decide(served, rita, waiting, "accepted") == 303
    assert served.anonymous().get(waiting["address"]).status_code == 200
    assert served.mails() == [
        ("rita@example.org", "to review: a run"),
        ("ada@example.org", "a reviewer asks back about a run"),
        ("rita@example.org", "to review: a run"),
        ("ada@example.org", "accepted a run"),
    ]


def test_what_is_refused_stays_hidden(served, waiting):
    assert decide(served, served.session("rita", role="reviewer"), waiting, "refused", "no") == 303
    assert served.anonymous().get(waiting["address"]).status_code == 404
    assert served.client("ada").get(waiting["address"]).status_code == 200


def test_an_own_upload_is_not_accepted(served, waiting):
    assert decide(served, served.session("ada"), waiting, "accepted") == 404
    assert served.anonymous().get(waiting["address"]).status_code == 404


def test_a_new_version_of_an_untrusted_contributor_waits_again(served, waiting, run_path, tmp_path):
    decide(served, served.session("rita", role="reviewer"), waiting, "accepted")
    changed = tmp_path / "changed.sesame"
    shutil.copytree(run_path, changed)
    (changed / "notes.txt").write_text("more")
    state = upload(served, served.client("ada"), changed, version_of=waiting["thing"])
    assert state["review"] == "waiting"
    assert served.anonymous().get(waiting["address"]).status_code == 404
