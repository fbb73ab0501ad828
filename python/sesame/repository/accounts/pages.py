"""Pages: sign in, sign out, one's own account."""

from __future__ import annotations

import re
import secrets
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from sesame.errors import InputError
from sesame.repository.accounts.account import Account
from sesame.repository.accounts.forms import csrf_field
from sesame.repository.accounts.middleware import SECURE_KEY, SESSION_KEY
from sesame.repository.accounts.openid import LONGEST_S, OpenId
from sesame.repository.accounts.sessions import AccessTokens, Sessions
from sesame.repository.accounts.store import Accounts, TooManyAttempts
from sesame.repository.page import page
from sesame.repository.store import Repository
from sesame.web.server.roles import OF_REPOSITORY, Role

HERE = Path(__file__).parent / "templates"
# A page of this site: nothing that a browser takes for another host (//host, /\\host).
OWN_PAGE = re.compile(r"/(?![/\\])[^\\\x00-\x20\x7f]{0,1500}")
OPENID_COOKIE = "sesame-provider"
DAYS = (1, 30, 90, 365)


def own_page(address: str | None) -> str:
    """The address if it is a page of this site, else the start page."""
    return address if address and OWN_PAGE.fullmatch(address) else "/"


def account_of(request: Request) -> Account:
    """Who is signed in; raises HTTPException 401."""
    reader = getattr(request.state, "reader", None)
    if not isinstance(reader, Account):
        raise HTTPException(401, "Sign in first.")
    return reader


async def fields_of(request: Request) -> dict[str, str]:
    """The texts of a form."""
    async with request.form(max_files=0, max_fields=100, max_part_size=1 << 20) as form:
        return {name: value for name, value in form.items() if isinstance(value, str)}


def routes(repository: Repository) -> list[Route]:
    people = _People(repository)
    return [
        Route("/sign-in", people.show_sign_in),
        Route("/sign-in", people.sign_in, methods=["POST"]),
        Route("/sign-in/provider", people.to_provider, methods=["POST"]),
        Route("/sign-in/provider/return", people.from_provider),
        Route("/sign-out", people.sign_out, methods=["POST"]),
        Route("/account", people.show_account),
        Route("/account/tokens", people.add_token, methods=["POST"]),
        Route("/account/tokens/revoke", people.revoke_token, methods=["POST"]),
        Route("/account/password", people.set_password, methods=["POST"]),
        Route("/accounts", people.show_all),
        Route("/accounts", people.change, methods=["POST"]),
        Route("/accounts/add", people.add, methods=["POST"]),
    ]


class _People:
    def __init__(self, repository: Repository) -> None:
        self._accounts = Accounts(repository.engine)
        self._sessions = Sessions(repository.engine)
        self._tokens = AccessTokens(repository.engine)

    # ---- Sign-in ----

    def show_sign_in(self, request: Request) -> Response:
        next_page = own_page(request.query_params.get("next"))
        return self._sign_in_page(request, next_page)

    def _sign_in_page(
        self, request: Request, next_page: str, error: InputError | None = None, status: int = 200
    ) -> Response:
        return page(
            request,
            "sign_in.html",
            directory=HERE,
            status=status,
            next_page=next_page,
            error=error,
            provider=_provider(request),
            csrf=csrf_field(request),
        )

    async def sign_in(self, request: Request) -> Response:
        fields = await fields_of(request)
        next_page = own_page(fields.get("next"))
        peer = request.client.host if request.client else ""
        name, password = fields.get("name", ""), fields.get("password", "")
        try:
            found = await run_in_threadpool(self._accounts.sign_in, name, password, peer)
        except TooManyAttempts as error:
            return self._sign_in_page(request, next_page, error, 429)
        if found is None:
            return self._sign_in_page(
                request, next_page, InputError("The name or the password is wrong."), 403
            )
        return await run_in_threadpool(self._begin_session, request, found, next_page)

    def _begin_session(self, request: Request, account: Account, next_page: str) -> Response:
        """A new one always: what cookie the browser had before is of no use."""
        request.scope["state"][SESSION_KEY] = self._sessions.start(account)
        return RedirectResponse(next_page, 303)

    async def to_provider(self, request: Request) -> Response:
        fields, openid = await fields_of(request), _openid(request)
        address, secret = await run_in_threadpool(openid.begin, own_page(fields.get("next")))
        answer = RedirectResponse(address, 303)
        secure = request.scope["state"][SECURE_KEY]
        answer.set_cookie(
            OPENID_COOKIE,
            secret,
            max_age=int(LONGEST_S),
            path="/sign-in/provider",
            httponly=True,
            samesite="lax",
            secure=secure,
        )
        return answer

    def from_provider(self, request: Request) -> Response:
        cookie = request.cookies.get(OPENID_COOKIE, "")
        try:
            account, next_page = _openid(request).finish(cookie, dict(request.query_params))
        except InputError as error:
            return self._sign_in_page(request, "/", error, 403)
        return self._begin_session(request, account, own_page(next_page))

    async def sign_out(self, request: Request) -> Response:
        await run_in_threadpool(self._end_session, request)
        request.scope["state"][SESSION_KEY] = ""
        return RedirectResponse("/", 303)

    def _end_session(self, request: Request) -> None:
        for name in ("sesame", "__Host-sesame"):
            self._sessions.end(request.cookies.get(name, ""))

    # ---- One's own account ----

    def show_account(self, request: Request) -> Response:
        if request.state.reader is None:
            return RedirectResponse("/sign-in?next=/account", 303)
        return self._account_page(request, account_of(request))

    def _account_page(
        self, request: Request, account: Account, status: int = 200, **more: Any
    ) -> Response:
        permitted = OF_REPOSITORY[: OF_REPOSITORY.index(Role(account.role)) + 1]
        shown: dict[str, Any] = {"new_token": None, "error": None, "done": None}
        return page(
            request,
            "account.html",
            directory=HERE,
            status=status,
            account=account,
            tokens=self._tokens.of(account),
            scopes=permitted,
            days=DAYS,
            day=lambda time_s: datetime.fromtimestamp(time_s, UTC).strftime("%Y-%m-%d"),
            csrf=csrf_field(request),
            **{**shown, **more},
        )

    async def add_token(self, request: Request) -> Response:
        account, fields = _full_account(request), await fields_of(request)
        days = fields.get("days", "")

        def add() -> Response:
            try:
                if not days.isdecimal() or len(days) > 4:
                    raise InputError("days: expected a number of days")
                scope = _role(fields.get("scope", ""))
                token = self._tokens.add(account, fields.get("name", ""), scope, int(days))
            except InputError as error:
                return self._account_page(request, account, 400, error=error)
            return self._account_page(request, account, new_token=token)

        return await run_in_threadpool(add)

    async def revoke_token(self, request: Request) -> Response:
        account, fields = _full_account(request), await fields_of(request)
        await run_in_threadpool(self._tokens.revoke, account, fields.get("id", ""))
        return RedirectResponse("/account", 303)

    async def set_password(self, request: Request) -> Response:
        account, fields = _full_account(request), await fields_of(request)

        def change() -> Response:
            try:
                peer = request.client.host if request.client else ""
                if self._accounts.sign_in(account.name, fields.get("old", ""), peer) is None:
                    raise InputError("The present password is wrong.")
                self._accounts.set_password(account.name, fields.get("new", ""))
            except InputError as error:
                status = getattr(error, "status", 400)
                return self._account_page(request, account, status, error=error)
            return self._begin_session(request, account, "/account")

        return await run_in_threadpool(change)

    # ---- All accounts ----

    def show_all(
        self, request: Request, error: InputError | None = None, password: str | None = None
    ) -> Response:
        _administrator(request)
        return page(
            request,
            "accounts.html",
            directory=HERE,
            status=200 if error is None else 400,
            accounts=self._accounts.all(),
            roles=OF_REPOSITORY,
            error=error,
            password=password,
            csrf=csrf_field(request),
        )

    async def add(self, request: Request) -> Response:
        """Makes an account with a random password, which is shown once."""
        _administrator(request)
        fields = await fields_of(request)

        def add() -> Response:
            password = secrets.token_urlsafe(12)
            try:
                self._accounts.add(
                    fields.get("name", ""),
                    password,
                    _role(fields.get("role", "")),
                    email=fields.get("email", ""),
                    trusted="trusted" in fields,
                )
            except InputError as error:
                return self.show_all(request, error)
            return self.show_all(request, password=password)

        return await run_in_threadpool(add)

    async def change(self, request: Request) -> Response:
        own, fields = _administrator(request), await fields_of(request)

        def change() -> Response:
            try:
                name = fields.get("name", "")
                if name == own.name:
                    raise InputError("your own role stays, so that there is an administrator")
                self._accounts.change(
                    name,
                    role=_role(fields.get("role", "")),
                    trusted="trusted" in fields,
                    disabled="disabled" in fields,
                )
            except InputError as error:
                return self.show_all(request, error)
            return RedirectResponse("/accounts", 303)

        return await run_in_threadpool(change)


def _role(text: str) -> Role:
    if text not in OF_REPOSITORY:
        raise InputError(f"expected one of {', '.join(OF_REPOSITORY)}")
    return Role(text)


def _full_account(request: Request) -> Account:
    """Who is signed in, not by a token: a token of little scope must not make one of more."""
    account = account_of(request)
    if request.headers.get("authorization"):
        raise HTTPException(403, "A token does not change its account; sign in at the page.")
    return account


def _administrator(request: Request) -> Account:
    account = account_of(request)
    if not account.may_administer:
        raise HTTPException(403)
    return account


def _openid(request: Request) -> OpenId:
    openid: OpenId | None = request.app.state.openid
    if openid is None:
        raise HTTPException(404)
    return openid


def _provider(request: Request) -> str | None:
    openid: OpenId | None = request.app.state.openid
    return None if openid is None else openid.provider.title
