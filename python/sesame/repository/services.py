"""Sign-in and mail of a site, from the tables [openid] and [mail] of its file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from sqlalchemy import Engine

from sesame.errors import InputError
from sesame.repository.accounts.openid import OpenId, Provider
from sesame.repository.uploads.mail import MailServer
from sesame.web.server.roles import OF_REPOSITORY, Role
from sesame.web.server.token_file import read_private

ENCRYPTIONS = ("none", "starttls", "tls")


def openid_of(given: Mapping[str, Any], address: str, engine: Engine) -> OpenId | None:
    """The provider of [openid]: issuer, client_id, client_secret (or client_secret_file, or the
    variable that client_secret_variable names), title, role. None without the table. Raises
    InputError."""
    if not given:
        return None
    if not address:
        raise InputError("[openid] needs `address`, where the provider sends browsers back to")
    values = _texts(given, "openid", Provider, "client_secret")
    for name in ("issuer", "client_id", "client_secret"):
        if not values.get(name):
            raise InputError(f"[openid]: there is no {name}")
    role = values.get("role", Role.CONTRIBUTOR)
    if role not in OF_REPOSITORY:
        raise InputError(f"[openid] role: expected one of {', '.join(OF_REPOSITORY)}, got {role}")
    title = values.get("title") or values["issuer"]
    provider = Provider(
        title, values["issuer"], values["client_id"], values["client_secret"], Role(role)
    )
    return OpenId(provider, address, engine)


def mail_of(given: Mapping[str, Any]) -> MailServer | None:
    """The server of [mail]: host, sender, port, encryption, user, password (or password_file, or
    password_variable). None without the table. Raises InputError."""
    if not given:
        return None
    port = given.get("port", 25)
    if type(port) is not int or not 0 < port < 65536:
        raise InputError(f"[mail] port: expected 1 to 65535, got {port!r}")
    values = _texts({**given, "port": ""}, "mail", MailServer, "password")
    for name in ("host", "sender"):
        if not values.get(name):
            raise InputError(f"[mail]: there is no {name}")
    encryption = values.get("encryption") or "none"
    if encryption not in ENCRYPTIONS:
        raise InputError(
            f"[mail] encryption: expected one of {', '.join(ENCRYPTIONS)}, got {encryption}"
        )
    return MailServer(
        values["host"],
        values["sender"],
        port,
        encryption,
        values.get("user", ""),
        values.get("password", ""),
    )


def _texts(given: Mapping[str, Any], table: str, kind: Any, secret: str) -> dict[str, str]:
    """The texts of a table, with its secret, which need not be in the file."""
    known = {one.name for one in fields(kind)} | {f"{secret}_file", f"{secret}_variable"}
    for name, value in given.items():
        if name not in known:
            raise InputError(f"[{table}]: unknown key {name}, expected {', '.join(sorted(known))}")
        if not isinstance(value, str):
            raise InputError(f"[{table}] {name}: expected a text, got {value!r}")
    values = dict(given)
    if file := values.pop(f"{secret}_file", ""):
        try:
            values[secret] = read_private(Path(file)).strip()
        except FileNotFoundError:
            raise InputError("there is no such file", path=file) from None
    if variable := values.pop(f"{secret}_variable", ""):
        if variable not in os.environ:
            raise InputError(f"[{table}] {secret}_variable: {variable} is not set")
        values[secret] = os.environ[variable]
    return values
