"""For all tests: interruptions work, also where the tests run in the background of a shell that
ignores them (children inherit that)."""

import signal

signal.signal(signal.SIGINT, signal.default_int_handler)
