"""Experiments of published reports, made again: what they ran, what they found, what comes here."""

from __future__ import annotations

from sesame.errors import InputError
from sesame.reproduction.experiment import Case, Experiment, Finding, Measured, Panel, Results, Row
from sesame.reproduction.parallel_io import EXPERIMENTS
from sesame.reproduction.run import MACHINE, Runner

# A name for all experiments of a section.
SECTIONS = {"sesame-8.2": EXPERIMENTS}

__all__ = [
    "MACHINE",
    "SECTIONS",
    "Case",
    "Experiment",
    "Finding",
    "Measured",
    "Panel",
    "Results",
    "Row",
    "Runner",
    "find_experiments",
]


def find_experiments(name: str) -> list[Experiment]:
    """The experiments of a section, or the one of that name. Raises InputError."""
    if name in SECTIONS:
        return list(SECTIONS[name])
    by_name = {experiment.name: experiment for all_ in SECTIONS.values() for experiment in all_}
    if name not in by_name:
        raise InputError(
            f"{name}: no such experiment",
            hint="there are " + ", ".join((*SECTIONS, *by_name)),
        )
    return [by_name[name]]
