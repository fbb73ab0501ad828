"""The daemon `sesamed`, one on each node: loads the probes, and is controlled over HTTP."""
