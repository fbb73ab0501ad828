"""How the predicted time of a run depends on the machine: slopes, their range, and what a change
of the machine would do. docs/models/sensitivity.md has the definitions.

A run with sensitivity has, for each key of the machine, the seconds of its critical path that the
key causes. A latency that becomes f times as long makes them f times as many, a bandwidth that
becomes f times as high 1 / f times.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sesame.datasets import DataSet
from sesame.datasets.info import Kind
from sesame.errors import InputError
from sesame.extras import require
from sesame.machines.values import general, in_one_unit, kinds_of_keys, machine_values
from sesame.settings import setting

if TYPE_CHECKING:
    import pandas as pd

# Kinds of keys with a slope: whether the time is in proportion to the value, or to its inverse.
PROPORTIONAL = {"duration": True, "number": True, "bandwidth": False}
# Keys of these kinds whose times are not in proportion to them: models of disks and of limits.
UNEVEN = re.compile(
    r"(node\.)?storage\.device\.(rotations_per_minute|\w+_seek|\w+_limit|limit_refill)"
)
# Keys that another moves when it is changed.
MOVED = re.compile(r"((?:node\.)?network)\.(segment\.\d+\.(latency|bandwidth)|stream_bandwidth)")
# Keys that cause time also where the machine file does not set them.
DEFAULTS = {"node.compute_ratio": "1"}


@dataclass(frozen=True)
class Effect:
    """How the predicted time depends on one key of the machine."""

    key: str
    seconds: float  # of the critical path, that the key causes
    value: str  # in the machine of the run, with its unit
    is_proportional: bool  # else the time is in proportion to the inverse of the value
    # The factors of the value between which the slope holds, as far as the maxima on the critical
    # path tell; None: without limit.
    lowest: float | None
    highest: float | None

    def time_factor(self, factor: float) -> float:
        """How many times as long the key's seconds take when its value is `factor` times as
        large."""
        return factor if self.is_proportional else 1 / factor

    def used_range(self, factor: float) -> float:
        """How far the change goes: 0 at the run's own value, 1 at the end of the slope's range."""
        limit = self.highest if factor > 1 else self.lowest
        if limit is None or factor == 1:
            return 0.0
        change = self.time_factor(factor) - 1
        most = self.time_factor(limit) - 1 if limit > 0 else -1.0
        return change / most if most else float("inf")


@dataclass(frozen=True)
class Sensitivity:
    """The effects of all keys on the time of a run."""

    predicted_s: float
    effects: tuple[Effect, ...]  # of keys that can be changed, the largest first
    other: Mapping[str, float]  # seconds of what is no key of the machine
    values: Mapping[str, str]  # of every key of the run's machine, as text

    @cached_property
    def by_key(self) -> dict[str, Effect]:
        return {effect.key: effect for effect in self.effects}

    def effect_of(self, key: str) -> Effect:
        """The effect of a key. Raises InputError for a key that has no slope."""
        if key in self.by_key:
            return self.by_key[key]
        kind = kind_of_key(key)
        if kind not in PROPORTIONAL or UNEVEN.fullmatch(key):
            raise InputError(
                f"{key} has no slope: the time does not change in proportion to it",
                hint=f"simulate the run with {setting('settings', {key: '…'})}",
            )
        if moved := MOVED.fullmatch(key):
            raise InputError(
                f"{key} has no slope of its own: it moves with the table's latency or bandwidth",
                hint=f"change {moved[1]}.{moved[3] or 'bandwidth'}, or simulate the run with "
                f"{setting('settings', {key: '…'})}",
            )
        if key not in self.values:
            raise InputError(
                f"the machine of this run does not set {key}, so there is nothing to change",
                hint=f"simulate the run with {setting('settings', {key: '…'})}",
            )
        return Effect(key, 0.0, self.values[key], PROPORTIONAL[kind], None, None)


def has_sensitivity(data_set: DataSet) -> bool:
    return "sensitivity_s" in data_set.info.get("result", {})


def sensitivity_of(data_set: DataSet) -> Sensitivity:
    """The sensitivity of a simulated run. Raises InputError if the data set has none."""
    path = str(data_set.path)
    if data_set.kind != Kind.SIMULATED:
        raise InputError(
            f"expected a simulated run, got a data set of kind {data_set.kind}", path=path
        )
    if not has_sensitivity(data_set):
        raise InputError(
            "this run was simulated without its sensitivity",
            path=path,
            hint=f"simulate it again with {setting('sensitivity', True)}",
        )
    info, result = data_set.info, data_set.info["result"]
    values = machine_values(info["target_system"]["machine_file"], info["scenario"]["overrides"])
    seconds = result["sensitivity_s"]
    keys = {key for key in (*seconds, *result["sensitivity_range"]) if _has_slope(key)}
    effects = [
        _effect(key, seconds.get(key, 0.0), values, result["sensitivity_range"].get(key))
        for key in keys
    ]
    return Sensitivity(
        # That of the run whose path it is: a run that was repeated predicts the median of all.
        sum(seconds.values()),
        tuple(sorted(effects, key=lambda effect: (-abs(effect.seconds), effect.key))),
        {key: value for key, value in seconds.items() if key not in keys},
        values,
    )


def kind_of_key(key: str) -> str:
    """The kind of a machine key: "duration". Raises InputError for an unknown key."""
    pattern, known = general(key), kinds_of_keys()
    if pattern not in known:
        from difflib import get_close_matches

        near = get_close_matches(pattern, known, 1)
        raise InputError(
            f"no key {key} in a machine file",
            hint=f"did you mean {near[0]}?" if near else "docs/formats/machine.md lists the keys",
        )
    return known[pattern]


def factor_of(key: str, change: str, value: str) -> float:
    """How many times `value` a key is after a change: "-50%", "x2", or another value with its
    unit. Raises InputError."""
    text = change.strip()
    wrong = InputError(
        f"{key}={change}: expected a change such as -50%, x2 or a value such as {value}, got "
        f"{change!r}"
    )
    number = r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?"
    if re.fullmatch(rf"{number}\s*%", text, re.IGNORECASE):
        factor = 1 + float(text.rstrip("% ")) / 100
        if not text.startswith(("+", "-")):
            raise InputError(
                f"{key}={change}: expected a sign in front of a percentage",
                hint=f"-{text} makes it smaller, +{text} larger",
            )
    elif re.fullmatch(rf"[x*]\s*{number}", text, re.IGNORECASE):
        factor = float(text[1:])
    else:
        before, after = in_one_unit(key, value), in_one_unit(key, text)
        if not isinstance(after, int | float) or not isinstance(before, int | float):
            raise wrong
        if before == 0:
            raise InputError(
                f"{key}={change}: it is 0 in this run, and a slope needs a value",
                hint=f"simulate the run with {setting('settings', {key: change})}",
            )
        factor = after / before
    if factor < 0 or (factor == 0 and not PROPORTIONAL[kind_of_key(key)]):
        raise InputError(f"{key}={change}: leaves nothing of {value}, expected a value above 0")
    return factor


def range_in_words(effect: Effect) -> str:
    """The changes of the value for which the slope holds, as far as is known: "-30 % to +5 %"."""

    def change(factor: float) -> str:
        return f"{100 * (factor - 1):+.3g} %" if factor < 10 else f"x{factor:.3g}"

    match effect.lowest, effect.highest:
        case None, None:
            return "any change"
        case None, float() as highest:
            return f"up to {change(highest)}"
        case float() as lowest, None:
            return f"from {change(lowest)} on"
        case lowest, highest:
            assert lowest is not None and highest is not None
            return f"{change(lowest)} to {change(highest)}"


def _has_slope(key: str) -> bool:
    try:
        is_known = kind_of_key(key) in PROPORTIONAL
    except InputError:  # "other"
        return False
    return is_known and not UNEVEN.fullmatch(key) and not MOVED.fullmatch(key)


def _effect(key: str, seconds: float, values: Mapping[str, str], limits: Any) -> Effect:
    is_proportional = PROPORTIONAL[kind_of_key(key)]
    lowest, highest = limits or (None, None)  # of the time that the key causes
    if not is_proportional:
        lowest, highest = (
            None if highest is None else 1 / highest,
            None if lowest is None or lowest <= 0 else 1 / lowest,
        )
    elif lowest is not None and lowest <= 0:
        lowest = None
    value = values.get(key) or DEFAULTS[key]
    return Effect(key, seconds, value, is_proportional, lowest, highest)


def frame_of(data_set: DataSet) -> pd.DataFrame:
    """See `sesame.DataSet.sensitivity`."""
    require("notebook", "a data frame", "pandas")
    import pandas as pd

    found = sensitivity_of(data_set)
    rows = [(one.key, one.value, one.seconds, one.lowest, one.highest) for one in found.effects] + [
        (name, "", seconds, None, None) for name, seconds in found.other.items()
    ]
    names = ("key", "value", "time_s", "holds_from_factor", "holds_to_factor")
    frame = pd.DataFrame(rows, columns=list(names))
    frame.insert(3, "share", frame["time_s"] / (found.predicted_s or 1.0))
    return frame
