"""Node models for tests."""

from __future__ import annotations

from sesame.overhead import NodeModel, parse_model

ENDLESS = "1000000s"  # a quantum that never ends: first come, first served


def queue(arrivals: str, service: str, *, processors: int = 1, quantum: str = ENDLESS) -> NodeModel:
    """Requests that arrive at random at the processors of a node."""
    return parse_model(f"""
        [node]
        processors = {processors}
        quantum = "{quantum}"
        [[process]]
        name = "requests"
        interarrival = "{arrivals}"
        cpu = "{service}"
    """)


# 16 processes write a sample after every 10 ms of work; the daemon needs 1 ms for each sample.
SAMPLED = """
    [node]
    processors = 32
    [[process]]
    name = "application"
    instrumented = true
    count = 16
    cpu = "10ms"
    [instrumentation]
    sampling_period = "10ms"
    [daemon]
    collect = "600us"
    forward = "400us"
"""


def sampled(**settings: object) -> NodeModel:
    return parse_model(SAMPLED).with_settings(settings)
