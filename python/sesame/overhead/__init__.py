"""What an instrumentation system costs: a model of a node, and its simulation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sesame.lazy import names_of

if TYPE_CHECKING:
    from sesame.overhead.distributions import Distribution, parse_distribution
    from sesame.overhead.model import NodeModel, parse_model, read_model, shipped_models
    from sesame.overhead.prediction import FIGURES, Prediction
    from sesame.overhead.simulate import predict
else:
    __getattr__ = names_of(__name__)

__all__ = [
    "FIGURES",
    "Distribution",
    "NodeModel",
    "Prediction",
    "parse_distribution",
    "parse_model",
    "predict",
    "read_model",
    "shipped_models",
]
