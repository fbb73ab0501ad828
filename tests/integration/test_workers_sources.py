"""What workers assume about the sources of receives (`--sources`) saves synchronisation,
and changes no result: a run that it would change ends."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.integration.orders import differences

import sesame
from sesame.datasets import DataSet
from sesame.errors import InputError, SesameError
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


@pytest.mark.few_cases(3)
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


@pytest.mark.few_cases(1)
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


CONTRADICTED = "comes before another one that was expected to be the first"
# Rank 0 and near are of one worker, far is of the other: rank 0 learns of far's messages last.
NEAR, FAR = 1, 3
TWO_WORKERS = ("--workers", 2)


def order_of(directory: Path) -> list[int]:
    """The sources of what rank 0 received, in the order of the arrivals of the data."""
    messages = DataSet(directory).table("message", ["destination", "source", "arrival_ps", "flags"])
    rows = sorted(messages.to_pylist(), key=lambda row: row["arrival_ps"])
    return [row["source"] for row in rows if row["destination"] == 0 and row["flags"] & 2 == 0]


@pytest.mark.parametrize("sources", ["tags", "earlier"])
def test_another_order_than_expected_ends_the_run(sources, run):
    """Near sends before far in the earlier run, and behind it in the run that expects this."""
    alone = run(SOURCES, 4, ("pair", 1))
    other = run(SOURCES, 4, ("pair", 40))
    assert order_of(alone) == [NEAR, FAR]
    assert order_of(other) == [FAR, NEAR]
    named = alone if sources == "earlier" else sources
    found = run(SOURCES, 4, ("pair", 40), *TWO_WORKERS, "--sources", named)
    assert isinstance(found, str)
    assert f"a message of rank {FAR} with tag 4 {CONTRADICTED}" in found
    assert "leave out --sources" in found
    right = run(SOURCES, 4, ("pair", 40), *TWO_WORKERS, "--sources", other)
    assert differences(other, right) == []


def test_tags_with_several_sources_keep_their_order_or_end_the_run(run):
    near_first, master = ("pair", 1), ("master", 20)
    alone = run(SOURCES, 4, near_first)
    kept = run(SOURCES, 4, near_first, *TWO_WORKERS, "--sources", "tags")
    assert differences(alone, kept) == []
    alone = run(SOURCES, 8, master)
    found = run(SOURCES, 8, master, "--workers", 4, "--sources", "tags")
    if isinstance(found, str):
        assert CONTRADICTED in found
    else:
        assert differences(alone, found) == []


@pytest.mark.parametrize("sources", ["tags", "earlier"])
@pytest.mark.parametrize("is_first", [0, 1])
def test_a_receive_that_names_its_source_is_among_others(is_first, sources, run):
    """With one source for each tag, near's message matches before far's is known. Far's is not for
    the receive that names it, but for the one that was posted before."""
    alone = run(SOURCES, 4, ("named", is_first))
    assert order_of(alone) == [FAR, NEAR, NEAR, FAR]
    named = alone if sources == "earlier" else sources
    found = run(SOURCES, 4, ("named", is_first), *TWO_WORKERS, "--sources", named)
    if sources == "tags" and not is_first:
        assert isinstance(found, str)
        assert CONTRADICTED in found
    else:
        assert differences(alone, found) == []


@pytest.mark.parametrize("near_bytes", [8, 200_000])
def test_large_messages_match_in_the_order_of_their_announcements(near_bytes, run):
    """Far's is announced before near's is sent, and its data come later."""
    arguments = ("large", near_bytes)
    alone = run(SOURCES, 4, arguments)
    assert order_of(alone) == [NEAR, FAR]
    found = run(SOURCES, 4, arguments, *TWO_WORKERS, "--sources", alone)
    assert differences(alone, found) == []


def test_a_message_that_waits_for_a_later_one_needs_no_synchronisation(run):
    """Near's is announced first, but its data come after far's announcement: which was first is
    known when far's message is."""
    arguments = ("large", 10_000_000, 1)
    alone = run(SOURCES, 4, arguments)
    assert synchronisations(run(SOURCES, 4, arguments, *TWO_WORKERS)) > 0
    found = run(SOURCES, 4, arguments, *TWO_WORKERS, "--sources", alone)
    assert differences(alone, found) == []
    assert synchronisations(found) == 0


def test_messages_of_the_same_time_match_in_the_order_of_the_communicator(run):
    alone = run(SOURCES, 4, ("ties", 1))
    messages = DataSet(alone).table("message", ["destination", "source", "tag", "arrival_ps"])
    rows = [row for row in messages.to_pylist() if row["tag"] == 4 and row["destination"] == 0]
    assert {row["source"] for row in rows} == {NEAR, FAR}
    assert len({row["arrival_ps"] for row in rows}) == 1
    found = run(SOURCES, 4, ("ties", 1), *TWO_WORKERS, "--sources", alone)
    assert differences(alone, found) == []


@pytest.mark.few_cases(1)
@pytest.mark.parametrize("sources", ["tags", "earlier"])
def test_a_cancel_ends_the_run_if_the_expected_message_comes_later(sources, run):
    before, after = ("cancel", 1), ("cancel", 50)
    runs = {arguments: run(SOURCES, 4, arguments) for arguments in (before, after)}
    found = {
        arguments: run(
            *(SOURCES, 4, arguments, *TWO_WORKERS),
            *("--sources", alone if sources == "earlier" else sources),
        )
        for arguments, alone in runs.items()
    }
    assert differences(runs[before], found[before]) == []
    assert isinstance(found[after], str)
    assert "MPI_Cancel of a receive from any source, whose message was expected" in found[after]


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


def test_wrong_sources_are_found_before_any_run(run, compiled, tmp_path):
    alone = run(SOURCES, 4, ("master", 2))
    without = tmp_path / "without.sesame"
    run(SOURCES, 4, ("master", 2), "--no-records", "-o", without)

    def refused(**settings: object) -> str:
        with pytest.raises(InputError) as error:
            sesame.series(compiled(SOURCES), ["master", 2], machine="infiniband", **settings)
        return str(error.value)

    several = {"ranks": [4, 8], "compute": "fixed:1us", "workers": 2}
    assert "it has 4 ranks, this run has 8" in refused(**several, sources=alone)
    assert "no records of simulated messages" in refused(**several, sources=without)
    assert "sources: expected any, members, tags or the" in refused(**several, sources=None)


def test_one_worker_reads_no_earlier_run(run):
    alone = run(SOURCES, 4, ("master", 2))
    found = run(SOURCES, 8, ("master", 2), "--sources", alone)
    assert isinstance(found, Path)
    info = json.loads((found / "info.json").read_text())
    assert f"--sources {alone} has no effect with one worker" in info["notes"]


def test_a_wrong_file_of_expected_sources_is_refused(run, compiled, monkeypatch):
    alone = run(SOURCES, 4, ("master", 2))
    right = (0, 0, 4, 1, 1, 0)
    wrong = {
        struct.pack("<6i", *right)[:-4]: "the last of the expected sources are cut off",
        struct.pack(
            "<6i", 0, 0, 4, 1, -1, 0
        ): "-1 messages of rank 1 to rank 0: expected 1 or more",
        struct.pack("<6i", 0, 0, 4, 4, 1, 0): "1 messages of rank 4 to rank 0: expected 1 or more",
        struct.pack("<6i", 4, 0, 4, 1, 1, 0): "1 messages of rank 1 to rank 4: expected 1 or more",
    }
    for content, text in wrong.items():
        write = "sesame.api.preparing.write_expected"
        monkeypatch.setattr(write, lambda _e, _r, path, content=content: path.write_bytes(content))
        with pytest.raises(SesameError, match=text):
            sesame.simulate(
                *(compiled(SOURCES), ["master", 2]),
                **{"machine": "infiniband", "ranks": 4, "compute": "fixed:1us", "workers": 2},
                **{"settings": {"network.sharing": "none"}, "placement": "cyclic"},
                sources=alone,
            )
