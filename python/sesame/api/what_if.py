"""`sesame.what_if`: the predicted time of a run on a machine with other values of some keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import Any

from sesame.analysis.machine_file import machine_file_of
from sesame.analysis.sensitivity import Effect, Sensitivity, factor_of, sensitivity_of
from sesame.api.arguments import mapping_of
from sesame.api.data_set import DataSet
from sesame.api.data_set import open as open_data_set
from sesame.api.machine import Machine
from sesame.api.runs import simulate
from sesame.errors import InputError
from sesame.settings import setting


@dataclass(frozen=True)
class Change:
    """One changed key of the machine."""

    effect: Effect
    factor: float  # how many times its value of the run
    value: str  # the new one, as a machine file has it

    @property
    def difference_s(self) -> float:
        """By how much the predicted time changes."""
        return self.effect.seconds * (self.effect.time_factor(self.factor) - 1)


@dataclass(frozen=True, repr=False)
class WhatIf:
    """The predicted time with the changes, from the slopes of the run; `simulated_…` only with
    `check`. As text, and in a notebook, it is a sentence."""

    run_s: float  # the predicted time of the run
    changes: tuple[Change, ...]
    simulated_run_s: float | None = None  # the run once more
    simulated_s: float | None = None  # with the changes

    @property
    def predicted_s(self) -> float:
        return max(self.run_s + sum(change.difference_s for change in self.changes), 0.0)

    def __repr__(self) -> str:
        from sesame.analysis.quantities import format_seconds

        changes = ", ".join(
            f"{one.effect.key} from {one.effect.value} to {one.value}" for one in self.changes
        )
        text = (
            f"{format_seconds(self.run_s)} becomes {format_seconds(self.predicted_s)} ({changes})"
        )
        if not self.is_in_range:
            text += "; an estimate: the change goes beyond the range in which the slopes hold"
        if self.simulated_s is not None:
            text += f"; simulated: {format_seconds(self.simulated_s)}"
        return text

    def _repr_html_(self) -> str:
        return f"<div>{escape(repr(self))}</div>"

    @property
    def used_range(self) -> float:
        """How far the changes go: 0 is none, and up to 1 the slopes hold, as far as the maxima on
        the critical path tell."""
        return sum(change.effect.used_range(change.factor) for change in self.changes)

    @property
    def is_in_range(self) -> bool:
        return self.used_range <= 1

    def as_json(self) -> dict[str, Any]:
        described = {
            "run_s": self.run_s,
            "predicted_s": self.predicted_s,
            "in_range": self.is_in_range,
            "changes": [
                {
                    "key": change.effect.key,
                    "from": change.effect.value,
                    "to": change.value,
                    "path_s": change.effect.seconds,
                    "difference_s": change.difference_s,
                    "holds_from_factor": change.effect.lowest,
                    "holds_to_factor": change.effect.highest,
                }
                for change in self.changes
            ],
        }
        if self.simulated_s is not None:
            described |= {"simulated_run_s": self.simulated_run_s, "simulated_s": self.simulated_s}
        return described


def what_if(
    run: DataSet | str | Path, changes: Mapping[str, str | float], *, check: bool = False
) -> WhatIf:
    """Predicts the time of a simulated run on a machine with other values of some keys, from the
    run's own sensitivity: nothing is simulated.

    `run` was simulated with `sensitivity`; `changes` has for each key a change ("-50%", "x2") or a
    value ("2us"). Slopes are exact. How far they hold is an estimate: `WhatIf.is_in_range`.
    `check` simulates both ends, with the computation of the run, as `simulated_run_s` and
    `simulated_s`.

    Raises InputError for a run without sensitivity, an unknown key, or one that has no slope.
    """
    data_set = run if isinstance(run, DataSet) else open_data_set(run)
    sensitivity = sensitivity_of(data_set)
    if not mapping_of("changes", changes):
        raise InputError(
            "expected at least one change of a key of the machine",
            hint='for instance {"network.latency": "-50%"}',
        )
    answer = WhatIf(
        sensitivity.predicted_s,
        tuple(_change(sensitivity, key, str(text)) for key, text in changes.items()),
    )
    return _checked(data_set, answer) if check else answer


def _change(sensitivity: Sensitivity, key: str, text: str) -> Change:
    effect = sensitivity.effect_of(key)
    factor = factor_of(key, text, effect.value)
    return Change(effect, factor, _new_value(effect, factor))


def _new_value(effect: Effect, factor: float) -> str:
    """As text with the unit of the old value; numbers without exponent keep their digits."""
    digits = effect.value.rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ/µμ ")
    return f"{float(digits) * factor:.12g}{effect.value[len(digits) :]}"


def _checked(data_set: DataSet, answer: WhatIf) -> WhatIf:
    overrides = [text.partition("=") for text in data_set.info["scenario"]["overrides"]]
    with machine_file_of(data_set) as path:
        machine = Machine(path, tuple((key, value) for key, _, value in overrides))
        changed = machine.set({change.effect.key: change.value for change in answer.changes})
        return replace(
            answer,
            simulated_run_s=_simulated(data_set, machine),
            simulated_s=_simulated(data_set, changed),
        )


def _simulated(data_set: DataSet, machine: Machine) -> float:
    """The predicted time of the run on another machine, with the same computation."""
    info, scenario = data_set.info, data_set.info["scenario"]
    if scenario.get("initial_files") is not None:
        raise InputError(
            f"{setting('check', True)} is for runs of a program, and this one is of a traced run",
            path=str(data_set.path),
            hint=f"simulate the traced run again with {setting('settings')}",
        )
    compute = info["compute"] or "measured"
    if compute.startswith(("measured", "recorded")):  # an earlier recording may be gone by now
        if not data_set.has("call"):
            raise InputError(
                "the run has no records of its computation, which both ends need",
                path=str(data_set.path),
                hint=f"simulate it again without {setting('records', False)}",
            )
        compute = f"recorded:{data_set.path}"
    run = simulate(
        scenario["program"],
        scenario["arguments"],
        machine=machine,
        ranks=scenario["ranks"],
        compute=compute,
        placement=scenario["placement"].removeprefix("file:"),
        environment=scenario["environment"],
        cwd=scenario["working_directory"],
        discard_data=scenario["discard_data"],
        seed=scenario["seed"],
        stack_size=f"{scenario['stack_size_bytes']}B",
        private_libraries=scenario["private_libraries"],
        records=False,
    )
    return run.outcome.predicted_s
