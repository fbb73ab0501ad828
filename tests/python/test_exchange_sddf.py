"""SDDF of other tools: files written here by hand from the format's description, not by our
writer."""

from __future__ import annotations

import struct
from pathlib import Path

import pyarrow as pa
import pytest

from sesame.datasets import DataSet
from sesame.errors import InputError
from sesame.exchange import import_trace
from sesame.exchange.sddf_import import MOST_TYPES

TEXT = """SDDFA
/*
 * "Data Set Title" "sesame-sort on the Paragon"
 * "host name" "paragon1"
 * "NumNodes" "64"
 * "instrument type" "SESAME"
 * "Begin Date" "1999-01-20T11:22:26"
 */ ;;
/* a remark of its author: don't read "it */ ;;
#40:
// "description" "A message was sent by NX"
"NX send" {
    // "units" "s"
    double "time stamp"; int "node"; float "rates"[]; int "shape"[][];
    char "host"[]; char "argv"[][]; char "kind";
};;
#41: "NX recv" { double "time stamp"; long "address"; };;
%7: ;;
"NX send" { 1.5e-3, 4, [2] { 1.5, 2. }, [2][2] { 1, 2, 3, 4 },
    [80] { "50%25" }, [2][20] { "./a", "-x" }, "s" };;
"NX recv" { 0.25, 3000000000 };;
"NX send" { 2, 5, [0] { }, [1][2] { 7, -8 }, "bare", [1][4] { "b" }, 114 };;
"""
SENDS = [
    {
        "time_stamp": 0.0015,
        "node": 4,
        "rates": [1.5, 2.0],
        "shape": [[1, 2], [3, 4]],
        "host": "50%25",
        "argv": ["./a", "-x"],
        "kind": "s",
    },
    {
        "time_stamp": 2.0,
        "node": 5,
        "rates": [],
        "shape": [[7, -8]],
        "host": "bare",
        "argv": ["b"],
        "kind": "r",
    },
]


class HandWritten:
    """The bytes of a binary file, number by number."""

    def __init__(self, order: str, int_code: str = "i") -> None:
        self.order, self.int_code = order, int_code
        sizes = [1, 2, struct.calcsize(order + int_code), 8, 4, 8, 16]
        self.data = b"SDDFB" + bytes([19, order == "<", 0, 0, 0, 0, 0, *sizes])

    def pack(self, codes: str, *values: float) -> bytes:
        return struct.pack(self.order + codes.replace("i", self.int_code), *values)

    def text(self, text: str) -> bytes:
        return self.pack("i", len(text)) + text.encode()

    def packet(self, kind: int, tag: int, content: bytes) -> None:
        length = len(content) + 3 * struct.calcsize(self.order + self.int_code)
        self.data += self.pack("iii", length, kind, tag) + content

    def field(self, name: str, kind: int, dimension: int, units: str = "") -> bytes:
        pairs = self.text("units") + self.text(units)
        return self.text(name) + self.pack("i", 1) + pairs + self.pack("ii", kind, dimension)


def binary(order: str, int_code: str = "i") -> bytes:
    f = HandWritten(order, int_code)
    pairs = [("Data Set Title", "sesame-sort on the Paragon"), ("host name", "paragon1")]
    pairs += [("NumNodes", "64"), ("instrument type", "SESAME")]
    pairs += [("Begin Date", "1999-01-20T11:22:26")]
    f.packet(1, 0, f.pack("i", 5) + b"".join(f.text(k) + f.text(v) for k, v in pairs))
    note = f.text("description") + f.text("A message was sent by NX")
    fields = f.field("time stamp", 3, 0, "s") + f.field("node", 1, 0) + f.field("rates", 2, 1)
    fields += f.field("shape", 1, 2) + f.field("host", 0, 1) + f.field("argv", 0, 2)
    fields += f.field("kind", 0, 0)
    f.packet(2, 40, f.text("NX send") + f.pack("i", 1) + note + f.pack("i", 7) + fields)
    recv = f.field("time stamp", 3, 0) + f.field("address", 3, 0)
    f.packet(2, 41, f.text("NX recv") + f.pack("i", 0) + f.pack("i", 2) + recv)
    f.packet(4, 7, b"")
    row = f.pack("di", 0.0015, 4) + f.pack("iff", 2, 1.5, 2) + f.pack("iiiiii", 2, 2, 1, 2, 3, 4)
    row += f.text("50%25") + f.pack("ii", 2, 4) + b"./a\0-x\0\0" + b"s"
    f.packet(3, 40, row)
    f.packet(3, 41, f.pack("dd", 0.25, 3e9))
    row = f.pack("di", 2, 5) + f.pack("i", 0) + f.pack("iiii", 1, 2, 7, -8) + f.text("bare")
    f.packet(3, 40, row + f.pack("ii", 1, 4) + b"b\0\0\0" + b"r")
    return f.data


FILES = {
    "text": TEXT.encode(),
    "text with line ends of DOS": TEXT.replace("\n", "\r\n").encode(),
    "binary, big end first": binary(">"),
    "binary, little end first": binary("<"),
    "binary, 64-bit ints": binary(">", "q"),
}


@pytest.mark.parametrize("content", FILES.values(), ids=FILES)
def test_a_file_of_another_tool_becomes_a_data_set_with_its_own_tables(content, tmp_path):
    (tmp_path / "x.sddf").write_bytes(content)
    import_trace(tmp_path / "x.sddf", tmp_path / "x.sesame")
    found = DataSet(tmp_path / "x.sesame")
    assert sorted(found.tables) == ["nx_recv", "nx_send"]
    assert found.table("nx_send").to_pylist() == SENDS
    assert found.table("nx_recv").to_pylist() == [{"time_stamp": 0.25, "address": 3_000_000_000}]
    sends = found.record_types["nx_send"]
    assert sends["meaning"] == "A message was sent by NX"
    assert [(one["name"], one["type"], one["unit"]) for one in sends["fields"][:4]] == [
        ("time_stamp", "float64", "s"),
        ("node", "int32", ""),
        ("rates", "float64[]", ""),
        ("shape", "int32[][]", ""),
    ]
    info = found.info
    assert (info.title, info.host.name, info.ranks) == (
        "sesame-sort on the Paragon",
        "paragon1",
        64,
    )
    assert info.instrument.name == "SESAME"
    assert info.begin_time.startswith("1999-01-20T11:22:26")
    assert info["stream_attributes"]["NumNodes"] == "64"


def imported(content: str, tmp_path: Path) -> DataSet:
    (tmp_path / "x.sddf").write_text(f"SDDFA\n{content}")
    import_trace(tmp_path / "x.sddf", tmp_path / "x.sesame", force=True)
    return DataSet(tmp_path / "x.sesame")


def test_names_that_are_no_names_of_files_or_columns_get_ones(tmp_path):
    """Also a record with the name of a table of Sesame, and two of one name with other fields."""
    found = imported(
        '#1: "../../etc/x" { int "a b"; int "A-B"; int "7"; int ""; };;\n'
        '#2: "process" { int "x"; };; #3: "process" { int "y"; };;\n'
        '"../../etc/x" { 1, 2, 3, 4 };; "process" { 5 };;\n',
        tmp_path,
    )
    assert found.table("etc_x").to_pylist() == [{"a_b": 1, "a_b_2": 2, "n_7": 3, "unnamed": 4}]
    assert (found.tables, found.has("process_2")) == (("etc_x", "process_2", "process_3"), False)
    assert found.table("process_3").to_pylist() == [{"y": 5}]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.sddf", "x.sesame"]


def test_a_file_that_is_larger_than_a_chunk_is_read_whole(tmp_path, monkeypatch):
    from sesame.exchange import sddf_import, sddf_text

    monkeypatch.setattr(sddf_text, "CHUNK", 7)
    monkeypatch.setattr(sddf_text, "MARGIN", 24)
    monkeypatch.setattr(sddf_import, "BUFFERED_VALUES", 100)
    rows = "".join(f'"r" {{ {i}, {i}.5e-3, "{"ü" * (i % 40)}" }};;\n\n' for i in range(500))
    found = imported(f'#1: "r" {{ int "i"; double "x"; char "t"[]; }};;\n{rows}', tmp_path)
    assert found.table("r").to_pylist() == [
        {"i": i, "x": float(f"{i}.5e-3"), "t": "ü" * (i % 40)} for i in range(500)
    ]
    with pytest.raises(InputError, match=r"x.sddf:1003: expected a number, got }"):
        imported(f'#1: "r" {{ int "i"; double "x"; char "t"[]; }};;\n{rows}"r" {{ }};;', tmp_path)


DESCRIBED = '#1: "r" { int "x"[][]; };;\n'
HOSTILE = {
    "an array with other sizes": (
        DESCRIBED + '"r" { [2][3] { 1, 2 } };;',
        r":3: field x: expected 2 x 3 values, got 2",
    ),
    "an array of a size that cannot be": (
        DESCRIBED + '"r" { [99999999999][99999999999] { } };;',
        r":3: field x: expected 99999999999 x 99999999999 values, got 0",
    ),
    "many dimensions": (f'#1: "r" {{ int "x"{"[]" * 100}; }};;', ":2: field x has 100 dimensions"),
    "many types": (
        "".join(f'#{i}: "r{i}" {{ int "x"; }};;\n' for i in range(MOST_TYPES + 1)),
        f"more than {MOST_TYPES} record types",
    ),
    "no record types": ("", "it describes no records"),
    "a comment without an end": ("/* x", r":2: expected \*/, got the end"),
    "a fraction for an int": ('#1: "r" { int "x"; };;\n"r" { 1.5 };;', "1.5 is not a whole number"),
    "an int of more than 64 bits": (
        '#1: "r" { int "x"; };;\n"r" { 1%s };;' % ("0" * 30),
        "r, field x",
    ),
}


@pytest.mark.parametrize(("content", "said"), HOSTILE.values(), ids=HOSTILE)
def test_hostile_text_is_refused_in_words(content, said, tmp_path):
    with pytest.raises(InputError, match=said):
        imported(content, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["x.sddf"]


def test_a_text_without_an_end_costs_no_memory(tmp_path, monkeypatch):
    from sesame.exchange import sddf_text

    monkeypatch.setattr(sddf_text, "MOST_TEXT", 1 << 20)
    with pytest.raises(InputError, match=r":2: a text of more than 1048576 characters"):
        imported('#1: "r' + "x" * (4 << 20), tmp_path)


HEAD = bytes([19, 1, 0, 0, 0, 0, 0, 1, 2, 4, 8, 4, 8, 16])
HOSTILE_BINARY = {
    "short header": (HEAD[:5], "the header: the header is too short"),
    "byte order": (bytes([19, 2]) + HEAD[2:], "the header: byte order 2, expected 0"),
    "doubles of a Cray": (
        bytes([19, 1, 0, 0, 3]) + HEAD[5:],
        "the header: doubles of Cray are not read, expected IEEE",
    ),
    "ints of 3 bytes": (HEAD[:9] + b"\3" + HEAD[10:], "the header: numbers of 3 bytes"),
    "a long packet": (
        HEAD + struct.pack("<iii", 1 << 30, 3, 1),
        "packet 1: a packet of 1073741824",
    ),
    "a negative packet": (HEAD + struct.pack("<iii", -1, 3, 1), "packet 1: a packet of -1 bytes"),
    "an unknown packet": (
        HEAD + struct.pack("<iii", 12, 9, 1),
        "packet 1: a packet of unknown kind",
    ),
    "an undescribed record": (
        HEAD + struct.pack("<iii", 12, 3, 1),
        "packet 1: a record with tag 1",
    ),
    "cut off": (HEAD + struct.pack("<iii", 99, 3, 1), "packet 1: the file is cut off"),
}


@pytest.mark.parametrize(("content", "said"), HOSTILE_BINARY.values(), ids=HOSTILE_BINARY)
def test_hostile_binary_data_is_refused_in_words(content, said, tmp_path):
    (tmp_path / "x.sddf").write_bytes(b"SDDFB" + content)
    with pytest.raises(InputError, match=said):
        import_trace(tmp_path / "x.sddf", tmp_path / "x.sesame")


def test_an_array_of_many_empty_rows_costs_no_memory(tmp_path):
    f = HandWritten("<")
    f.packet(2, 1, f.text("r") + f.pack("ii", 0, 1) + f.field("x", 1, 3))
    f.packet(3, 1, f.pack("iii", 1 << 12, 1 << 12, 0) + bytes(1 << 13))
    f.packet(3, 1, f.pack("iii", 1 << 12, 1 << 12, 1 << 12) + bytes(1 << 13))
    (tmp_path / "x.sddf").write_bytes(f.data)
    with pytest.raises(InputError, match="packet 3: an array of 68719476736 cells"):
        import_trace(tmp_path / "x.sddf", tmp_path / "x.sesame")


def test_a_header_of_a_later_version_is_read(tmp_path):
    data = binary("<")
    (tmp_path / "x.sddf").write_bytes(data[:5] + b"\x15" + data[6:19] + b"??" + data[19:])
    import_trace(tmp_path / "x.sddf", tmp_path / "x.sesame")
    assert DataSet(tmp_path / "x.sesame").table("nx_send").to_pylist() == SENDS


@pytest.mark.parametrize("form", ["sddf", "sddf-binary", "sddf-binary-big", "csv"])
def test_arrays_are_exported(form, sesame, tmp_path):
    (tmp_path / "x.sddf").write_text(TEXT)
    first = sesame("import", "x.sddf", "-o", "x.sesame")
    assert first.stdout == "x.sesame: 0 s, 3 records\n"
    assert sesame("export", "x.sesame", "--to", form, "--file", "out").status == 0
    if form == "csv":
        assert '"[[1, 2], [3, 4]]"' in (tmp_path / "out" / "nx_send.csv").read_text()
        return
    import_trace(tmp_path / "out", tmp_path / "back.sesame")
    back = DataSet(tmp_path / "back.sesame")
    assert back.table("nx_send").to_pylist() == SENDS
    assert back.schema("nx_send").field("shape").type == pa.list_(pa.list_(pa.int32()))
