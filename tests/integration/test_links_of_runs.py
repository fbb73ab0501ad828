"""The links that a run's messages passed: what the simulator counted at each, against the routes
that the pictures of runs without shared links assume."""

from __future__ import annotations

import numpy as np
import pytest
from tests.integration.linked_machine import linked_machine

import sesame
from sesame.analysis.explain.records import IN_NODE, messages_of, network_of
from sesame.analysis.routes import KINDS, Topology

TOPOLOGIES = {
    "mesh": 'kind = "mesh"\ndims = [3, 2]',
    "torus": 'kind = "torus"\ndims = [5, 2]',
    "tree": 'kind = "fat_tree"\narity = [2, 2, 3]\nuplinks = [2, 3]',
    "hyperx": 'kind = "hyperx"\ndims = [3, 2]\nnodes_per_router = 2',
    "dragonfly": 'kind = "dragonfly"\ngroups = 4\nrouters = 3\nnodes_per_router = 1',
    "links": 'kind = "dragonfly"\ngroups = 3\nrouters = 4\nnodes_per_router = 1\nglobal_links = 2',
}


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_messages_pass_the_links_of_the_pictures(topology, compiled, simulate, tmp_path):
    machine = tmp_path / "machine.toml"
    text = linked_machine(TOPOLOGIES[topology], hop_latency="100 ns")
    machine.write_text(text, encoding="utf-8")
    program = compiled("tests/programs/model/schedule.c")
    out = tmp_path / "run.sesame"
    options = ("--compute", "none", "--machine", machine, "--placement", "cyclic", "-n", 12)
    done = simulate(*options, "-o", out, "--", program, 5, 40)
    assert done.status == 0, done.stderr

    data_set = sesame.open(out)
    network, model = network_of(data_set)
    messages = messages_of(data_set, network)
    between = (messages["flags"] & IN_NODE) == 0
    node = np.array(network.nodes(), np.int64)
    _, kind, number = Topology(model).routes(
        node[messages["source"][between]], node[messages["destination"][between]]
    )
    expected = dict(zip(*np.unique(kind * KINDS + number, return_counts=True), strict=True))
    counted: dict[int, int] = {}
    for row in data_set.table("link").to_pylist():
        key = row["kind"] * KINDS + row["number"]
        counted[key] = counted.get(key, 0) + row["messages"]
    assert len(expected) > 20
    assert counted == expected
