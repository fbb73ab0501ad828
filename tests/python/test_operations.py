"""What requests give is checked against the schemas of the description."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient

from sesame.web.server.access import Access
from sesame.web.server.limits import Limits
from sesame.web.server.operations import Given, Operations, record
from sesame.web.server.serve import make_app

SIZE = record(("width",), width={"type": "integer", "minimum": 1}, unit={"default": "m"})


@pytest.fixture(scope="module")
def client() -> TestClient:
    operations = Operations()

    @operations.add("PUT", "/sizes/{name}", body=SIZE, status=201)
    async def size(given: Given) -> object:
        """Sets a size."""
        return [given.path["name"], given.body]

    @operations.add("GET", "/sizes", query={"after": {"type": "integer", "default": -1}})
    async def all_sizes(given: Given) -> object:
        return given.query["after"]

    access = Access([], open_paths=frozenset({"/sizes", "/sizes/a", "/openapi.json"}))
    return TestClient(make_app("test", Limits(), access, operations))


def test_a_body_that_fits_reaches_the_handler_with_its_defaults(client):
    answer = client.put("/sizes/a", content=b'{"width": 3}')
    assert (answer.status_code, answer.json()) == (201, ["a", {"width": 3, "unit": "m"}])


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b"{", "the body is not JSON: Expecting property name"),
        (b"\xff", "the body is not JSON"),
        (b"[" * 100_000, "the body is not JSON: maximum recursion depth"),
        (b'{"width": NaN}', "the body is not JSON: NaN is no number"),
        (b'{"width": "\\ud800"}', "the body is not JSON: 'utf-8' codec can't encode"),
        (b"[]", "the body: must be object, got []"),
        (b"{}", "the body: must contain ['width'] properties, got {}"),
        (b'{"width": "3"}', "width: must be integer, got '3'"),
        (b'{"width": 1.0}', "width: must be integer, got 1.0"),
        (b'{"width": true}', "width: must be integer, got True"),
        (b'{"width": 0}', "width: must be bigger than or equal to 1, got 0"),
        (b'{"width": 1, "heigth": 2}', "the body: must not contain {'heigth'} properties"),
    ],
)
def test_a_body_that_does_not_fit_is_refused_with_the_place(client, body, error):
    answer = client.put("/sizes/a", content=body)
    assert answer.status_code == 400
    assert answer.json()["error"].startswith(error)


@pytest.mark.parametrize("text", ["", "x", "1.5", "1_0", "1" * 5000])
def test_a_parameter_is_an_integer(client, text):
    assert client.get("/sizes", params={"after": "-3"}).json() == -3
    answer = client.get("/sizes", params={"after": text})
    assert answer.status_code == 400
    assert answer.json()["error"].startswith("after: expected an integer, got ")


def test_the_description_has_what_is_checked(client):
    description = client.get("/openapi.json").json()
    put = description["paths"]["/sizes/{name}"]["put"]
    assert put["requestBody"]["content"]["application/json"]["schema"] == SIZE.schema
    assert put["description"] == "Sets a size."
    assert [one["name"] for one in put["parameters"]] == ["name"]
    assert {"201", "400", "401"} <= put["responses"].keys()
    assert description["paths"]["/sizes"]["get"]["parameters"][0]["in"] == "query"
