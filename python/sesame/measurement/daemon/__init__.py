"""The daemon: one on each node, which has the probes and is told over HTTP what to do."""
