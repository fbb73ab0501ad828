"""Protocols of workers give the data set of one process; the shortcut saves all synchronisation."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.integration.orders import differences

from sesame.errors import AlreadyReported
from sesame.machines import find_machine
from sesame.reproduction.counting import Counting, Setup
from sesame.simulation import Host, Scenario
from sesame.simulation import simulate as simulate_scenario
from sesame.simulation.compute import parse_compute
from sesame.simulation.host import inspect_program
from sesame.simulation.settings import PROTOCOLS

COMMON = ("--compute", "fixed:1us", "--placement", "cyclic", "--set", "network.sharing=none")
# With receives from any source, probes and tests.
PROGRAMS = {
    "tests/programs/answers/wildcards.c": (8, ()),
    "examples/samplesort.c": (7, (500,)),
    "examples/heat.c": (8, (48, 10)),
}


@pytest.mark.few_cases(1)
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


RANDOM = ("tests/programs/model/schedule.c", 8, ("3", "20", "messages"))


@pytest.fixture
def random_run(compiled: Callable, tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """random_run(…): the result of a random program, with these parts of a Scenario."""
    path, ranks, arguments = RANDOM
    program = str(compiled(path))

    def run(**parts: Any) -> dict[str, Any]:
        scenario = Scenario(
            program,
            arguments,
            ranks,
            find_machine("infiniband"),
            placement="cyclic",
            compute=parse_compute("none"),
            working_directory=tmp_path,
            workers=4,
            **parts,
        )
        return simulate_scenario(scenario, Host(inspect_program(program).simulator)).result

    return run


def test_an_inexact_quantum_saves_rounds(random_run):
    exact = random_run()
    look_ahead_ps = round(exact["parallel"]["look_ahead_s"] * 1e12)
    inexact = random_run(quantum_ps=100 * look_ahead_ps, inexact=True)
    assert inexact["exit_status"] == 0
    assert inexact["parallel"]["rounds"] < exact["parallel"]["rounds"] / 10


def test_a_quantum_of_the_look_ahead_at_most_is_exact(random_run):
    exact = random_run()
    look_ahead_ps = round(exact["parallel"]["look_ahead_s"] * 1e12)
    shorter = random_run(quantum_ps=look_ahead_ps // 3)
    assert shorter["parallel"]["rounds"] > exact["parallel"]["rounds"]
    assert shorter["predicted_time_s"] == exact["predicted_time_s"]


def test_a_longer_quantum_has_to_be_called_inexact(random_run, capfd):
    with pytest.raises(AlreadyReported):
        random_run(quantum_ps=10**9)
    assert "a quantum of 1.00 ms gives wrong results" in capfd.readouterr().err


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
