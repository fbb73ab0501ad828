"""What a measurement is expected to cost, before it begins.

The rates of events are those of this node's last measurement, the cost of an event is that which
`sesame measure cost` calibrated. What is not known is not guessed: it is named.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sesame.measurement.cost import ANOTHER_CALL, Cost
from sesame.measurement.detail import Detail
from sesame.measurement.session import Wanted

FEWEST_SECONDS = 1.0  # of a measurement whose rates are kept


@dataclass(frozen=True)
class Expected:
    """`share`: expected processor time as a share of one processor, of the subsystems `known`;
    those in `unknown` lack a rate or a calibrated cost. `budget`: the share of each processor that
    the measurement may take; None: no limit."""

    share: float
    known: tuple[str, ...]
    unknown: tuple[str, ...]
    is_traced: bool
    budget: float | None

    def __str__(self) -> str:
        parts = []
        if self.known:
            traced = " without its trace" if self.is_traced else ""
            share = f"{100 * self.share:.3g} % of a processor for {', '.join(self.known)}{traced}"
            parts.append(f"{share} at the rates of the last measurement")
        if self.unknown:
            parts.append(
                f"unknown for {', '.join(self.unknown)} (no `sesame measure cost` or run yet)"
            )
        if self.budget is not None:
            parts.append(f"at most {100 * self.budget:g} % of each processor, the budget")
        return "predicted cost: " + "; ".join(parts)


def expected_cost(
    wanted: Wanted, costs: Sequence[Cost] | None, rates: Mapping[str, float]
) -> Expected:
    """`costs`: those calibrated here (kept_costs); `rates`: events per second by subsystem."""
    by_subsystem = {
        one.subsystem: one.ns
        for one in costs or ()
        if one.points != ANOTHER_CALL
        and one.is_certain
        and Detail[one.detail.upper()] == wanted.detail
    }
    names = sorted({name for name, _ in wanted.points})
    known = tuple(name for name in names if name in by_subsystem and name in rates)
    share = sum(1e-9 * by_subsystem[name] * rates[name] for name in known)
    unknown = tuple(name for name in names if name not in known)
    return Expected(share, known, unknown, bool(wanted.tracing), wanted.budget)


def keep_rates(rows: Sequence[Mapping[str, Any]]) -> None:
    """Stores the rates in records `measurement_cost` for the next measurement of this user on this
    kernel. Ignores errors, and measurements that were too short."""
    found = kept_rates()
    for name in {row["subsystem"] for row in rows}:
        own = [row for row in rows if row["subsystem"] == name]
        seconds = 1e-9 * sum(row["active_ns"] for row in own)
        if seconds >= FEWEST_SECONDS:
            found[name] = sum(row["events"] for row in own) / seconds
    with suppress(OSError):
        _file().parent.mkdir(parents=True, exist_ok=True)
        _file().write_text(json.dumps(found))


def kept_rates() -> dict[str, float]:
    """The rates that `keep_rates` stored; empty if there are none."""
    try:
        found = json.loads(_file().read_text())
        return {str(name): float(rate) for name, rate in found.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def _file() -> Path:
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "sesame" / f"rates-{platform.release()}.json"
