"""Which cases of a product of parameters `make test` runs.

A test with several `parametrize` marks has a case for each combination of their values. With real
programs that costs minutes for few further faults: so in tests/integration as many cases run as it
takes to have each value of each mark once, and the others are `long`. A test that needs all of them
has the mark `every_case`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

import pytest

Case = tuple[Hashable, ...]


def each_value_once(cases: Sequence[Case]) -> list[int]:
    """The numbers of as few cases as have each value that a case has at its place, in order.

    Of cases that serve equally well, the one whose values were chosen least often: so programs that
    outnumber MPIs take turns with them.
    """
    missing = {value for case in cases for value in enumerate(case)}
    chosen: list[int] = []
    uses: Counter[tuple[int, Hashable]] = Counter()

    def worth(number: int) -> tuple[int, int]:
        values = list(enumerate(cases[number]))
        return len(missing.intersection(values)), -sum(uses[value] for value in values)

    while missing:
        best = max(range(len(cases)), key=worth)
        missing.difference_update(enumerate(cases[best]))
        uses.update(enumerate(cases[best]))
        chosen.append(best)
    return sorted(chosen)


def product(cases: Sequence[Case], name: Callable[..., str]) -> list[Any]:
    """Values for a `parametrize` mark that has a product in it where some combinations are missing:
    further cases are `long`. `name` makes a case's name from its values."""
    chosen = each_value_once(cases)
    return [
        pytest.param(*case, id=name(*case), marks=() if number in chosen else pytest.mark.long)
        for number, case in enumerate(cases)
    ]


def mark_further_cases(items: Iterable[pytest.Item]) -> None:
    """Marks as `long` what `make test` leaves out of each product."""
    products: dict[str, list[pytest.Item]] = {}
    for item in items:
        if not any(item.get_closest_marker(name) for name in ("long", "every_case")):
            products.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for cases in products.values():
        # One value for each mark, also where a mark has several arguments.
        values = [tuple(case.callspec._idlist) for case in cases if hasattr(case, "callspec")]
        chosen = each_value_once(values)
        for number in set(range(len(values))).difference(chosen):
            cases[number].add_marker(pytest.mark.long)
