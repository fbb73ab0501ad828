"""Repeats experiments of published reports and compares their findings with the results here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sesame.errors import InputError
from sesame.reproduction import faults, initialization, opening, paradyn, protocols, records
from sesame.reproduction.calculation import Calculation
from sesame.reproduction.experiment import Case, Experiment, Finding, Measured, Panel, Results, Row
from sesame.reproduction.observed import Laboratory, Observation
from sesame.reproduction.outcome import Arrow, Band, Bar, Diagram, Judgement, Lanes, Outcome, Table
from sesame.reproduction.parallel_io import EXPERIMENTS
from sesame.reproduction.run import MACHINE, Runner

# A name for all experiments of a section.
SECTIONS = {"sesame-8.2": EXPERIMENTS}
# Sections that are measured on this machine instead of simulated.
OBSERVATIONS = [
    initialization.OBSERVATION,
    opening.OBSERVATION,
    records.OBSERVATION,
    faults.OBSERVATION,
]
Groups = Mapping[str, Sequence[Calculation]]
# Experiments of other kinds: models of this package, and what the simulator itself needs.
GROUPS: Groups = {
    paradyn.MODEL: paradyn.CALCULATIONS,
    protocols.SECTION: protocols.CALCULATIONS,
}

__all__ = [
    "GROUPS",
    "MACHINE",
    "OBSERVATIONS",
    "SECTIONS",
    "Arrow",
    "Band",
    "Bar",
    "Calculation",
    "Case",
    "Diagram",
    "Experiment",
    "Finding",
    "Judgement",
    "Laboratory",
    "Lanes",
    "Measured",
    "Observation",
    "Outcome",
    "Panel",
    "Results",
    "Row",
    "Runner",
    "Table",
    "find_experiments",
]


def find_experiments(
    name: str, groups: Groups = GROUPS
) -> list[Experiment] | list[Calculation] | Observation:
    """The observation, experiment or calculation of this name, or all of a section or a group.
    Raises InputError."""
    calculations = {one.name: one for group in groups.values() for one in group}
    if name in groups:
        return list(groups[name])
    if name in calculations:
        return [calculations[name]]
    if name in SECTIONS:
        return list(SECTIONS[name])
    for observation in OBSERVATIONS:
        if name == observation.name:
            return observation
    by_name = {experiment.name: experiment for all_ in SECTIONS.values() for experiment in all_}
    if name not in by_name:
        names = (
            *(one.name for one in OBSERVATIONS),
            *SECTIONS,
            *by_name,
            *groups,
            *calculations,
        )
        raise InputError(f"{name}: no such experiment", hint="there are " + ", ".join(names))
    return [by_name[name]]
