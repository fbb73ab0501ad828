"""Functions of C++ in the tables of the critical path."""

import pytest

from sesame.analysis.critical_path import _place


@pytest.mark.parametrize(
    ("function", "shown"),
    [
        ("main", "main"),
        ("Ssor::sweep_down()", "Ssor::sweep_down()"),
        ("largest(double, int)", "largest(double, int)"),
        (
            "(anonymous namespace)::run(Report&, std::string const&)",
            "(anonymous namespace)::run(…)",
        ),
        ("Sum::of(std::function<void (Report&)> const&) const", "Sum::of(…) const"),
        ("odd)", "odd)"),
    ],
)
def test_long_parameters_are_left_out(function, shown):
    assert _place(function, "") == shown
    assert _place(function, "a.cc:7") == f"{shown} (a.cc:7)"
