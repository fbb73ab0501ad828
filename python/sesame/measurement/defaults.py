"""Default values. They have a module of their own so that `--help` can show them and start fast."""

from __future__ import annotations

import os
from pathlib import Path

DEFAULT_BUDGET = 0.001  # share of each processor's time
DEFAULT_INTERVAL_S = 10.0  # of a daemon, from one reading to the next
SHORTEST_INTERVAL_S = 0.05
MOST_IN_BATCH = 360  # readings: as many as a daemon keeps in memory
DAEMON_PORT = 7117
COLLECTOR_PORT = 7118
DEFAULT_ADDRESS = f"127.0.0.1:{DAEMON_PORT}"
BEYOND_NS = 2**62  # times, counts and durations of other machines are below this
MOST_AT_ONCE = 64  # nodes to which requests are sent in parallel


def default_state_directory() -> Path:
    """The directory in which a daemon of this user has its token and its lock."""
    if os.geteuid() == 0:
        return Path("/var/lib/sesame")
    state = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local/state")
    return Path(state) / "sesame"
