"""Runs on networks whose links messages share give the same data set with several workers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.integration.linked_machine import linked_machine
from tests.integration.orders import differences

COMMON = ("--compute", "none", "--placement", "cyclic")
TREE = 'kind = "fat_tree"\narity = [2, 2, 3]\nuplinks = [1, 2]\n'
DRAGONFLY = 'kind = "dragonfly"\ngroups = 4\nrouters = 3\nnodes_per_router = 1\n'
ADAPTIVE = DRAGONFLY + 'routing = "adaptive"\n'
HYPERX = 'kind = "hyperx"\ndims = [3, 2]\nnodes_per_router = 2\n'
TOPOLOGIES = {
    "mesh": 'kind = "mesh"\ndims = [3, 4]\n',
    "torus": 'kind = "torus"\ndims = [4, 3]\n',
    "tree": TREE,
    "hashed": TREE + 'routing = "hashed"\n',
    "hyperx": HYPERX,
    "hyperx valiant": HYPERX + 'routing = "valiant"\n',
    "dragonfly": DRAGONFLY,
    "dragonfly valiant": DRAGONFLY + 'routing = "valiant"\n',
    "dragonfly adaptive": ADAPTIVE,
    "adaptive parallel links": ADAPTIVE + "global_links = 2\n",
    "parallel links": DRAGONFLY + 'routing = "valiant"\nglobal_links = 2\n',
}
# One of each kind, with the routing that is the hardest to divide.
FIRST = ("torus", "hashed", "hyperx valiant", "dragonfly adaptive")
# Of random programs. `make test` has two runs beside that of one process, one with random delays.
WORKERS = pytest.mark.parametrize("workers", [(3,), pytest.param((2, 4), marks=pytest.mark.long)])
TWO_GROUPS = ADAPTIVE.replace("groups = 4", "groups = 2") + "global_links = 2\n"
SCHEDULE = "tests/programs/model/schedule.c"


@pytest.fixture
def machine_of(tmp_path: Path) -> Callable[[str], Path]:
    def write(topology: str) -> Path:
        path = tmp_path / "machine.toml"
        # Larger messages are sent by rendezvous, whose data has shorter hops.
        text = linked_machine(topology, eager_limit="16 kB", hop_latency="300 ns")
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.fixture
def same(machine_of: Callable, simulate: Callable, tmp_path: Path) -> Callable[..., None]:
    """same(topology, ranks, command): the data sets with so many workers are those of one, also
    with random delays."""

    def check(
        topology: str,
        ranks: int,
        *command: object,
        settings: tuple[object, ...] = (),
        workers: tuple[int, ...] = (2, 3, 4),
    ) -> None:
        machine = machine_of(TOPOLOGIES.get(topology, TWO_GROUPS))

        def run(*options: object) -> Path:
            output = tmp_path / f"{len(list(tmp_path.glob('*.sesame')))}.sesame"
            given = (*COMMON, "--machine", machine, "-n", ranks, *settings, *options)
            done = simulate("-o", output, *given, "--", *command)
            assert done.status == 0, done.stderr[:2000]
            return output

        alone = run()
        found = {count: differences(alone, run("--workers", count)) for count in workers}
        found["delayed"] = differences(alone, run("--workers", min(3, workers[-1]), "--shuffle", 1))
        assert not any(found.values()), found

    return check


@pytest.mark.few_cases(1)
@WORKERS
@pytest.mark.parametrize("topology", sorted(TOPOLOGIES, key=lambda one: one not in FIRST))
def test_random_programs(topology, workers, compiled, same):
    seed = 700 + list(TOPOLOGIES).index(topology)
    same(topology, 12, compiled(SCHEDULE), seed, 16, workers=workers)


@pytest.mark.few_cases(1)
@WORKERS
@pytest.mark.parametrize("topology", ["torus", "tree", "dragonfly valiant"])
def test_random_programs_of_one_sided_communication(topology, workers, compiled, same):
    program = compiled("tests/programs/model/windows.c")
    seed = 800 + list(TOPOLOGIES).index(topology)
    same(topology, 7, program, seed, 16, workers=workers)


@pytest.mark.few_cases(1)
@pytest.mark.parametrize("size", [512, 100_000])
@pytest.mark.parametrize("topology", ["dragonfly adaptive", "torus", "tree", "dragonfly valiant"])
def test_all_pairs(topology, size, compiled, same):
    same(topology, 12, compiled("bench/programs/published.c"), "alltoall", size)


@pytest.mark.long
def test_a_halo(compiled, same):
    same("torus", 12, compiled("examples/heat.c"), 96, 20)


@pytest.mark.few_cases(1)
@pytest.mark.parametrize("topology", ["dragonfly valiant", "hyperx valiant", "tree"])
def test_routes_lead_through_places_without_nodes(topology, compiled, same):
    same(topology, 8, compiled(SCHEDULE), 750, 16, settings=("--set", "nodes=8"))


@pytest.mark.long
@pytest.mark.parametrize("nodes", [8, 11])  # of 12: groups without some or all of their nodes
def test_adaptive_routes_lead_through_places_without_nodes(nodes, compiled, same):
    settings = ("--set", f"nodes={nodes}")
    same("dragonfly adaptive", 8, compiled(SCHEDULE), 760, 16, settings=settings, workers=(2, 3))


@pytest.mark.few_cases(1)
@pytest.mark.parametrize("nodes", [(2, 5, 8), (5, 2, 8, 4), (11, 1, 7, 2, 5)])
@pytest.mark.parametrize("topology", ["dragonfly adaptive", "two groups"])
def test_ranks_on_some_nodes_of_each_group(nodes, topology, compiled, same, tmp_path):
    """The first nodes of a group, whose routers have the lowest numbers, have no ranks."""
    placement = tmp_path / "placement"
    placement.write_text(
        "".join(f"{one % 6 if topology == 'two groups' else one}\n" for one in nodes)
    )
    workers = (2,) if topology == "two groups" else (2, 3)
    settings = ("--placement", placement)
    same(topology, len(nodes), compiled(SCHEDULE), 770, 16, settings=settings, workers=workers)


@pytest.mark.long
@pytest.mark.parametrize("topology", TOPOLOGIES)
@pytest.mark.parametrize("seed", range(10))
def test_hundred_random_programs(topology, seed, compiled, same):
    same(topology, 12 + seed, compiled(SCHEDULE), 900 + seed, 30)


REFUSED = {
    "more workers than groups": (
        (ADAPTIVE, ("--workers", 3)),
        "each simulates whole groups of the dragonfly, and the ranks are on fewer groups",
        "use fewer workers",
    ),
    "conditional events": (
        (TREE, ("--protocol", "conditional")),
        "the protocol conditional is not for a network whose links messages share",
        "use the protocol quantum",
    ),
    "null messages": (
        (TREE, ("--protocol", "null")),
        "the protocol null is not for a network whose links messages share",
        "use the protocol quantum",
    ),
    "no hop latency": (
        (TREE, ("--set", "network.hop_latency=0us")),
        "links that messages share need a latency of a hop (hop_latency)",
        "--workers 1",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_simulated_is_refused(case, machine_of, compiled, simulate, tmp_path):
    (topology, options), message, advice = REFUSED[case]
    command = ("--workers", 2, "-n", 6, "--machine", machine_of(topology), *COMMON, *options)
    done = simulate(*command, "-o", tmp_path / "run.sesame", "--", compiled(SCHEDULE), 1, 2)
    done.assert_refused(message)
    assert advice in done.stderr
    assert not (tmp_path / "run.sesame").exists()
