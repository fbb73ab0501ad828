"""Play-back of a run: a diagram of the machine that shows what each node did, moment by moment.

`layout` says where nodes are drawn, `units` which node a record belongs to, `frames` holds the
values by time bin and node, `runs` and `kernels` compute them from records, `columns` from any
field of any table. `prepare` writes all of it as files; the drawing (assets/playback_drawing.js)
reads only those, and `pages` serves them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sesame.lazy import names_of

if TYPE_CHECKING:
    from sesame.repository.playback.pages import links, panel, routes
else:
    __getattr__ = names_of(__name__)  # what prepares needs none of the pages

__all__ = ["links", "panel", "routes"]
