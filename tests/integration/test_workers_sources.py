"""What workers take for granted about the sources of receives (`--sources`) saves synchronisation,
and changes no result: a run that it would change ends."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.integration.orders import differences

from sesame.simulation.settings import PROTOCOLS

SOURCES = "tests/programs/model/sources.c"
RANDOM = "tests/programs/model/schedule.c"
FIXED = ("--compute", "fixed:1us", "--placement", "cyclic", "--set", "network.sharing=none")


@pytest.fixture
def run(compiled: Callable, simulate: Callable, tmp_path: Path) -> Callable:
    """run(program, ranks, arguments, options): the data set, or a failed run's message."""

    def simulated(path: str, ranks: int, arguments: tuple, *options: object) -> Path | str:
        output = tmp_path / f"{len(list(tmp_path.glob('*.sesame')))}.sesame"
        command = ("-o", output, "-n", ranks, "--machine", "infiniband", *FIXED, *options)
        done = simulate(*command, "--", compiled(path), *arguments)
        if done.status == 2:
            assert not output.exists()
            return str(done.stderr)
        assert done.status == 0, done.stderr[:2000]
        return output

    return simulated


def synchronisations(directory: Path) -> int:
    parallel = json.loads((directory / "info.json").read_text())["result"]["parallel"]
    return int(parallel["rounds"]) - 1 + sum(parallel["null_messages"])


WITHOUT_WAITING = {"sweeps": ("tags", "earlier"), "levels": ("earlier",), "master": ("earlier",)}


@pytest.mark.every_case
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("pattern", WITHOUT_WAITING)
def test_expected_sources_need_no_synchronisation(pattern, protocol, run):
    def simulated(*options: object) -> Path:
        return run(SOURCES, 9, (pattern, 5), *options)

    alone = simulated()
    workers = ("--workers", 3, "--protocol", protocol)
    without = synchronisations(simulated(*workers))
    assert without > 20
    for sources in WITHOUT_WAITING[pattern]:
        named = alone if sources == "earlier" else sources
        for shuffle in ((), ("--shuffle", 1)):
            found = simulated(*workers, "--sources", named, *shuffle)
            assert differences(alone, found) == [], (sources, shuffle)
            # A worker announces while another one knows messages that are not next yet.
            most = without // 3 if protocol.startswith("null") else 0
            assert synchronisations(found) <= most


@pytest.mark.parametrize("workers", [2, 4])
@pytest.mark.parametrize("sources", ["tags", "earlier"])
@pytest.mark.parametrize("seed", [3, 4, 5, 6])
def test_random_programs_keep_their_result_or_end(seed, sources, workers, run):
    """Their receives from any source mostly have several sources for a tag."""
    arguments = (seed, 20, "messages")
    alone = run(RANDOM, 8, arguments)
    named = alone if sources == "earlier" else sources
    options = ("--workers", workers, "--sources", named, "--shuffle", seed)
    found = run(RANDOM, 8, arguments, *options)
    if sources == "earlier":  # of the same run: nothing contradicts it
        assert isinstance(found, Path), found
    if isinstance(found, Path):
        assert differences(alone, found) == []
    else:
        assert "was expected" in found


def test_another_order_than_expected_ends_the_run(run):
    """With a slow network of another machine the requests come in another order."""
    alone = run(SOURCES, 8, ("master", 20))
    slow = ("--set", "network.latency=30us", "--set", "node.compute_ratio=9")
    options = ("--workers", 4, "--shuffle", 1, "--compute", "fixed:3us", *slow)
    other = run(SOURCES, 8, ("master", 20), *options)
    found = run(SOURCES, 8, ("master", 20), *options, "--sources", alone)
    if isinstance(found, Path):
        assert differences(other, found) == []
        pytest.fail("the orders do not differ")
    assert "comes before another one that was expected to be the first" in found
    assert "leave out --sources" in found


def test_tags_with_several_sources_end_the_run_or_wait(run):
    alone = run(SOURCES, 8, ("master", 20))
    found = run(SOURCES, 8, ("master", 20), "--workers", 4, "--sources", "tags")
    assert isinstance(found, str) or differences(alone, found) == []


@pytest.mark.parametrize("sources", ["tags", "earlier"])
def test_a_cancelled_receive_that_is_expected_ends_the_run(sources, run):
    arguments = ("cancel", 3)
    alone = run(SOURCES, 4, arguments)
    named = alone if sources == "earlier" else sources
    found = run(SOURCES, 4, arguments, "--workers", 4, "--sources", named)
    if isinstance(found, Path):  # the message came after the cancel
        assert differences(alone, found) == []
    else:
        assert "MPI_Cancel of a receive from any source, whose message was expected" in found


def test_wrong_sources_are_refused_in_words(run, tmp_path):
    alone = run(SOURCES, 4, ("master", 2))
    refused = {
        ("--sources", "nothing"): "expected any, members, tags or the data set of an earlier run",
        ("--sources", alone): "it has 4 ranks, this run has 8",
    }
    for options, text in refused.items():
        assert text in run(SOURCES, 8, ("master", 2), "--workers", 2, *options)
    cards = ("--workers", 2, "--set", "network.sharing=interface", "--sources", "tags")
    assert "is not for a network whose cards" in run(SOURCES, 8, ("master", 2), *cards)
