"""A node model as plain values for the simulation in C++ (core/bindings/rocc.cc)."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from sesame.overhead.distributions import Distribution
from sesame.overhead.model import BATCH, FAIR, Daemon, Instrumentation, Node, NodeModel

# In the order of the families in core/rocc/distribution.h.
_FAMILIES = (
    "constant",
    "exponential",
    "lognormal",
    "weibull",
    "gamma",
    "pareto",
    "mixture",
    "empirical",
)
Plain = tuple[int, list[float], list[Any]]


def plain_distribution(distribution: Distribution) -> Plain:
    """(number of the family, parameters, components)"""
    components = [plain_distribution(component) for component in distribution.components]
    return (_FAMILIES.index(distribution.family), list(distribution.parameters), components)


def plain_model(model: NodeModel) -> dict[str, object]:
    return {
        "node": _node(model.node),
        "processes": [_values(process) for process in model.processes],
        "instrumentation": _instrumentation(model.instrumentation),
        "daemon": _daemon(model.daemon),
        "main": _values(model.main),
    }


def _values(table: Any) -> dict[str, Any]:
    return {
        field.name: plain_distribution(value) if isinstance(value, Distribution) else value
        for field in fields(table)
        for value in [getattr(table, field.name)]
    }


def _node(node: Node) -> dict[str, Any]:
    detailed = node.nodes if node.detailed_nodes is None else node.detailed_nodes
    return {**_values(node), "fair": node.scheduler == FAIR, "detailed_nodes": detailed}


def _instrumentation(instrumentation: Instrumentation) -> dict[str, Any]:
    return {
        **_values(instrumentation),
        "sampling_period": instrumentation.sampling_period or 0.0,
        "instrumentation_period": instrumentation.instrumentation_period or 0.0,
    }


def _daemon(daemon: Daemon) -> dict[str, Any]:
    return {
        **_values(daemon),
        "has_timer": daemon.source == "timer",
        "batch_size": daemon.batch_size if daemon.policy == BATCH else 1,
        "batch_age": (daemon.batch_age or 0.0) if daemon.policy == BATCH else 0.0,
    }
