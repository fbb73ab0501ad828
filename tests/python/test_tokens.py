"""Tokens with names, roles and ends: their file, the command that changes it, and servers that
follow."""

from __future__ import annotations

import hashlib
import json
import shlex
from datetime import timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.tutorials import commands_of

from sesame.cli import cli
from sesame.errors import InputError
from sesame.web.server import token_file
from sesame.web.server.access import Access, Rule, TokenPlaces
from sesame.web.server.roles import ANY, OF_NODES, Client, Permission, Role
from sesame.web.server.token_file import TokenFile, utc_today
from sesame.web.server.tokens import OwnToken, make_token


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "tokens"


def token(*words: str, file: Path) -> Result:
    verb, *others = words
    return CliRunner().invoke(cli, ["token", verb, *others, "--tokens", str(file)])


def added(file: Path, name: str, role: str, *words: str) -> str:
    outcome = token("add", name, "--role", role, *words, file=file)
    assert outcome.exit_code == 0, outcome.output
    return outcome.stdout.strip()


def status(access: Access, method: str, path: str, given: str = "") -> int:
    headers = [(b"authorization", f"Bearer {given}".encode())] if given else []
    return access.check({"method": method, "path": path, "headers": headers})


def test_the_file_has_names_and_hashes_and_no_token(file):
    made = added(file, "prometheus", "reader", "--until", "2999-12-31")
    digest = hashlib.sha256(made.encode()).hexdigest()
    assert file.read_text() == f"prometheus reader 2999-12-31 sha256:{digest}\n"
    assert file.stat().st_mode & 0o777 == 0o600
    assert TokenFile(file).client_of(made.encode()) == Client("prometheus", Role.READER)
    assert TokenFile(file).client_of(digest.encode()) is None


def test_a_running_server_follows_additions_and_revocations(file):
    tokens = TokenFile(file)
    first = added(file, "anna", "operator")
    second = added(file, "anna", "operator")
    assert tokens.client_of(first.encode()) == tokens.client_of(second.encode())
    assert tokens.client_of(first.encode()) == Client("anna", Role.OPERATOR)
    id_ = hashlib.sha256(first.encode()).hexdigest()[:8]
    assert token("revoke", id_, file=file).exit_code == 0
    assert tokens.client_of(first.encode()) is None
    assert tokens.client_of(second.encode()) is not None
    assert token("revoke", "anna", file=file).exit_code == 0
    assert tokens.client_of(second.encode()) is None
    file.unlink()
    assert tokens.client_of(second.encode()) is None


def test_a_token_is_valid_to_the_end_of_its_last_day(file, monkeypatch):
    today = utc_today()
    made = added(file, "anna", "operator", "--until", str(today))
    tokens = TokenFile(file)
    assert tokens.client_of(made.encode()) is not None
    monkeypatch.setattr(token_file, "utc_today", lambda: today + timedelta(1))
    assert tokens.client_of(made.encode()) is None


def test_tokens_that_have_ended_are_shown_and_removed(file):
    digest = "0" * 64
    file.write_text(f"# ours\nold reader 2020-01-01 sha256:{digest}\n")
    file.chmod(0o600)
    added(file, "new", "reader")
    listed = json.loads(token("list", "--json", file=file).stdout)["tokens"]
    assert [(one["name"], one["has_ended"]) for one in listed] == [("old", True), ("new", False)]
    assert "old" in token("list", file=file).stdout
    assert token("revoke", "--ended", file=file).exit_code == 0
    assert file.read_text().startswith("# ours\nnew reader ")


def test_several_tokens_are_written_to_files(file, tmp_path):
    directory = tmp_path / "nodes"
    outcome = token("add", "n1", "n2", "--role", "node", "--directory", str(directory), file=file)
    assert (outcome.exit_code, outcome.stdout) == (0, "")
    tokens = TokenFile(file)
    for name in ("n1", "n2"):
        assert (directory / name).stat().st_mode & 0o777 == 0o600
        made = (directory / name).read_text().strip()
        assert tokens.client_of(made.encode()) == Client(name, Role.NODE)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("add", "a", "b", "--role", "reader"), "several names: give --directory DIR"),
        (("add", "../a", "--role", "reader"), "../a: expected a name of letters"),
        (("add", "a", "--role", "reader", "--until", "2001-01-01"), "2001-01-01 is over"),
        (("add", "anna", "--role", "reader"), "anna has the role operator"),
        (("revoke",), "no token to revoke"),
        (("revoke", "bert"), "there is no token bert"),
    ],
)
def test_what_is_wrong_is_refused_and_changes_nothing(file, words, message):
    added(file, "anna", "operator")
    before = file.read_text()
    outcome = token(*words, file=file)
    assert isinstance(outcome.exception, InputError)
    assert message in str(outcome.exception)
    assert file.read_text() == before


DIGEST = "a" * 64


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("a-secret-token", "expected NAME ROLE YYYY-MM-DD sha256:HASH, got 1 words"),
        (f"a root 2999-01-01 sha256:{DIGEST}", "expected a role (reader, phases, "),
        (f"a reader tomorrow sha256:{DIGEST}", "expected the last day as YYYY-MM-DD"),
        (f"a reader 2999-01-01 {DIGEST}", "expected sha256: and 64 hexadecimal digits"),
        (f"../a reader 2999-01-01 sha256:{DIGEST}", "expected a name of letters"),
    ],
)
def test_a_wrong_line_is_named_without_its_text_and_later_the_others_hold(file, line, message):
    made = added(file, "anna", "operator")
    said: list[str] = []
    tokens = TokenFile(file, said.append)
    with file.open("a") as opened:
        opened.write(line + "\n")
    with pytest.raises(InputError) as error:
        TokenFile(file)
    assert str(error.value).startswith(f"{file}:2: {message}")
    assert "secret" not in str(error.value)
    assert tokens.client_of(made.encode()) is not None
    assert tokens.client_of(made.encode()) is not None
    assert said == [f"{file}:2: {error.value.message.partition(': ')[2]}"]


def test_a_file_that_others_may_read_permits_nothing(file):
    made = added(file, "anna", "operator")
    said: list[str] = []
    tokens = TokenFile(file, said.append)
    file.chmod(0o640)
    assert tokens.client_of(made.encode()) is None
    assert "others may read these tokens" in said[0]
    with pytest.raises(InputError, match="others may read these tokens"):
        TokenFile(file)


def test_the_servers_own_token_is_followed_too(tmp_path):
    path = tmp_path / "token"
    first = make_token(path)
    said: list[str] = []
    own = OwnToken(path, said.append)
    assert own.client_of(first.encode()) == Client("token", Role.ADMINISTRATOR)
    path.write_text("another-token-0123456789\n")
    assert own.client_of(first.encode()) is None
    assert own.client_of(b"another-token-0123456789") is not None
    path.unlink()
    assert own.client_of(b"another-token-0123456789") is None
    assert own.client_of(b"") is None
    assert len(said) == 1


def test_a_server_with_a_file_of_tokens_makes_none_of_its_own(tmp_path):
    places = TokenPlaces(tmp_path / "token", tmp_path / "tokens")
    made = added(places.others, "anna", "administrator")
    access = Access(places.open(print))
    assert not places.own.exists()
    assert places.advice() is None
    assert status(access, "PUT", "/", made) == 0


def test_an_older_servers_token_stays_an_administrators(tmp_path):
    places = TokenPlaces(tmp_path / "token", tmp_path / "tokens")
    old = make_token(places.own)
    access = Access(places.open(print))
    assert "sesame token add" in (places.advice() or "")
    assert status(access, "PUT", "/", old) == 0
    made = added(places.others, "anna", "reader")
    assert status(access, "PUT", "/", made) == 403
    assert status(access, "PUT", "/", old) == 0


def test_each_role_permits_what_the_rules_say(tmp_path):
    rules = (
        Rule("POST", "/phases", Permission.PHASE),
        Rule("POST", "/readings", Permission.DELIVER),
        Rule("GET", "/clock", ANY),
    )
    places = TokenPlaces(tmp_path / "token", tmp_path / "tokens")
    made = {role: added(places.others, role.value, role.value) for role in OF_NODES}
    access = Access(places.open(print), rules)
    requests = ("GET /clock", "GET /state", "POST /phases", "PUT /level", "POST /readings")
    found = {
        role: "".join(
            "y" if status(access, *one.split(), made[role]) == 0 else "-" for one in requests
        )
        for role in OF_NODES
    }
    assert found == {
        Role.READER: "yy---",
        Role.PHASES: "y-y--",
        Role.NODE: "y---y",
        Role.RELAY: "y---y",
        Role.OPERATOR: "yyyy-",
        Role.ADMINISTRATOR: "yyyyy",
    }


def test_a_node_writes_as_itself_and_a_relay_as_all():
    assert Client("n1", Role.NODE).may_write_as("n1")
    assert not Client("n1", Role.NODE).may_write_as("n2")
    assert Client("hub", Role.RELAY).may_write_as("n2")
    assert not Client("n1", Role.OPERATOR).may_write_as("n1")


def test_a_certificate_is_the_node_of_its_name_and_a_token_goes_before_it(tmp_path):
    places = TokenPlaces(tmp_path / "token", tmp_path / "tokens")
    access = Access(places.open(print), (Rule("POST", "/readings", Permission.DELIVER),))
    scope = {
        "method": "POST",
        "path": "/readings",
        "headers": [],
        "state": {"sesame.certificate": "n1"},
    }
    assert access.check(scope) == 0
    assert scope["sesame.client"] == Client("n1", Role.NODE)
    assert access.check(scope | {"path": "/state", "method": "GET"}) == 403
    assert access.check(scope | {"headers": [(b"authorization", b"Bearer wrong")]}) == 401


def test_the_commands_of_the_page_on_security_work(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [line for line in commands_of("how-to/security.md") if line.startswith("sesame ")]
    assert len(lines) > 4
    for line in lines:
        outcome = CliRunner().invoke(cli, shlex.split(line)[1:])
        assert outcome.exit_code == 0, f"{line}\n{outcome.output}"
    assert {path.name for path in (tmp_path / "node-tokens").iterdir()} == {"node1", "node2"}
