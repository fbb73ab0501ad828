"""Routes of messages over the links of a topology, against the hops that the simulator counts."""

import numpy as np
import pytest

from sesame import native
from sesame.analysis.network_map import APART, MOST_APART, Layout
from sesame.analysis.routes import IN, OUT, Topology

SHAPES = {
    "crossbar": ["nodes=9", "topology.kind=crossbar"],
    "mesh": ["topology.kind=mesh", "topology.dims=[3,2,4]"],
    "torus": ["topology.kind=torus", "topology.dims=[5,2,4]"],
    "fat_tree": ["topology.kind=fat_tree", "topology.arity=[3,2,4]"],
    "partly filled tree": ["nodes=17", "topology.kind=fat_tree", "topology.arity=[3,2,4]"],
    "hyperx": ["topology.kind=hyperx", "topology.dims=[3,5]", "topology.nodes_per_router=2"],
    "dragonfly": [
        "topology.kind=dragonfly",
        "topology.groups=5",
        "topology.routers=3",
        "topology.nodes_per_router=2",
    ],
}
SHAPES["parallel links"] = [*SHAPES["dragonfly"], "topology.global_links=2"]
SHAPES["links at every router"] = [*SHAPES["dragonfly"], "topology.global_links=5"]
MACHINE = """
name = "test"
[network]
latency = "1 us"
bandwidth = "1 GB/s"
hop_latency = "1 ms"
[topology]
kind = "crossbar"
"""


def topology(tmp_path, shape):
    path = tmp_path / "m.toml"
    path.write_text(MACHINE.replace("name =", "nodes = 1\nname =", 1), encoding="utf-8")
    overrides = SHAPES[shape] if shape in ("crossbar", "partly filled tree") else ["nodes="]
    if overrides == ["nodes="]:
        overrides = [*overrides, *SHAPES[shape]]
    model = native.read_machine(str(path), overrides)
    return Topology(model), native.Network(str(path), overrides, model["nodes"], "block")


def all_pairs(nodes):
    source, destination = (a.ravel() for a in np.mgrid[0:nodes, 0:nodes])
    apart = source != destination
    return source[apart].astype(np.int64), destination[apart].astype(np.int64)


@pytest.mark.parametrize("shape", SHAPES)
def test_routes_are_as_long_as_the_simulator_counts(tmp_path, shape):
    links, network = topology(tmp_path, shape)
    source, destination = all_pairs(links.nodes)
    pair, _, _ = links.routes(source, destination)
    costs = network.costs(source, destination, np.zeros(len(source), np.int64))
    hops = 1 + np.rint(costs["latency"] / 1e9).astype(int)  # a hop beyond the first is 1 ms
    inner = np.bincount(pair) - 2
    expected = hops if links.kind in ("mesh", "torus") else hops - 1
    np.testing.assert_array_equal(inner, expected)


@pytest.mark.parametrize("shape", SHAPES)
def test_routes_begin_and_end_at_their_nodes(tmp_path, shape):
    links, _ = topology(tmp_path, shape)
    source, destination = all_pairs(links.nodes)
    pair, kind, number = links.routes(source, destination)
    for end, node in ((IN, source), (OUT, destination)):
        chosen = kind == end
        np.testing.assert_array_equal(number[chosen][np.argsort(pair[chosen])], node)


def test_every_link_of_a_torus_carries_as_many_pairs_as_its_mirror_image(tmp_path):
    links, _ = topology(tmp_path, "torus")
    _, kind, number = links.routes(*all_pairs(links.nodes))
    counts = np.bincount(number[kind == 2], minlength=links.nodes * 6).reshape(-1, 3, 2)
    assert (counts[:, 0, 0] == counts[:, 0, 1]).all()  # 5 nodes: as many forward as backward
    assert set(counts[:, 0].ravel()) == {3 * 8}  # 1 + 2 steps for each of 8 ends


def test_all_pairs_across_a_bisection_share_its_trunks(tmp_path):
    links, _ = topology(tmp_path, "fat_tree")
    pair, kind, number = links.routes(*all_pairs(24))
    top = kind == 4  # up from the four switches of the second level, 6 nodes each
    assert np.bincount(number[top]).tolist() == [6 * 18] * 4
    assert links.bytes_per_s(4) == 6e9
    assert len(np.unique(pair[top])) == 24 * 18


def test_links_have_the_names_of_the_topology(tmp_path):
    assert topology(tmp_path, "torus")[0].name(2, 7) == "node 1, dimension 0 -"
    assert topology(tmp_path, "fat_tree")[0].name(3, 2) == "switch 2 of level 1, down"
    assert topology(tmp_path, "hyperx")[0].name(2, 8 * 4 + 3 + 2) == "router 4, dimension 1 to 2"
    dragonfly = topology(tmp_path, "dragonfly")[0]
    assert dragonfly.name(2, 7) == "group 1 to group 2"
    assert dragonfly.name(3, 9 + 5) == "group 1, router 1 to 2"
    assert dragonfly.name(IN, 3) == "node 3 sends"


def test_links_carry_what_the_machine_file_says(tmp_path):
    path = tmp_path / "m.toml"
    path.write_text(MACHINE.replace("name =", "nodes = 1\nname =", 1), encoding="utf-8")
    links = [
        "network.link.bandwidth=2GB/s", "network.link.global_bandwidth=3GB/s",
        "network.card.bandwidth=5GB/s", "network.card.number=1",
    ]  # fmt: skip
    tree = ["nodes=24", *SHAPES["fat_tree"], "topology.uplinks=[2,3]", *links]
    found = Topology(native.read_machine(str(path), tree))
    assert [found.bytes_per_s(kind) for kind in (IN, OUT, 2, 3, 4)] == [5e9, 5e9, 4e9, 4e9, 12e9]
    dragonfly = ["nodes=30", *SHAPES["dragonfly"], "topology.global_links=4", *links]
    found = Topology(native.read_machine(str(path), dragonfly))
    assert [found.bytes_per_s(kind) for kind in (IN, 2, 3)] == [5e9, 12e9, 2e9]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_link_and_its_other_direction_are_drawn_side_by_side(tmp_path, shape):
    links, _ = topology(tmp_path, shape)
    _, kinds, numbers = links.routes(*all_pairs(links.nodes))
    layout = Layout(links.kind, links.shape, links.nodes)
    used = sorted(set(zip(kinds.tolist(), numbers.tolist(), strict=True)))
    drawn = [ends for kind, number in used if (ends := layout.ends(kind, number)) is not None]
    assert len(drawn) == len(used) - (2 * links.nodes if shape in ("mesh", "torus") else 0)
    middles = np.array([(np.array(begin) + np.array(end)) / 2 for begin, end in drawn])
    lengths = np.array([np.hypot(*np.subtract(*ends)) for ends in drawn])
    apart = np.minimum(APART, MOST_APART * lengths)
    nearest = [np.sort(np.hypot(*(middles - middle).T))[1] for middle in middles]
    if shape not in ("mesh", "torus"):  # whose planes are side by side: lines between cross others
        np.testing.assert_allclose(nearest, 2 * apart, rtol=1e-6)
