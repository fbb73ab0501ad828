"""Discussion: threads on any thing, view or record range, with images and links shown."""

from sesame.repository.discussion.api import api
from sesame.repository.discussion.pages import routes
from sesame.repository.discussion.panel import panel

__all__ = ["api", "panel", "routes"]
