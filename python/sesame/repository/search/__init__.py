"""Search of all that a repository holds: things, discussion, documentation, figures."""

from sesame.repository.search.entries import prepare
from sesame.repository.search.pages import api, routes

__all__ = ["api", "prepare", "routes"]
