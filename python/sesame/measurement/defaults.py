"""What applies unless the user says otherwise; apart, as help shows it and starts quickly so."""

from __future__ import annotations

DEFAULT_BUDGET = 0.001  # of each processor
DAEMON_PORT = 7117
DEFAULT_ADDRESS = f"127.0.0.1:{DAEMON_PORT}"
MOST_AT_ONCE = 64  # nodes that are asked
