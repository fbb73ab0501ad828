"""Search of all that a repository holds: things, discussion, documentation, figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sesame.lazy import names_of

if TYPE_CHECKING:
    from sesame.repository.search.pages import api, routes
else:
    __getattr__ = names_of(__name__)  # what prepares needs none of the pages

__all__ = ["api", "routes"]
