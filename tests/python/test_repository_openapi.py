"""Requests that schemathesis derives from the description of the repository's API: no error inside
the server, all errors as JSON, nothing private without a token."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("sqlalchemy")

from hypothesis import HealthCheck, Phase, given, seed, settings
from starlette.testclient import TestClient
from tests.python.served_repository import Served
from tests.python.test_repository_uploads import upload

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of its own dependencies
    import schemathesis

# A few of each operation; the long test has more.
EXAMPLES = [4, pytest.param(200, marks=pytest.mark.long)]
SECRET = "zebrafish"


@pytest.fixture(scope="module")
def served(tmp_path_factory, run_path) -> Iterator[Served]:
    """With a data set that is public, and one that is private."""
    with Served(tmp_path_factory.mktemp("served") / "repository") as made:
        ada = made.client("ada", trusted=True)
        upload(made, ada, run_path, title="open", visibility="public")
        copy = tmp_path_factory.mktemp("copy") / "run.sesame"
        copy.mkdir()
        for file in run_path.iterdir():
            if file.is_file():
                (copy / file.name).write_bytes(file.read_bytes())
        (copy / "notes.txt").write_text(SECRET)
        upload(made, ada, copy, title=SECRET, visibility="private")
        yield made


def described(served: Served) -> dict[str, Any]:
    found: dict[str, Any] = TestClient(served.app).get("/api/v1/openapi.json").json()
    return found


def operations(served: Served) -> list[Any]:
    description = described(served)
    description["paths"] = {f"/api/v1{path}": one for path, one in description["paths"].items()}
    schema = schemathesis.openapi.from_dict(description)
    schema.app = served.app
    return [found.ok() for found in schema.get_all_operations()]


def check_operation(served: Served, operation: Any, examples: int) -> int:
    """Sends `examples` requests as an administrator and without an account; returns how many were
    made."""
    token = served.client("root", "administrator").headers["authorization"]
    asked: list[Any] = []

    @settings(
        max_examples=examples,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @seed(1)
    @given(case=operation.as_strategy())
    def check(case: Any) -> None:
        asked.append(case)
        answer = case.call(headers={"Authorization": token})
        assert answer.status_code < 500 or answer.status_code == 507, (case.path, case.body)
        if answer.status_code >= 400:
            assert set(answer.json()) == {"error", "hint"}
        anonymous = case.call(headers={"Authorization": ""})
        assert anonymous.status_code < 500, (case.path, case.body)
        assert SECRET not in anonymous.text
        assert case.call(headers={"Authorization": "Bearer wrong"}).status_code == 401

    check()
    return len(asked)


@pytest.mark.parametrize("examples", EXAMPLES)
def test_no_request_ends_in_an_error_inside_the_server(served, examples):
    made = [check_operation(served, one, examples) for one in operations(served)]
    assert len(made) >= 8
    assert min(made) >= 1


def test_things_that_are_there_are_asked_for_with_made_values(served):
    """Values at random find no thing: the identifiers of those that are there are put in."""
    root = served.client("root", "administrator")
    things = [one["id"] for one in root.get("/api/v1/things").json()["things"]]
    private = next(
        one for one in things if root.get(f"/api/v1/things/{one}").json()["title"] == SECRET
    )
    for path, methods in described(served)["paths"].items():
        if "{thing}" not in path or "get" not in methods:
            continue
        for thing in things:
            address = path.replace("{thing}", thing)
            for value in ("1", "0", "-1", "rank", "info.json", "x" * 300, "%00", "é", "2147483648"):
                filled = address
                while "{" in filled:
                    first, _, rest = filled.partition("{")
                    filled = first + value + rest.partition("}")[2]
                assert root.get(f"/api/v1{filled}").status_code < 500, filled
                anonymous = TestClient(served.app).get(f"/api/v1{filled}")
                assert anonymous.status_code < 500, filled
                assert thing != private or anonymous.status_code in (404, 422), filled
