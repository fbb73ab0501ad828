"""Several workers give the data set of one process, byte for byte, and end as it does."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.integration.orders import ENDS, assert_ends_as_with_one_process, differences
from tests.integration.process_trees import endless_runs, exists, wait_until
from tests.integration.small_runs import WORKERS, arguments_of, small_runs

# A worker needs a node.
COMMON = ("--compute", "none", "--placement", "cyclic")


@pytest.fixture
def same(simulate: Callable, tmp_path: Path) -> Callable[..., None]:
    """same(options_and_program, workers): the data sets are those of one process. The last number
    of workers is run with random delays, too."""

    def check(command: list, workers: tuple[int, ...], *, delayed: bool = True) -> None:
        ranks = int(command[command.index("-n") + 1])

        def run(*options: object) -> Path:
            working = tmp_path / "work"  # tables may hold its name
            working.mkdir()
            for i in range(4):
                (working / f"input{i}").write_bytes(bytes(10_000 * (i + 1)))
            output = tmp_path / f"{len(list(tmp_path.glob('*.sesame')))}.sesame"
            done = simulate("-o", output, *options, *COMMON, *command, cwd=working)
            assert done.status == 0, done.stderr[:2000]
            shutil.rmtree(working)
            return output

        alone = run()
        counts = [count for count in workers if count <= ranks]
        found = {str(count): differences(alone, run("--workers", count)) for count in counts}
        if delayed:
            found["delayed"] = differences(alone, run("--workers", counts[-1], "--shuffle", 1))
        assert not any(found.values()), found

    return check


@pytest.fixture
def run_is_same(same: Callable, compiled: Callable, program: Callable) -> Callable:
    def check(run: list[str], workers: tuple[int, ...]) -> None:
        same(arguments_of(run, (), program, compiled), workers)

    return check


@pytest.mark.few_cases(3)
@pytest.mark.parametrize("run", small_runs(WORKERS, "fast"))
def test_some_programs_give_the_same_data_with_workers(run, run_is_same):
    run_is_same(run, (2, 4))


@pytest.mark.long
@pytest.mark.parametrize("run", small_runs(WORKERS, "fast", "long"))
def test_all_programs_give_the_same_data_with_workers(run, run_is_same):
    run_is_same(run, (2, 3, 4))


@pytest.mark.few_cases(1)
@pytest.mark.parametrize("seed", [49, *range(1, 5)])
def test_random_programs_give_the_same_data_with_workers(seed, compiled, same):
    """Without delays: a rank that polls would do so until they end. Seed 49 has 52 ranks:
    messages of other workers come while some that poll have been woken."""
    program = compiled("tests/programs/model/schedule.c")
    machine = ("infiniband", "ethernet", "sp2")[seed % 3]
    command = ["-n", 3 + seed, "--machine", machine, "--", program, seed, 30, "messages"]
    same(command, (2, 3), delayed=False)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(5, 55))
def test_fifty_random_programs(seed, compiled, same):
    test_random_programs_give_the_same_data_with_workers(seed, compiled, same)


def test_readers_of_an_original_follow_its_copy_before_a_rename(compiled, same):
    """A worker opens the copy by the name that another worker has given it."""
    program = compiled("tests/programs/files/renamed.c")
    originals = [f"input{i}" for i in range(4)]
    same(["-n", 4, "--machine", "pfssim", "--", program, *originals], (2, 4))


@pytest.mark.parametrize("mpi", ["debian", "openmpi", "wheel-abi"])
def test_each_binary_interface_has_workers(mpi, compiled, same):
    program = compiled("examples/heat.c", mpi)
    same(["-n", 4, "--machine", "infiniband", "--", program, 48, 20], (2,))


@pytest.fixture
def ring(compiled: Callable) -> Path:
    return compiled("tests/programs/model/endings.c")


def test_the_result_says_how_it_was_simulated(ring, simulate):
    options = ("--workers", 2, *COMMON, "-n", 4, "--machine", "infiniband")
    done = simulate("--json", *options, "--", ring)
    parallel = done.json["parallel"]
    assert (parallel["workers"], parallel["protocol"]) == (2, "quantum")
    assert parallel["rounds"] > 0
    assert parallel["frames"] >= 2 * 10
    # On one processor a worker may find each time that the other one has come before it.
    assert all(0 <= waited < done.json["wall_time_s"] for waited in parallel["waited_s"])
    assert max(parallel["waited_s"]) > 0
    text = simulate(*options, "--", ring).stderr
    assert f"2 workers, protocol quantum: {parallel['rounds']} round" in text


def test_the_startup_is_that_of_the_workers(ring, simulate):
    """The supervisor loads no rank: a tenth is far more than it takes, and far less than half."""
    options = (*COMMON, "-n", 1000, "--machine", "infiniband", "--json")
    alone, several = (simulate(*options, "--workers", count, "--", ring) for count in (1, 2))
    assert several.json["startup_s"] > alone.json["startup_s"] / 10


@pytest.mark.parametrize("how", ENDS)
def test_a_run_ends_as_with_one_process(how, ring, simulate):
    assert_ends_as_with_one_process(simulate, ("--workers", 3), *COMMON, "--", ring, how)


def test_a_rank_that_waits_for_nothing_lets_others_of_its_worker_run(compiled, simulate):
    """The first rank of a pipeline could compute all its items before the next one has any, and the
    other worker would wait. One process has no reason to interrupt it."""
    program = compiled("tests/programs/model/pipeline.c")
    options = ("--compute", "none", "-n", 4, "--machine", "infiniband", "--set", "node.cores=2")
    for workers, is_interrupted in ((1, False), (2, True)):
        done = simulate(*options, "--workers", workers, "--", program)
        lines = [line for line in done.stdout.splitlines() if line[:6] in ("rank 0", "rank 1")]
        assert len(lines) == 10
        assert (lines.index("rank 1, item 0") < lines.index("rank 0, item 4")) is is_interrupted


def test_workers_measure_computation(simulate, compiled, tmp_path):
    """As many samples, of as many regions; --repeat plays the times of all workers back."""
    program = compiled("tests/programs/model/compute_only.c")
    options = (*COMMON, "--compute", "measured", "-n", 4, "--machine", "infiniband", "--json")
    alone, several = (simulate(*options, *w, "--", program) for w in ((), ("--workers", 2)))
    counts = [
        [done.json["measuring"][name] for name in ("samples", "regions")]
        for done in (alone, several)
    ]
    assert counts[0] == counts[1]
    assert several.json["measuring"]["compute_share"] > 0.5
    repeated = simulate(*options, "--workers", 2, "--repeat", 3, "--", program)
    values = repeated.json["predicted_time"]["values"]
    assert len(values) == 3
    assert repeated.json["predicted_time_s"] == sorted(values)[1]


REFUSED = {
    "a cancelled send": ("cancel", (), "MPI_Cancel of a send"),
    "a port": ("port", (), "MPI_Open_port"),
    "sensitivity": ("", ("--sensitivity",), "a run that calculates sensitivities"),
    "a kind": (
        "kind",
        (),
        "rank 1: accumulation of elements of a Fortran 90 kind",
    ),
    "nodes": ("", ("--placement", "block"), "2 workers: each simulates whole nodes"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_simulated_is_refused_once(case, ring, simulate, tmp_path):
    how, options, message = REFUSED[case]
    command = ("--workers", 2, "-n", 4, "--machine", "infiniband", *COMMON, *options)
    done = simulate(*command, "-o", tmp_path / "run.sesame", "--", ring, how)
    done.assert_refused(message)
    assert "--workers 1" in done.stderr or "use fewer workers" in done.stderr
    assert not (tmp_path / "run.sesame").exists()


def test_shared_file_systems_at_shared_cards_are_refused(compiled, simulate, tmp_path):
    program = compiled("tests/programs/model/files_and_messages.c")
    command = ("--workers", 2, "-n", 4, "--machine", "pfssim", *COMMON)
    cards = ("--set", "network.sharing=interface")
    output = tmp_path / "run.sesame"
    done = simulate(*command, *cards, "-o", output, "--", program, 1, cwd=tmp_path)
    done.assert_refused("using file systems at cards that messages share")
    assert "--workers 1" in done.stderr
    assert not output.exists()


@pytest.fixture
def endless(ring: Path, tmp_path: Path) -> Iterator[Callable]:
    """A run that does not end, and its processes: the simulator, then two workers."""
    options = ["--workers", "2", "-n", "4", "--machine", "infiniband", *COMMON]
    command = [*options, "-o", "run.sesame", str(ring), "forever"]
    with endless_runs(tmp_path, command, 3) as start:
        yield start


def test_a_killed_worker_is_named_and_ends_the_run(endless, tmp_path):
    process, (_, *workers) = endless()
    os.kill(workers[1], signal.SIGKILL)
    _, text = process.communicate(timeout=60)
    assert process.returncode == 2
    assert text.count("error: ") == 1
    assert "worker 1 (ranks 2 to 3) was ended by signal 9" in text
    wait_until(lambda: not any(map(exists, workers)))
    assert not (tmp_path / "run.sesame").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_nothing_runs_after_the_command_has_ended(number, endless, tmp_path):
    process, others = endless()
    if number == signal.SIGINT:
        os.killpg(process.pid, number)  # Ctrl-C
        process.communicate(timeout=60)
        assert process.returncode == 130
        assert not list(tmp_path.glob("*"))
    else:
        process.kill()
    wait_until(lambda: not any(map(exists, others)))


def test_a_rank_that_ends_its_worker_is_named(ring, simulate, tmp_path):
    """By a system call that the simulator does not see."""
    options = ("--workers", 2, "-n", 4, "--machine", "infiniband", *COMMON)
    done = simulate(*options, "-o", tmp_path / "run.sesame", "--", ring, "vanish")
    done.assert_refused("worker 1 (ranks 2 to 3) ended with status 0 before its ranks did")
    assert "exit_group" in done.stderr
    assert not (tmp_path / "run.sesame").exists()


def test_what_no_worker_can_load_is_reported_once(ring, simulate):
    """More stacks than there are addresses."""
    options = ("--workers", 2, "-n", 512, "--machine", "infiniband", *COMMON)
    done = simulate(*options, "--stack-size", "1TiB", "--", ring)
    done.assert_refused("stack")
    assert done.stderr.count("error: ") == 1


def test_a_full_disk_is_reported(ring, simulate, small_disk):
    options = ("--workers", 2, "-n", 4, "--machine", "infiniband", *COMMON)
    done = simulate(*options, "-o", small_disk / "run.sesame", "--", ring, "records")
    done.assert_refused("No space left on device")
    assert list(small_disk.iterdir()) == []


def test_progress_is_that_of_all_workers(ring, tmp_path):
    """The simulator's own lines, since a terminal shows the last one only."""
    from sesame.simulation import Host, Scenario, find_host
    from sesame.simulation.compute import Compute

    machine = Path(__file__).parents[2] / "python/sesame/machines/infiniband.toml"
    scenario = Scenario(
        str(ring), ("records",), 4, machine, ("network.sharing=none",), "cyclic", Compute("none"),
        workers=2,
    )  # fmt: skip
    text = scenario.to_json() | {"output_directory": str(tmp_path), "settings": "options"}
    lines: list[dict] = []
    run = Host(find_host("mpich")).run(text, tmp_path, progress=lines.append)
    assert run.status == 0, json.dumps(run.result)
    assert all(0 <= line["messages"] <= run.result["messages"] for line in lines)
    assert lines[-1]["messages"] == run.result["messages"]
    assert lines[-1]["ranks_finished"] == 4
