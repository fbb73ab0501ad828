"""The use of links in the report of a simulated run: known traffic on known topologies."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from tests.command_line import SESAME, run

from sesame.analysis.link_use import LinkUse, link_use
from sesame.datasets import DataSet

SIZE = 1 << 20
PROGRAM = "bench/programs/published.c"
# All messages are eager.
MACHINE = """
name = "test"
nodes = 8
[network]
latency = "10 us"
bandwidth = "40 MB/s"
[topology]
"""
CROSSBAR = 'kind = "crossbar"\n[[collectives.reduce]]\nalgorithm = "linear"'


@pytest.fixture
def used(compiled, simulate, tmp_path) -> Any:
    def execute(mode: str, size: int, ranks: int, *lines: str, sharing: str = "none") -> LinkUse:
        machine = tmp_path / "machine.toml"
        machine.write_text(MACHINE + "\n".join(lines), encoding="utf-8")
        options = ("-n", ranks, "--machine", machine, "--compute", "none", "-o", "run.sesame")
        options += ("--set", f"network.sharing={sharing}")
        done = simulate(*options, "--", compiled(PROGRAM), mode, size)
        assert done.status == 0, done.stderr
        use = link_use(DataSet(tmp_path / "run.sesame"), most=100)
        assert use is not None
        return use

    return execute


def test_a_reduction_fills_the_link_into_the_root(used):
    use = used("reduce", SIZE, 8, CROSSBAR)
    assert use.names[0] == "node 0 receives"
    ranks = {(sender, receiver) for sender, receiver, _ in use.senders[0]}
    assert all(receiver == 0 for _, receiver in ranks)
    assert use.peak(0)[0] > 3  # seven at a time on one link, for which this mode has no queue


def test_an_exchange_across_a_ring_loads_its_links_evenly(used):
    use = used("alltoall", 4096, 8, 'kind = "torus"', "dims = [8]")
    rings = [i for i, name in enumerate(use.names) if "dimension" in name]
    assert len(rings) == 16
    # Four steps are as near forward as backward: they go forward.
    forward = [use.bytes[i] for i in rings if use.names[i].endswith("+")]
    backward = [use.bytes[i] for i in rings if use.names[i].endswith("-")]
    assert len(forward) == len(backward) == 8
    # A few bytes of the benchmark's own sums are on some links.
    assert forward == pytest.approx([forward[0]] * 8, rel=1e-3)
    assert backward == pytest.approx([backward[0]] * 8, rel=1e-3)
    assert forward[0] / backward[0] == pytest.approx((1 + 2 + 3 + 4) / (1 + 2 + 3), rel=1e-3)


def test_bytes_of_the_shares_are_those_that_the_links_carried(used):
    use = used("bandwidth", SIZE, 2, CROSSBAR)
    assert use.names[:2] == ["node 0 sends", "node 1 receives"]
    carried = use.share[0].sum() * use.period_s * 40e6
    assert carried == pytest.approx(use.bytes[0], rel=1e-9)
    assert use.peak(0)[0] == pytest.approx(1, abs=0.02)


def test_the_page_names_the_bottleneck_and_whose_messages_it_carried(used, tmp_path):
    used("reduce", SIZE, 4, CROSSBAR)
    assert run([*SESAME, "report", "run.sesame", "page.html"], tmp_path).status == 0
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "How busy the busiest links of the network were" in page
    assert "node 0 receives: " in page
    assert "busy, at " in page
    assert "No link was more than" not in page


def test_the_page_says_that_no_link_was_a_bottleneck(used, tmp_path):
    """Latencies of 10 us between messages of 8 bytes, which take 0.2 us."""
    used("alltoall", 8, 8, CROSSBAR, sharing="interface")
    assert run([*SESAME, "report", "run.sesame", "page.html"], tmp_path).status == 0
    assert "No link was more than" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_shared_links_show_what_the_simulation_recorded(used, tmp_path):
    """Two times as many nodes at a leaf switch as uplinks: every link up carries the messages of
    two nodes and is busy while they last."""
    lines = ['kind = "fat_tree"', "arity = [4, 2]", "uplinks = [2]", "[[collectives.alltoall]]"]
    lines.append('algorithm = "scattered"')
    use = used("alltoall", SIZE, 8, *lines, sharing="links")
    assert use.is_recorded
    trunks = [i for i, name in enumerate(use.names) if "switch" in name]
    assert {use.names[i] for i in trunks} == {
        f"switch {switch} of level 1, {way}" for switch in (0, 1) for way in ("up", "down")
    }
    for i in trunks:
        assert use.peak(i)[0] <= 1.001
        carried = use.share[i].sum() * use.period_s * 2 * 40e6
        assert carried == pytest.approx(use.bytes[i], rel=1e-3)
        assert len(use.senders[i]) == 3
    assert run([*SESAME, "report", "run.sesame", "page.html"], tmp_path).status == 0
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Routes are fixed shortest ones" not in page


def test_no_pair_is_shown_with_more_than_it_sent(used, tmp_path):
    """Sixteen pairs cross the middle of a line of nodes, more than the simulator counts; seven
    begin at its end."""
    use = used("alltoall", SIZE, 8, 'kind = "mesh"', "dims = [8]", sharing="links")
    messages = DataSet(tmp_path / "run.sesame").table("message")
    sent: Counter[tuple[int, int]] = Counter()
    columns = (messages.column(name).to_pylist() for name in ("source", "destination", "bytes"))
    for source, destination, size in zip(*columns, strict=True):
        sent[source, destination] += size
    for pairs in use.senders:
        assert all(0 < size <= sent[source, to] for source, to, size in pairs)
    end = use.senders[use.names.index("node 0 sends")]
    assert end == [(0, to, sent[0, to]) for to in (pair[1] for pair in end)]
    assert len(end) == 3


def test_only_the_busiest_of_many_links_have_slices(compiled, simulate, tmp_path):
    machine = tmp_path / "machine.toml"
    lines = 'kind = "torus"', "dims = [12, 12, 12]"
    machine.write_text(MACHINE.replace("nodes = 8\n", "") + "\n".join(lines), encoding="utf-8")
    options = ("-n", 1728, "--machine", machine, "--set", "network.sharing=links")
    options += ("--compute", "none", "-o", "run.sesame", "--", compiled("bench/programs/halo.c"), 2)
    done = simulate(*options)
    assert done.status == 0, done.stderr
    data_set = DataSet(tmp_path / "run.sesame")
    busy = data_set.table("link").column("busy_s").to_numpy()
    activity = {name: column.to_numpy() for name, column in zip(
        ("link", "busy_s"), data_set.table("link_activity", ["link", "busy_s"]).columns, strict=True
    )}  # fmt: skip
    slices = np.bincount(activity["link"], minlength=len(busy))
    assert len(busy) > 5000
    assert 0 < np.count_nonzero(slices > 1) <= 4096
    assert busy[slices > 1].min() >= busy[slices == 1].max()
    assert np.bincount(activity["link"], activity["busy_s"]) == pytest.approx(busy, rel=1e-9)
