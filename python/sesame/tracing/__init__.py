"""Traces a real run: runs the command with the tracer and converts its raw streams to a data
set."""

from sesame.tracing.collate import PRUNING, collate
from sesame.tracing.launch import (
    TraceOptions,
    environment,
    preloaded,
    run_traced,
    was_anything_recorded,
)
from sesame.tracing.record import Making, make_data_set, record

__all__ = [
    "PRUNING",
    "Making",
    "TraceOptions",
    "collate",
    "environment",
    "make_data_set",
    "preloaded",
    "record",
    "run_traced",
    "was_anything_recorded",
]
