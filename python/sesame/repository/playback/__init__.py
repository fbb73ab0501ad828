"""Play-back of a run: a diagram of the machine that shows what each node did, moment by moment.

`layout` says where nodes are drawn, `units` which node a record belongs to, `frames` holds the
values by time bin and node, `runs` and `kernels` compute them from records, `columns` from any
field of any table. `prepare` writes all of it as files; the drawing (assets/playback_drawing.js)
reads only those.
"""

from sesame.repository.playback.prepare import prepare
from sesame.repository.playback.routes import links, panel, routes

__all__ = ["links", "panel", "prepare", "routes"]
