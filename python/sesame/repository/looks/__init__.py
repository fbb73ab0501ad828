"""Quick looks: pictures of the records of a data set, whose address is what they show.

`view` is the address, `described` says which fields a record type has and what they mean, `scan`
reads them, `bins` adds them up by node and time, `prepare` does so at import. `rates`, `pairs`,
`rows` and `levels` are the numbers of each look, from the sums made at import or from the
records, which a confined process reads (`asking`, `answering`). `shown` makes charts of them,
`picture` draws those as a file, and `pages` serves all of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sesame.lazy import names_of

if TYPE_CHECKING:
    from sesame.repository.looks.pages import analyses, links, routes
else:
    __getattr__ = names_of(__name__)  # the confined process needs none of the pages

__all__ = ["analyses", "links", "routes"]
