"""Protocols of workers give the data set of one process; the shortcut saves all synchronisation."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.integration.orders import differences

from sesame.reproduction.counting import Counting, Setup
from sesame.simulation.settings import PROTOCOLS

COMMON = ("--compute", "fixed:1us", "--placement", "cyclic", "--set", "network.sharing=none")
# With receives from any source, probes and tests.
PROGRAMS = {
    "tests/programs/answers/wildcards.c": (8, ()),
    "examples/samplesort.c": (7, (500,)),
    "examples/heat.c": (8, (48, 10)),
}


@pytest.mark.parametrize("path", PROGRAMS)
def test_every_protocol_gives_the_data_of_one_process(path, compiled, simulate, tmp_path):
    ranks, arguments = PROGRAMS[path]
    program = compiled(path)

    def run(*options: object) -> Path:
        output = tmp_path / f"{len(list(tmp_path.glob('*.sesame')))}.sesame"
        command = ("-o", output, "-n", ranks, "--machine", "infiniband", *COMMON, *options)
        done = simulate(*command, "--", program, *arguments)
        assert done.status == 0, done.stderr[:2000]
        return output

    alone = run()
    found = {
        (protocol, workers, shuffle): differences(
            alone, run("--protocol", protocol, "--workers", workers, *shuffle)
        )
        for protocol in PROTOCOLS
        for workers, shuffle in ((2, ()), (4, ("--shuffle", 1)))
    }
    assert not any(found.values()), found


WINDOWS = ("tests/programs/model/windows.c", 5, (500, 12))
MESSAGES = ("tests/programs/model/schedule.c", 6, (400, 12))


@pytest.mark.parametrize(("path", "ranks", "arguments"), [WINDOWS, MESSAGES])
def test_conditional_events_suffice_for_cards_and_windows(
    path, ranks, arguments, compiled, simulate, tmp_path
):
    outputs = []
    for options in ((), ("--protocol", "conditional", "--workers", 3, "--shuffle", 2)):
        outputs.append(tmp_path / f"{len(outputs)}.sesame")
        command = ("-o", outputs[-1], "-n", ranks, "--machine", "csd3", *CARDS, *options)
        done = simulate(*command, "--", compiled(path), *arguments)
        assert done.status == 0, done.stderr[:2000]
    assert differences(*outputs) == []


CARDS = ("--compute", "none", "--placement", "cyclic")
REFUSED = {
    "not for a network whose cards messages share": ("csd3", *CARDS),
    "one-sided communication is not simulated with null messages": (
        *("infiniband", *CARDS),
        *("--set", "network.sharing=none"),
    ),
}


@pytest.mark.parametrize("why", REFUSED)
@pytest.mark.parametrize("protocol", ["null", "null+conditional"])
def test_null_messages_are_refused_where_events_send(protocol, why, compiled, simulate, tmp_path):
    path, ranks, arguments = WINDOWS
    output = tmp_path / "refused.sesame"
    options = ("--workers", 2, "--protocol", protocol, "--machine", *REFUSED[why])
    done = simulate("-o", output, "-n", ranks, *options, "--", compiled(path), *arguments)
    assert done.status == 2
    assert why in done.stderr
    assert "use the protocol quantum or conditional" in done.stderr
    assert not output.exists()


def test_a_protocol_for_one_worker_is_noted(compiled, simulate):
    program = compiled("tests/programs/model/endings.c")
    options = ("--machine", "infiniband", "-n", 2, "--compute", "none")
    noted = "note: --protocol null has no effect with one worker"
    assert noted in simulate(*options, "--protocol", "null", "--", program).stderr
    assert "has no effect" not in simulate(*options, "--", program).stderr


@pytest.mark.parametrize("protocol", PROTOCOLS[1:])
def test_asynchronous_protocols_refuse_simulated_files(protocol, compiled, simulate, tmp_path):
    program = compiled("tests/programs/model/files_and_messages.c")
    command = ("--workers", 2, "-n", 4, "--machine", "pfssim", *COMMON, "--protocol", protocol)
    done = simulate(*command, "-o", tmp_path / "run.sesame", "--", program, 1, cwd=tmp_path)
    done.assert_refused("using MPI-IO or shared files with a protocol other than quantum")
    assert done.stderr.count("error: ") == 1
    assert not (tmp_path / "run.sesame").exists()


@pytest.fixture
def counting(tmp_path: Path) -> Callable:
    return Counting(tmp_path, lambda _step: None)


def test_a_benchmark_that_names_its_sources_needs_no_synchronisation(counting):
    for protocol in PROTOCOLS[1:]:
        assert counting.count("bt", 4, Setup(2, protocol)).rounds == 0, protocol


def test_without_the_shortcut_rounds_are_needed_for_the_same_prediction(counting):
    alone = counting.count("sp", 4, Setup(1))
    for protocol in PROTOCOLS[1:]:
        waiting = counting.count("sp", 4, Setup(4, protocol, shortcut=False))
        assert waiting.predicted_s == alone.predicted_s
        assert waiting.rounds > 100, protocol
