"""The tutorial of characterisation as a reader types it, and bad input."""

from __future__ import annotations

import shlex

from test_exchange_otf2 import traced
from tests.python.block_traces import random_requests, write_perf
from tests.tutorials import commands_of

from sesame.exchange import import_trace

PAGE = "tutorial-characterize.md"


def test_the_tutorial_runs(sesame, tmp_path):
    write_perf(tmp_path / "perf.txt", random_requests(300))
    traced(tmp_path / "run.sesame")
    for seed, name in enumerate(("baseline", "ppm", "wavelet", "both")):
        source = write_perf(tmp_path / "text", random_requests(50 + 100 * seed, seed))
        import_trace(source, tmp_path / f"{name}.sesame")
    lines = commands_of(PAGE)
    assert len(lines) > 6
    for line in lines:
        words = shlex.split(line)
        assert words.pop(0) == "sesame"
        outcome = sesame(*words)
        assert outcome.status == 0, f"{line}\n{outcome.stdout}{outcome.stderr}"
        if "--json" in words:
            assert outcome.json["place"] == "7,0"
            assert len(outcome.json["findings"]) > 3
        elif words[0] == "characterize" and "--baseline" not in words:
            assert "request size" in outcome.stdout
    for made in ("disk.html", "run.html", "compared.html"):
        text = (tmp_path / made).read_text()
        for title in ("Request size over time", "Spatial locality", "Temporal locality"):
            assert title in text, (made, title)


def test_a_comparison_in_json_has_the_table(sesame, tmp_path):
    for seed, name in enumerate(("idle", "one", "two")):
        source = write_perf(tmp_path / "text", random_requests(100 + 100 * seed, seed))
        import_trace(source, tmp_path / f"{name}.sesame")
    options = ("--baseline", "idle.sesame", "--compare", "one.sesame", "two.sesame", "--json")
    found = sesame("characterize", *options).json
    assert [row["run"] for row in found["table"]] == ["idle", "one", "two"]
    # Each request goes to one of two devices, and the table is of the busier.
    places = {found["runs"][name]["place"] for name in ("idle", "one", "two")}
    assert len(places) == 1
    for row in found["table"]:
        assert row["requests"] == found["runs"][row["run"]]["total"]


def test_bad_input_is_refused_in_words(sesame, tmp_path):
    source = write_perf(tmp_path / "text", random_requests(50))
    import_trace(source, tmp_path / "disk.sesame")
    traced(tmp_path / "run.sesame")
    for words, says in (
        (("none.sesame",), "no info.json"),
        (("disk.sesame", "--device", "9,9"), "no requests to 9,9"),
        (("disk.sesame", "run.sesame"), "2 data sets, expected one"),
        ((), "0 data sets, expected one"),
        (("--baseline", "disk.sesame"), "nothing to compare"),
        (("--compare", "disk.sesame", "run.sesame"), "cannot be compared"),
        (("disk.sesame", "--report", "."), "this is a directory"),
        (("disk.sesame", "--large-bytes", "100"), "not more than a page"),
    ):
        outcome = sesame("characterize", *words)
        assert outcome.status == 2, words
        assert says in outcome.stderr, words
