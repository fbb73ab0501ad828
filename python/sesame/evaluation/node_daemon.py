"""What a node's `sesamed` knows of it: `python -m sesame.evaluation.node_daemon ADDRESS TOKEN CA`
prints the boot (as `boot` steps read it) and how busy the processors were (JSON)."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from sesame.errors import SesameError
from sesame.extras import require

if TYPE_CHECKING:
    from sesame.measurement.readings import Reading

WINDOW_NS = 900_000_000_000  # as far as the daemon keeps readings of it
WAITING = ("idle_ns", "iowait_ns")


def processors_busy(readings: list[Reading]) -> float | None:
    """In percent of the processors' time, in the last quarter of an hour; None without a
    reading."""
    last = max((one.end_ns for one in readings), default=0)
    busy = total = 0
    for one in readings:
        if one.end_ns > last - WINDOW_NS:
            for state, times in one.processors.items():
                if state != "cpu":
                    total += sum(times)
                    busy += 0 if state in WAITING else sum(times)
    return 100 * busy / total if total else None


def main() -> int:
    try:
        require("daemon", "asking a sesamed", "httptools")
        from sesame.measurement.connection import Connection
        from sesame.measurement.defaults import DAEMON_PORT
        from sesame.measurement.readings import Reading
        from sesame.web.server.tokens import read_token

        address, token, ca = sys.argv[1:]
        daemon = Connection(address, read_token(Path(token)), DAEMON_PORT, ca)
        boot = daemon.ask_json("GET", "/v1/state")["boot"]
        lines = daemon.ask("GET", "/v1/raw-readings").splitlines()
        busy = processors_busy([Reading.from_json(line) for line in lines])
    except (KeyError, TypeError, ValueError) as error:
        print(f"error: {sys.argv[1]}: not a sesamed of this version: {error}", file=sys.stderr)
        return 1
    except SesameError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_status
    figures = [] if busy is None else [{"name": "processors busy", "value": busy, "unit": "%"}]
    print(f"{boot['id']}\nbtime {boot['time_s']}\n{json.dumps({'figures': figures})}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
