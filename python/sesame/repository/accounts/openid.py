"""Sign-in at a site's OpenID Connect provider: authorization code flow with PKCE (RFC 7636)."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import secrets
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from sqlalchemy import Engine, RowMapping, delete, insert, select

from sesame.errors import InputError
from sesame.repository.accounts.account import Account
from sesame.repository.accounts.store import MAIL, Accounts
from sesame.repository.store import schema
from sesame.web.server.listening import is_loopback
from sesame.web.server.roles import Role
from sesame.web.server.token_file import digest_of

TIMEOUT_S = 10.0
LARGEST_ANSWER = 1 << 20
LONGEST_S = 600.0  # of a sign-in
LEEWAY_S = 60  # between clocks
# Signatures with a public key: with others, and with "none", who knows the public key could sign.
ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA"]


class SignInFailed(InputError):
    """The provider, or the browser, came back with something that is not accepted."""


@dataclass(frozen=True)
class Provider:
    """`title`: on the button. `role`: of new accounts."""

    title: str
    issuer: str
    client_id: str
    client_secret: str
    role: Role = Role.CONTRIBUTOR


class OpenId:
    """Sign-ins of one provider. `address`: of this repository, where the provider sends browsers
    back to."""

    def __init__(self, provider: Provider, address: str, engine: Engine) -> None:
        """Raises InputError for an issuer without encryption that is not on this machine."""
        parts = urlsplit(provider.issuer)
        is_here = parts.scheme == "http" and is_loopback(f"{parts.hostname}:{parts.port or 80}")
        if parts.scheme != "https" and not is_here:
            raise InputError(f"{provider.issuer}: expected an issuer with https://")
        self.provider = provider
        self._redirect = f"{address.rstrip('/')}/sign-in/provider/return"
        self._engine = engine
        self._described: dict[str, Any] | None = None

    def begin(self, next_page: str) -> tuple[str, str]:
        """Returns the provider's address to send the browser to, and a secret for its cookie."""
        cookie, state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(4))
        now = time.time()
        with self._engine.begin() as connection:
            connection.execute(delete(schema.sign_in).where(schema.sign_in.c.ends < now))
            connection.execute(
                insert(schema.sign_in).values(
                    digest=digest_of(cookie.encode()),
                    state=state,
                    nonce=nonce,
                    verifier=verifier,
                    next=next_page,
                    ends=now + LONGEST_S,
                )
            )
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest())
        query = {
            "response_type": "code",
            "client_id": self.provider.client_id,
            "redirect_uri": self._redirect,
            "scope": "openid profile email",
            "state": state,
            "nonce": nonce,
            "code_challenge": challenge.decode().rstrip("="),
            "code_challenge_method": "S256",
        }
        endpoint = self._description()["authorization_endpoint"]
        return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(query)}", cookie

    def finish(self, cookie: str, query: Mapping[str, str]) -> tuple[Account, str]:
        """The account of who came back, and the page to go to. Raises SignInFailed."""
        started = self._taken(cookie)
        if started is None or not hmac.compare_digest(
            query.get("state", "").encode(), started["state"].encode()
        ):
            raise SignInFailed("this sign-in did not begin here, or took too long")
        if "code" not in query:
            raise SignInFailed(f"the provider refused: {query.get('error', 'no code')[:100]}")
        answer = self._fetch(
            self._description()["token_endpoint"],
            {
                "grant_type": "authorization_code",
                "code": query["code"],
                "redirect_uri": self._redirect,
                "code_verifier": started["verifier"],
            },
        )
        claims = self._claims(str(answer.get("id_token", "")), started["nonce"])
        return self._account(claims), started["next"]

    def _taken(self, cookie: str) -> RowMapping | None:
        """A sign-in that was started: it can be finished once."""
        chosen = schema.sign_in.c.digest == digest_of(cookie.encode())
        with self._engine.begin() as connection:
            found = select(schema.sign_in).where(chosen, schema.sign_in.c.ends > time.time())
            row = connection.execute(found).mappings().first()
            removed = connection.execute(delete(schema.sign_in).where(chosen)).rowcount
        return row if removed else None

    def _description(self) -> dict[str, Any]:
        if self._described is None:
            issuer = self.provider.issuer
            found = self._fetch(f"{issuer.rstrip('/')}/.well-known/openid-configuration")
            if found.get("issuer") != issuer:
                raise SignInFailed(f"the provider says that it is not {issuer}")
            self._described = found
        return self._described

    def _fetch(self, address: str, form: Mapping[str, str] | None = None) -> dict[str, Any]:
        request = urllib.request.Request(address, headers={"accept": "application/json"})
        if form is not None:
            # The form of RFC 6749, section 2.3.1.
            pair = f"{quote(self.provider.client_id)}:{quote(self.provider.client_secret)}"
            encoded = base64.b64encode(pair.encode()).decode()
            request.add_header("authorization", f"Basic {encoded}")
            request.data = urlencode(form).encode()
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
                found = json.loads(answer.read(LARGEST_ANSWER))
        except (OSError, ValueError) as error:
            raise SignInFailed(f"the provider does not answer as expected: {error}") from error
        if not isinstance(found, dict):
            raise SignInFailed("the provider does not answer as expected")
        return found

    def _claims(self, id_token: str, nonce: str) -> dict[str, Any]:
        # Only sites with a provider need them, at a sign-in.
        from joserfc import jwt
        from joserfc.errors import JoseError
        from joserfc.jwk import KeySet

        registry = jwt.JWTClaimsRegistry(
            leeway=LEEWAY_S,
            iss={"essential": True, "value": self.provider.issuer},
            aud={"essential": True, "value": self.provider.client_id},
            exp={"essential": True},
            sub={"essential": True},
            nonce={"essential": True, "value": nonce},
        )
        try:
            keys = KeySet.import_key_set(self._fetch(self._description()["jwks_uri"]))  # type: ignore[arg-type]
            token = jwt.decode(id_token, keys, algorithms=ALGORITHMS)
            registry.validate(token.claims)
        except (JoseError, ValueError, KeyError, TypeError) as error:
            raise SignInFailed(f"the provider's token is not valid: {error}") from error
        claims = dict(token.claims)
        if claims.get("azp", self.provider.client_id) != self.provider.client_id:
            raise SignInFailed("the provider's token is for another client")
        return claims

    def _account(self, claims: Mapping[str, Any]) -> Account:
        """The account of the provider's subject; a new one at the first time. A local account is
        never taken over, whatever name or mail address the provider says."""
        accounts, table = Accounts(self._engine), schema.identity.c
        issuer, subject = self.provider.issuer, str(claims["sub"])[:255]
        found = select(table.account).where(table.issuer == issuer, table.subject == subject)
        with self._engine.connect() as connection:
            identifier = connection.execute(found).scalar()
        if identifier is not None:
            account = accounts.by_id(identifier)
            if account is None or account.disabled:
                raise SignInFailed("this account is disabled")
            return account
        account = self._new_account(accounts, claims)
        with self._engine.begin() as connection:
            connection.execute(
                insert(schema.identity).values(issuer=issuer, subject=subject, account=account.id)
            )
        return account

    def _new_account(self, accounts: Accounts, claims: Mapping[str, Any]) -> Account:
        mail = str(claims.get("email", ""))
        wanted = str(claims.get("preferred_username") or mail.partition("@")[0] or "someone")
        name = re.sub(r"[^a-z0-9._-]", "-", wanted.lower())[:50].lstrip("._-") or "someone"
        shown = "".join(one for one in str(claims.get("name", "")) if one.isprintable())[:200]
        number = 1
        while accounts.find(name if number == 1 else f"{name}-{number}") is not None:
            number += 1
        return accounts.add(
            name if number == 1 else f"{name}-{number}",
            None,
            self.provider.role,
            display_name=shown,
            email=mail if MAIL.fullmatch(mail) else "",
        )
