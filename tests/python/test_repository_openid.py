"""Sign-in at a provider that runs: oidc-provider-mock, which is none of ours."""

from __future__ import annotations

import base64
import json
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from importlib.util import find_spec
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

pytest.importorskip("sqlalchemy")
pytest.importorskip("joserfc")
if find_spec("oidc_provider_mock") is None:
    pytest.skip("needs oidc-provider-mock", allow_module_level=True)

from sqlalchemy import create_engine

from sesame.errors import InputError
from sesame.repository.accounts.openid import OpenId, Provider, SignInFailed
from sesame.repository.accounts.store import Accounts
from sesame.repository.store import schema
from sesame.web.server.roles import Role

HERE = "http://127.0.0.1:8123"


@pytest.fixture(scope="module")
def issuer() -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-W", "ignore", "-m", "oidc_provider_mock", "-p", str(port)]
    with subprocess.Popen(
        [*command, "-n", "true"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as server:
        try:
            end = time.monotonic() + 60
            while True:
                try:
                    described = urllib.request.urlopen(
                        f"http://127.0.0.1:{port}/.well-known/openid-configuration", timeout=5
                    )
                    with described:
                        found: str = json.load(described)["issuer"]
                    break
                except OSError:
                    assert time.monotonic() < end and server.poll() is None
                    time.sleep(0.1)
            yield found
        finally:
            server.terminate()


@pytest.fixture
def engine(tmp_path):
    made = create_engine(f"sqlite:///{tmp_path / 'a.db'}")
    schema.METADATA.create_all(made)
    yield made
    made.dispose()


@pytest.fixture
def openid(issuer, engine) -> OpenId:
    return OpenId(Provider("University", issuer, "sesame", "a secret"), HERE, engine)


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *arguments):
        return None


def claim(issuer: str, subject: str, **claims: str) -> None:
    request = urllib.request.Request(f"{issuer.rstrip('/')}/users/{subject}", method="PUT")
    request.add_header("content-type", "application/json")
    urllib.request.urlopen(request, json.dumps(claims).encode(), timeout=5).close()


def browser(address: str, subject: str) -> dict[str, str]:
    """What the browser brings back after the person has signed in."""
    form = urlencode({"sub": subject}).encode()
    opener = urllib.request.build_opener(NoRedirect)
    with pytest.raises(urllib.error.HTTPError) as caught:
        opener.open(address, form, timeout=5)
    with caught.value as answer:
        location = answer.headers["location"]
    assert location.startswith(f"{HERE}/sign-in/provider/return?")
    return {name: values[0] for name, values in parse_qs(urlsplit(location).query).items()}


def test_a_person_signs_in_and_has_the_same_account_the_next_time(openid, issuer):
    claim(issuer, "ada", email="ada@example.org", preferred_username="Ada L", name="Ada Lovelace")
    for _ in range(2):
        address, cookie = openid.begin("/d/abc")
        account, page = openid.finish(cookie, browser(address, "ada"))
        assert (account.name, account.display_name, page) == ("ada-l", "Ada Lovelace", "/d/abc")
        assert (account.email, account.role) == ("ada@example.org", Role.CONTRIBUTOR)


def test_a_local_account_of_the_same_name_is_not_taken_over(openid, issuer, engine):
    local = Accounts(engine).add("root", "correct horse battery", Role.ADMINISTRATOR)
    claim(issuer, "eve", preferred_username="root", email="root@example.org")
    address, cookie = openid.begin("/")
    account, _ = openid.finish(cookie, browser(address, "eve"))
    assert account.id != local.id
    assert (account.name, account.role) == ("root-2", Role.CONTRIBUTOR)


def test_an_answer_is_accepted_once_and_in_the_same_browser_only(openid):
    address, cookie = openid.begin("/")
    answer = browser(address, "bob")
    with pytest.raises(SignInFailed, match="did not begin here"):
        openid.finish("another browser", answer)
    openid.finish(cookie, answer)
    with pytest.raises(SignInFailed, match="did not begin here"):
        openid.finish(cookie, answer)


def test_an_answer_with_another_state_is_refused(openid):
    address, cookie = openid.begin("/")
    with pytest.raises(SignInFailed, match="did not begin here"):
        openid.finish(cookie, {**browser(address, "bob"), "state": "x"})


def test_a_code_of_another_sign_in_is_refused(openid):
    """By the nonce, and by providers that check it, by PKCE."""
    stolen = browser(openid.begin("/")[0], "bob")
    address, cookie = openid.begin("/")
    own = browser(address, "eve")
    with pytest.raises(SignInFailed):
        openid.finish(cookie, {**own, "code": stolen["code"]})


def test_a_refusal_is_reported(openid):
    address, cookie = openid.begin("/")
    state = parse_qs(urlsplit(address).query)["state"][0]
    with pytest.raises(SignInFailed, match="access_denied"):
        openid.finish(cookie, {"state": state, "error": "access_denied"})


def test_a_token_with_no_signature_is_refused(openid, monkeypatch):
    """The provider's answer is replaced by one that an attacker could make without its key."""
    address, cookie = openid.begin("/")
    answer = browser(address, "bob")
    fetch = openid._fetch

    def encoded(part: dict[str, object]) -> str:
        return base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=")

    def forged(place, form=None):
        if form is None:
            return fetch(place)
        nonce = parse_qs(urlsplit(address).query)["nonce"][0]
        claims = {"iss": openid.provider.issuer, "aud": "sesame", "sub": "root", "nonce": nonce}
        token = f"{encoded({'alg': 'none'})}.{encoded({**claims, 'exp': time.time() + 60})}."
        return {"id_token": token}

    monkeypatch.setattr(openid, "_fetch", forged)
    with pytest.raises(SignInFailed, match="not valid"):
        openid.finish(cookie, answer)


@pytest.mark.parametrize("wrong", [{"client_id": "another"}, {"issuer": "http://127.0.0.1:1"}])
def test_a_token_for_another_client_or_of_another_issuer_is_refused(openid, wrong, monkeypatch):
    address, cookie = openid.begin("/")
    answer = browser(address, "bob")
    changed = Provider(**{**vars(openid.provider), **wrong})
    described = openid._description()
    monkeypatch.setattr(openid, "provider", changed)
    monkeypatch.setattr(openid, "_described", described)
    with pytest.raises(SignInFailed):
        openid.finish(cookie, answer)


@pytest.mark.parametrize("issuer", ["http://idp.example", "ftp://idp.example", "file:///etc", "x"])
def test_an_issuer_without_encryption_is_refused(issuer, engine):
    with pytest.raises(InputError, match="https"):
        OpenId(Provider("x", issuer, "a", "b"), HERE, engine)
