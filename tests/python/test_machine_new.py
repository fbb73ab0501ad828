"""`sesame machine new`, and the machine files that it writes."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from tests.command_line import Outcome, sesame

from sesame import native
from sesame.errors import InputError
from sesame.machines import drafting


def new(path: Path, *options: str) -> Outcome:
    return sesame("machine", "new", str(path), *options, "--no-questions", cwd=path.parent)


def test_what_is_given_has_its_source_and_the_rest_is_assumed(tmp_path):
    path = tmp_path / "lab.toml"
    done = new(path, "--nodes", "64", "--cores", "32", "--latency", "1.4us",
        "--bandwidth", "11GB/s", "--topology", "fat_tree:16,4", "--source", "osu of 3 May",
    )  # fmt: skip
    assert done.status == 0, done.stderr
    model = native.read_machine(str(path))
    assert (model["name"], model["nodes"], model["cores"]) == ("lab", 64, 32)
    assert model["network"]["latency_s"] == pytest.approx(1.4e-6)
    assert model["topology"]["arity"] == [16, 4]
    assert model["sources"][0] == "[1] osu of 3 May"
    assert "network.latency" not in model["assumed"]
    assert {"node.network.latency", "network.send_overhead", "node.compute_ratio"} <= set(
        model["assumed"]
    )
    text = path.read_text(encoding="utf-8")
    assert 'latency = "1.4us"  # [1]' in text
    assert "# assumed: as infiniband [2]" in text


def test_a_tree_with_few_uplinks_shares_links(tmp_path):
    path = tmp_path / "lab.toml"
    done = new(path, "--cores", "32", "--topology", "fat_tree:16,4", "--uplinks", "8",
        "--cards", "2", "--card-bandwidth", "25GB/s",
    )  # fmt: skip
    assert done.status == 0, done.stderr
    model = native.read_machine(str(path))
    sharing = model["sharing"]
    assert (sharing["mode"], sharing["cards"]) == ("links", 2)
    assert sharing["send"]["bandwidth_bytes_per_s"] == pytest.approx(25e9)
    assert model["topology"]["uplinks"] == [8]
    assert "network.sharing" in model["assumed"]
    assert not {"network.card.number", "topology.uplinks"} & set(model["assumed"])


@pytest.mark.parametrize(
    ("options", "mode"),
    [
        ([], "interface"),
        (["--cores", "2", "--cards", "2"], "none"),
        (["--cores", "2", "--cards", "2", "--card-bandwidth", "25GB/s"], "interface"),
        (["--topology", "dragonfly:3,2,2", "--global-links", "2"], "links"),
        (["--topology", "dragonfly:3,2,2", "--global-links", "2", "--sharing", "none"], "none"),
    ],
)
def test_ranks_share_the_cards_of_their_node_unless_each_has_one(tmp_path, options, mode):
    path = tmp_path / "lab.toml"
    done = new(path, *options)
    assert done.status == 0, done.stderr
    assert native.read_machine(str(path))["sharing"]["mode"] == mode


def test_overheads_stay_within_a_short_latency(tmp_path):
    path = tmp_path / "fast.toml"
    assert new(path, "--latency", "0.3us").status == 0
    network = native.read_machine(str(path))["network"]
    assert network["send_overhead_s"] + network["receive_overhead_s"] <= 0.3e-6


def test_without_answers_all_is_assumed(tmp_path):
    path = tmp_path / "unknown.toml"
    assert new(path, "--like", "csd3").status == 0
    model = native.read_machine(str(path))
    assert model["cores"] == 56
    assert {"nodes", "node.cores", "network.latency", "topology.kind"} <= set(model["assumed"])
    assert len(model["sources"]) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--topology", "fat_tree"], "unknown topology 'fat_tree', expected one such as"),
        (["--topology", "dragonfly:8,16"], "unknown topology"),
        (["--topology", "hyperx:8"], "unknown topology"),
        (["--topology", "hypercube:4"], "unknown topology"),
        (["--latency", "fast"], "fast"),
        (["--bandwidth", "0 GB/s"], "expected a bandwidth above zero"),
        (["--nodes", "0"], "wrong value for nodes"),
        (["--cores", "many"], "wrong value for node.cores"),
        (["--sharing", "some"], "wrong value for network.sharing"),
        (["--cards", "0"], "wrong value for network.card.number"),
        (["--cards", "2", "--cores", "1"], "no rank would use some of the cards"),
        (["--topology", "fat_tree:4,4", "--uplinks", "few"], "wrong value for topology.uplinks"),
        (
            ["--topology", "dragonfly:3,2,2", "--global-links", "2,3"],
            "wrong value for topology.global_links, expected a whole number such as",
        ),
        (["--topology", "fat_tree:4,4", "--uplinks", "2,2"], "expected 1, got 2"),
        (["--topology", "mesh:4,4", "--uplinks", "2"], "has no meaning for a mesh"),
        (["--like", "infinband"], "did you mean infiniband?"),
    ],
)
def test_a_wrong_answer_is_an_error_and_writes_nothing(tmp_path, options, message):
    path = tmp_path / "lab.toml"
    done = new(path, *options)
    assert done.status == 2
    assert message in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_nodes_and_topology_that_disagree_write_nothing(tmp_path):
    path = tmp_path / "lab.toml"
    done = new(path, "--nodes", "5", "--topology", "torus:2,2")
    assert done.status == 2
    assert "nodes and topology disagree" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_an_existing_file_is_kept_without_force(tmp_path):
    path = tmp_path / "lab.toml"
    path.write_text("mine", encoding="utf-8")
    done = new(path)
    assert done.status == 2
    assert "exists already" in done.stderr
    assert path.read_text(encoding="utf-8") == "mine"
    assert new(path, "--force").status == 0


def test_a_terminal_is_asked_again_after_a_wrong_answer(tmp_path):
    path = tmp_path / "lab.toml"
    master, terminal = pty.openpty()
    answers = ["infiniband", "8", "4", "quick", "2us", "", "", "", "1", "20GB/s", "torus:2,2,2"]
    answers += ["links", "", "my guess"]
    os.write(master, "".join(f"{answer}\n" for answer in answers).encode())
    command = [sys.executable, "-m", "sesame", "machine", "new", str(path)]
    done = subprocess.run(command, stdin=terminal, capture_output=True, text=True, timeout=60)
    os.close(master)
    os.close(terminal)
    assert done.returncode == 0, done.stderr
    assert "error: " in done.stderr
    model = native.read_machine(str(path))
    assert model["network"]["latency_s"] == pytest.approx(2e-6)
    assert model["topology"]["dims"] == [2, 2, 2]
    assert model["sharing"]["mode"] == "links"
    assert model["sources"][0] == "[1] my guess"


def test_every_topology_that_is_shown_as_an_example_is_read():
    for shape in drafting.SHAPES.values():
        assert drafting.topology_values(shape)["kind"].strip('"') in drafting.SHAPES
    with pytest.raises(InputError):
        drafting.topology_values("mesh:0,2")
