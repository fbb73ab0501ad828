"""`sesame push` against a repository that is served, and against what is none."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator

import pytest

pytest.importorskip("sqlalchemy")

from tests.served_repository import ServedRepository

from sesame.errors import InputError
from sesame.repository.services import mail_of, openid_of


@pytest.fixture(scope="module")
def repository(tmp_path_factory) -> Iterator[ServedRepository]:
    made = ServedRepository(tmp_path_factory.mktemp("served"))
    yield made
    made.close()


def test_a_data_set_is_pushed_once(sesame, run_path, repository):
    command = ["push", str(run_path), "--to", repository.url, "--title", "pushed", "--json"]
    first = sesame(*command)
    assert first.status == 0, first.stderr
    found = json.loads(first.stdout)
    assert (found["state"], found["version"]) == ("done", 1)
    assert json.loads(sesame(*command).stdout)["thing"] == found["thing"]


def test_a_file_that_is_not_there_is_reported(sesame, repository):
    done = sesame("push", "missing.sesame", "--to", repository.url)
    assert done.status == 2
    assert "missing.sesame: there is no such file" in done.stderr


def test_a_file_of_no_known_format_is_reported(sesame, tmp_path, repository):
    (tmp_path / "notes.txt").write_text("no trace")
    done = sesame("push", "notes.txt", "--to", repository.url)
    assert done.status == 2
    assert "none of the formats" in done.stderr


@pytest.mark.parametrize("address", ["ftp://host", "http://", "http://host:99999"])
def test_an_address_that_is_none_is_reported(sesame, run_path, address):
    done = sesame("push", str(run_path), "--to", address)
    assert (done.status, "expected" in done.stderr) == (2, True), done.stderr


def test_a_server_that_is_no_repository_is_reported(sesame, run_path):
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(1 << 16)
                connection.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        done = sesame("push", str(run_path), "--to", f"127.0.0.1:{server.getsockname()[1]}")
        thread.join()
    assert (done.status, done.stderr) == (2, "error: the server answers with status 404\n")


def test_accounts_are_added_changed_and_get_tokens(sesame, tmp_path):
    (tmp_path / "perf").mkdir()
    made = sesame("serve", "user", "add", "perf", "ada", "--role", "reviewer", "--random")
    assert made.status == 0, made.stderr
    assert len(made.stdout.strip()) == 16
    assert sesame("serve", "user", "add", "perf", "ada", stdin="another password\n").status == 2
    assert sesame("serve", "user", "change", "perf", "ada", "--trusted").status == 0
    assert sesame("serve", "user", "password", "perf", "ada", stdin="short\n").status == 2
    token = sesame("serve", "user", "token", "perf", "ada", "--scope", "reader")
    assert token.stdout.startswith("sesame_")
    listed = json.loads(sesame("serve", "user", "list", "perf", "--json").stdout)["accounts"]
    assert [(one["name"], one["role"], one["trusted"]) for one in listed] == [
        ("ada", "reviewer", True)
    ]


# ---- The tables [mail] and [openid] of a site's file ----


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"host": "h"}, "no sender"),
        ({"host": "h", "sender": "a@b", "port": 0}, "port"),
        ({"host": "h", "sender": "a@b", "encryption": "ssl"}, "encryption"),
        ({"host": "h", "sender": "a@b", "colour": "red"}, "unknown key colour"),
        ({"host": "h", "sender": "a@b", "password_variable": "NOT_SET_HERE"}, "is not set"),
    ],
)
def test_a_wrong_table_of_mail_is_refused(given, said):
    with pytest.raises(InputError, match=said):
        mail_of(given)


def test_a_password_of_mail_is_read_from_a_private_file(tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("word\n")
    given = {"host": "h", "sender": "a@b", "password_file": str(secret)}
    with pytest.raises(InputError, match="others may read"):
        mail_of(given)
    secret.chmod(0o600)
    found = mail_of(given)
    assert found is not None
    assert (found.password, found.port) == ("word", 25)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"issuer": ""}, "no issuer"),
        ({"role": "god"}, "role"),
        ({"issuer": "http://idp.example"}, "https"),
        ({"scope": "x"}, "unknown key scope"),
    ],
)
def test_a_wrong_table_of_a_provider_is_refused(changed, said, repository):
    given = {"issuer": "https://i", "client_id": "c", "client_secret": "s", **changed}
    with pytest.raises(InputError, match=said):
        openid_of(given, "https://here", repository.repository.engine)
