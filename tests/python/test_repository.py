"""The store and the pages of a repository, without a network."""

from __future__ import annotations

import re
import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from tests.some_info import some_info

from sesame.datasets import DataSet, DataSetWriter, Field, RecordType
from sesame.repository.app import make_app
from sesame.repository.local import LocalUser, add_found
from sesame.repository.store import DATABASE, NewThing, Reader, Repository, schema

SOME = RecordType("sample", "what was seen", (Field("value", "int64", "", "a number"),))


@pytest.fixture
def repository(tmp_path):
    opened = Repository.in_directory(tmp_path / "repository")
    yield opened
    opened.close()


def write_data_set(path: Path, values: list[int]) -> None:
    with DataSetWriter(path, force=path.exists()) as writer:
        writer.write_described(SOME, {"value": values})
        writer.finish(some_info(title="three samples"))


def add(repository: Repository, **values) -> str:
    owner = repository.local_reader().id
    with repository.connection() as connection:
        new = NewThing(**{"library": "data", "owner": owner, "title": "a title", **values})
        return repository.things.add(connection, new).id


def visible(repository: Repository, reader: Reader | None) -> set[str]:
    with repository.connection() as connection:
        found = repository.things.find(connection, repository.visible_to(reader))
    return {one.id for one in found}


def test_who_sees_what_is_the_same_for_lists_and_addresses(repository):
    public = add(repository, state="accepted", visibility="public")
    unlisted = add(repository, state="accepted", visibility="unlisted")
    private = add(repository, state="accepted", visibility="private")
    waiting = add(repository, state="waiting", visibility="public")
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    later = add(repository, state="accepted", visibility="public", public_from=tomorrow)
    everything = {public, unlisted, private, waiting, later}
    outsider, reviewer = Reader(98, "outsider"), Reader(99, "reviewer", "reviewer")

    assert visible(repository, None) == visible(repository, outsider) == {public}
    assert visible(repository, reviewer) == {public, waiting}
    assert visible(repository, repository.local_reader()) == everything

    def readable(reader):
        return {one for one in everything if repository.readable(reader, one)}

    assert readable(None) == readable(outsider) == {public, unlisted}
    assert readable(repository.local_reader()) == everything


def test_a_directory_is_served_to_its_user_only(tmp_path, repository):
    write_data_set(tmp_path / "run.sesame", [1, 2, 3])
    assert add_found(repository, tmp_path, print) == 1
    user = LocalUser(repository, tmp_path / "secret")
    app = make_app(repository, recognisers=[user.recognise])
    app.router.routes.insert(0, user.route())

    assert "three samples" not in TestClient(app).get("/").text
    wrong = TestClient(app)
    assert "three samples" not in wrong.get("/begin?token=wrong").text

    client = TestClient(app)
    page = client.get(user.path).text
    assert "three samples" in page
    address = re.search(r'href="(/d/\w{8})"', page)[1]
    assert 'href="/records/sample"' in client.get(address).text
    assert TestClient(app).get(address).status_code == 404
    assert client.get(address.replace("/d/", "/m/")).status_code == 404


def test_files_come_back_as_they_were_by_the_api(tmp_path, repository):
    write_data_set(tmp_path / "run.sesame", [1, 2, 3])
    add_found(repository, tmp_path, print)
    user = LocalUser(repository, tmp_path / "secret")
    client = TestClient(make_app(repository, recognisers=[user.recognise]))
    client.headers["authorization"] = f"Bearer {user.secret}"

    [thing] = client.get("/api/v1/things?library=data").json()["things"]
    newest = client.get(f"/api/v1/things/{thing['id']}/newest").json()
    assert {one["path"] for one in newest["files"]} == {"info.json", "sample.parquet"}
    for one in newest["files"]:
        address = f"/api/v1/things/{thing['id']}/versions/1/files/{one['path']}"
        assert client.get(address).content == (tmp_path / "run.sesame" / one["path"]).read_bytes()
        assert TestClient(client.app).get(address).status_code == 404


def test_a_changed_data_set_is_a_new_version_and_the_old_one_stays(tmp_path, repository):
    run = tmp_path / "run.sesame"
    write_data_set(run, [1, 2, 3])
    assert add_found(repository, tmp_path, print) == 1
    assert add_found(repository, tmp_path, print) == 0
    write_data_set(run, [4, 5])
    assert add_found(repository, tmp_path, print) == 1
    with repository.connection() as connection:
        [thing] = repository.things.find(connection, schema.thing.c.source == "run.sesame")
        assert [one.number for one in repository.things.versions(connection, thing.id)] == [2, 1]

    def values(number: int | None) -> list[int]:
        return repository.data_set(thing.id, number).table("sample").column(0).to_pylist()

    assert values(1) == [1, 2, 3]
    assert values(None) == DataSet(run).table("sample").column(0).to_pylist() == [4, 5]


def test_a_database_of_before_contacts_is_brought_up_to_date(tmp_path):
    Repository.in_directory(tmp_path).close()
    with sqlite3.connect(tmp_path / DATABASE) as connection:
        for name in ("contact", "contact_mail", "file_type"):
            connection.execute(f"alter table thing drop column {name}")
        connection.execute("update alembic_version set version_num = '0001'")
    repository = Repository.in_directory(tmp_path)
    with repository.connection() as connection:
        owner = repository.local_reader().id
        new = NewThing("data", owner, "a title", contact="ada")
        assert repository.things.add(connection, new).contact == "ada"
    repository.close()
