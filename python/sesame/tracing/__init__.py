"""A real run recorded: the command run with the tracer, and its raw streams made a data set."""

from sesame.tracing.collate import PRUNING, collate
from sesame.tracing.launch import (
    TraceOptions,
    environment,
    preloaded,
    run_traced,
    was_anything_recorded,
)
from sesame.tracing.unrecorded import explain

__all__ = [
    "PRUNING",
    "TraceOptions",
    "collate",
    "environment",
    "explain",
    "preloaded",
    "run_traced",
    "was_anything_recorded",
]
