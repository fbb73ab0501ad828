"""Requests that schemathesis derives from the description of each server: no error inside it, no
status that is not described, and nothing without a token."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from starlette.applications import Starlette
from starlette.testclient import TestClient
from tests.python.fake_probes import all_probes

from sesame.measurement.collector.intake import Intake
from sesame.measurement.collector.relay import Relay
from sesame.measurement.collector.server import make_collector_app
from sesame.measurement.collector.store import Store
from sesame.measurement.connection import Connection
from sesame.measurement.daemon.api import make_daemon_app
from sesame.measurement.daemon.node import Node
from sesame.measurement.daemon.service import Service
from sesame.measurement.daemon.settings import Settings
from sesame.web.server.access import FixedTokens
from sesame.web.server.roles import Client, Role

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of its own dependencies
    import schemathesis


@schemathesis.serializer("application/x-ndjson")  # it knows none for this type
def as_it_is(_: Any, value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()


TOKEN = "t" * 32
ALLOWED = {"Authorization": f"Bearer {TOKEN}"}
TOKENS = [FixedTokens({TOKEN: Client("test", Role.ADMINISTRATOR)})]
# Beside the tests of each field elsewhere, a few of each request; the long test has more.
EXAMPLES = [3, pytest.param(200, marks=pytest.mark.long)]


def daemon_app(_: Path) -> Starlette:
    service = Service(Node("n1", all_probes(), {}), Settings(), lambda _: None)
    return make_daemon_app(service, TOKENS)


def collector_app(directory: Path) -> Starlette:
    store = Store(directory, 600)
    return make_collector_app(store, Intake(store, directory, lambda _: None), TOKENS)


def relay_app(directory: Path) -> Starlette:
    """Its collector does not answer."""
    store = Store(directory, 600, is_relay=True)
    intake = Intake(store, directory, lambda _: None)
    upstream = Connection("127.0.0.1:9", TOKEN, default_port=9)
    relay = Relay(store, upstream, lambda _: None, intake.refuse)
    return make_collector_app(store, intake, TOKENS, None, relay)


def operations(app: Starlette) -> list[Any]:
    description = TestClient(app, headers=ALLOWED).get("/openapi.json").json()
    schema = schemathesis.openapi.from_dict(description)
    schema.app = app
    return [found.ok() for found in schema.get_all_operations()]


def check_operation(operation: Any, examples: int) -> int:
    """Sends `examples` requests with a token and without; returns how many were made."""
    described = {int(status) for status in operation.definition.raw["responses"]}
    assert 401 in described
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
        answer = case.call(headers=ALLOWED)
        assert answer.status_code < 500, (case.method, case.path, case.body)
        assert answer.status_code in described | {404, 405}
        assert case.call(headers={"Authorization": "Bearer wrong"}).status_code == 401

    check()
    return len(asked)


@pytest.mark.parametrize("examples", EXAMPLES)
@pytest.mark.parametrize("make_app", [daemon_app, collector_app, relay_app])
def test_no_request_ends_in_an_error_inside_the_server(tmp_path, make_app, examples):
    made = [check_operation(one, examples) for one in operations(make_app(tmp_path))]
    assert min(made) >= 1


@pytest.mark.parametrize("make_app", [daemon_app, collector_app, relay_app])
@pytest.mark.parametrize(
    "body",
    [b"events []\n", b'events {"bytes": "a"}\n', b"events " + b"[" * 100_000, b"[" * 100_000],
)
def test_bodies_that_are_no_readings_are_refused(tmp_path, make_app, body):
    """Three of them were an error inside the collector."""
    client = TestClient(make_app(tmp_path), headers=ALLOWED)
    for path in ("/v1/events", "/v1/readings", "/v1/level", "/v1/settings", "/v1/phases"):
        for method in ("POST", "PUT"):
            assert client.request(method, path, content=body).status_code < 500
