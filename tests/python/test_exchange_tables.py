"""Exports as Chrome trace events, as tables of text and as SDDF; and SDDF back."""

from __future__ import annotations

import csv
import json
import random
import struct
from pathlib import Path

import pytest
from test_exchange_otf2 import simulated, traced
from tests.some_info import some_info

from sesame.datasets import DataSet, DataSetWriter
from sesame.errors import InputError, SesameError
from sesame.exchange import EXPORTS, export_data_set, import_trace
from sesame.exchange.sddf_reader import Attributes, Data, read_packets

SDDF = ("sddf", "sddf-binary", "sddf-binary-big")


def chrome(make, tmp_path: Path) -> list[dict]:
    export_data_set(make(tmp_path / "run.sesame"), "chrome", tmp_path / "run.json")
    return json.loads((tmp_path / "run.json").read_text())["traceEvents"]


def test_every_call_is_a_slice_at_its_time(tmp_path):
    events = chrome(traced, tmp_path)
    slices = [event for event in events if event["ph"] == "X"]
    assert len(slices) == 26
    (one,) = [event for event in slices if event["name"] == "lseek"]
    assert (one["pid"], one["tid"], one["ts"], one["dur"]) == (0, 0, 25000, 1000)
    assert one["args"]["file"] == "/data/a b.bin"
    assert one["args"]["offset"] == 64
    names = [event["args"]["name"] for event in events if event["name"] == "process_name"]
    assert names == [f"rank {rank} on here" for rank in range(3)]


@pytest.mark.parametrize(("make", "messages"), [(traced, 3), (simulated, 2)])
def test_every_message_is_an_arrow_between_slices(make, messages, tmp_path):
    events = chrome(make, tmp_path)
    slices = [event for event in events if event["ph"] == "X"]
    ends = {phase: [e for e in events if e["ph"] == phase] for phase in "sf"}
    assert len(ends["s"]) == len(ends["f"]) == messages
    assert sorted(e["id"] for e in ends["s"]) == sorted(e["id"] for e in ends["f"])
    for end in (*ends["s"], *ends["f"]):
        around = [
            s
            for s in slices
            if s["pid"] == end["pid"]
            and s["tid"] == end["tid"]
            and s["ts"] <= end["ts"] < s["ts"] + s["dur"]
        ]
        assert around, end


def test_an_arrow_ends_where_its_receive_was_complete(tmp_path):
    events = chrome(traced, tmp_path)
    tails = {e["id"]: e for e in events if e["ph"] == "s"}
    heads = {e["id"]: e for e in events if e["ph"] == "f"}
    pairs = {
        (tails[i]["pid"], tails[i]["ts"], heads[i]["pid"], heads[i]["ts"] + 0.001) for i in tails
    }
    # The receive of the second is complete in the call that waits for it.
    assert pairs == {(0, 1000, 1, 2500), (1, 6000, 0, 8000), (0, 3000, 2, 6500)}


def test_times_keep_every_nanosecond(tmp_path):
    def make(path: Path) -> Path:
        from tests.python.traced_run import TracedRun

        run = TracedRun()
        run.io(0, 9_007_199_254.740993, 1e-6, "sync")
        return run.write(path)

    export_data_set(make(tmp_path / "run.sesame"), "chrome", tmp_path / "run.json")
    ns = DataSet(tmp_path / "run.sesame").table("io").column("begin_ns").to_pylist()[0]
    assert f'"ts":{ns // 1000}.{ns % 1000:03},"dur":0.001' in (tmp_path / "run.json").read_text()


@pytest.mark.parametrize("make", [traced, simulated])
def test_tables_of_text_hold_every_value(make, tmp_path):
    data_set = DataSet(make(tmp_path / "run.sesame"))
    export_data_set(data_set.path, "csv", tmp_path / "out")
    for name in data_set.record_types:
        with (tmp_path / "out" / f"{name}.csv").open(newline="") as file:
            rows = list(csv.DictReader(file))
        expected = [
            {key: str(value) for key, value in row.items()}
            for row in data_set.table(name).to_pylist()
        ]
        assert rows == expected
    with (tmp_path / "out" / "fields.csv").open(newline="") as file:
        fields = {(row["record_type"], row["field"]): row for row in csv.DictReader(file)}
    for name, described in data_set.record_types.items():
        for field in described["fields"]:
            row = fields[name, field["name"]]
            assert (row["unit"], row["meaning"]) == (field["unit"], field["meaning"])


@pytest.mark.parametrize("form", SDDF)
@pytest.mark.parametrize("make", [traced, simulated])
def test_sddf_brings_back_every_record(make, form, tmp_path):
    there = DataSet(make(tmp_path / "run.sesame"))
    export_data_set(there.path, form, tmp_path / "run.sddf")
    import_trace(tmp_path / "run.sddf", tmp_path / "back.sesame")
    back = DataSet(tmp_path / "back.sesame")
    filled = {name for name in there.record_types if there.has(name)}
    assert {name for name in back.record_types if back.has(name)} == filled
    for name in filled:
        assert back.table(name).to_pylist() == there.table(name).to_pylist()
    assert back.info["ranks"] == there.info["ranks"]


@pytest.mark.parametrize("form", SDDF)
def test_sddf_keeps_any_text_and_any_number(form, tmp_path):
    texts = ["", 'a "quoted"\nline', "50 % of a ünit", "C:\\x", "# { } ;; //", "\x00\x1f"]
    values = [0.1, -1e-300, 1e300, 12345678901234567890.0, -0.0, 3.0]
    with DataSetWriter(tmp_path / "run.sesame") as writer:
        writer.write_records("figure", {"name": texts, "value": values, "unit": ["s"] * 6})
        writer.finish(some_info("bench", title='a "title"'))
    export_data_set(tmp_path / "run.sesame", form, tmp_path / "run.sddf")
    packets = list(read_packets(tmp_path / "run.sddf"))
    found = [packet.values for packet in packets if isinstance(packet, Data)]
    assert [row[0] for row in found] == texts
    assert [row[1] for row in found] == values
    (attributes,) = [packet for packet in packets if isinstance(packet, Attributes)]
    assert attributes.pairs["title"] == 'a "title"'
    assert (tmp_path / "run.sddf").read_bytes()[:5] in (b"SDDFA", b"SDDFB")


def test_text_that_others_write_is_read(tmp_path):
    """Bare text for arrays of char, capacities above the length, exponents, commands."""
    (tmp_path / "x.sddf").write_text(
        'SDDFA\n/*\n * "run" "7" */ ;;\n#2: // "about" "sends"\n"NX send" {\n'
        'double "time stamp"; int "node"; char "host"[]; int "shape"[][]; char "names"[][]; };;\n'
        "%9: ;;\n"
        '"NX send" { 1.5e-3, -4, "left", [2][2] { 1, 2, 3, 4 }, [2][20] { "a", "b" } };;\n'
        '"NX send" { 2., 0, [80] { "right" }, [0][0] { }, [1][9] { "c" } };;\n'
    )
    rows = [p.values for p in read_packets(tmp_path / "x.sddf") if isinstance(p, Data)]
    assert rows == [
        [0.0015, -4, "left", [[1, 2], [3, 4]], ["a", "b"]],
        [2.0, 0, "right", [], ["c"]],
    ]


def test_binary_data_of_another_byte_order_and_other_sizes_is_read(tmp_path):
    def text(value: str) -> bytes:
        return struct.pack(">q", len(value)) + value.encode()

    def packet(kind: int, tag: int, content: bytes) -> bytes:
        return struct.pack(">qqq", 24 + len(content), kind, tag) + content

    header = b"SDDFB" + bytes([19, 0, 0, 0, 0, 0, 0, 1, 2, 8, 8, 4, 8, 16])
    fields = text("n") + struct.pack(">qqq", 0, 1, 0) + text("x") + struct.pack(">qqq", 0, 3, 1)
    descriptor = text("point") + struct.pack(">qq", 0, 2) + fields
    data = struct.pack(">qq2d", -5, 2, 0.5, 8.0)
    content = packet(2, 3, descriptor) + packet(4, 3, b"") + packet(3, 3, data)
    (tmp_path / "x.sddf").write_bytes(header + content)
    rows = [p.values for p in read_packets(tmp_path / "x.sddf") if isinstance(p, Data)]
    assert rows == [[-5, [0.5, 8.0]]]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('"a" { 1 };;', r":2: a record a without a descriptor before it"),
        (
            '#1: "a" { short "x"; };;',
            ":2: expected one of char, int, float, double, long, got short",
        ),
        ('#1: "a" { int "x"; };;\n"a" { };;', ":3: expected a number, got }"),
        ('#1: "a" { int "x"; };;\n"a" { 1', ":3: expected }, got the end"),
    ],
)
def test_text_that_is_wrong_is_named_by_its_line(content, said, tmp_path):
    (tmp_path / "x.sddf").write_text(f"SDDFA\n{content}")
    with pytest.raises(InputError, match=said):
        list(read_packets(tmp_path / "x.sddf"))


@pytest.mark.few_cases(2)
@pytest.mark.parametrize("files", [60, pytest.param(300, marks=pytest.mark.long)])
@pytest.mark.parametrize("form", SDDF)
def test_damaged_sddf_is_read_or_refused(form, files, tmp_path):
    chance = random.Random(11)
    export_data_set(traced(tmp_path / "run.sesame"), form, tmp_path / "good")
    good = (tmp_path / "good").read_bytes()
    refused = 0
    for _ in range(files):
        data = bytearray(good[: chance.choice([len(good), chance.randrange(len(good))])])
        for _ in range(chance.choice([0, 1, 5])):
            data[chance.randrange(len(data))] = chance.randrange(256)
        (tmp_path / "x.sddf").write_bytes(data)
        try:
            import_trace(
                tmp_path / "x.sddf", tmp_path / "back.sesame", format_name="sddf", force=True
            )
        except SesameError:
            refused += 1
    assert files // 6 < refused < files


def test_sddf_refuses_numbers_that_it_cannot_hold(tmp_path):
    with DataSetWriter(tmp_path / "run.sesame") as writer:
        pairs = {"source": [0], "destination": [1], "messages": [1], "bytes": [(1 << 53) + 1]}
        writer.write_records("pair", pairs)
        writer.finish(some_info("simulated", title="large"))
    with pytest.raises(
        InputError,
        match=r"field bytes of pair records: .* up to 2\^53, got one of size 9007199254740993",
    ):
        export_data_set(tmp_path / "run.sesame", "sddf", tmp_path / "run.sddf")
    assert not (tmp_path / "run.sddf").exists()


@pytest.mark.few_cases(3)
@pytest.mark.parametrize("form", EXPORTS)
def test_an_export_writes_over_nothing_unless_asked_to(form, sesame, tmp_path):
    traced(tmp_path / "run.sesame")
    arguments = ("export", "run.sesame", "--to", form, "--file", "out")
    assert sesame(*arguments).status == 0
    outcome = sesame(*arguments)
    assert (outcome.status, "out: already there" in outcome.stderr) == (2, True)
    assert sesame(*arguments, "--force").status == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "run.sesame"]


@pytest.mark.parametrize("form", EXPORTS)
def test_an_export_does_not_remove_what_is_not_its_own(form, sesame, tmp_path):
    traced(tmp_path / "run.sesame")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.tex").write_text("years of work")
    outcome = sesame("export", "run.sesame", "--to", form, "--file", "out", "--force")
    assert outcome.status == 2
    assert (tmp_path / "out" / "thesis.tex").exists()


@pytest.mark.parametrize("form", EXPORTS)
def test_an_export_of_something_else_is_refused(form, sesame, tmp_path):
    outcome = sesame("export", "nowhere", "--to", form, "--file", "out")
    assert (outcome.status, list(tmp_path.iterdir())) == (2, [])


def test_an_export_that_fails_leaves_nothing(sesame, tmp_path):
    traced(tmp_path / "run.sesame")
    (tmp_path / "run.sesame" / "mpi.parquet").write_bytes(b"damage")
    for form in EXPORTS:
        outcome = sesame("export", "run.sesame", "--to", form, "--file", "out")
        assert outcome.status == 2, outcome.stderr
        assert "mpi.parquet: cannot read these records" in outcome.stderr
        assert [path.name for path in tmp_path.iterdir()] == ["run.sesame"]
