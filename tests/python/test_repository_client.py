"""Addresses of a repository in place of data sets and machine models."""

from __future__ import annotations

import pytest

from sesame.errors import InputError
from sesame.repository import client
from sesame.repository.client import Address, Client, parse_address, resolve_arguments


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("host/d/3f2k8x0a", Address("https://host", "d", "3f2k8x0a", None)),
        ("http://host:80/m/3f2k8x0a/v/2", Address("http://host:80", "m", "3f2k8x0a", 2)),
        ("localhost:7120/d/3f2k8x0a", Address("http://localhost:7120", "d", "3f2k8x0a", None)),
        ("run.sesame", None),
        ("/srv/d/3f2k8x0a", None),
        ("../d/3f2k8x0a", None),
    ],
)
def test_addresses_are_no_paths(text, place):
    assert parse_address(text) == place


def test_only_our_own_words_of_a_command_line_are_resolved(monkeypatch):
    monkeypatch.setattr(client, "resolve", lambda word: f"<{word}>" if "/d/" in word else word)
    words = ["simulate", "--machine=h/d/3f2k8x0a", "--", "h/d/3f2k8x0a"]
    assert resolve_arguments(words) == [
        "simulate",
        "--machine=<h/d/3f2k8x0a>",
        "--",
        "h/d/3f2k8x0a",
    ]
    assert resolve_arguments(["pull", "h/d/3f2k8x0a"]) == ["pull", "h/d/3f2k8x0a"]


def test_a_path_of_a_hostile_server_does_not_leave_its_directory(tmp_path):
    version = {"thing": "3f2k8x0a", "number": 1, "files": [{"path": "../x", "sha256": "0" * 64}]}
    with pytest.raises(InputError, match="leaves its directory"):
        Client("http://127.0.0.1:9").download(version, tmp_path / "run.sesame")
    assert list(tmp_path.iterdir()) == []


def test_a_server_that_is_not_there_is_named():
    with pytest.raises(InputError, match=r"127\.0\.0\.1:9: cannot be reached"):
        Client("http://127.0.0.1:9").things()
