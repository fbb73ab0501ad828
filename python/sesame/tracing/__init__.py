"""Traced runs: from the raw streams of all processes to a data set."""

from sesame.tracing.collate import PRUNING, collate

__all__ = ["PRUNING", "collate"]
