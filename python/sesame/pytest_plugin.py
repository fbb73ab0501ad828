"""A pytest plugin: performance tests that compare a simulated run with a stored baseline.

    def test_exchange_is_not_slower(sesame_check):
        sesame_check("./app", "input.dat", ranks=16, machine="infiniband", at_most="5%")

The baseline is a data set beside the test, which `pytest --sesame-update` writes. Everything else
of Sesame is imported when a test uses the fixture.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pytest

if TYPE_CHECKING:
    from sesame.comparison.baseline import CheckResult
    from sesame.settings import Value

DIRECTORY = "baselines"
USERS = pytest.StashKey[dict[Path, str]]()  # the test that uses each baseline


class SesameCheck(Protocol):
    """The fixture. `command` is the program and its arguments; `baseline` is a path relative to the
    test's directory; the other arguments are those of `sesame check`. Fails the test when the
    program is slower than `at_most` allows; otherwise returns the result of the comparison."""

    def __call__(
        self,
        *command: str,
        ranks: int | None = None,
        machine: str | None = None,
        at_most: str = "5%",
        baseline: str | None = None,
        overrides: tuple[str, ...] = (),
        compute: str | None = None,
    ) -> CheckResult: ...


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("sesame")
    group.addoption(
        "--sesame-update",
        action="store_true",
        help="write the baselines of sesame_check instead of comparing with them",
    )


@pytest.fixture
def sesame_check(request: pytest.FixtureRequest) -> SesameCheck:
    """Simulates a program and fails the test when it is slower than its baseline."""
    used: set[Path] = set()

    def check(
        *command: str,
        ranks: int | None = None,
        machine: str | None = None,
        at_most: str = "5%",
        baseline: str | None = None,
        overrides: tuple[str, ...] = (),
        compute: str | None = None,
    ) -> CheckResult:
        from sesame.analysis.shares import parse_share
        from sesame.comparison.baseline import CheckSettings
        from sesame.comparison.baseline import check as run_check
        from sesame.errors import SesameError
        from sesame.settings import spelled

        path = request.path.parent / (baseline or _own(request, used))
        update = bool(request.config.getoption("--sesame-update"))
        wanted = CheckSettings(command, ranks, machine, overrides, compute)
        try:
            if update:
                path.parent.mkdir(parents=True, exist_ok=True)
            with spelled(_spelling):
                checked = run_check(path, wanted, at_most=parse_share(at_most), update=update)
        except SesameError as error:
            pytest.fail(f"sesame_check: {error}", pytrace=False)
        if not checked.passed:
            pytest.fail(_failure_text(checked), pytrace=False)
        return checked

    return check


def _spelling(name: str, value: Value = None) -> str:
    """Settings are arguments of the fixture, but for the option of pytest."""
    from sesame.settings import as_argument

    return "pytest --sesame-update" if name == "update" else as_argument(name, value)


def _name_of(request: pytest.FixtureRequest) -> Path:
    """The path of a test's baseline, from the names of its file and itself."""
    name = re.sub(r"[^\w.-]+", "_", request.node.nodeid.partition("::")[2])
    return Path(DIRECTORY) / f"{request.path.stem}-{name.strip('_')}.sesame"


def _own(request: pytest.FixtureRequest, used: set[Path]) -> Path:
    """The test's baseline. Fails the test if another test or call uses the same one: it would be
    compared with the wrong program."""
    path = _name_of(request)
    users = request.config.stash.setdefault(USERS, {})
    user = users.setdefault(request.path.parent / path, request.node.nodeid)
    if path in used or user != request.node.nodeid:
        pytest.fail(
            f"sesame_check: {user} has this baseline already: {path}\n"
            "hint: give each call its own, as baseline='baselines/name.sesame'",
            pytrace=False,
        )
    used.add(path)
    return path


def _failure_text(checked: CheckResult) -> str:
    """The verdict, and what got slower."""
    import io

    from rich.console import Console

    from sesame.cli.diff_summary import print_difference

    text = io.StringIO()
    if checked.difference is not None:
        print_difference(checked.difference, Console(file=text, width=120, highlight=False))
    return f"{checked.in_words()}\n{text.getvalue()}"
