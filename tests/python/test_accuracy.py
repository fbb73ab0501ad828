"""`sesame accuracy`: pairs of predicted and measured runs, and what predictions say of them."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from test_comparison import real_run
from tests.tutorials import commands_of

from sesame.accuracy import (
    Pair,
    Pairs,
    Past,
    by_machine_and_program,
    known_by,
    past_error,
    past_of,
)
from sesame.errors import InputError, OutputError
from sesame.machines.values import machine_key

MACHINE = 'name = "m"\nnodes = 4\n[network]\nlatency = "1 us"\n'


def a_pair(predicted_s: float = 1.0, measured_s: float = 1.0, **fields: object) -> Pair:
    known = {"number": 0, "added": "", "machine": "m", "machine_key": machine_key(MACHINE)}
    known |= {"program": "app", "arguments": ("x",), "ranks": 4, "predicted": "", "measured": ""}
    return Pair(**{**known, "predicted_s": predicted_s, "measured_s": measured_s, **fields})


@pytest.fixture
def pairs(tmp_path):
    return Pairs(tmp_path / "deep/pairs.jsonl")


def test_errors_are_relative_to_what_was_measured(pairs):
    for predicted in (1.04, 0.9, 1.02, 1.2):
        pairs.add(a_pair(predicted))
    found = past_error(pairs.read()[0])
    assert found.pairs == 4
    assert found.median == pytest.approx(0.07)  # of 0.02, 0.04, 0.1 and 0.2
    assert found.worst == pytest.approx(0.2)
    assert found.in_words() == "4 pairs, median error 7.0 %, worst +20 %"
    assert past_error([a_pair(0.8)]).in_words() == "1 pair, error -20 %"
    assert past_error([]) is None


@pytest.mark.parametrize(
    ("command", "name", "arguments"),
    [
        ("/opt/app 1 2", "app", ("1", "2")),
        ("/usr/bin/python3.13 src/heat.py 10", "heat.py", ("10",)),
        ("./heat.py 10", "heat.py", ("10",)),
        ("bash run.sh", "run.sh", ()),
        ("python3 -m heat 10", "heat", ("10",)),
        ("python3 -u heat.py 10", "heat.py", ("10",)),
        ("bash -x -- run.sh", "run.sh", ()),
        ("python3 -c code", "python3", ("-c", "code")),
        ("python3 -W ignore heat.py", "python3", ("-W", "ignore", "heat.py")),
        ("python3", "python3", ()),
        ("pythonic heat.py", "pythonic", ("heat.py",)),
    ],
)
def test_what_an_interpreter_runs_is_known_by_its_own_name(command, name, arguments):
    assert known_by(command.split()) == (name, arguments)


def test_numbers_are_not_given_again(pairs):
    assert [pairs.add(a_pair(1 + i)).number for i in range(3)] == [1, 2, 3]
    pairs.remove(3)
    assert pairs.add(a_pair(9)).number == 4
    assert [pair.number for pair in pairs.read()[0]] == [1, 2, 4]
    with pytest.raises(InputError, match="there is no pair 3"):
        pairs.remove(3)


def test_the_same_pair_is_kept_once(pairs):
    pairs.add(a_pair())
    with pytest.raises(InputError, match="kept already, as number 1"):
        pairs.add(a_pair())
    pairs.remove(1)
    assert pairs.add(a_pair()).number == 2


@pytest.mark.parametrize(
    "damage",
    [b"\x00\xff garbage", b"{}", b"[1]", b'{"number": 2', b'{"number": 2, "machine": "m"}', b'"x"'],
)
def test_a_damaged_line_costs_that_pair_alone(pairs, damage):
    for i in range(3):
        pairs.add(a_pair(1 + i))
    lines = pairs.path.read_bytes().splitlines()
    pairs.path.write_bytes(b"\n".join([lines[0], damage, lines[2]]) + b"\n")
    kept, damaged = pairs.read()
    assert [pair.number for pair in kept] == [1, 3]
    assert damaged == 1
    assert pairs.add(a_pair(9)).number == 4


def test_a_line_that_was_cut_off_does_not_spoil_the_next(pairs):
    pairs.add(a_pair(1))
    pairs.add(a_pair(2))
    whole = pairs.path.read_bytes()
    pairs.path.write_bytes(whole[:-20])
    pairs.add(a_pair(3))
    kept, damaged = pairs.read()
    assert [pair.predicted_s for pair in kept] == [1, 3]
    assert damaged == 1


def test_impossible_times_are_damage(pairs):
    pairs.add(a_pair(1))
    text = pairs.path.read_text()
    for time in ("0", "-1", "NaN", "Infinity", '"x"'):
        line = text.replace('"measured_s": 1.0', f'"measured_s": {time}')
        pairs.path.write_text(line)
        assert pairs.read() == ([], 1), time


WRITER = """
import json, sys
from pathlib import Path
from sesame.accuracy import Pair, Pairs
fields = json.loads(sys.argv[2])
for i in range(25):
    Pairs(Path(sys.argv[1])).add(Pair(**fields | {"predicted_s": 1.0 + i}))
"""


def test_writers_at_the_same_time_lose_nothing(pairs):
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(pairs.path), json.dumps(vars(a_pair(ranks=i)))]
        )
        for i in range(4)
    ]
    assert [writer.wait(60) for writer in writers] == [0] * 4
    kept, damaged = pairs.read()
    assert damaged == 0
    assert sorted(pair.number for pair in kept) == list(range(1, 101))
    assert {(pair.ranks, pair.predicted_s) for pair in kept} == {
        (i, 1.0 + j) for i in range(4) for j in range(25)
    }


def test_a_path_that_cannot_be_written_is_reported(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="cannot write"):
        Pairs(tmp_path / "file/pairs").add(a_pair())


def test_a_changed_model_inherits_nothing(pairs):
    pairs.add(a_pair(1.1))
    pairs.add(a_pair(1.2, program="other"))
    assert past_of(MACHINE, [], "/bin/app", pairs).as_json() == {
        "pairs": 2,
        "median": pytest.approx(0.15),
        "worst": pytest.approx(0.2),
        "of_program": {"pairs": 1, "median": pytest.approx(0.1), "worst": pytest.approx(0.1)},
    }
    assert past_of(MACHINE.replace("1 us", "1000 ns"), [], "app", pairs) is not None
    assert past_of(MACHINE.replace('"m"', '"renamed"'), [], "app", pairs) is not None
    assert past_of(MACHINE.replace("1 us", "2 us"), [], "app", pairs) is None
    assert past_of(MACHINE, ["network.latency=2us"], "app", pairs) is None
    assert past_of(MACHINE, ["network.latency=1us"], "app", pairs) is not None
    assert past_of(MACHINE, [], "new", pairs).in_words().endswith("; none of this program")


def test_a_past_error_is_read_back_as_it_was_written(pairs):
    pairs.add(a_pair(1.1))
    for program in ("app", "new"):
        past = past_of(MACHINE, [], program, pairs)
        assert Past.from_json(json.loads(json.dumps(past.as_json()))) == past


def test_a_prediction_does_not_fail_for_want_of_a_home(monkeypatch):
    def no_home():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setattr(Path, "home", no_home)
    assert past_of(MACHINE, [], "app") is None


def test_a_prediction_does_not_fail_where_pairs_may_not_be_looked_for(monkeypatch, pairs):
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    for name in ("exists", "open"):
        monkeypatch.setattr(Path, name, refuse)
    assert past_of(MACHINE, [], "app", pairs) is None


def test_groups_are_by_machine_and_program(pairs):
    for program, time in (("a", 1.1), ("b", 1.3), ("a", 1.2)):
        pairs.add(a_pair(time, program=program))
    groups = by_machine_and_program(pairs.read()[0])
    assert [(program, error.pairs) for _, _, program, error in groups] == [
        ("", 3),
        ("a", 2),
        ("b", 1),
    ]


@pytest.fixture
def predicted(sesame):
    words = ("simulate", "-n", "2", "--machine", "paragon", "-o", "predicted.sesame", "--", "./app")
    assert sesame(*words).status == 0


def test_a_prediction_states_the_past_error_of_its_model(sesame, predicted, tmp_path):
    run = ("simulate", "-n", "2", "--machine", "paragon")
    assert "past" not in sesame(*run, "--", "./app").stderr
    assert "past_error" not in sesame(*run, "--json", "--", "./app").json
    real_run(tmp_path / "real.sesame")
    pair = sesame("accuracy", "add", "predicted.sesame", "real.sesame", "--json").json
    assert pair["measured_s"] == pytest.approx(14e-3)
    assert pair["error"] == pytest.approx(pair["predicted_s"] / 14e-3 - 1)
    said = sesame(*run, "--report", "p.html", "--", "./app").stderr
    assert "past error of this machine model: 1 pair, error " in said
    assert "past error of this machine model" in (tmp_path / "p.html").read_text()
    found = sesame(*run, "--json", "--", "./app").json["past_error"]
    assert found["worst"] == pytest.approx(pair["error"])
    changed = sesame(*run, "--set", "network.latency=200us", "--json", "--", "./app").json
    assert "past_error" not in changed


def test_one_rank_is_named_as_one(sesame, environment):
    Pairs(Path(environment["XDG_DATA_HOME"]) / "sesame/accuracy.jsonl").add(a_pair(ranks=1))
    assert sesame("accuracy", "remove", "1").stdout == "removed 1: app on 1 rank of m\n"


@pytest.mark.few_cases(2)
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("real.sesame", "predicted.sesame"), "expected a simulated run as the prediction"),
        (("predicted.sesame", "predicted.sesame"), "and this one is simulated"),
        (("predicted.sesame", "three.sesame"), "numbers of ranks differ"),
        (("left-out.sesame", "real.sesame"), "the computation is not that of the program"),
        (("predicted.sesame", "nothing.sesame"), "this is no data set"),
    ],
)
def test_what_is_no_pair_is_refused(sesame, predicted, tmp_path, words, message):
    real_run(tmp_path / "real.sesame")
    real_run(tmp_path / "three.sesame", ranks=3)
    run = ("simulate", "-n", "2", "--machine", "paragon", "--compute", "none")
    assert sesame(*run, "-o", "left-out.sesame", "--", "./app").status == 0
    outcome = sesame("accuracy", "add", *words)
    assert outcome.status == 2
    assert message in outcome.stderr
    assert sesame("accuracy", "list", "--json").json == {"pairs": [], "damaged_lines": 0}


@pytest.mark.long
def test_the_tutorial_runs(sesame, tmp_path, environment):
    (tmp_path / "here.toml").write_text(Path(MODEL).read_text())
    for i, name in enumerate(("measured", "run1", "run2", "run3")):
        real_run(tmp_path / f"{name}.sesame", slow=1 + i / 10, ranks=4)
    lines = commands_of("tutorial-accuracy.md")
    assert len(lines) > 5
    for line in lines:
        outcome = sesame(*shlex.split(line)[1:])
        assert outcome.status == 0, f"{line}\n{outcome.stdout}{outcome.stderr}"
    file = Path(environment["XDG_DATA_HOME"]) / "sesame/accuracy.jsonl"
    kept = [json.loads(line) for line in file.read_text().splitlines()]
    assert [line.get("removed") for line in kept] == [None, None, 2]
    # The median of runs of 14.4, 14.8 and 15.2 ms, from MPI_Init to MPI_Finalize.
    assert kept[1]["measured_s"] == pytest.approx(14.8e-3)


MODEL = Path(__file__).parents[2] / "python/sesame/machines/paragon.toml"
