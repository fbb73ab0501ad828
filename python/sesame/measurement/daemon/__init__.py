"""The daemon: one on each node. It loads the probes and is controlled over HTTP."""
