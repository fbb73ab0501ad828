"""People of a repository: accounts, sessions, tokens, sign-in, and forms of our own pages only."""

from __future__ import annotations

from sesame.repository.accounts.forms import csrf_field, csrf_token
from sesame.repository.accounts.pages import routes

__all__ = ["csrf_field", "csrf_token", "routes"]
