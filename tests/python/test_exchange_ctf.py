"""Traces in the Common Trace Format: of hand-written bits, and of the tools that write them."""

from __future__ import annotations

import random
import re
import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from tests.python.ctf_writer import METADATA, WRAP, write_trace

from sesame.datasets import DataSet
from sesame.errors import InputError
from sesame.exchange import import_trace
from sesame.exchange.ctf_decode import Bits, decoder
from sesame.exchange.ctf_types import Float, Integer, Structure

ORDERS = ("le", "be")


def imported(source: Path) -> DataSet:
    target = source.parent / f"{source.name}.sesame"
    import_trace(source, target, force=True)
    return DataSet(target)


@pytest.mark.parametrize("order", ORDERS)
def test_every_kind_of_field_is_read_in_the_order_of_time(order, tmp_path):
    found = imported(write_trace(tmp_path / "t", order))
    rows = found.table("disk_write").to_pylist()
    common = {"path": "/tmp/ä", "comm": "dd", "at_x": 0.5}
    tick = 2  # ns
    assert rows == [
        {"time_ns": 0, "cpu": 1, "tid": -4, "count": 3, "sizes": [1, 2, 3], "kind": "read"}
        | {**common, "at_y": -5, "what": "77"},
        {"time_ns": 10 * tick, "cpu": 0, "tid": 1, "count": 1, "sizes": [9], "kind": "read"}
        | {**common, "at_y": 0, "what": "77"},
        {"time_ns": (WRAP - 100) * tick, "cpu": 1, "tid": 8, "count": 0, "sizes": []}
        | {**common, "kind": "write", "at_y": 6, "what": '"text"'},
    ]
    assert found.table("disk_write_2").to_pylist() == [
        {"time_ns": (2 * WRAP - 150) * tick, "cpu": 1, "tid": 9, "a": 200}
    ]
    info = found.info
    assert (info.instrument.name, info.instrument.version, info.host.name) == (
        "hand",
        "2.5",
        "node7",
    )
    # 1,700,000,000.5 s, and 5 times the ticks of the clock's low bits, 2 ns each
    assert info.begin_time == "2023-11-14T22:13:21+00:00"
    assert info.raw["damage"] == ["2 events had no space in the tracer's buffers"]


@pytest.mark.parametrize("order", ORDERS)
def test_babeltrace_reads_the_same(order, tmp_path, debian_program):
    """The writer of these tests writes what its format means, not what our reader reads."""
    trace = write_trace(tmp_path / "t", order)
    command = [debian_program("babeltrace2", "babeltrace2"), "--clock-seconds", str(trace)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    kinds = [re.search(r"_?tid = (-?\d+)", line)[1] for line in said.splitlines()]
    rows = [
        row
        for name in ("disk_write", "disk_write_2")
        for row in imported(trace).table(name, ["time_ns", "tid"]).to_pylist()
    ]
    rows.sort(key=lambda row: row["time_ns"])
    assert kinds == [str(row["tid"]) for row in rows]
    times = [
        int(re.match(r"\[(\d+)\.(\d+)\]", line).group().strip("[]").replace(".", ""))
        for line in said.splitlines()
    ]
    assert [one - times[0] for one in times] == [row["time_ns"] for row in rows]


def test_a_trace_that_babeltrace_wrote_is_read(tmp_path, debian_program):
    log = tmp_path / "log"
    log.write_text("[    0.000000] Linux\n[    0.250000] a second line\n[   12.345678] up\n")
    program = debian_program("babeltrace2", "babeltrace2")
    component = ["--component=source.text.dmesg", f'--params=path="{log}"']
    subprocess.run([program, *component, "-o", "ctf", "-w", tmp_path / "out"], check=True)
    assert imported(tmp_path / "out").table("string").to_pylist() == [
        {"time_ns": 0, "str": "Linux"},
        {"time_ns": 250_000_000, "str": "a second line"},
        {"time_ns": 12_345_678_000, "str": "up"},
    ]


def test_metadata_in_packets_is_read(tmp_path, debian_program):
    """As LTTng writes it; babeltrace2 reads it, too."""
    trace = write_trace(tmp_path / "t", "le")
    text = (trace / "metadata").read_bytes()
    content = b""
    for at in range(0, len(text), 1000):
        part = text[at : at + 1000]
        bits = (37 + len(part)) * 8
        head = (0x75D11D57, bytes(16), 0, bits, bits + 64, 0, 0, 0, 1, 8)
        content += struct.pack("<I16sIIIBBBBB", *head) + part + bytes(8)
    (trace / "metadata").write_bytes(content)
    program = debian_program("babeltrace2", "babeltrace2")
    assert subprocess.run([program, trace], capture_output=True).returncode == 0
    assert imported(trace).record_types["disk_write"]["rows"] == 3


def test_the_metadata_file_or_a_directory_above_names_the_trace(tmp_path):
    trace = write_trace(tmp_path / "t", "le")
    shutil.copytree(trace, tmp_path / "session" / "kernel" / "64-bit")
    shutil.copytree(trace, tmp_path / "session" / "ust" / "64-bit")
    import_trace(trace / "metadata", tmp_path / "one.sesame")
    assert DataSet(tmp_path / "one.sesame").record_types["disk_write"]["rows"] == 3
    both = imported(tmp_path / "session")
    tables = {name: one["rows"] for name, one in both.record_types.items()}
    assert tables == {"disk_write": 6, "disk_write_2": 2}
    times = both.table("disk_write").column("time_ns").to_pylist()
    assert times == sorted(times)


@pytest.mark.parametrize(("size", "codes"), [(32, "If"), (64, "Qd")])
def test_a_floating_point_number_may_begin_inside_a_byte(size, codes):
    """After one bit: the lowest one of its byte in little-endian traces, the highest in others."""
    integer, real = (f"<{code}" for code in codes)
    number = struct.unpack(integer, struct.pack(real, -2.71875))[0]
    both = Structure((("flag", Integer(1, 1)), ("x", Float(size, 1))))
    length = size // 8 + 1
    for order, value in (("little", 1 | number << 1), ("big", (1 << size | number) << 7)):
        data = value.to_bytes(length, order)
        assert decoder(both, order)(Bits(data, 8 * length)) == {"flag": 1, "x": -2.71875}


# ---- Damage ----


def test_a_stream_that_is_cut_off_is_read_up_to_there(tmp_path):
    trace = write_trace(tmp_path / "t", "le")
    content = (trace / "a_0").read_bytes()
    (trace / "a_0").write_bytes(content[:-20])
    found = imported(trace)
    assert found.record_types["disk_write"]["rows"] == 3
    assert "disk_write_2" not in found.record_types
    assert "a_0: cut off in its last packet" in found.info.raw["damage"]


def test_a_damaged_packet_does_not_hide_the_next(tmp_path):
    trace = write_trace(tmp_path / "t", "le")
    content = bytearray((trace / "a_0").read_bytes())
    at = content.index(b"\x03\0\x01\0\x02\0")  # the number of sizes
    content[at] = 0xFF
    (trace / "a_0").write_bytes(content)
    found = imported(trace)
    assert found.record_types["disk_write_2"]["rows"] == 1
    assert any("an array of 255 elements" in line for line in found.info.raw["damage"])


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("uint8_t a;", "uint9_t a;", r"metadata:44: the type uint9_t is not defined"),
        ("size = 5;", "size = 0;", r"metadata:6: size: expected 1 to 64, got 0"),
        ("major = 1;", "major = ;", r"metadata:9: expected a number, got ';'"),
        ("uint8_t a;", "struct {" * 5000, "types inside types, too many"),
        ("freq = 500000000", "freq = 0", "expected a frequency"),
        ('"hand"', '"hand', "is not understood|expected"),
    ],
)
def test_metadata_that_is_wrong_names_the_line(old, new, reason, tmp_path):
    trace = write_trace(tmp_path / "t", "le")
    (trace / "metadata").write_text((METADATA % {"order": "le"}).replace(old, new, 1))
    with pytest.raises(InputError, match=reason):
        imported(trace)


def test_types_that_double_are_refused(tmp_path):
    """A few lines that describe a type of 2 to the power of 64 fields."""
    trace = write_trace(tmp_path / "t", "le")
    text = "struct s0 { uint8_t a; uint8_t b; };\n"
    text += "".join(
        f"struct s{i} {{ struct s{i - 1} a; struct s{i - 1} b; }};\n" for i in range(1, 64)
    )
    metadata = (METADATA % {"order": "le"}).replace("trace {", f"{text}\ntrace {{", 1)
    (trace / "metadata").write_text(metadata)
    with pytest.raises(InputError, match="more than 10000 fields"):
        imported(trace)


def test_arrays_of_nothing_end(tmp_path):
    trace = write_trace(tmp_path / "t", "le")
    empty = "struct { } a[60000][60000][60000]; uint8_t b;"
    (trace / "metadata").write_text((METADATA % {"order": "le"}).replace("uint8_t a;", empty, 1))
    found = imported(trace)
    assert any("an array of" in line for line in found.info.raw["damage"])


def test_noise_gives_an_error_or_damage(tmp_path):
    """Bytes changed at random, in the metadata and in the streams."""
    random.seed(7)
    trace = write_trace(tmp_path / "t", "le")
    whole = {name: (trace / name).read_bytes() for name in ("metadata", "a_0", "a_1")}
    results = set()
    for round_number in range(200):
        name = ("a_0", "metadata")[round_number % 2]
        content = bytearray(whole[name])
        for _ in range(random.randint(1, 4)):
            content[random.randrange(10 if name == "metadata" else 0, len(content))] = (
                random.randrange(256)
            )
        (trace / name).write_bytes(content)
        try:
            results.add(bool(imported(trace).info.raw["damage"]))
        except InputError as error:
            results.add(error.message.split(":")[0][-8:])
        (trace / name).write_bytes(whole[name])
    assert len(results) > 2
