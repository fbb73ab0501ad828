"""Which cases of a test with parameters `make test` runs; the others are `long`.

A test with several `parametrize` marks has a case for each combination of their values. With real
programs that costs minutes for few further faults: so in tests/integration as many cases run as it
takes to have each value of each mark once, and the others are `long`. A test that needs all of them
has the mark `every_case`. A case that would only skip must not stand for its values: leave it out
of the product (`product` below), or give it the mark `skipif`.

Elsewhere this holds for tests with the mark `each_value`.

In any directory, a test with the mark `few_cases(n)` has n cases in `make test`: the first ones, or
where there are several `parametrize` marks, those that together have most values. It is for costly
cases that run the same code; CONTRIBUTING.md says which these are. A test has at most one of the
three marks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

import pytest

Case = tuple[Hashable, ...]
# Tests and cases with these marks are no part of a product.
CHOSEN = ("long", "every_case", "few_cases", "skip")
# Each says how many cases there are.
RULES = ("every_case", "each_value", "few_cases")


def each_value_once(cases: Sequence[Case]) -> list[int]:
    """The numbers of as few cases as have each value that a case has at its place, in order."""
    return sorted(most_values_first(cases))


def most_values_first(cases: Sequence[Case]) -> list[int]:
    """The same numbers, each followed by that of a case with fewer values that are new.

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
    return chosen


def product(cases: Sequence[Case], name: Callable[..., str]) -> list[Any]:
    """Values for a `parametrize` mark that has a product in it where some combinations are missing:
    further cases are `long`. `name` makes a case's name from its values."""
    chosen = each_value_once(cases)
    return [
        pytest.param(*case, id=name(*case), marks=() if number in chosen else pytest.mark.long)
        for number, case in enumerate(cases)
    ]


def refuse_several_rules(items: Iterable[pytest.Item]) -> None:
    """An error if a test has marks that contradict each other."""
    for item in items:
        rules = [name for name in RULES if item.get_closest_marker(name)]
        if len(rules) > 1:
            raise pytest.UsageError(f"{item.nodeid} has the marks {' and '.join(rules)}: leave one")


def mark_further_cases(items: Iterable[pytest.Item]) -> None:
    """Marks as `long` what `make test` leaves out of each product."""
    products: dict[str, list[pytest.Item]] = {}
    for item in items:
        marks = [item.get_closest_marker(name) for name in CHOSEN]
        if not any(marks) and not _is_skipped(item):
            products.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for cases in products.values():
        values = [_values_of(case) for case in cases if hasattr(case, "callspec")]
        chosen = each_value_once(values)
        for number in set(range(len(values))).difference(chosen):
            cases[number].add_marker(pytest.mark.long)


def mark_beyond_few_cases(items: Iterable[pytest.Item]) -> None:
    """Marks as `long` all but n cases of each test with the mark `few_cases(n)`."""
    few: dict[tuple[str, int], list[pytest.Item]] = {}
    for item in items:
        mark = item.get_closest_marker("few_cases")
        if mark is not None and not item.get_closest_marker("long") and not _is_skipped(item):
            few.setdefault((item.nodeid.partition("[")[0], *mark.args), []).append(item)
    for (_, kept), cases in few.items():
        order = list(range(len(cases)))
        if len(list(cases[0].iter_markers("parametrize"))) > 1:
            first = most_values_first([_values_of(case) for case in cases])
            order = [*first, *(number for number in order if number not in first)]
        for number in order[kept:]:
            cases[number].add_marker(pytest.mark.long)


def _values_of(case: Any) -> Case:
    """The values of each mark, as objects: equal numbers in a list of values are two values.

    (Numbers in `callspec.indices` are those of cases since pytest 8.)
    """
    numbers = {name: id(value) for name, value in case.callspec.params.items()}
    marks = [mark.args[0] for mark in case.iter_markers("parametrize")]
    names = [mark.split(",") if isinstance(mark, str) else mark for mark in marks]
    of_marks = [tuple(numbers.pop(name.strip(), 0) for name in some) for some in names]
    return (*of_marks, *numbers.values())  # and of fixtures


def _is_skipped(item: pytest.Item) -> bool:
    """By a mark `skipif` whose condition is already known."""
    return any(mark.args and mark.args[0] is True for mark in item.iter_markers("skipif"))
