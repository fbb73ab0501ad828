"""Imports of DFTracer traces: of the real tool, and in each of its three forms."""

from __future__ import annotations

import gzip
import json
import random
import shutil
from pathlib import Path

import pytest

from sesame.datasets import DataSet
from sesame.errors import InputError, SesameError
from sesame.exchange import dftracer_file, import_trace

GOLDEN = Path(__file__).parents[1] / "golden" / "dftracer"
# Call, file, handle, offset, size, bytes of each call of program.c.
CALLS = [
    ("fopen", 0, 0, -1, 0o1101, 0),
    ("fwrite", 0, 0, 0, 70, 70),
    ("fwrite", 0, 0, 70, 70, 70),
    ("fwrite", 0, 0, 140, 70, 70),
    ("fwrite", 0, 0, 210, 70, 70),
    ("fseek", 0, 0, 0, 0, 0),
    ("fwrite", 0, 0, 0, 5, 5),
    ("fclose", 0, 0, -1, 0, 0),
    ("fopen", 0, 1, -1, 0o2102, 0),
    ("fwrite", 0, 1, -1, 5, 5),
    ("fclose", 0, 1, -1, 0, 0),
    ("open", 1, 2, -1, 0o1102, 0),
    ("write", 1, 2, 0, 4096, 4096),
    ("lseek", 1, 2, 4000, 0, 0),
    ("read", 1, 2, 4000, 4096, 96),
    ("dup", 1, 2, -1, 0, 0),
    ("close", 1, 2, -1, 0, 0),
    ("open", 1, 3, -1, 0o2001, 0),
    ("write", 1, 3, -1, 8, 8),
    ("close", 1, 3, -1, 0, 0),
    ("fork", -1, -1, -1, 0, 0),
    ("rename", 1, -1, -1, 0, 0),
]
NEWEST = {"name": "read", "cat": "POSIX", "type": 3, "pid": 7, "tid": 7, "ph": 1}


def imported(path: Path, tmp_path: Path) -> DataSet:
    import_trace(path, tmp_path / "run.sesame")
    return DataSet(tmp_path / "run.sesame")


def calls(data_set: DataSet, rank: int = 0) -> list[tuple]:
    fields = ("call", "file", "handle", "offset", "size", "bytes")
    rows = data_set.table("io").to_pylist()
    return [tuple(row[field] for field in fields) for row in rows if row["rank"] == rank]


def lines(*events: dict) -> str:
    return "".join(json.dumps(event) + "\n" for event in events)


def test_a_directory_of_real_traces_is_one_run(tmp_path):
    data_set = imported(GOLDEN, tmp_path)
    assert calls(data_set, 0) == calls(data_set, 1) == CALLS
    paths = data_set.table("file").column("path").to_pylist()
    assert paths == ["/data/s.txt", "/data/p.bin", "/data/q.bin"]
    processes = data_set.table("process").to_pylist()
    assert [process["command"] for process in processes] == ["./io", "./io"]
    assert len({process["pid"] for process in processes}) == 2
    assert data_set.info["instrument"] == {"name": "DFTracer", "version": "2.0.3"}
    rename = data_set.table("io").to_pylist()[-1]
    assert (rename["call"], rename["other_file"]) == ("rename", 2)


def test_times_are_nanoseconds_since_the_first_event(tmp_path):
    data_set = imported(GOLDEN / "second.pfw", tmp_path)
    events = [json.loads(line) for line in (GOLDEN / "second.pfw").read_text().splitlines()]
    complete = [event for event in events if event["ph"] == 1]
    begin = min(event["ts"] for event in complete)
    expected = [
        ((event["ts"] - begin) * 1000, event["dur"] * 1000)
        for event in complete
        if event["cat"] in ("POSIX", "STDIO")
    ]
    rows = data_set.table("io").to_pylist()
    assert [(row["begin_ns"], row["duration_ns"]) for row in rows] == expected


def test_the_first_form_has_paths_and_quoted_numbers(tmp_path):
    common = {"cat": "POSIX", "pid": "9", "tid": "18", "ph": "X", "id": "1"}
    name = {"hostname": "node3", "fname": "/a"}
    text = "[\n" + lines(
        {**common, "name": "open", "ts": "5", "dur": "1", "args": {**name, "flags": 66, "ret": 3}},
        {**common, "name": "read", "ts": "8", "dur": "2", "args": {**name, "ret": 10, "count": 16}},
        {**common, "name": "read", "ts": "11", "dur": "2", "args": {**name, "ret": 6, "count": 16}},
    )
    (tmp_path / "old.pfw").write_text(text)
    data_set = imported(tmp_path / "old.pfw", tmp_path)
    assert calls(data_set) == [
        ("open", 0, 0, -1, 66, 0),
        ("read", 0, 0, 0, 16, 10),
        ("read", 0, 0, 10, 16, 6),
    ]
    assert data_set.table("process").column("host").to_pylist() == ["node3"]


def test_the_second_form_has_letters_for_phases_and_numbers_for_hashes(tmp_path):
    head = {"cat": "dftracer", "pid": 9, "tid": 9, "ph": "M"}
    text = lines(
        {**head, "name": "HH", "args": {"name": "corona", "value": 5692}},
        {**head, "name": "FH", "args": {"name": "/a", "value": 33}},
        {
            **{"name": "__xstat64", "cat": "POSIX", "pid": 9, "tid": 9, "ph": "X"},
            **{"ts": 5, "dur": 1, "args": {"hhash": 5692, "fhash": 33}},
        },
        {**head, "name": "epoch", "cat": "ai", "ph": "X", "ts": 5, "dur": 1, "args": {}},
    )
    with gzip.open(tmp_path / "trace.pfw.gz", "wt") as file:
        file.write(text)
    data_set = imported(tmp_path / "trace.pfw.gz", tmp_path)
    assert calls(data_set) == [("stat", 0, -1, -1, 0, 0)]
    assert data_set.table("process").column("host").to_pylist() == ["corona"]
    assert data_set.info["result"]["not_imported"] == ["1 events of category ai"]


def test_where_two_descriptors_of_a_file_read_is_not_known(tmp_path):
    args = {"hhash": "h", "fhash": "f"}
    opening = {**NEWEST, "name": "open", "ts": 1, "dur": 1, "args": {**args, "flags": 0}}
    read = {**NEWEST, "ts": 3, "dur": 1, "args": {**args, "ret": 4, "count": 4}}
    (tmp_path / "t.pfw").write_text(lines(opening, read, opening, read))
    offsets = [
        (call[0], call[2], call[3]) for call in calls(imported(tmp_path / "t.pfw", tmp_path))
    ]
    assert sorted(offsets) == [
        ("open", 0, -1),
        ("open", 1, -1),
        ("read", -1, -1),
        ("read", 0, 0),
    ]


@pytest.mark.parametrize("name", ["first.pfw.gz", "second.pfw"])
def test_a_trace_that_was_cut_off_gives_what_is_in_front(name, tmp_path):
    data = (GOLDEN / name).read_bytes()
    (tmp_path / name).write_bytes(data[: len(data) // 2])
    data_set = imported(tmp_path / name, tmp_path)
    found = calls(data_set)
    assert 3 < len(found) < len(CALLS)
    assert found == CALLS[: len(found)]
    (damage,) = data_set.info["raw"]["damage"]
    assert damage.startswith(f"{name}: ")
    assert data_set.table("process").column("outcome").to_pylist() == ["cut off"]
    assert data_set.info["result"]["outcome"] == "cut off"


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ("nonsense\n", "line 2: not JSON"),
        ('{"name": "read"}\n', "line 2: not an event of DFTracer: KeyError 'ph'"),
        ("[1, 2]\n", "line 2: not an event of DFTracer"),
        (lines({**NEWEST, "ts": "noon", "dur": 1, "args": {}}), "line 2: not an event of DFTracer"),
        (
            lines({**NEWEST, "ts": 1 << 70, "dur": 1, "args": {}}),
            "line 2: not an event of DFTracer",
        ),
    ],
)
def test_a_line_that_is_wrong_is_left_out_and_named(bad, said, tmp_path):
    good = lines({**NEWEST, "ts": 1, "dur": 1, "args": {}})
    (tmp_path / "t.pfw").write_text(good + bad + good)
    data_set = imported(tmp_path / "t.pfw", tmp_path)
    assert len(calls(data_set)) == 2
    (damage,) = data_set.info["raw"]["damage"]
    assert damage.startswith(f"t.pfw: 1 line is left out, the first is {said}")
    assert data_set.info["result"]["outcome"] == "damaged"


def test_bad_lines_cost_no_more_than_themselves(tmp_path):
    """Every seventh of 5,000 lines is bad, in some way or other."""
    good = {**NEWEST, "dur": 1, "args": {"ret": 1}}
    ways = ["{", '{"ph": 1}', json.dumps({**good, "ts": 1, "pid": 1 << 40}), json.dumps([good])]
    ways.append(json.dumps({**good, "ts": 5, "args": {"ret": "many"}}))
    text = [
        ways[n // 7 % len(ways)] if n % 7 == 3 else json.dumps({**good, "ts": n})
        for n in range(5000)
    ]
    (tmp_path / "t.pfw").write_text("\n".join(text))
    data_set = imported(tmp_path / "t.pfw", tmp_path)
    bad = len(range(3, 5000, 7))
    assert len(calls(data_set)) == 5000 - bad
    (damage,) = data_set.info["raw"]["damage"]
    assert damage.startswith(f"t.pfw: {bad} lines are left out, the first is line 4: not JSON")


def test_a_trace_of_bad_lines_alone_is_refused_with_the_first(sesame, tmp_path):
    (tmp_path / "t.pfw").write_text("nonsense\nmore of it\n")
    outcome = sesame("import", "t.pfw", "--from", "dftracer", "-o", "run.sesame")
    assert outcome.status == 2
    assert "t.pfw:1: not JSON" in outcome.stderr
    assert not (tmp_path / "run.sesame").exists()


def test_times_are_in_the_unit_that_the_trace_names(tmp_path):
    unit = {"name": "CM", "cat": "dftracer", "pid": 7, "tid": 7, "ph": "M"}
    unit["args"] = {"name": "time_metric", "value": "MS"}
    events = [{**NEWEST, "ts": ts, "dur": 2, "args": {"ret": 1}} for ts in (5, 9)]
    (tmp_path / "t.pfw").write_text(lines(unit, *events))
    rows = imported(tmp_path / "t.pfw", tmp_path).table("io").to_pylist()
    assert [(row["begin_ns"], row["duration_ns"]) for row in rows] == [
        (0, 2_000_000),
        (4_000_000, 2_000_000),
    ]


def test_what_cannot_name_a_file_is_a_bad_line(tmp_path):
    good = {**NEWEST, "ts": 1, "dur": 1, "args": {}}
    bad = [
        {**good, "args": {"fhash": [1]}},
        {**good, "args": {"hhash": {}}},
        {**good, "name": "rename", "args": {"newpath_hash": []}},
        {**good, "name": {}},
    ]
    (tmp_path / "t.pfw").write_text(lines(good, *bad, good))
    data_set = imported(tmp_path / "t.pfw", tmp_path)
    assert len(calls(data_set)) == 2
    assert "4 lines are left out" in data_set.info["raw"]["damage"][0]


def test_a_line_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(dftracer_file, "LONGEST_LINE", 1000)
    (tmp_path / "t.pfw").write_text(lines({**NEWEST, "ts": 1, "dur": 1, "args": {}}) + "x" * 2000)
    with pytest.raises(InputError, match="a line of more than"):
        imported(tmp_path / "t.pfw", tmp_path)


@pytest.mark.parametrize("newest", [True, False])
def test_ranks_of_mpi_are_those_of_the_trace(newest, tmp_path):
    """DFTracer with MPI records the rank after MPI_Init; files come in any order."""
    (tmp_path / "t").mkdir()
    for pid, rank in ((11, 1), (12, 0), (13, None)):
        head = {**NEWEST, "pid": pid, "cat": "dftracer"}
        known = {**head, "name": "mpi", "ts": 2, "dur": 0, "args": {"rank": rank}}
        if newest:
            known = {**head, "name": "PR", "ph": 4, "args": {"name": "rank", "value": str(rank)}}
        read = {**NEWEST, "pid": pid, "ts": pid, "dur": 1, "args": {"ret": pid}}
        events = [read] if rank is None else [known, read]
        (tmp_path / "t" / f"{pid}.pfw").write_text(lines(*events))
    data_set = imported(tmp_path / "t", tmp_path)
    table = data_set.table("process")
    assert table.column("mpi_rank").to_pylist() == [0, 1, -1]
    assert table.column("pid").to_pylist() == [12, 11, 13]
    rows = data_set.table("io").to_pylist()
    assert [(row["rank"], row["bytes"]) for row in rows] == [(0, 12), (1, 11), (2, 13)]


def random_events(chance: random.Random, newest: bool) -> list[dict]:
    """Calls of two processes on three files, in the newest form or that of before."""
    names = ["open", "read", "write", "pread", "lseek", "close", "dup", "fseek", "stat", "fork"]
    events = []
    for number in range(2000):
        name = chance.choice(names)
        args = {"hhash": "node1" if newest else 77}
        if name != "fork":
            args["fhash"] = chance.choice(["a", "b", "c"] if newest else [1, 2, 3])
        if name in ("read", "write", "pread"):
            args |= {"count": 4096, "ret": chance.choice([-1, 100, 4096])}
        if name in ("pread", "lseek", "fseek"):
            args |= {"offset": chance.randrange(9999), "whence": chance.randrange(3)}
        if name == "lseek":
            args["ret"] = chance.randrange(9999)
        pid = chance.choice([8, 9])
        event = {"name": name, "cat": "POSIX", "pid": pid, "tid": pid + chance.randrange(2)}
        events.append(event | {"ts": 5 * number, "dur": 3, "ph": 1 if newest else "X"})
        events[-1]["args"] = args
    head = {"cat": "dftracer", "pid": 8, "tid": 8, "ph": 4 if newest else "M", "name": "FH"}
    named = [{**head, "args": {"name": f"/{key}", "value": key}} for key in ("a", "b", 1, 2)]
    for event in named:
        events.insert(chance.randrange(len(events)), event)
    return events


@pytest.mark.parametrize("newest", [True, False])
@pytest.mark.parametrize("bad", [0, 3])
def test_arrow_reads_what_single_events_say(newest, bad, tmp_path, monkeypatch):
    """Also where some blocks have lines that are wrong."""
    chance = random.Random(7)
    text = [json.dumps(event) for event in random_events(chance, newest)]
    odd = json.dumps({**json.loads(text[0]), "ph": 1 if newest else "X", "ts": "123", "dur": 1.5})
    for line in ["{", odd, '{"ph": 1, "name": "\\ud800"}'][:bad]:
        text.insert(chance.randrange(500, len(text)), line)
    (tmp_path / "t.pfw").write_text("\n".join(text))
    for name in ("BLOCK_BYTES", "SMALL_BLOCK_BYTES"):
        monkeypatch.setattr(dftracer_file, name, 20_000)
    read: list[bool] = []
    takes = dftracer_file._Reader._takes

    def watched(self, future):
        read.append(takes(self, future))
        return read[-1]

    monkeypatch.setattr(dftracer_file._Reader, "_takes", watched)
    import_trace(tmp_path / "t.pfw", tmp_path / "arrow.sesame")
    assert read.count(True) > 5
    assert (read.count(False) > 0) == (bad > 0)
    monkeypatch.setattr(dftracer_file.Types, "schema", lambda self: None)
    import_trace(tmp_path / "t.pfw", tmp_path / "events.sesame")
    arrow, events = (DataSet(tmp_path / f"{name}.sesame") for name in ("arrow", "events"))
    for name in ("io", "file", "process"):
        assert arrow.table(name).equals(events.table(name))
    assert arrow.info["raw"]["damage"] == events.info["raw"]["damage"]
    offsets = arrow.table("io").column("offset").to_pylist()
    assert sum(offset > 0 for offset in offsets) > 300


@pytest.mark.parametrize("block", [1, 64, 1000])
def test_it_does_not_matter_where_blocks_end(block, tmp_path, monkeypatch):
    for name in ("BLOCK_BYTES", "SMALL_BLOCK_BYTES"):
        monkeypatch.setattr(dftracer_file, name, block)
    assert calls(imported(GOLDEN, tmp_path), 1) == CALLS


def test_few_lines_are_parsed_one_by_one_before_arrow_reads_the_others(tmp_path, monkeypatch):
    call = {"name": "read", "cat": "POSIX", "pid": 8, "tid": 8, "ph": 1, "dur": 1, "args": {}}
    lines = (json.dumps(call | {"ts": 9 + 2 * at}) + "\n" for at in range(10_000))
    (tmp_path / "t.pfw").write_text("".join(lines))
    singly: list[int] = []
    take_lines = dftracer_file._Reader._take_lines

    def watched(self, at, lines):
        singly.append(len(lines))
        take_lines(self, at, lines)

    monkeypatch.setattr(dftracer_file._Reader, "_take_lines", watched)
    data_set = imported(tmp_path / "t.pfw", tmp_path)
    assert data_set.table("io").num_rows == 10_000
    assert 0 < sum(singly) < 3_000


def test_a_directory_without_traces_is_refused(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="none of the formats"):
        import_trace(tmp_path / "empty", tmp_path / "run.sesame")
    with pytest.raises(InputError, match=r"there is no \*\.pfw"):
        import_trace(tmp_path / "empty", tmp_path / "run.sesame", format_name="dftracer")


def test_the_order_of_files_does_not_matter(tmp_path):
    (tmp_path / "t").mkdir()
    shutil.copy(GOLDEN / "second.pfw", tmp_path / "t" / "a.pfw")
    shutil.copy(GOLDEN / "first.pfw.gz", tmp_path / "t" / "b.pfw.gz")
    data_set = imported(tmp_path / "t", tmp_path)
    assert calls(data_set, 0) == calls(data_set, 1) == CALLS
    assert data_set.table("io").column("rank").to_pylist() == [0] * 22 + [1] * 22


@pytest.mark.few_cases(1)
@pytest.mark.parametrize("seed", range(4))
def test_damaged_traces_are_read_or_refused(tmp_path, seed):
    chance = random.Random(seed)
    refused = 0
    for _ in range(50):
        name = chance.choice(["first.pfw.gz", "second.pfw"])
        data = bytearray((GOLDEN / name).read_bytes())
        for _ in range(chance.choice([1, 10])):
            data[chance.randrange(len(data))] = chance.randrange(256)
        (tmp_path / name).write_bytes(data)
        try:
            import_trace(
                tmp_path / name, tmp_path / "run.sesame", format_name="dftracer", force=True
            )
        except SesameError:
            refused += 1
        (tmp_path / name).unlink()
        assert {path.name for path in tmp_path.iterdir()} <= {"run.sesame"}
    assert 5 < refused < 50


def test_one_call_is_named_as_one(sesame, tmp_path):
    read = {**NEWEST, "ts": 3, "dur": 1, "args": {"hhash": "h", "fhash": "f", "ret": 4}}
    (tmp_path / "t.pfw").write_text(lines(read))
    assert (
        "1 process, 1.00 us, 1 call on files\n"
        in sesame("import", "t.pfw", "-o", "run.sesame").stdout
    )
