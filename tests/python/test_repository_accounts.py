"""Accounts of a repository: passwords, sessions, tokens, forged forms."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("sqlalchemy")
pytest.importorskip("argon2")

from argon2 import PasswordHasher
from sqlalchemy import create_engine, select, update
from starlette.applications import Starlette
from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from sesame.errors import InputError
from sesame.repository.accounts.forms import csrf_field, csrf_token
from sesame.repository.accounts.middleware import SESSION_KEY, Identify
from sesame.repository.accounts.passwords import _of_no_account, hash_password, is_password
from sesame.repository.accounts.sessions import DAY_S, AccessTokens, Sessions
from sesame.repository.accounts.store import MOST_BY_BOTH, Accounts, TooManyAttempts
from sesame.repository.store import schema
from sesame.web.server.access import Access
from sesame.web.server.audit import AuditLog
from sesame.web.server.limits import Limits
from sesame.web.server.protection import Protection
from sesame.web.server.roles import Permission, Role
from sesame.web.server.token_file import digest_of

PASSWORD = "correct horse battery"


@pytest.fixture(autouse=True)
def quick_hashes(monkeypatch):
    """A check of a password takes 0.1 s and 64 MiB otherwise."""
    quick = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
    monkeypatch.setattr("sesame.repository.accounts.passwords._hasher", lambda: quick)
    _of_no_account.cache_clear()
    yield
    _of_no_account.cache_clear()


@pytest.fixture
def engine(tmp_path):
    made = create_engine(f"sqlite:///{tmp_path / 'a.db'}")
    schema.METADATA.create_all(made)
    yield made
    made.dispose()


@pytest.fixture
def accounts(engine) -> Accounts:
    return Accounts(engine)


@pytest.fixture
def ada(accounts):
    return accounts.add("Ada", PASSWORD, Role.CONTRIBUTOR, email="ada@example.org")


# ---- Passwords and accounts ----


def test_a_password_is_stored_as_an_argon2id_hash(engine, ada):
    with engine.connect() as connection:
        stored = connection.execute(select(schema.account.c.password)).scalar_one()
    assert stored.startswith("$argon2id$")
    assert PASSWORD not in stored


def test_a_hash_fits_its_password_only():
    hashed = hash_password(PASSWORD)
    assert is_password(hashed, PASSWORD)
    assert not is_password(hashed, PASSWORD + " ")
    assert not is_password(None, "no account has this password")
    assert not is_password("no hash", PASSWORD)


@pytest.mark.parametrize("password", ["short", "a" * 30, "x" * 2000, "adaadaadaa"])
def test_a_weak_password_is_refused(accounts, password):
    with pytest.raises(InputError):
        accounts.add("adaadaadaa", password, Role.READER)


@pytest.mark.parametrize("name", ["", "a b", "../x", "a\nb", "é", "x" * 65, "<script>", "-a"])
def test_a_name_that_is_none_is_refused(accounts, name):
    with pytest.raises(InputError, match="expected a name"):
        accounts.add(name, PASSWORD, Role.READER)


@pytest.mark.parametrize("mail", ["a@b\nbcc: c@d", "a@b, c@d", "a", "<a@b>", "a@b\r\nX: y"])
def test_a_mail_address_that_would_be_another_header_is_refused(accounts, mail):
    with pytest.raises(InputError, match="mail address"):
        accounts.add("ada", PASSWORD, Role.READER, email=mail)


def test_names_do_not_differ_in_case(accounts, ada):
    with pytest.raises(InputError, match="already"):
        accounts.add("ADA", PASSWORD, Role.READER)


def test_a_right_password_signs_in(accounts, ada):
    assert accounts.sign_in("ADA", PASSWORD, "::1") == ada
    assert accounts.sign_in("ada", "wrong password", "::1") is None
    assert accounts.sign_in("unknown", PASSWORD, "::1") is None
    assert accounts.sign_in("' OR 1=1 --", PASSWORD, "::1") is None


def test_a_disabled_account_does_not_sign_in_and_loses_its_sessions_and_tokens(
    engine, accounts, ada
):
    session = Sessions(engine).start(ada)
    token = AccessTokens(engine).add(ada, "t", Role.READER, 1)
    accounts.change("ada", disabled=True)
    assert accounts.sign_in("ada", PASSWORD, "::1") is None
    assert Sessions(engine).account_of(session) is None
    assert AccessTokens(engine).account_of(token) is None


def test_attempts_to_sign_in_are_limited_by_name_and_address(accounts, ada):
    for _ in range(MOST_BY_BOTH):
        assert accounts.sign_in("ada", "wrong password", "10.0.0.1") is None
    with pytest.raises(TooManyAttempts, match="too many"):
        accounts.sign_in("ada", PASSWORD, "10.0.0.1")
    assert accounts.sign_in("ada", PASSWORD, "10.0.0.2") == ada  # the owner is not locked out


def test_attempts_count_again_after_a_while(engine, accounts, ada):
    for _ in range(MOST_BY_BOTH):
        accounts.sign_in("ada", "wrong password", "10.0.0.1")
    with engine.begin() as connection:
        connection.execute(update(schema.attempt).values(time=time.time() - 1000))
    assert accounts.sign_in("ada", PASSWORD, "10.0.0.1") == ada


def test_a_new_password_ends_all_sessions(engine, accounts, ada):
    session = Sessions(engine).start(ada)
    accounts.set_password("ada", "another long password")
    assert Sessions(engine).account_of(session) is None
    assert accounts.sign_in("ada", "another long password", "::1") is not None


# ---- Sessions and tokens ----


def test_sessions_and_tokens_are_stored_as_hashes(engine, ada):
    secrets = [Sessions(engine).start(ada), AccessTokens(engine).add(ada, "t", Role.READER, 1)]
    engine.dispose()
    stored = Path(engine.url.database).read_bytes()
    assert digest_of(secrets[0].encode()).encode() in stored
    assert all(one.encode() not in stored for one in secrets)


@pytest.mark.parametrize("column", ["seen", "ends"])
def test_a_session_ends(engine, ada, column):
    session = Sessions(engine).start(ada)
    assert Sessions(engine).account_of(session) == ada
    with engine.begin() as connection:
        past = {column: time.time() - 3 * DAY_S}
        connection.execute(update(schema.session).values(past))
    assert Sessions(engine).account_of(session) is None


def test_a_token_has_an_end_and_a_scope(engine, ada):
    tokens = AccessTokens(engine)
    token = tokens.add(ada, "laptop", Role.READER, 1)
    found = tokens.account_of(token)
    assert found is not None
    assert found.may(Permission.READ)
    assert not found.may(Permission.CONTRIBUTE)
    with engine.begin() as connection:
        connection.execute(update(schema.access_token).values(ends=time.time() - 1))
    assert tokens.account_of(token) is None


def test_the_scope_of_a_token_gives_no_more_than_the_role(engine, ada):
    tokens = AccessTokens(engine)
    found = tokens.account_of(tokens.add(ada, "t", Role.ADMINISTRATOR, 1))
    assert found is not None
    assert found.may(Permission.CONTRIBUTE)
    assert not found.may(Permission.REVIEW | Permission.ADMINISTER)


def test_the_token_of_another_is_not_revoked(engine, accounts, ada):
    tokens, eve = AccessTokens(engine), accounts.add("eve", PASSWORD, Role.READER)
    token = tokens.add(ada, "t", Role.READER, 1)
    (listed,) = tokens.of(ada)
    for wrong in (listed.id, "", "%", listed.id[:1]):
        with pytest.raises(InputError):
            tokens.revoke(eve, wrong)
    with pytest.raises(InputError):
        tokens.revoke(ada, "")
    assert tokens.account_of(token) is not None
    tokens.revoke(ada, listed.id)
    assert tokens.account_of(token) is None


# ---- Requests ----


async def form(request: Request) -> HTMLResponse:
    return HTMLResponse(f"<form>{csrf_field(request)}</form>")


async def change(request: Request) -> JSONResponse:
    reader = request.state.reader
    async with request.form() as fields:
        file, text = fields.get("file"), fields.get("text")
        size = len(await file.read()) if isinstance(file, UploadFile) else None
    return JSONResponse({"reader": reader and reader.name, "text": text, "file": size})


async def enter(request: Request) -> JSONResponse:
    request.scope["state"][SESSION_KEY] = request.app.state.enter()
    return JSONResponse({})


@pytest.fixture
def served(engine, ada, tmp_path) -> Callable[..., TestClient]:
    audit = AuditLog(tmp_path / "audit.log")

    def serve(*, secure: bool = False) -> TestClient:
        routes = [
            Route("/form", form),
            Route("/change", change, methods=["POST"]),
            Route("/enter", enter),
            Route("/token", lambda request: JSONResponse({"csrf": csrf_token(request)})),
        ]
        app = Starlette(routes=routes)
        more = {"base_url": f"http{'s' * secure}://testserver"}
        app.state.enter = lambda: Sessions(engine).start(ada)
        identified = Identify(app, engine, secure=secure)
        return TestClient(Protection(identified, Limits(), Open(()), audit), **more)

    class Open(Access):
        def check(self, scope) -> int:
            return 0

    yield serve
    audit.close()


@pytest.fixture
def client(served) -> TestClient:
    return served()


def sent(client: TestClient, token: str | None, **more) -> int:
    data = {"text": "x"} if token is None else {"csrf": token, "text": "x"}
    return client.post("/change", data=data, **more).status_code


def test_a_form_with_the_token_of_its_browser_is_accepted(client):
    token = client.get("/token").json()["csrf"]
    assert token in client.get("/form").text
    answer = client.post("/change", data={"csrf": token, "text": "ä & b" * 9000})
    assert answer.json() == {"reader": None, "text": "ä & b" * 9000, "file": None}
    assert sent(client, None, headers={"x-csrf-token": token}) == 200


def test_a_form_with_files_gives_its_token_first(client):
    token = client.get("/token").json()["csrf"]
    content = b"\x00\xff\r\n" * 100_000
    answer = client.post("/change", data={"csrf": token}, files={"file": ("n", content)})
    assert answer.json()["file"] == len(content)


def test_a_form_without_the_token_is_refused(client, served):
    token = client.get("/token").json()["csrf"]
    other = served().get("/token").json()["csrf"]
    for wrong in (None, "", "0" * 64, other, token[:-1]):
        assert sent(client, wrong) == 403
    assert client.post("/change", json={"csrf": token}).status_code == 403
    assert client.post("/change", content=b"csrf").status_code == 403
    assert client.post("/change", files={"file": ("csrf", b"x")}).status_code == 403


def test_a_form_sent_by_a_page_of_another_origin_is_refused(client):
    token = client.get("/token").json()["csrf"]
    for headers in (
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "null", "sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ):
        assert sent(client, token, headers=headers) == 403
    assert sent(client, token, headers={"origin": "http://testserver"}) == 200
    # What Chromium says of a page without a referrer.
    assert sent(client, token, headers={"origin": "null", "sec-fetch-site": "same-origin"}) == 200


def test_a_session_gets_a_token_of_its_own(client):
    """So that a cookie that was planted before the sign-in is of no use."""
    before = client.get("/token").json()["csrf"]
    client.get("/enter")
    assert sent(client, before) == 403
    token = client.get("/token").json()["csrf"]
    assert client.post("/change", data={"csrf": token}).json()["reader"] == "ada"


def test_a_planted_session_is_no_session(client):
    client.cookies.set("sesame", "planted")
    client.get("/enter")
    assert client.cookies.get("sesame", domain="testserver.local") != "planted"


def test_cookies_are_for_this_host_only_and_not_for_scripts(served):
    cookies = [served(secure=True).get(path).headers["set-cookie"] for path in ("/form", "/enter")]
    for cookie in cookies:
        assert cookie.startswith("__Host-sesame")
        assert {"Path=/", "HttpOnly", "SameSite=Lax", "Secure"} <= set(cookie.split("; "))
        assert "Domain" not in cookie


def test_a_bearer_token_needs_no_form(client, engine, ada):
    token = AccessTokens(engine).add(ada, "t", Role.CONTRIBUTOR, 1)
    answer = client.post(
        "/change", data={"text": "x"}, headers={"authorization": f"Bearer {token}"}
    )
    assert answer.json()["reader"] == "ada"


@pytest.mark.parametrize("token", ["wrong", "", "sesame_" + "x" * 43, "é"])
def test_a_wrong_bearer_token_is_refused_and_not_ignored(client, token):
    header = f"Bearer {token}".encode()
    answer = client.get("/form", headers={"authorization": header})
    assert answer.status_code == (401 if token else 200)


def test_changes_and_refusals_are_in_the_audit_log_without_secrets(client, engine, ada, tmp_path):
    token = AccessTokens(engine).add(ada, "t", Role.CONTRIBUTOR, 1)
    client.post("/change", data={"text": "x"}, headers={"authorization": f"Bearer {token}"})
    sent(client, None)
    client.get("/form")
    (change,) = map(json.loads, (tmp_path / "audit.log").read_text().splitlines())
    (refused,) = map(json.loads, (tmp_path / "audit-no-token.log").read_text().splitlines())
    assert (change["client"], change["role"], change["status"]) == ("ada", "contributor", 200)
    assert (refused["client"], refused["path"], refused["status"]) == (None, "/change", 403)
    assert token not in (tmp_path / "audit.log").read_text()
