"""What applies unless the user says otherwise; apart, as help shows it and starts quickly so."""

from __future__ import annotations

import os
from pathlib import Path

DEFAULT_BUDGET = 0.001  # of each processor
DAEMON_PORT = 7117
DEFAULT_ADDRESS = f"127.0.0.1:{DAEMON_PORT}"
MOST_AT_ONCE = 64  # nodes that are asked


def default_state_directory() -> Path:
    """Where a daemon of this user has its token and its lock."""
    if os.geteuid() == 0:
        return Path("/var/lib/sesame")
    state = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local/state")
    return Path(state) / "sesame"
