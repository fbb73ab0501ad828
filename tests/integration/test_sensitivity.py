"""Sensitivities against finite differences, the critical path, and `sesame whatif`."""

from __future__ import annotations

import json
import math
import shlex
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.command_line import SESAME, Outcome, run
from tests.integration.orders import OF_THE_HOST, assert_same_in_any_order
from tests.integration.small_runs import ORDER, small_runs
from tests.tutorials import commands_of

import sesame
from sesame import native
from sesame.analysis.critical_path import critical_path_of
from sesame.analysis.sensitivity import PROPORTIONAL, kind_of_key, sensitivity_of
from sesame.machines import find_machine
from sesame.machines.values import machine_values
from sesame.simulation import find_host

STEP = 2e-3
# A change of the machine changes what these do: ranks take work from each other in the order of
# simulated time, or wait for a time; requests reach a server, or messages any receive, at the same
# time, and the smallest change turns their order around. The last has no time of the machine.
DECIDING = (
    "dynamic", "log", "messages", "memory", "cachestudy", "hot", "polling.c", "late.c",
    "wildcards.c", "oocmm 16", "requests 16", "data.c 8 infiniband", "views.c 4 infiniband",
    "random_types.c",
)  # fmt: skip
OWN_KEYS = {"sensitivity_s", "sensitivity_range", "critical_path", "last_rank"}


def result_of(
    directory: Path, command: Sequence[str], overrides: Sequence[str] = (), *, sensitivity: bool
) -> dict[str, Any]:
    """The simulator's result: of `ranks machine options -- program arguments`."""
    ranks, machine, *rest = command
    end = rest.index("--")
    options, (program, *arguments) = rest[:end], rest[end + 1 :]
    given = dict(zip(options[::2], options[1::2], strict=True))
    compute = given.get("--compute", "none")
    fixed_us = compute.removeprefix("fixed:").removesuffix("us")
    strategy = given.get("--collective")
    collective = [f"storage.collective.strategy={strategy}"] if strategy else []
    output = directory / "output"
    output.mkdir()
    scenario = {
        "program": program,
        "arguments": arguments,
        "ranks": int(ranks),
        "machine": str(find_machine(machine)),
        "overrides": [*collective, *overrides],
        "placement": given.get("--placement", "cyclic"),
        "compute": {"mode": "none"}
        if compute == "none"
        else {"mode": "fixed", "fixed_ps": int(fixed_us) * 10**6},
        "output_directory": str(output),
    }
    (output / "scenario.json").write_text(json.dumps(scenario))
    host = find_host("mpich", sensitivity=sensitivity)
    working = directory / "work"
    working.mkdir()
    for i in range(2):
        (working / f"input{i}").write_bytes(bytes(10_000 * (i + 1)))
    done = subprocess.run(
        [host, output / "scenario.json"], cwd=working, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    result: dict[str, Any] = json.loads((output / "result.json").read_text())
    subprocess.run(["rm", "-r", output, working], check=True)
    return result


def changed(machine: str, key: str, time_factor: float) -> str:
    """The override that makes what the key causes take `time_factor` times as long."""
    value = values_of(machine)[key]
    number = value.rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ/ ")
    factor = time_factor if PROPORTIONAL[kind_of_key(key)] else 1 / time_factor
    return f"{key}={float(number) * factor:.12g}{value[len(number) :]}"


def values_of(machine: str) -> dict[str, str]:
    return machine_values(find_machine(machine).read_text())


def check_slopes(directory: Path, command: list[str], step: float = STEP) -> set[str]:
    """Returns the keys that cause time, whose slopes are right."""
    found = result_of(directory, command, sensitivity=True)
    plain = result_of(directory, command, sensitivity=False)
    time = found["predicted_time_s"]
    costs = OF_THE_HOST | {"host_process", "switches"}
    for key in set(plain) - costs:
        assert found[key] == plain[key], key
    assert set(found) - set(plain) == OWN_KEYS
    shares = found["sensitivity_s"]
    assert sum(shares.values()) == pytest.approx(time, rel=1e-9, abs=1e-15)
    values = values_of(command[1])
    keys = [key for key in shares if key in values and "segment" not in key]
    assert keys
    # Every duration of the path is rounded to a whole picosecond, up or down.
    rounding = math.sqrt(len(found["critical_path"]["rank"])) * 1e-12 / step
    for key in keys:
        more, less = (
            result_of(
                directory, command, [changed(command[1], key, 1 + change)], sensitivity=False
            )["predicted_time_s"]
            for change in (step, -step)
        )
        rising, falling = (more - time) / step, (time - less) / step
        low, high = sorted((rising, falling))
        # At a kink the slopes on either side differ.
        least = 1e-5 * time + rounding
        assert low - 0.01 * abs(low) - least <= shares[key], (key, shares[key], low, high)
        assert shares[key] <= high + 0.01 * abs(high) + least, (key, shares[key], low, high)
    return {key for key in keys if shares[key] != 0}


def cases(duration: str) -> list:
    return [
        run
        for run in small_runs(ORDER, duration)
        if not any(f"{word} " in f"{run.id} ".replace("/", " ") for word in DECIDING)
    ]


@pytest.fixture
def has_right_slopes(program: Callable, compiled: Callable, tmp_path: Path) -> Callable:
    def check(case: list[str], step: float = STEP) -> set[str]:
        name, *command = case
        made = compiled(name) if "/" in name else program(name)
        end = command.index("--")
        return check_slopes(tmp_path, [*command[: end + 1], str(made), *command[end + 1 :]], step)

    return check


@pytest.mark.few_cases(4)
@pytest.mark.parametrize("case", cases("fast"))
def test_slopes_are_those_of_finite_differences(case, has_right_slopes):
    has_right_slopes(case)


# Full nodes, whose ranks share cards and memory.
SHARED = "ft 64 csd3 --placement block --"


def test_slopes_of_what_ranks_share_are_those_of_finite_differences(has_right_slopes):
    # With longer steps the memory serves some messages in another order.
    has_right_slopes(SHARED.split(), STEP / 10)


def test_slopes_of_work_in_a_rank_s_memory_are_those_of_finite_differences(has_right_slopes):
    """Reductions on Fugaku; on CSD3 packing for Bruck's Alltoall and copies of eager messages."""
    full_nodes = ["is", "16", "fugaku", "--placement", "block", "--"]
    assert "node.reduction_bandwidth" in has_right_slopes(full_nodes)
    copies = {"network.send_copy_bandwidth", "network.receive_copy_bandwidth"}
    assert {"node.packing_time", *copies} <= has_right_slopes(["is", "16", "csd3", "--"])


@pytest.mark.long
@pytest.mark.parametrize("case", cases("long"))
def test_slopes_of_all_programs_are_those_of_finite_differences(case, has_right_slopes):
    has_right_slopes(case)


@pytest.fixture
def heat(compiled) -> Path:
    found: Path = compiled("examples/heat.c", flags=("-g",))
    return found


@pytest.fixture
def measured(heat, simulate, tmp_path) -> sesame.DataSet:
    """A run of 8 ranks with its sensitivity."""
    done = simulate(*RUN, "--sensitivity", "-o", "run.sesame", "--", heat, 64, 60)
    assert done.status == 0, done.stderr
    found = sesame.open(tmp_path / "run.sesame")
    assert isinstance(found, sesame.DataSet)
    return found


RUN = ("-n", 8, "--machine", "sp2", "--compute", "fixed:5us")


def whatif(directory: Path, *words: object) -> Outcome:
    return run([*SESAME, "whatif", *map(str, words)], directory)


def test_a_ping_pong_is_caused_by_latency_and_bandwidth(compiled, tmp_path):
    """In closed form: 200 messages of 1000 bytes one after the other. The barrier behind them takes
    no more time: its message travels beside the last one."""
    program = str(compiled("tests/programs/model/pingpong.c"))
    found = [
        result_of(tmp_path, ["2", "infiniband", "--", program, *sizes], sensitivity=True)
        for sizes in ([], ["1000"], ["1000", "1000"])
    ]
    latency, bandwidth = (
        [run["sensitivity_s"].get(f"network.{key}", 0) for run in found]
        for key in ("latency", "bandwidth")
    )
    model = native.read_machine(str(find_machine("infiniband")))["network"]
    assert latency[2] - latency[1] == pytest.approx(200 * model["latency_s"], rel=1e-9)
    fastest = min(segment["bandwidth_bytes_per_s"] for segment in model["segments"])
    assert 0 < bandwidth[2] - bandwidth[1] <= 200 * 1000 / fastest * 1.001


def test_the_data_set_is_the_same_in_any_order(heat, simulate, tmp_path):
    assert_same_in_any_order(simulate, tmp_path, 2, *RUN, "--sensitivity", "--", heat, 64, 60)


def test_numbers_of_ranks_do_not_matter(compiled, tmp_path):
    program = str(compiled("tests/programs/model/mirror.c"))
    up, down = (
        result_of(tmp_path, ["5", "infiniband", "--", program, way], sensitivity=True)
        for way in ("up", "down")
    )
    # The results are gathered at rank 0, which is at another end: only that differs.
    for key in ("network.bandwidth", "node.network.bandwidth"):
        assert up["sensitivity_s"].get(key, 0) == pytest.approx(
            down["sensitivity_s"].get(key, 0), rel=0.02
        )


def test_a_run_without_sensitivity_is_not_changed(heat, simulate, measured, tmp_path):
    done = simulate(*RUN, "-o", "plain.sesame", "--", heat, 64, 60)
    assert done.status == 0, done.stderr
    plain = tmp_path / "plain.sesame"
    for table in plain.glob("*.parquet"):
        assert table.read_bytes() == (measured.path / table.name).read_bytes(), table.name
    info = json.loads((plain / "info.json").read_text())
    assert not OWN_KEYS & set(info["result"]) and "sensitivity" not in info["scenario"]


def test_the_critical_path_leads_from_the_begin_to_the_end(measured):
    path = critical_path_of(measured)
    assert path.begin_s[0] == 0
    assert list(path.begin_s[1:]) == list(path.end_s[:-1])
    assert path.end_s[-1] == measured.info["result"]["predicted_time_s"]
    assert path.rank[-1] == measured.info["result"]["last_rank"]
    for shares in (path.by_rank(), path.by_kind(), path.by_place()):
        assert sum(share.seconds for share in shares) == pytest.approx(path.end_s[-1])
    assert any(share.name.startswith("MPI_Waitall in main (heat.c:") for share in path.by_place())
    times, ranks = path.line()
    assert list(times) == sorted(times) and len(times) == len(ranks)


def test_functions_of_cxx_have_their_names_of_the_source(compiled, simulate, tmp_path):
    program = compiled("tests/programs/model/methods.cc")
    done = simulate(
        "-n", 2, "--machine", "infiniband", "--sensitivity", "-o", "run.sesame", "--", program
    )
    assert done.status == 0, done.stderr
    path = critical_path_of(sesame.open(tmp_path / "run.sesame"))
    places = [place.name for place in path.by_place()]
    assert "MPI_Sendrecv in ring::Exchange::shift(int) const" in places


def test_whatif_is_what_the_simulator_predicts(measured, tmp_path):
    shown = whatif(tmp_path, "run.sesame")
    assert shown.status == 0, shown.stderr
    assert "network.send_overhead" in shown.stdout
    answer = whatif(
        tmp_path, "run.sesame", "network.send_overhead=-2%", "network.bandwidth=x1.02", "--check",
        "--json",
    )  # fmt: skip
    assert answer.status == 0, answer.stderr
    found = answer.json
    assert found["in_range"]
    assert found["simulated_run_s"] == measured.info["result"]["predicted_time_s"]
    assert found["predicted_s"] == pytest.approx(found["simulated_s"], rel=1e-4)
    assert found["predicted_s"] < found["run_s"]


def test_beyond_the_range_the_answer_says_so_and_is_a_lower_bound(measured, tmp_path):
    changes = ("network.send_overhead=0us", "network.receive_overhead=-90%")
    answer = whatif(tmp_path, "run.sesame", *changes, "--check")
    assert answer.status == 0, answer.stderr
    assert "another path may be the longest" in answer.stdout
    found = sesame.what_if(
        measured, {"network.send_overhead": "0us", "network.receive_overhead": "-90%"}, check=True
    )
    assert not found.is_in_range
    assert found.simulated_s is not None and found.predicted_s <= found.simulated_s
    assert " becomes " in repr(found) and "; an estimate: " in repr(found)
    assert "network.receive_overhead from " in found._repr_html_()


def test_what_causes_the_time_is_a_frame_that_adds_up(measured):
    frame = measured.sensitivity()
    assert list(frame.columns)[:4] == ["key", "value", "time_s", "share"]
    assert frame.time_s.sum() == pytest.approx(measured.info["result"]["predicted_time_s"])
    assert frame.share.sum() == pytest.approx(1)


def test_measured_computation_is_that_of_the_run(heat, simulate, tmp_path):
    done = simulate(
        "-n", 4, "--machine", "sp2", "--sensitivity", "-o", "run.sesame", "--", heat, 64, 20
    )
    assert done.status == 0, done.stderr
    found = sesame.what_if(tmp_path / "run.sesame", {"node.compute_ratio": "x1.001"}, check=True)
    assert found.simulated_run_s == pytest.approx(found.run_s, rel=1e-9)
    assert found.simulated_s == pytest.approx(found.predicted_s, rel=1e-6)


@pytest.mark.few_cases(4)
@pytest.mark.parametrize(
    "change, message",
    [
        ("network.latncy=-50%", "did you mean network.latency?"),
        ("network.latency=50%", "expected a sign"),
        ("network.latency=fast", "expected a change such as -50%, x2 or a value"),
        ("network.latency=-150%", "leaves nothing"),
        ("network.bandwidth=0 B/s", "leaves nothing"),
        ("network.latency", "expected KEY=CHANGE"),
        ("nodes=128", "nodes has no slope"),
        ("network.hop_latency=1us", "does not set network.hop_latency"),
        ("network.segment.0.latency=x2", "change network.latency"),
        ("storage.device.read_limit=x2", "storage.device.read_limit has no slope"),
    ],
)
def test_wrong_changes_are_refused(change, message, measured, tmp_path):
    done = whatif(tmp_path, "run.sesame", change)
    assert done.status == 2 and message in done.stderr, done.stderr


def test_a_run_without_sensitivity_says_how_to_get_it(heat, simulate, tmp_path):
    assert simulate(*RUN, "-o", "run.sesame", "--", heat, 64, 5).status == 0
    done = whatif(tmp_path, "run.sesame", "network.latency=-50%")
    done.assert_refused("this run was simulated without its sensitivity")
    assert "simulate it again with --sensitivity" in done.stderr
    series = simulate(
        "-n", "2,4", "--machine", "sp2", "--sensitivity", "--", heat, 64, 5, cwd=tmp_path
    )
    series.assert_refused("--sensitivity is for one run")


def test_the_page_shows_what_would_help_and_the_path(measured, tmp_path):
    page = measured.report(tmp_path / "run.html").read_text()
    assert "What would help" in page and "Critical path" in page
    assert "network.send_overhead" in page and "heat.c:" in page
    views = measured.views()
    assert {"what would help", "critical path"} <= set(views)
    bars = sensitivity_of(measured)
    assert math.isclose(
        sum(effect.seconds for effect in bars.effects) + sum(bars.other.values()),
        measured.info["result"]["predicted_time_s"],
    )


@pytest.mark.long
def test_the_tutorial_runs(heat, tmp_path):
    (tmp_path / "app").symlink_to(heat)
    lines = commands_of("tutorial-whatif.md")
    assert len(lines) > 5
    for line in lines:
        words = shlex.split(line)
        assert words.pop(0) == "sesame"
        outcome = run([*SESAME, *words], tmp_path)
        assert outcome.status == 0, f"{line}\n{outcome.stdout}{outcome.stderr}"
    assert "simulated: " in outcome.stdout
    assert "What would help" in (tmp_path / "run.html").read_text()
