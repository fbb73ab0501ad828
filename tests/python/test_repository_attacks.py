"""Attacks on a repository, each tried. docs/repository-security.md lists them; those on what is
imported are in test_repository_imports.py, on forms and tokens in test_repository_accounts.py, on
the sign-in at a provider in test_repository_openid.py, on mail in test_repository_mail.py."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from tests.python.served_repository import PASSWORD, Served, quick_hashes  # noqa: F401
from tests.python.test_repository_uploads import append, begin, decide, listed, upload

from sesame.repository.accounts.pages import own_page
from sesame.repository.accounts.store import MOST_BY_BOTH
from sesame.repository.app import LIMITS
from sesame.web.server.audit import AuditLog

SECRET = "zebrafish"  # a word that is only in what is private


@pytest.fixture
def audit(tmp_path) -> Iterator[AuditLog]:
    made = AuditLog(tmp_path / "audit.log")
    yield made
    made.close()


@pytest.fixture
def served(tmp_path, quick_hashes, audit) -> Iterator[Served]:  # noqa: F811
    with Served(tmp_path / "repository", audit=audit) as made:
        yield made


def hostile_directory(path: Path) -> Path:
    path.mkdir()
    (path / "page.html").write_text("<script>alert(1)</script>")
    (path / "picture.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>')
    return path


# ---- Names of files ----


@pytest.mark.parametrize(
    "path",
    [
        "../escaped",
        "/etc/passwd",
        "a/../../b",
        "a//b",
        "./a",
        "a\\..\\b",
        "C:\\x",
        "a\0b",
        "a\r\nX: y",
        "",
        ".",
        "\u202egnp.exe",
        "x" * 256,
        "/".join("a" * 20),
    ],
)
def test_a_path_that_leads_elsewhere_is_refused(served, path):
    body = {"title": "x", "files": [{"path": path, "bytes": 1}]}
    answer = served.client("eve").post("/api/v1/uploads", json=body)
    assert answer.status_code in (400, 422), answer.text
    assert not list((served.repository.cache / "uploads").glob("*/parts/*"))


def test_two_files_of_one_path_are_refused(served):
    for second in ("a", "a/b"):
        files = [{"path": "a", "bytes": 1}, {"path": second, "bytes": 1}]
        answer = served.client("eve").post("/api/v1/uploads", json={"title": "x", "files": files})
        assert answer.status_code == 400


def test_a_hash_that_is_a_path_is_refused(served):
    for digest in ("../../etc/passwd", "0" * 63, "A" * 64, "0" * 65):
        files = [{"path": "a", "bytes": 1, "sha256": digest}]
        answer = served.client("eve").post("/api/v1/uploads", json={"title": "x", "files": files})
        assert answer.status_code == 422


# ---- Contents that a browser would run ----


def test_pages_and_pictures_that_are_uploaded_are_not_shown_as_such(served, tmp_path):
    state = upload(
        served,
        served.client("eve", trusted=True),
        hostile_directory(tmp_path / "tool"),
        library="tool",
        visibility="public",
    )
    for name in ("page.html", "picture.svg"):
        address = f"/api/v1/things/{state['thing']}/versions/1/files/{name}"
        answer = served.anonymous().get(address)
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "application/octet-stream"
        assert answer.headers["content-disposition"].startswith("attachment")
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "default-src 'none'" in answer.headers["content-security-policy"]


def test_texts_of_people_are_text_in_pages(served, run_path):
    evil = '<img src=x onerror=alert(1)> "quoted" <script>alert(1)</script>'
    state = upload(
        served,
        served.client("eve", trusted=True),
        run_path,
        title=evil,
        description=f"{evil}\n\n[link](javascript:alert(1)) <a href='javascript:x'>y</a>",
        visibility="public",
    )
    for page in (state["address"], "/", f"/search?q={'quoted'}"):
        text = served.anonymous().get(page).text
        assert "<script>alert" not in text
        assert "<img src=x" not in text
        assert not re.search(r"<a[^>]*javascript:", text)


def test_every_page_forbids_scripts_and_styles_of_others(served):
    for page in ("/", "/sign-in", "/no-such-page"):
        headers = served.anonymous().get(page).headers
        policy = headers["content-security-policy"]
        assert "'unsafe" not in policy and "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy and "form-action 'self'" in policy
        assert headers["x-frame-options"] == "DENY"
        assert headers["referrer-policy"] == "no-referrer"


# ---- What is private ----


@pytest.fixture
def private(served, run_path) -> dict:
    return upload(
        served,
        served.client("ada", trusted=True),
        run_path,
        title=f"a {SECRET}",
        description=SECRET,
        visibility="private",
    )


def test_what_is_private_is_nowhere(served, private):
    """No page, list, count, search, feed or picture tells anything of it, and what there is not
    looks the same."""
    thing = private["thing"]
    pages = [
        f"/d/{thing}",
        f"/d/{thing}/v/1",
        f"/d/{thing}/look",
        f"/d/{thing}/play",
        f"/d/{thing}/info.txt",
        f"/d/{thing}/cite",
        f"/review/{thing}",
        f"/talk/d/{thing}",
        f"/compare?d={thing}&d={thing}",
        f"/api/v1/things/{thing}",
        f"/api/v1/things/{thing}/newest",
        f"/api/v1/things/{thing}/versions/1",
        f"/api/v1/things/{thing}/versions/1/files/info.json",
    ]
    lists = ["/", f"/search?q={SECRET}", "/records/call", "/api/v1/things", "/talk/", "/review"]
    for client in (served.anonymous(), served.client("eve")):
        for page in pages:
            answer = client.get(page)
            other = client.get(page.replace(thing, "0" * 8))
            assert answer.status_code == other.status_code
            assert answer.status_code in (404, 401), page
            assert answer.text.replace(thing, "0" * 8) == other.text, page
        for page in lists:
            text = client.get(page).text.replace(f'value="{SECRET}"', "")
            assert thing not in text, page
            assert f"a {SECRET}" not in text, page
        assert client.get("/api/v1/things").json()["total"] == 0


def test_every_get_of_the_api_hides_what_is_private(served, private):
    """By the description, so that new operations are tried, too."""
    described = served.anonymous().get("/api/v1/openapi.json").json()
    tried = 0
    for path, operations in described["paths"].items():
        if "get" not in operations or "{thing}" not in path:
            continue
        address = path.replace("{thing}", private["thing"]).replace("{number}", "1")
        address = address.replace("{path}", "info.json").replace("{record_type}", "call")
        answer = served.client("eve").get(f"/api/v1{address}")
        assert answer.status_code in (401, 404, 422), (path, answer.text[:300])
        assert SECRET not in answer.text
        tried += 1
    assert tried >= 4


def test_a_file_of_the_server_is_not_reached_by_the_path_of_a_file(served, run_path):
    state = upload(served, served.client("ada", trusted=True), run_path, visibility="public")
    base = f"/api/v1/things/{state['thing']}/versions/1/files/"
    for path in ("..%2f..%2frepository.db", "%2fetc%2fpasswd", "../repository.db", "info.json%00"):
        assert served.anonymous().get(base + path).status_code in (404, 422)
    assert served.anonymous().get("/assets/x/..%2f..%2fapp.py").status_code == 404


# ---- Sign-in ----


@pytest.mark.parametrize(
    "address",
    [
        "//evil.example",
        "/\\evil.example",
        "https://evil.example",
        "javascript:alert(1)",
        "/\t/evil.example",
        "/\n/evil.example",
        "\\\\evil.example",
        "evil",
        "",
        None,
    ],
)
def test_the_sign_in_leads_to_no_other_site(address):
    assert own_page(address) == "/"


def test_the_sign_in_leads_to_the_page_that_was_asked_for(served):
    served.account("ada")
    client = TestClient(served.app)
    fields = {
        "csrf": served.csrf(client),
        "name": "ada",
        "password": PASSWORD,
        "next": "/upload?a=1",
    }
    answer = client.post("/sign-in", data=fields, follow_redirects=False)
    assert answer.headers["location"] == "/upload?a=1"
    fields["next"] = "//evil.example"
    answer = client.post(
        "/sign-in", data={**fields, "csrf": served.csrf(client)}, follow_redirects=False
    )
    assert answer.headers["location"] == "/"


def sign_in(served: Served, client: TestClient, name: str, password: str) -> int:
    fields = {"csrf": served.csrf(client), "name": name, "password": password}
    return client.post("/sign-in", data=fields, follow_redirects=False).status_code


def test_passwords_are_not_guessed(served):
    served.account("ada")
    client = served.anonymous()
    for _ in range(MOST_BY_BOTH):
        assert sign_in(served, client, "ada", "a guess that is wrong") == 403
    assert sign_in(served, client, "ada", PASSWORD) == 429


def test_the_answer_does_not_tell_whether_there_is_an_account(served):
    served.account("ada")
    texts = []
    for name in ("ada", "unknown"):
        client = served.anonymous()
        fields = {"csrf": served.csrf(client), "name": name, "password": "wrong password"}
        text = client.post("/sign-in", data=fields).text
        texts.append(text.replace(served.csrf(client), ""))
    assert texts[0] == texts[1]


def test_a_session_ends_with_the_sign_out(served):
    client = served.session("ada")
    stolen = client.cookies["sesame"]
    client.post("/sign-out", data={"csrf": served.csrf(client)})
    thief = served.anonymous()
    thief.cookies.set("sesame", stolen)
    assert "/sign-in" in thief.get("/account", follow_redirects=False).headers["location"]


def test_a_session_planted_before_the_sign_in_is_of_no_use(served):
    served.account("ada")
    client = served.anonymous()
    client.cookies.set("sesame", "planted")
    sign_in(served, client, "ada", PASSWORD)
    thief = served.anonymous()
    thief.cookies.set("sesame", "planted")
    assert thief.get("/account", follow_redirects=False).status_code == 303


def test_a_token_is_not_taken_from_the_address(served):
    token = served.client("ada").headers["authorization"].split()[1]
    for name in ("token", "access_token", "authorization"):
        answer = served.anonymous().get(f"/account?{name}={token}", follow_redirects=False)
        assert answer.status_code == 303


# ---- Forged forms ----


def test_no_form_is_accepted_without_its_token(served, private):
    """All routes that change something, with the cookie of an administrator."""
    client = served.session("root", "administrator")
    tried = 0
    for route in served.app.routes:
        methods = (getattr(route, "methods", None) or set()) - {"GET", "HEAD", "OPTIONS"}
        for method in methods:
            address = route.path.replace("{thing}", private["thing"]).replace("{thread}", "1")
            answer = client.request(method, address, data={"title": "x"}, follow_redirects=False)
            assert answer.status_code == 403, (method, address, answer.status_code)
            tried += 1
    described = client.get("/api/v1/openapi.json").json()
    for path, operations in described["paths"].items():
        for method in set(operations) - {"get", "head", "options", "parameters"}:
            answer = client.request(
                method, f"/api/v1{path.replace('{', '').replace('}', '')}", json={}
            )
            assert answer.status_code == 403, (method, path)
            tried += 1
    assert tried >= 10


# ---- Rights ----


def test_a_contributor_makes_no_administrator(served):
    client = served.session("eve")
    fields = {"csrf": served.csrf(client), "name": "eve", "role": "administrator"}
    assert client.post("/accounts", data=fields).status_code == 403
    assert served.accounts.required("eve").role == "contributor"


def test_a_token_makes_no_token_and_sets_no_password(served):
    client = served.client("ada")
    assert client.post("/account/tokens", data={"name": "x", "scope": "reader"}).status_code == 403
    assert client.post("/account/password", data={"new": "another password"}).status_code == 403


def test_a_contributor_reviews_nothing(served, run_path):
    state = upload(served, served.client("ada"), run_path, visibility="public")
    eve = served.session("eve")
    assert decide(served, eve, state, "accepted") == 404
    assert decide(served, served.session("ada"), state, "accepted") == 404


# ---- Too much, too slow, wrong ----


def test_a_huge_or_deep_body_is_refused(served):
    client = served.client("eve")
    headers = {"content-type": "application/json"}
    deep = b'{"files":' + b"[" * 200_000 + b"]" * 200_000 + b"}"
    assert client.post("/api/v1/uploads", content=deep, headers=headers).status_code in (
        400,
        413,
        422,
    )
    many = {"title": "x", "files": [{"path": f"f{i}", "bytes": 0} for i in range(10_001)]}
    assert client.post("/api/v1/uploads", json=many).status_code == 422
    huge = b'{"title": "' + bytes(LIMITS.body_bytes) + b'"}'
    assert client.post("/api/v1/uploads", content=huge, headers=headers).status_code == 413

    def without_length() -> Iterator[bytes]:
        for _ in range(40):
            yield bytes(LIMITS.body_bytes // 32)

    answer = client.post("/api/v1/uploads", content=without_length(), headers=headers)
    assert answer.status_code == 413


@pytest.mark.parametrize("size", [-1, 1 << 63, 1e308, "1", None, True])
def test_a_size_that_is_none_is_refused(served, size):
    body = json.dumps({"title": "x", "files": [{"path": "a", "bytes": size}]})
    answer = served.client("eve").post(
        "/api/v1/uploads", content=body, headers={"content-type": "application/json"}
    )
    assert answer.status_code in (400, 422, 507)


def test_a_file_larger_than_the_disk_is_refused_before_it_is_sent(served):
    body = {"title": "x", "files": [{"path": "a", "bytes": 1 << 39}]}
    assert served.client("eve").post("/api/v1/uploads", json=body).status_code == 507


def test_an_offset_that_is_none_is_refused(served, run_path):
    eve = served.client("eve")
    state = begin(eve, listed(run_path))
    address = f"/api/v1/uploads/{state['id']}/files/0"
    for offset in ("-1", "x", "1e3", "9" * 40, ""):
        answer = eve.patch(address, content=b"x", headers={"upload-offset": offset})
        assert answer.status_code == 422
    assert not append(eve, state, 9999, 0, b"x")


def test_text_is_never_sql(served, private):
    client = served.client("eve")
    for text in ("'; drop table thing; --", "' or 1=1 --", "%", '" union select 1'):
        for address in ("/search", "/", "/api/v1/things", f"/d/{private['thing']}"):
            answer = client.get(address, params={"q": text, "library": text, "first": text})
            assert answer.status_code in (200, 400, 404, 422), text
            assert SECRET not in answer.text, text
        assert client.get(f"/api/v1/things/{text}").status_code in (404, 422), text
        assert client.get("/api/v1/things").json()["total"] == 0, text
        assert served.client("ada").get(private["address"]).status_code == 200, text


def test_a_header_is_not_injected_by_a_name(served, tmp_path):
    (tmp_path / "tool").mkdir()
    (tmp_path / "tool" / 'a"; filename=b.html').write_text("x")
    state = upload(
        served,
        served.client("eve", trusted=True),
        tmp_path / "tool",
        library="tool",
        visibility="public",
    )
    name = "a%22%3B%20filename%3Db.html"
    answer = served.anonymous().get(f"/api/v1/things/{state['thing']}/versions/1/files/{name}")
    assert answer.status_code == 200
    assert "b.html" not in answer.headers["content-disposition"]


def test_the_audit_log_has_changes_and_refusals_and_no_secret(served, run_path, tmp_path):
    ada = served.client("ada", trusted=True)
    upload(served, ada, run_path)
    sign_in(served, served.anonymous(), "ada", "a secret guess")
    lines = (tmp_path / "audit.log").read_text() + (tmp_path / "audit-no-token.log").read_text()
    entries = [json.loads(line) for line in lines.splitlines()]
    assert {"ada"} == {one["client"] for one in entries if one["path"].startswith("/api/")}
    assert [one["status"] for one in entries if one["path"] == "/sign-in"] == [403]
    assert "a secret guess" not in lines
    assert ada.headers["authorization"].split()[1] not in lines
    assert all(abs(one["time"] - time.time()) < 600 for one in entries)
